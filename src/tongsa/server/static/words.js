/** The words of the interface, in English and Korean. */
import { keep, kept } from "./keeping.js";

const ENGLISH = {
  other: "한국어", otherLabel: "한국어로 보기", skip: "To the text", keys: "Keys", model: "Model", mode: "What to translate",
  text: "Text", document: "Document", retry: "Try again", clear: "Clear", swap: "Swap languages", copy: "Copy", copied: "Copied",
  typeHere: "Type or paste text", shading: "Shade doubtful words", attention: "Attention", tree: "Search tree", positions: "Positions", curves: "Training curves",
  source: "Source", target: "Translation", label: "Label", likelihood: "How likely it is", empty: "The translation appears here as you type.",
  emptyLabel: "The label appears here as you type.", emptyLikelihood: "How likely the model finds the text appears here as you type.",
  likely: (log, perplexity) => `log p ${log} · perplexity ${perplexity} per piece`,
  alternatives: "Other translations", which: (number, count) => `Sentence ${number} of ${count}`,
  goOn: "Other ways to go on from this word", noOther: "The model sees no other way to go on.", endsHere: "(ends here)", searching: "Looking …", original: "As it was first",
  confidence: (share) => `Confidence ${share}`, sure: (word, share) => `${word}: ${share}`,
  flags: {
    loop: "The model repeated itself here.", length: "This is unusually short or long for its source.",
    copy: "Much of this was copied from the source.", coverage: "A part of the source may be missing.",
    cut: "The sentence was too long for the model: only its beginning was translated.", retried: "A first attempt was discarded.",
  },
  documentTitle: "Translate a text file", chooseFile: "Choose a file",
  documentHelp: "Drop a text file here or choose one. It is translated sentence by sentence, and its line breaks stay. It goes to this server only.",
  sentences: (count, share) => `${count.toLocaleString("en")} ${count === 1 ? "sentence" : "sentences"} · ${share}`,
  finished: (count) => `${count.toLocaleString("en")} ${count === 1 ? "sentence" : "sentences"} · done`,
  stopped: (count) => `${count.toLocaleString("en")} ${count === 1 ? "sentence" : "sentences"} · stopped`,
  stop: "Stop", saveText: "Save translation", saveTable: "Save both as a table", emptyFile: "This file has no text in it; choose another one.",
  noText: "This file is not text in UTF-8 or EUC-KR; save it as plain text and choose it again.",
  glossary: "Terminology", addTerm: "Add a term", glossaryHelp: "Where the source has the word on the left, the translation will have the one on the right.",
  termSource: "In the source", termTarget: "In the translation", removeTerm: "Remove this term", met: "used", unmet: "not used",
  terms: (count) => (count ? `${count}` : ""),
  close: "Close", lookAttention: "What the model looked at", lookTree: "How the search found it",
  lookPositions: "How the model knows where a word stands", lookCurves: "How the model learnt", loading: "Loading …",
  shortcuts: "Keyboard",
  shortcutList: {
    translate: "Translate at once", source: "Go to the text", result: "Go to the translation", swap: "Swap languages", copy: "Copy the translation",
    mode: "Text or document", glossary: "Terminology", attention: "Attention", tree: "Search tree", positions: "Positions", curves: "Training curves", arrows: "In the translation: from word to word",
    enter: "On a word: other ways to go on", help: "This list (outside a text)", escape: "Close what is open",
  },
  space: "Space", theme: { system: "Auto", light: "Light", dark: "Dark" }, themeLabel: (theme) => `Theme: ${theme}`, key: "API key", useKey: "Use",
  waiting: "The model is being loaded. You can write already; the translation comes as soon as it is ready.",
  unreachable: "The server does not answer. Is it running?", failed: (status) => `The server refused (status ${status}).`,
  retryIn: (seconds) => `Trying again in ${seconds} s.`, characters: (count, most) => (most ? `${count.toLocaleString("en")} / ${most.toLocaleString("en")}` : count.toLocaleString("en")),
  noSwap: (from, to) => `Swap languages: no model for ${from} → ${to}`,
};

