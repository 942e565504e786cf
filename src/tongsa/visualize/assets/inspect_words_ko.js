/** Texts of the inspection page in Korean. */
export const korean = {
  models: "모델", name: "이름", kind: "종류", parameters: "파라미터", rates: "드롭아웃 비율", noDropout: "0: 매번 결과가 같습니다",
  logProb: "log p", meanLogProb: "정답 문장의 평균 log p",
  overview: (count, file, seed) => `${file}의 문장 ${count}개. 드롭아웃 시드: ${seed}.`,
  skipped: (count) => ` 긴 문장 ${count}개는 제외했습니다.`,
  dropout: "드롭아웃", off: "끔", draw: "한 번 적용", mean: (draws) => `${draws}회 평균`, spread: (draws) => `${draws}회 표준편차`,
  modeHelp: {
    off: "평가할 때처럼 드롭아웃을 껐습니다.",
    draw: "학습의 한 스텝처럼 드롭아웃을 한 번 무작위로 적용했습니다. 정규화는 평가 상태 그대로입니다.",
    mean: "드롭아웃을 여러 번 적용한 결과의 평균입니다.",
    spread: "드롭아웃을 여러 번 적용한 결과의 표준편차입니다. 드롭아웃이 값을 얼마나 바꾸는지 보여 줍니다.",
  },
  heads: "헤드",
  role: "어텐션", measure: "칸에 표시할 값",
  cross: "교차 어텐션", encoder: "인코더 자기 어텐션", decoder: "디코더 자기 어텐션", hops: "홉", slots: "홉에 대한 어텐션",
  noAttention: "어텐션이 없습니다. 디코더는 메모리를 가중치 없이 읽습니다.", noAttentionAlone: "어텐션이 없습니다. 상태 벡터 하나가 모든 정보를 전달합니다.",
  otherRoles: (roles) => `이 모델에는 이 어텐션이 없습니다. 있는 어텐션: ${roles}.`,
  sentence: "문장", layer: (layer) => `${layer}층`, head: (head) => `헤드 ${head}`, hop: (hop) => `홉 ${hop}`,
  pattern: "패턴", entropy: "엔트로피(비트)", byOffset: "상대 위치별 가중치",
  atOffset: (offset) => `상대 위치 ${offset}의 가중치`, atIndex: (index) => `위치 ${index}의 가중치`,
  holds: (count, total) => `${total}개 중 ${count}개`, untested: (count) => `판단 불가 ${count}개`,
  offsetHelp: {
    encoder: "상대 위치 0은 자기 자신, −1은 바로 앞 토큰입니다.", decoder: "상대 위치 −1은 가장 최근에 생성한 토큰입니다.",
    cross: "상대 위치 0은 대각선입니다.", hops: "문장 안의 위치별 값입니다.", slots: "홉별 값입니다.",
  },
  patterns: {
    itself: "자신", previous: "직전", next: "직후", earlier: "두 칸 앞", first: "처음", last: "끝", diagonal: "대각선",
    broad: "분산", focused: "집중", mixed: "혼합", too_short: "판단 불가", fixed: "고정", varies: "문장마다 다름",
  },
  chart: (values) => `상대 위치별 가중치: ${values}`, select: "칸을 선택하세요.",
  states: "은닉 상태와 정규화",
  statistic: "통계량",
  statistics: { mean: "평균", deviation: "표준편차", largest: "절댓값의 최댓값", norm: "벡터의 평균 길이(L2 노름)" },
  where: "계산 지점", before: "정규화 전", after: "후", noNorm: "정규화 없음",
  sides: { encoder: "인코더", decoder: "디코더" },
  names: {
    "norm.layer": "층 정규화", "norm.rms": "RMS 정규화", "norm.group": "그룹 정규화", "norm.batch": "배치 정규화",
    "residual.self_attention": "합", "residual.ssru": "합", "residual.cross_attention": "합", "residual.feed_forward": "합",
    "residual.convolution": "합", "residual.attention": "합",
    "embedding.sum": "입력", "embedding.scaled": "입력", "unfolding.sum": "입력 + 메모리",
    "gru.state": "h", "lstm.hidden": "h", "lstm.cell": "c", "ssru.cell": "c",
    "elman.state": "h",
    "rnn.summary": "요약 벡터 c", "rnn.last_states": "마지막 상태", "rnn.initial_state": "초기 상태", "hops.embedding": "M = AH",
    "conv.slots": "키와 값", "pool.mean": "평균", "pool.flat": "모든 슬롯", "maxout.output": "맥스아웃", "readout.output": "출력 직전 층",
  },
  weights: "가중치",
  module: "모듈", others: "그 밖의 행렬",
  histogram: (mean, deviation, max) => `평균 ${mean}, 표준편차 ${deviation}, 최댓값 ${max}`,
  embeddings: "임베딩",
  table: { source: "원문", target: "번역문", output: "출력" }, token: "토큰", search: "토큰 검색",
  notListed: (count) => `이 표에 실린 토큰 ${count}개에 없습니다.`, noTable: "토큰 임베딩 표가 없습니다.",
  neighbor: "이웃 토큰", cosine: "코사인",
  help: {
    heads:
      "행은 문장, 열은 헤드입니다. 맨 위의 행들은 전체 문장에 대한 값입니다: 가장 잦은 패턴과 그 패턴이 성립하는 문장 수, 엔트로피, 상대 위치별 평균 어텐션 가중치. 칸을 선택하면 한 " +
      "문장의 값을 볼 수 있습니다.",
    states:
      "계산 순서대로, 정규화 전후의 잔차 흐름(residual stream)입니다. 정규화가 없는 모델은 합이나 상태 자체의 값입니다. 이 절의 막대는 모두 눈금이 같습니다. 패딩 위치는 계산에 " +
      "넣지 않습니다.",
    weights:
      "행렬의 히스토그램입니다. 합쳐진 투영 행렬은 나누어 보여 줍니다. 기호가 같은 행렬은 모든 모델에서 가로축이 같습니다. σ는 표준편차입니다.",
    embeddings:
      "임베딩의 코사인 유사도로 찾은 가장 가까운 토큰입니다. 데이터에 자주 나오는 토큰만 실려 있습니다.",
  },
};
