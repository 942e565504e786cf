/** The words around attention, in English and Korean; `rules` are the numbers by which heads are named. */
import { percent } from "./elements.js";

export const wordsOf = (rules) => {
  const ENGLISH = {
    other: "한국어", otherLabel: "한국어로 보기", sentence: "Sentence", before: "Previous sentence", after: "Next sentence",
    source: "Source", translation: "Translation", label: "Label", reference: "Reference", score: "Score", roles: "Kind of attention",
    cross: "Cross", encoder: "Encoder", decoder: "Decoder", hops: "Hops",
    unit: "Unit", pieces: "Pieces", words: "Words", view: "View", heat: "Heat map", lines: "Lines",
    scale: "Colour scale", one: "0 to 1", largest: "To the largest",
    overview: "All layers and heads", layer: "Layer", head: "Head", mean: "Mean", meanOf: "mean of the heads",
    keysHelp: "Rows are layers, columns heads. Arrow keys move from head to head.",
    smaller: "Smaller", larger: "Larger", save: "Save image", weight: "Weight",
    hint: "Point at the picture, or focus it and use the arrow keys.",
    placesTitle: "Where the weight falls", equal: "if equal",
    itself: "itself", previous: "previous", next: "next", earlier: "two before", first: "first", last: "last",
    diagonal: "diagonal", broad: "broad", focused: "focused", mixed: "mixed", fixed: "fixed",
    axes: (role, lines) => {
      const [query, key] = {
        cross: ["target being written", "source being read"], encoder: ["source that reads", "source being read"],
        decoder: ["target being written", "target before it"],
      }[role] || ["queries", "source being read"];
      return lines ? `Left: ${query} · right: ${key}` : `Rows: ${query} · columns: ${key}`;
    },
    entropy: (bits, spread) => `Entropy ${bits} bits, ${spread} of the greatest possible.`,
    told: (kind, number, place) => place ? `${number} of the weight falls on “${place}”.` : {
      broad: "Broad: it reads nearly everything.", focused: `Focused: the largest weight of a query is ${number} on average.`,
      mixed: `Mixed: the largest weight of a query is ${number} on average.`, fixed: "Fixed: there is only one key to read.",
    }[kind],
    picture: (name) => `${name}. Arrow keys move over the weights.`,
    thumb: (layer, head, kind, number, bits) => `Layer ${layer}, ${head}: ${kind} ${number}, entropy ${bits} bits`,
    naming: "How heads are named",
    explained: [
      `A head is named by the place where most of its weight falls, if that is at least ${percent(rules.half)} of it and at least ${rules.lift} times what equal weights would give. Otherwise it is broad if its entropy reaches ${percent(rules.broad)} of the greatest possible, focused if the largest weight of a query is at least ${percent(rules.half)} on average, and else mixed.`,
      `All numbers are means over those queries of this one sentence that had more than one key to read, computed before rounding. Diagonal: at most ${percent(rules.band)} of the source's length away from the straight line between first and last.`,
      "For words, the pieces of a key are summed and those of a query averaged; the numbers are then computed anew.",
      "Weights show where a head looks. They do not by themselves explain why the model wrote a word.",
    ],
  };
  const KOREAN = {
    other: "English", otherLabel: "View in English", sentence: "문장", before: "이전 문장", after: "다음 문장",
    source: "원문", translation: "번역", label: "레이블", reference: "참조 번역", score: "점수", roles: "어텐션 종류",
    cross: "교차", encoder: "인코더", decoder: "디코더", hops: "홉",
    unit: "단위", pieces: "조각", words: "단어", view: "보기", heat: "히트맵", lines: "연결선",
    scale: "색 범위", one: "0에서 1까지", largest: "최댓값까지",
    overview: "모든 층과 헤드", layer: "층", head: "헤드", mean: "평균", meanOf: "헤드 평균",
    keysHelp: "행은 층, 열은 헤드입니다. 화살표 키로 헤드 사이를 이동합니다.",
    smaller: "작게", larger: "크게", save: "이미지 저장", weight: "가중치",
    hint: "그림 위에 포인터를 올리거나, 그림을 선택한 뒤 화살표 키를 누르세요.",
    placesTitle: "가중치가 놓인 자리", equal: "고르게 나눌 때",
    itself: "자신", previous: "직전", next: "직후", earlier: "두 칸 앞", first: "처음", last: "끝",
    diagonal: "대각선", broad: "분산", focused: "집중", mixed: "혼합", fixed: "고정",
    axes: (role, lines) => {
      const [query, key] = {
        cross: ["생성하는 번역문", "읽히는 원문"], encoder: ["읽는 원문", "읽히는 원문"], decoder: ["생성하는 번역문", "그 앞의 번역문"],
      }[role] || ["쿼리", "읽히는 원문"];
      return lines ? `왼쪽: ${query} · 오른쪽: ${key}` : `행: ${query} · 열: ${key}`;
    },
    entropy: (bits, spread) => `엔트로피 ${bits}비트, 최댓값의 ${spread}.`,
    told: (kind, number, place) => place ? `가중치의 ${number}가 ‘${place}’ 자리에 놓입니다.` : {
      broad: "분산: 거의 모든 곳을 고루 읽습니다.", focused: `집중: 쿼리별 최대 가중치의 평균이 ${number}입니다.`,
      mixed: `혼합: 쿼리별 최대 가중치의 평균이 ${number}입니다.`, fixed: "고정: 읽을 수 있는 키가 하나뿐입니다.",
    }[kind],
    picture: (name) => `${name}. 화살표 키로 가중치를 살펴봅니다.`,
    thumb: (layer, head, kind, number, bits) => `${layer}층 ${head}: ${kind} ${number}, 엔트로피 ${bits}비트`,
    naming: "헤드 이름을 정하는 방법",
    explained: [
      `가중치가 가장 많이 놓인 자리가 전체의 ${percent(rules.half)} 이상이고 고르게 나눴을 때의 ${rules.lift}배 이상이면, 그 자리가 헤드의 이름이 됩니다. 그렇지 않으면 엔트로피가 최댓값의 ${percent(rules.broad)} 이상일 때 ‘분산’, 쿼리별 최대 가중치의 평균이 ${percent(rules.half)} 이상일 때 ‘집중’, 나머지는 ‘혼합’입니다.`,
      `모든 수치는 이 문장에서 읽을 수 있는 키가 둘 이상인 쿼리에 대한 평균이며, 반올림하기 전의 값으로 계산합니다. ‘대각선’은 처음과 끝을 잇는 직선에서 원문 길이의 ${percent(rules.band)} 이내를 뜻합니다.`,
      "단어 단위에서는 키 쪽 조각의 가중치를 더하고 쿼리 쪽 조각의 가중치를 평균한 뒤, 수치를 다시 계산합니다.",
      "가중치는 헤드가 어디를 보는지를 나타냅니다. 모델이 왜 그 단어를 썼는지를 그것만으로 설명하지는 않습니다.",
    ],
  };
  return { en: ENGLISH, ko: KOREAN };
};
