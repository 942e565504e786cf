/** Korean texts of the view pages. Functions take the numbers of a sentence, a search or a run. */
import { percent, signed } from "./format.js";

const count = (number) => number.toLocaleString("en");

export const korean = {
  page: {
    attention: "어텐션", tree: "탐색 트리", positions: "위치 인코딩", curves: "학습 곡선", trace: "계산 추적", family: "모델 비교", inspect: "모델 검사", compare: "비교", corpus: "말뭉치", panels: "보기 종류",
    otherLanguage: "English", otherLanguageHelp: "View in English",
    theme: { system: "자동", light: "밝게", dark: "어둡게" }, themeHelp: (theme) => `화면 테마: ${theme}. 눌러서 바꿉니다.`,
    sentence: "문장", previousSentence: "이전 문장", nextSentence: "다음 문장", more: "펼치기", less: "접기",
    source: "원문", translation: "번역", label: "레이블", reference: "참조 번역", score: "점수", scoreNote: "로그 확률 / 길이 벌점",
  },
  attention: {
    roles: "어텐션 종류", cross: "교차", encoder: "인코더", decoder: "디코더", hops: "홉",
    unit: "단위", tokens: "토큰", words: "단어", view: "보기", heatmap: "히트맵", lines: "연결선",
    scale: "색 범위", fixedScale: "0~1", maxScale: "최댓값에 맞춤",
    overview: "모든 층과 헤드", mean: "평균", meanOf: "헤드 평균", headNumber: (number) => `헤드 ${number}`,
    layerTitle: (layer, head) => `${layer}층 · ${head}`,
    single: {
      alignment: "정렬", hops: "모든 홉",
      "multi-step": (layer) => `${layer}층`,
    },
    hop: (number) => `홉 ${number}`,
    keysHelp: "행은 층, 열은 헤드입니다. 화살표 키로 헤드 사이를 이동합니다.",
    smaller: "축소", larger: "확대", fit: "전체 맞춤", save: "이미지 저장", weight: "가중치",
    hint: "그림 위에 포인터를 올리거나, 그림을 선택한 뒤 화살표 키를 누르세요. ·은 단어의 시작입니다.",
    masked: "마스킹됨: 아직 생성되지 않은 토큰 (−∞ → 0)", outside: "마스킹됨: 창 밖 (−∞ → 0)",
    maskedLegend: "마스킹됨",
    patternsTitle: "패턴별 가중치 비율", uniform: (share) => ` (균등 분포라면 ${share})`,
    untestable: " · 짧아서 판단 불가",
    patterns: {
      itself: "자신", previous: "직전", next: "직후", earlier: "두 칸 앞", first: "처음", last: "끝",
      diagonal: "대각선", broad: "분산", focused: "집중", mixed: "혼합", varies: "문장마다 다름",
      too_short: "판단 불가", fixed: "고정",
    },
    axes: {
      cross: ["생성 중인 번역", "참조하는 원문"], encoder: ["원문", "참조하는 원문"],
      decoder: ["생성 중인 출력", "앞서 생성한 출력"], hops: ["홉", "참조하는 원문"],
    },
    rowsAndColumns: (query, key) => `행: ${query}(쿼리) · 열: ${key}(키)`,
    leftAndRight: (query, key) => `왼쪽: ${query}(쿼리) · 오른쪽: ${key}(키)`,
    captions: {
      cross: "번역문의 각 위치가 쿼리이고, 인코더가 만든 원문 벡터가 키와 값입니다.",
      encoder: "원문의 토큰마다 쿼리, 키, 값이 하나씩 있고, 각 쿼리는 모든 토큰을 봅니다.",
      window: "원문의 토큰마다 쿼리, 키, 값이 하나씩 있고, 각 쿼리는 주변 창 안의 토큰만 봅니다. 나머지는 마스킹됩니다.",
      decoder: "각 위치가 쿼리이고, 앞서 생성한 토큰이 키와 값입니다. 뒤의 토큰은 마스킹됩니다.",
      hops: "홉마다 따로 학습된 벡터가 쿼리이고, 인코더의 원문 상태가 키와 값입니다.",
      alignment: "각 토큰을 생성하기 직전의 디코더 상태가 쿼리이고, 인코더의 원문 상태가 키와 값입니다.",
      overHops: "각 토큰을 생성하기 직전의 디코더 상태가 쿼리이고, 원문의 홉이 키와 값입니다.",
    },
    equations: {
      "scaled-dot": "A = softmax(QKᵀ / √dₖ)", dot: "A = softmax(QKᵀ)", additive: "A = softmax(vᵀ tanh(q + k))",
      alignment: "αᵢⱼ = softmaxⱼ(vᵀ tanh(W sᵢ₋₁ + U hⱼ))", "multi-step": "aᵢⱼ = softmaxⱼ(dᵢ · zⱼ)",
      hops: "A = softmax(W₂ tanh(W₁ Hᵀ))",
    },
    entropy: (bits, share) => `엔트로피 ${bits}비트, 최댓값의 ${share}.`,
    summaries: {
      broad: () => "분산: 가중치가 거의 모든 키에 고루 퍼져 있습니다.",
      focused: (value) => `집중: 쿼리별 최대 가중치의 평균이 ${value}입니다.`,
      mixed: (value) => `혼합: 쿼리별 최대 가중치의 평균이 ${value}입니다.`,
      too_short: (value) => `이 문장은 짧아서 패턴을 구별할 수 없습니다. 쿼리별 최대 가중치의 평균은 ${value}입니다.`,
      fixed: () => "고정: 볼 수 있는 키가 하나뿐입니다.",
    },
    patternSummary: (name, value) => `가중치의 ${value}가 ‘${name}’ 패턴에 놓입니다.`,
    inSentences: (name, n, m) => `문장 ${m}개 중 ${n}개에서 ‘${name}’ 패턴입니다.`,
    variesIn: (n, m) => `과반의 문장에 나타나는 패턴이 없습니다. 가장 잦은 패턴은 ${m}개 중 ${n}개입니다.`,
    here: "이 문장에서는",
    picture: (name) => `${name}. 화살표 키로 가중치를 살펴봅니다.`,
    thumb: (head, pattern, sentences, bits) => `${head}: ${pattern}${sentences}, 엔트로피 ${bits}비트`,
    thumbSentences: (n, m) => `, 문장 ${m}개 중 ${n}개`,
    naming: "헤드 이름을 정하는 방법",
    explanation: (t) => [
      `한 문장에서 어떤 패턴에 놓인 가중치가 전체의 ${percent(t.min_pattern_share)} 이상이고 균등 분포일 때의 ${t.min_pattern_lift}배 이상이면, 헤드가 그 패턴을 보인다고 합니다. 다른 패턴과 구별되는 행만 셉니다. 예를 들어 첫 행에서는 ‘대각선’과 ‘처음’이 같은 칸입니다.`,
      `짧은 문장은 우연히도 패턴과 잘 맞습니다. 그래서 그런 행이 ${t.min_pattern_rows}개 이상 있어야 하고, 가중치의 순서를 무작위로 섞은 헤드에 이런 이름이 붙을 확률이 ${percent(t.max_chance)} 이하여야 합니다. 이렇게 검정할 수 있는 패턴이 하나도 없으면 ‘판단 불가’입니다.`,
      `그 밖에는 엔트로피가 최댓값의 ${percent(t.min_broad_entropy)} 이상이면 ‘분산’, 쿼리별 최대 가중치의 평균이 ${percent(t.min_pattern_share)} 이상이면 ‘집중’, 아니면 ‘혼합’입니다.`,
      "헤드의 이름은 과반의 문장에서 나타난 패턴입니다. 너무 짧은 문장은 세지 않습니다.",
      `모든 수치는 키가 둘 이상인 쿼리에 대한 평균입니다. ‘대각선’은 첫 토큰과 마지막 토큰을 잇는 직선에서 원문 길이의 ${percent(t.diagonal_band)} 이내를 뜻합니다.`,
      "단어 단위에서는 키 쪽 토큰의 가중치를 더하고 쿼리 쪽 토큰의 가중치를 평균한 뒤, 수치를 다시 계산합니다.",
      "어텐션 가중치는 헤드가 어느 토큰을 보는지 나타낼 뿐, 모델이 그 단어를 고른 이유를 설명하지는 않습니다.",
    ],
  },
  tree: {
    truncated: "원문이 모델의 최대 길이를 넘어, 앞부분만 번역했습니다.",
    beamGroups: (groups) => `이 모델의 설정은 다양성 빔 그룹 ${groups}개를 쓰지만, 이 트리는 그룹 없이 빔 하나로 탐색한 결과입니다.`,
    title: "단계별로 본 빔",
    beamRule: (beam) => (beam === 1
      ? "빔 1: 단계마다 로그 확률이 가장 높은 후보 하나만 유지합니다."
      : `빔 ${beam}: 단계마다 로그 확률이 가장 높은 접두부 ${beam}개를 유지합니다.`),
    finishedRule: (beam) => (beam === 1
      ? "그 후보가 </s>로 끝나면 출력이 완성됩니다."
      : `상위 후보 ${beam}개 가운데 </s>로 끝난 것은 완성된 출력이 되어 빔에서 나갑니다.`),
    scoreRule: (alpha) => (alpha
      ? `완성된 출력의 점수는 다음과 같으며(알파 ${alpha}), 긴 출력이 불리해지지 않습니다.`
      : "완성된 출력의 점수는 로그 확률입니다(알파 0). 짧은 출력이 유리합니다."),
    coverageRule: (weight) => `커버리지 벌점(가중치 ${weight})은 어텐션을 적게 받은 원문 토큰이 있는 출력의 점수를 낮춥니다.`,
    scoreName: "점수", logProbName: "log p", lengthName: "길이",
    marks: {
      best: "가장 좋은 출력", finished: "완성된 출력(점수)", kept: "유지된 후보", dead: "유지되었다가 탈락한 후보",
      pruned: "탈락한 후보, 마지막으로 유지된 후보와의 차이",
    },
    hint: "상자는 토큰과, 앞의 접두부가 주어졌을 때의 확률입니다. 위에 있을수록 좋은 접두부입니다. 상자를 가리키거나 누르세요. 트리를 선택하고 화살표 키를 써도 됩니다. ←는 부모, →는 가장 좋은 다음 토큰, ↑ ↓는 같은 단계입니다.",
    minimap: "모든 단계 한눈에 보기", stepsOf: (first, last, count) => `${count}단계 중 ${first}~${last}단계`,
    stage: "탐색 트리. 화살표 키로 접두부 사이를 이동합니다.", finishedLane: "완성", prunedLane: "탈락",
    tokenProbability: "토큰 확률", logProb: "접두부의 log p", rankingScore: "탐색 규칙 적용 후",
    score: "점수",
    aliveRank: (rank, alive, step) => `${step}단계에 유지된 ${alive}개 가운데 ${rank}위`,
    finishedRank: (rank, total) => `완성된 출력 ${total}개 가운데 ${rank}위`,
    stepCounts: (alive, finished) => `유지 ${alive} · 완성 ${finished}`,
    root: "첫 토큰 앞입니다. 탐색은 여기서 시작합니다.",
    gap: (gap) => (gap >= 0 ? `탈락: 마지막으로 유지된 후보보다 ${signed(gap)} 낮음` : `마지막으로 유지된 후보보다 ${signed(-gap)} 높지만 유지되지 않음`),
    more: (number) => `+${count(number)}`, moreTitle: (number) => `이 밖에 후보 ${count(number)}개가 탈락했습니다`,
    stopTitle: "탐색이 멈춘 이유", finishedTitle: "완성된 출력, 좋은 것부터",
    stopReason: {
      certain: ({ max_tokens: tokens, max_length_penalty: penalty }, best, bound) => `결과가 확정되었습니다. 완성된 출력의 최고 점수는 ${best}입니다. 남은 접두부의 로그 확률은 줄어들기만 하므로, 최대 길이(토큰 ${tokens}개, 길이 벌점 ${penalty.toFixed(2)})까지 가더라도 점수는 ${bound} 이하입니다.`,
      full: ({ beam }) => (beam === 1 ? "빔의 하나뿐인 접두부가 </s>로 끝났습니다." : `완성된 출력이 빔 크기인 ${beam}개 이상이고, 그 가운데 하나는 그 단계의 가장 좋은 후보였습니다.`),
      limit: ({ max_tokens: tokens }) => `최대 길이에 이르렀습니다. 토큰 ${tokens}개 뒤에는 </s>만 올 수 있습니다.`,
      nothing: () => "남은 후보가 없습니다. 탐색 규칙이 다음 토큰을 모두 금지했습니다.",
    },
    columns: ["", "출력", "길이", "log p", "길이 벌점", "점수"], empty: "(빈 출력)",
    lengthNote: "길이에는 </s>가 포함됩니다.",
    comparedNote: (beam) => ` 로그 확률이 가장 높은 출력 ${beam}개만 점수로 비교하며, 나머지는 그 뒤에 둡니다.`,
  },
  positions: {
    usedBy: { encoder: "인코더", decoder: "디코더" },
    kinds: { sinusoidal: "사인파 위치 인코딩", learned: "학습된 위치 임베딩", rotary: "회전 위치 임베딩(RoPE)" },
    explanation: {
      sinusoidal: "열마다 위치에 따른 사인파이며, 왼쪽은 주파수가 높고 오른쪽으로 갈수록 낮습니다. 각 행을 토큰 임베딩에 더합니다.",
      blocks: "열마다 위치에 따른 사인파이며, 왼쪽 절반은 사인, 오른쪽 절반은 코사인입니다. 각 절반에서 오른쪽으로 갈수록 주파수가 낮습니다. 각 행을 토큰 임베딩에 더합니다.",
      learned: "위치마다 학습된 벡터가 하나씩 있고, 이를 토큰 임베딩에 더합니다.",
      rotary: "헤드마다 쿼리와 키를 회전하는 각도의 사인과 코사인입니다. 그래서 쿼리와 키의 내적이 둘 사이의 거리에 따라 달라집니다.",
    },
    values: (positions, width) => `행: 위치 0~${positions - 1} · 열: ${width}개 차원`,
    similarity: "두 위치의 코사인 유사도",
    cell: (position, dimension, value) => `위치 ${position}, 차원 ${dimension}: ${value}`,
    pair: (first, second, value) => `위치 ${first}, ${second}: ${value}`,
    keys: "그림을 선택하고 화살표 키를 누르면 값을 읽을 수 있습니다.",
  },
  curves: {
    loss: "손실", score: "검증 점수", lr: "학습률", grad_norm: "그래디언트 노름", step: "스텝",
    names: {
      loss: "학습", dev_loss: "검증", bleu: "BLEU", chrf: "chrF", exact_match: "완전 일치",
      accuracy: "정확도", macro_f1: "매크로 F1", lr: "학습률", grad_norm: "그래디언트 노름",
    },
    axis: "축", linear: "선형", log: "로그", zero: "0부터", range: "범위 맞춤", brokenAxis: "축이 0에서 시작하지 않습니다.",
    hint: "곡선 위에 포인터를 올리거나, 곡선을 선택한 뒤 화살표 키를 누르세요.", atStep: (step) => `스텝 ${step}`,
  },
};