const KOREAN = {
  other: "English", otherLabel: "View in English", skip: "본문으로", keys: "단축키", model: "모델", mode: "번역할 대상",
  text: "텍스트", document: "문서", retry: "다시 시도", clear: "지우기", swap: "언어 바꾸기", copy: "복사", copied: "복사했습니다",
  typeHere: "글을 입력하거나 붙여 넣으세요", shading: "불확실한 단어 표시", attention: "어텐션", tree: "탐색 트리", positions: "위치", curves: "학습 곡선",
  source: "원문", target: "번역", label: "레이블", likelihood: "글의 확률", empty: "입력하면 여기에 번역이 나타납니다.",
  emptyLabel: "입력하면 여기에 레이블이 나타납니다.", emptyLikelihood: "입력하면 모델이 매긴 글의 확률이 여기에 나타납니다.",
  likely: (log, perplexity) => `로그 확률 ${log} · 조각당 퍼플렉서티 ${perplexity}`,
  alternatives: "다른 번역", which: (number, count) => `문장 ${count}개 가운데 ${number}번째`,
  goOn: "이 단어부터 다르게 잇기", noOther: "다르게 이을 방법이 없습니다.", endsHere: "(여기서 끝냄)", searching: "찾는 중…", original: "처음 번역으로",
  confidence: (share) => `신뢰도 ${share}`, sure: (word, share) => `${word}: ${share}`,
  flags: {
    loop: "모델이 같은 말을 되풀이했습니다.", length: "원문에 비해 번역이 지나치게 짧거나 깁니다.",
    copy: "원문을 그대로 옮긴 부분이 많습니다.", coverage: "원문의 일부가 빠졌을 수 있습니다.",
    cut: "모델이 다룰 수 있는 길이를 넘어 문장의 앞부분만 번역했습니다.", retried: "첫 번역을 버리고 다시 번역했습니다.",
  },
  documentTitle: "텍스트 파일 번역", chooseFile: "파일 선택",
  documentHelp: "텍스트 파일을 끌어다 놓거나 선택하세요. 문장 단위로 번역하며 줄바꿈은 그대로 둡니다. 파일은 이 서버로만 보냅니다.",
  sentences: (count, share) => `${count.toLocaleString("ko")}문장 · ${share}`,
  finished: (count) => `${count.toLocaleString("ko")}문장 · 완료`,
  stopped: (count) => `${count.toLocaleString("ko")}문장 · 중지됨`,
  stop: "중지", saveText: "번역 저장", saveTable: "원문과 함께 표로 저장", emptyFile: "내용이 없는 파일입니다. 다른 파일을 선택하세요.",
  noText: "UTF-8이나 EUC-KR로 된 텍스트 파일이 아닙니다. 일반 텍스트로 저장한 뒤 다시 선택하세요.",
  glossary: "용어집", addTerm: "용어 추가", glossaryHelp: "원문에 왼쪽 말이 나오면 번역에는 오른쪽 말을 씁니다.",
  termSource: "원문 용어", termTarget: "번역 용어", removeTerm: "이 용어 삭제", met: "적용됨", unmet: "적용되지 않음",
  terms: (count) => (count ? `${count}개` : ""),
  close: "닫기", lookAttention: "모델이 본 곳", lookTree: "번역을 찾은 과정",
  lookPositions: "모델이 단어의 위치를 아는 방법", lookCurves: "모델이 학습한 과정", loading: "불러오는 중…",
  shortcuts: "키보드 단축키",
  shortcutList: {
    translate: "바로 번역", source: "입력란으로 이동", result: "번역으로 이동", swap: "언어 바꾸기", copy: "번역 복사",
    mode: "텍스트·문서 전환", glossary: "용어집", attention: "어텐션", tree: "탐색 트리", positions: "위치", curves: "학습 곡선", arrows: "번역에서: 단어 사이 이동",
    enter: "단어에서: 다르게 잇기", help: "이 목록 (입력란 밖에서)", escape: "열린 창 닫기",
  },
  space: "스페이스", theme: { system: "자동", light: "밝게", dark: "어둡게" }, themeLabel: (theme) => `화면 테마: ${theme}`, key: "API 키", useKey: "사용",
  waiting: "모델을 불러오는 중입니다. 미리 입력해 두면 준비되는 대로 번역합니다.",
  unreachable: "서버가 응답하지 않습니다. 서버가 켜져 있는지 확인하세요.", failed: (status) => `서버가 요청을 거절했습니다(상태 코드 ${status}).`,
  retryIn: (seconds) => `${seconds}초 뒤에 다시 시도합니다.`, characters: (count, most) => (most ? `${count.toLocaleString("ko")} / ${most.toLocaleString("ko")}` : count.toLocaleString("ko")),
  noSwap: (from, to) => `언어 바꾸기: ${from} → ${to} 모델이 없습니다`,
};

let language = kept("language", (navigator.language || "").startsWith("ko") ? "ko" : "en");
const listeners = [];

export const languageOf = () => language;
export const say = () => (language === "ko" ? KOREAN : ENGLISH);
/** Called now and whenever the reader changes the language. */
export const onLanguage = (listener) => { listeners.push(listener); listener(); };

export const languageName = (code) => {
  if (!code) return "";
  try {
    return new Intl.DisplayNames([language], { type: "language" }).of(code);
  } catch {
    return code;
  }
};

export const percent = (share) => `${Math.round(share * 100)}%`;

const ATTRIBUTES = { label: "aria-label", hint: "placeholder" };
export const speak = () => {
  document.documentElement.lang = language;
  for (const made of document.querySelectorAll("[data-say]")) made.textContent = say()[made.dataset.say];
  for (const [name, attribute] of Object.entries(ATTRIBUTES)) {
    for (const made of document.querySelectorAll(`[data-${name}]`)) made.setAttribute(attribute, say()[made.dataset[name]]);
  }
  for (const listener of listeners) listener();
};

export const changeLanguage = () => {
  language = language === "ko" ? "en" : "ko";
  keep("language", language);
  speak();
};
