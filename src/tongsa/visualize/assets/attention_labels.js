/** Texts of the attention panel in English and Korean; `thresholds` are the numbers by which heads are named. */
import { percent } from "./format.js";

const english = (thresholds) => ({
  sentence: "Sentence", before: "Previous sentence", after: "Next sentence",
  source: "Source", translation: "Translation", label: "Label", reference: "Reference", score: "Score", roles: "Kind of attention",
  cross: "Cross", encoder: "Encoder", decoder: "Decoder", hops: "Hops",
  unit: "Unit", tokens: "Tokens", words: "Words", view: "View", heatmap: "Heatmap", lines: "Lines",
  scale: "Color scale", fixedScale: "0 to 1", maxScale: "0 to the maximum",
  overview: "All layers and heads", mean: "Mean", meanOf: "mean of the heads", headNumber: (number) => `head ${number}`,
  headTitle: (layer, head) => `Layer ${layer} · ${head}`,
  keysHelp: "Rows are layers, columns are heads. Use the arrow keys to move between heads.",
  smaller: "Zoom out", larger: "Zoom in", save: "Save image", weight: "Weight",
  hint: "Point at the picture, or focus it and use the arrow keys.",
  patternsTitle: "Share of the weight by pattern", uniform: (share) => ` (${share} if uniform)`, untestable: " · too short to tell",
  itself: "itself", previous: "previous", next: "next", earlier: "two before", first: "first", last: "last",
  diagonal: "diagonal", broad: "broad", focused: "focused", mixed: "mixed", too_short: "too short", fixed: "fixed",
  axes: (role, isLines) => {
    const [query, key] = { cross: ["target", "source"], encoder: ["source", "source"], decoder: ["target", "target before it"] }[role] || ["hops", "source"];
    return isLines ? `Left: ${query} (queries) · right: ${key} (keys)` : `Rows: ${query} (queries) · columns: ${key} (keys)`;
  },
  entropy: (bits, share) => `Entropy ${bits} bits, ${share} of the maximum.`,
  summary: (pattern, value) => ({
    broad: "Broad: the weight is spread over nearly all keys.",
    focused: `Focused: the largest weight of a query is ${value} on average.`,
    mixed: `Mixed: the largest weight of a query is ${value} on average.`,
    too_short: `Too short to tell: the sentence has too few rows to distinguish the patterns. The largest weight of a query is ${value} on average.`,
    fixed: "Fixed: there is only one key to attend to.",
  })[pattern],
  patternSummary: (name, value) => `${value} of the weight is on “${name}”.`,
  picture: (name) => `${name}. Use the arrow keys to move between weights.`,
  thumb: (layer, head, pattern, value, bits) => `Layer ${layer}, ${head}: ${pattern} ${value}, entropy ${bits} bits`,
  naming: "How heads are named",
  explanation: [
    `A head is named after a pattern if at least ${percent(thresholds.min_pattern_share)} of the weight falls on it, and at least ${thresholds.min_pattern_lift} times as much as under uniform attention. Only rows that distinguish the pattern from the others count: in the first row, for example, “diagonal” and “first” are the same cell.`,
    `Short sentences fit some pattern by chance. So at least ${thresholds.min_pattern_rows} such rows are needed, and heads with the same weights in random order may get such a name in at most ${percent(thresholds.max_chance)} of all cases. If no pattern can be tested in this way, the head is “too short” to tell.`,
    `Otherwise a head is broad if its entropy is at least ${percent(thresholds.min_broad_entropy)} of the maximum, focused if the largest weight of a query is at least ${percent(thresholds.min_pattern_share)} on average, and mixed if not.`,
    `All numbers are means over the queries of this sentence with more than one key. Diagonal means: at most ${percent(thresholds.diagonal_band)} of the source length away from the straight line between the first and the last token.`,
    "For words, the weights are summed over the tokens of a key and averaged over the tokens of a query; then the numbers are computed again.",
    "Attention weights show which tokens a head reads. They do not by themselves explain why the model chose a word.",
  ],
});

