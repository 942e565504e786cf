/** Texts of the search tree panel in English and Korean, with the numbers of the search. */
import { signed } from "./format.js";

const formatCount = (count) => count.toLocaleString("en");

const english = (data, alpha, penalty) => ({
  source: "Source", translation: "Translation", note: "Note",
  truncated: "The source is longer than the model accepts; only its beginning was translated.",
  beamGroups: `The model's own settings use ${data.beam_groups} diverse beam groups; this tree shows one beam without groups.`,
  tree: "The beam, step by step",
  rule: `Beam ${data.beam}: each step keeps the ${data.beam === 1 ? "prefix" : `${data.beam} prefixes`} with the highest log-probability. ${data.beam === 1 ? "If the best candidate ends with </s>, the output is finished." : `Candidates among the best ${data.beam} that end with </s> are finished.`} Alpha ${alpha}: the score of a finished output is its log-probability divided by the length penalty ${penalty}. ${alpha ? "So a longer output is not at a disadvantage only because it multiplies more probabilities." : "This is 1, which favors short outputs."}`,
  coverage: ` The coverage penalty (weight ${data.coverage_penalty}) lowers the score of an output that pays little attention to some source tokens.`,
  marks: { best: "best output", finished: "finished, with its score", kept: "kept", dead: "kept, but all continuations were pruned", pruned: "pruned, with the distance to the last kept" },
  hint: "Each box is a token with its probability given the prefix before it; the best prefix is on top. Point at a box, tap it, or focus the tree and use the arrow keys: ← parent, → best continuation, ↑ ↓ within a step.",
  stage: "Search tree. Use the arrow keys to move between prefixes.", pruned: "pruned",
  tokenProbability: "token probability", logProb: "log-probability of the prefix", rankingScore: "after the search rules",
  score: "score", rank: (rank, count, step) => `${rank} of ${count} kept at step ${step}`,
  root: "Start of the search, before the first token.",
  gap: (gap) => (gap >= 0 ? `pruned: ${signed(gap)} below the last kept` : `not kept, although ${signed(-gap)} above the last kept`),
  more: (count) => `+${formatCount(count)}`, moreTitle: (count) => `${formatCount(count)} more candidates were pruned`,
  stopTitle: "Why the search stopped", finishedTitle: "Finished outputs, best first",
  stopReason: {
    certain: (best, bound) => `The result is certain. The best finished output scores ${best}. The log-probability of the remaining prefixes can only decrease: even at the maximum length (${data.max_tokens} tokens, length penalty ${data.max_length_penalty.toFixed(2)}) none of them could score above ${bound}.`,
    full: () => (data.beam === 1 ? "The only prefix of the beam ended with </s>." : `At least ${data.beam} outputs are finished, as many as the beam is wide, and the best candidate of a step was one of them.`),
    limit: () => `The maximum length was reached: after ${data.max_tokens} tokens only </s> is allowed.`,
    nothing: () => "No candidate was left: the search rules forbid all further tokens.",
  },
  columns: ["", "Output", "Length", "Log-probability", "Length penalty", "Score"], empty: "(empty)", lengthNote: "The length includes </s>.",
  comparedNote: ` Only the ${data.beam} outputs with the highest log-probability are compared by score; the others follow.`,
});

