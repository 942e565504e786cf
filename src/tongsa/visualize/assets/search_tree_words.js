/** The words around a search tree, in English and Korean, with the numbers of its search in them. */
import { signed } from "./figures.js";

export const treeWords = (data) => {
  const alpha = Number(data.alpha.toFixed(4));
  const formula = { gnmt: `((5 + length) / 6)^${alpha}`, plain: `length^${alpha}`, none: "1" }[data.normalisation];
  const counted = (count) => count.toLocaleString("en");
  const ENGLISH = {
    other: "한국어", otherLabel: "한국어로 보기", source: "Source", translation: "Translation", note: "Note",
    cut: "The source is longer than the model can read; only its beginning was translated.",
    groups: `The model's own search runs in ${data.groups} groups that keep away from each other; this is one beam without groups.`,
    tree: "The beam, step by step",
    rule: `Beam ${data.beam}: each step keeps the ${data.beam === 1 ? "one prefix" : `${data.beam} prefixes`} of highest log p, and of the best ${data.beam === 1 ? "one" : data.beam} candidates those that take </s> have finished; alpha ${alpha}: finished outputs are compared by their score, log p divided by the penalty ${formula}, ${alpha ? "so that a longer output does not lose only because it has more factors" : "which is 1: short outputs are favoured"}.`,
    covered: ` From the score of a finished output the coverage penalty (strength ${data.coverage}) takes for source pieces that were looked at too little.`,
    marks: { won: "best output", ended: "finished, with its score", kept: "kept", dead: "kept, but all that followed was pruned", pruned: "pruned, and how far below the last one kept" },
    hint: "Each box is a piece with its probability after the prefix before it; the best prefix is on top. Point at one, tap it, or focus the tree and use the arrow keys: ← to where it came from, → to what came of it, ↑ ↓ within a step.",
    stage: "Search tree. Arrow keys move from prefix to prefix.", pruned: "pruned", step: "step",
    chance: "p of this piece", total: "log p of the prefix", merit: "with what rules take",
    score: "score", rank: (rank, count, step) => `${rank} of ${count} kept at step ${step}`,
    finishedHere: "finished", root: "The search begins here, before the first piece.",
    gap: (gap) => (gap >= 0 ? `pruned: ${signed(gap)} below the last one kept` : `not chosen, though ${signed(-gap)} above the last one kept`),
    more: (count) => `+${counted(count)}`, moreTitle: (count) => `${counted(count)} more candidates were pruned`,
    stopTitle: "Why the search stopped", finishedTitle: "Finished outputs, best first",
    reason: {
      certain: (best, bound) => `Its answer is certain. The best finished output scores ${best}. The prefixes that still live can only lose log p; even at the longest output allowed (${data.limit} pieces, penalty ${data.longest.toFixed(2)}) none of them could score above ${bound}.`,
      full: () => (data.beam === 1 ? "The one prefix of the beam has taken </s>." : `${data.beam} outputs or more have finished, as many as the beam is wide, and the best candidate of a step was one of them.`),
      limit: () => `The longest output allowed was reached: after ${data.limit} pieces only </s> is left.`,
      nothing: () => "No candidate was left: the rules of the search forbid every further piece.",
    },
    head: ["", "Output", "Length", "log p", "Penalty", "Score"], empty: "(empty)", lengthNote: "Lengths count </s>.",
  };
  const KOREAN = {
    other: "English", otherLabel: "View in English", source: "원문", translation: "번역", note: "참고",
    cut: "원문이 모델이 읽을 수 있는 길이를 넘어, 앞부분만 번역했습니다.",
    groups: `이 모델의 원래 탐색은 서로 다른 조각을 고르는 ${data.groups}개 그룹으로 나뉘지만, 여기서는 그룹 없이 빔 하나로 탐색했습니다.`,
    tree: "단계별로 본 빔",
    rule: `빔 ${data.beam}: 단계마다 log p가 가장 높은 접두사 ${data.beam}개를 남기며, 상위 후보 ${data.beam}개 가운데 </s>를 고른 것은 출력으로 끝납니다. 알파 ${alpha}: 끝난 출력은 log p를 벌점 ${formula.replace("length", "길이")} 값으로 나눈 점수로 비교합니다. ${alpha ? "그래서 긴 출력이 조각이 많다는 이유만으로 지지 않습니다." : "이 벌점은 1이므로 짧은 출력이 유리합니다."}`,
    covered: ` 끝난 출력의 점수에서는 원문 조각을 덜 본 만큼 커버리지 벌점(세기 ${data.coverage})을 뺍니다.`,
    marks: { won: "가장 좋은 출력", ended: "끝난 출력과 점수", kept: "남은 것", dead: "남았지만 뒤가 모두 잘린 것", pruned: "잘린 것과, 남은 마지막 것보다 모자란 정도" },
    hint: "상자는 조각과, 앞의 접두사가 주어졌을 때의 확률입니다. 위에 있을수록 좋은 접두사입니다. 상자를 가리키거나 누르세요. 트리를 선택하고 화살표 키를 써도 됩니다. ←는 온 곳, →는 이어진 곳, ↑ ↓는 같은 단계입니다.",
    stage: "탐색 트리. 화살표 키로 접두사 사이를 이동합니다.", pruned: "잘린 것", step: "단계",
    chance: "이 조각의 확률", total: "접두사의 log p", merit: "규칙을 적용한 값",
    score: "점수", rank: (rank, count, step) => `${step}단계에 남은 ${count}개 가운데 ${rank}위`,
    finishedHere: "끝남", root: "첫 조각 앞입니다. 탐색은 여기서 시작합니다.",
    gap: (gap) => (gap >= 0 ? `잘림: 남은 마지막 것보다 ${signed(gap)} 낮음` : `남은 마지막 것보다 ${signed(-gap)} 높지만 선택되지 않음`),
    more: (count) => `+${counted(count)}`, moreTitle: (count) => `이 밖에 후보 ${counted(count)}개가 잘렸습니다`,
    stopTitle: "탐색이 멈춘 까닭", finishedTitle: "끝난 출력, 좋은 것부터",
    reason: {
      certain: (best, bound) => `답이 확실해졌습니다. 끝난 출력 가운데 최고 점수는 ${best}입니다. 살아 있는 접두사의 log p는 줄어들기만 하므로, 허용된 가장 긴 출력(조각 ${data.limit}개, 벌점 ${data.longest.toFixed(2)})까지 가더라도 점수는 ${bound} 이하입니다.`,
      full: () => (data.beam === 1 ? "빔의 하나뿐인 접두사가 </s>로 끝났습니다." : `빔의 너비만큼, 곧 출력이 ${data.beam}개 이상 끝났고, 그 가운데 하나는 끝날 때 그 단계에서 가장 좋은 후보였습니다.`),
      limit: () => `허용된 가장 긴 출력에 이르렀습니다. 조각 ${data.limit}개 뒤에는 </s>만 올 수 있습니다.`,
      nothing: () => "남은 후보가 없습니다. 탐색 규칙이 더 이을 조각을 모두 금지했습니다.",
    },
    head: ["", "출력", "길이", "log p", "벌점", "점수"], empty: "(빈 출력)", lengthNote: "길이는 </s>까지 셉니다.",
  };
  return { en: ENGLISH, ko: KOREAN };
};