const korean = (thresholds) => ({
  sentence: "문장", before: "이전 문장", after: "다음 문장",
  source: "원문", translation: "번역", label: "레이블", reference: "참조 번역", score: "점수", roles: "어텐션 종류",
  cross: "교차", encoder: "인코더", decoder: "디코더", hops: "홉",
  unit: "단위", tokens: "토큰", words: "단어", view: "보기", heatmap: "히트맵", lines: "연결선",
  scale: "색 범위", fixedScale: "0~1", maxScale: "0~최댓값",
  overview: "모든 층과 헤드", mean: "평균", meanOf: "헤드 평균", headNumber: (number) => `헤드 ${number}`,
  headTitle: (layer, head) => `${layer}층 · ${head}`,
  keysHelp: "행은 층, 열은 헤드입니다. 화살표 키로 헤드 사이를 이동합니다.",
  smaller: "축소", larger: "확대", save: "이미지 저장", weight: "가중치",
  hint: "그림 위에 포인터를 올리거나, 그림을 선택한 뒤 화살표 키를 누르세요.",
  patternsTitle: "패턴별 가중치 비율", uniform: (share) => ` (균등 분포라면 ${share})`, untestable: " · 짧아서 판단 불가",
  itself: "자신", previous: "직전", next: "직후", earlier: "두 칸 앞", first: "처음", last: "끝",
  diagonal: "대각선", broad: "분산", focused: "집중", mixed: "혼합", too_short: "판단 불가", fixed: "고정",
  axes: (role, isLines) => {
    const [query, key] = { cross: ["번역문", "원문"], encoder: ["원문", "원문"], decoder: ["번역문", "앞선 번역문"] }[role] || ["홉", "원문"];
    return isLines ? `왼쪽: ${query}(쿼리) · 오른쪽: ${key}(키)` : `행: ${query}(쿼리) · 열: ${key}(키)`;
  },
  entropy: (bits, share) => `엔트로피 ${bits}비트, 최댓값의 ${share}.`,
  summary: (pattern, value) => ({
    broad: "분산: 가중치가 거의 모든 키에 고루 퍼져 있습니다.",
    focused: `집중: 쿼리별 최대 가중치의 평균이 ${value}입니다.`,
    mixed: `혼합: 쿼리별 최대 가중치의 평균이 ${value}입니다.`,
    too_short: `판단 불가: 문장이 짧아 패턴을 서로 구별할 행이 모자랍니다. 쿼리별 최대 가중치의 평균은 ${value}입니다.`,
    fixed: "고정: 볼 수 있는 키가 하나뿐입니다.",
  })[pattern],
  patternSummary: (name, value) => `가중치의 ${value}가 ‘${name}’ 패턴에 놓입니다.`,
  picture: (name) => `${name}. 화살표 키로 가중치를 살펴봅니다.`,
  thumb: (layer, head, pattern, value, bits) => `${layer}층 ${head}: ${pattern} ${value}, 엔트로피 ${bits}비트`,
  naming: "헤드 이름을 정하는 방법",
  explanation: [
    `어떤 패턴에 놓인 가중치가 전체의 ${percent(thresholds.min_pattern_share)} 이상이고 균등 분포일 때의 ${thresholds.min_pattern_lift}배 이상이면, 그 패턴이 헤드의 이름이 됩니다. 다른 패턴과 구별되는 행만 셉니다. 예를 들어 첫 행에서는 ‘대각선’과 ‘처음’이 같은 칸입니다.`,
    `짧은 문장은 우연히도 패턴과 잘 맞습니다. 그래서 그런 행이 ${thresholds.min_pattern_rows}개 이상 있어야 하고, 가중치의 순서를 무작위로 섞은 헤드에 이런 이름이 붙을 확률이 ${percent(thresholds.max_chance)} 이하여야 합니다. 이렇게 검정할 수 있는 패턴이 하나도 없으면 ‘판단 불가’입니다.`,
    `그 밖에는 엔트로피가 최댓값의 ${percent(thresholds.min_broad_entropy)} 이상이면 ‘분산’, 쿼리별 최대 가중치의 평균이 ${percent(thresholds.min_pattern_share)} 이상이면 ‘집중’, 아니면 ‘혼합’입니다.`,
    `모든 수치는 이 문장에서 키가 둘 이상인 쿼리에 대한 평균입니다. ‘대각선’은 첫 토큰과 마지막 토큰을 잇는 직선에서 원문 길이의 ${percent(thresholds.diagonal_band)} 이내를 뜻합니다.`,
    "단어 단위에서는 키 쪽 토큰의 가중치를 더하고 쿼리 쪽 토큰의 가중치를 평균한 뒤, 수치를 다시 계산합니다.",
    "어텐션 가중치는 헤드가 어느 토큰을 보는지 나타낼 뿐, 모델이 그 단어를 고른 이유를 설명하지는 않습니다.",
  ],
});

export const attentionLabels = (thresholds) => ({ en: english(thresholds), ko: korean(thresholds) });