const korean = (data, alpha, penalty) => ({
  source: "원문", translation: "번역", note: "참고",
  truncated: "원문이 모델의 최대 길이를 넘어, 앞부분만 번역했습니다.",
  beamGroups: `이 모델의 설정은 다양성 빔 그룹 ${data.beam_groups}개를 쓰지만, 이 트리는 그룹 없이 빔 하나로 탐색한 결과입니다.`,
  tree: "단계별로 본 빔",
  rule: `빔 ${data.beam}: 단계마다 로그 확률이 가장 높은 접두부 ${data.beam}개를 남기며, 상위 후보 ${data.beam}개 가운데 </s>로 끝난 것은 완성된 출력입니다. 알파 ${alpha}: 완성된 출력의 점수는 로그 확률을 길이 벌점 ${penalty.replace("length", "길이")}(으)로 나눈 값입니다. ${alpha ? "그래서 긴 출력이 곱하는 확률이 많다는 이유만으로 불리해지지 않습니다." : "이 값은 1이므로 짧은 출력이 유리합니다."}`,
  coverage: ` 커버리지 벌점(가중치 ${data.coverage_penalty})은 어텐션을 적게 받은 원문 토큰이 있는 출력의 점수를 낮춥니다.`,
  marks: { best: "가장 좋은 출력", finished: "완성된 출력과 점수", kept: "유지", dead: "유지되었지만 뒤가 모두 제거됨", pruned: "제거됨, 마지막으로 유지된 후보와의 차이" },
  hint: "상자는 토큰과, 앞의 접두부가 주어졌을 때의 확률입니다. 위에 있을수록 좋은 접두부입니다. 상자를 가리키거나 누르세요. 트리를 선택하고 화살표 키를 써도 됩니다. ←는 부모, →는 가장 좋은 다음 토큰, ↑ ↓는 같은 단계입니다.",
  stage: "탐색 트리. 화살표 키로 접두부 사이를 이동합니다.", pruned: "제거됨",
  tokenProbability: "토큰 확률", logProb: "접두부의 로그 확률", rankingScore: "탐색 규칙을 적용한 값",
  score: "점수", rank: (rank, count, step) => `${step}단계에 유지된 ${count}개 가운데 ${rank}위`,
  root: "첫 토큰 앞입니다. 탐색은 여기서 시작합니다.",
  gap: (gap) => (gap >= 0 ? `제거됨: 마지막으로 유지된 후보보다 ${signed(gap)} 낮음` : `마지막으로 유지된 후보보다 ${signed(-gap)} 높지만 유지되지 않음`),
  more: (count) => `+${formatCount(count)}`, moreTitle: (count) => `이 밖에 후보 ${formatCount(count)}개가 제거되었습니다`,
  stopTitle: "탐색이 멈춘 이유", finishedTitle: "완성된 출력, 좋은 것부터",
  stopReason: {
    certain: (best, bound) => `결과가 확정되었습니다. 완성된 출력의 최고 점수는 ${best}입니다. 남은 접두부의 로그 확률은 줄어들기만 하므로, 최대 길이(토큰 ${data.max_tokens}개, 길이 벌점 ${data.max_length_penalty.toFixed(2)})까지 가더라도 점수는 ${bound} 이하입니다.`,
    full: () => (data.beam === 1 ? "빔의 하나뿐인 접두부가 </s>로 끝났습니다." : `완성된 출력이 빔 크기인 ${data.beam}개 이상이고, 그 가운데 하나는 그 단계의 가장 좋은 후보였습니다.`),
    limit: () => `최대 길이에 이르렀습니다. 토큰 ${data.max_tokens}개 뒤에는 </s>만 올 수 있습니다.`,
    nothing: () => "남은 후보가 없습니다. 탐색 규칙이 다음 토큰을 모두 금지했습니다.",
  },
  columns: ["", "출력", "길이", "로그 확률", "길이 벌점", "점수"], empty: "(빈 출력)", lengthNote: "길이에는 </s>가 포함됩니다.",
  comparedNote: ` 로그 확률이 가장 높은 출력 ${data.beam}개만 점수로 비교하며, 나머지는 그 뒤에 둡니다.`,
});

export const searchTreeLabels = (data) => {
  const alpha = Number(data.alpha.toFixed(4));
  const penalty = { gnmt: `((5 + length) / 6)^${alpha}`, plain: `length^${alpha}`, none: "1" }[data.length_normalization];
  return { en: english(data, alpha, penalty), ko: korean(data, alpha, penalty) };
};
