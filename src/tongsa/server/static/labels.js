/** Labels of the page in English and Korean. */
import { loadSetting, saveSetting } from "./storage.js";

const number = (count, language) => count.toLocaleString(language);
const englishSentences = (count) => `${number(count, "en")} ${count === 1 ? "sentence" : "sentences"}`;

const ENGLISH = {
  otherLanguage: "한국어", otherLanguageLabel: "한국어로 보기", skip: "Go to the text", keys: "Shortcuts", model: "Model", mode: "What to translate",
  text: "Text", document: "Document", retry: "Try again", clear: "Clear", swap: "Swap languages", copy: "Copy", copied: "Copied",
  typeHere: "Type or paste text", shading: "Mark uncertain words", attention: "Attention", tree: "Search tree", positions: "Positions", curves: "Training curves",
  source: "Source", target: "Translation", label: "Label", probability: "Probability of the text", empty: "The translation appears here as you type.",
  emptyLabel: "The label appears here as you type.", emptyScore: "The probability of the text appears here as you type.",
  score: (logProb, perplexity) => `log-probability ${logProb} · perplexity ${perplexity} per token`,
  alternatives: "Other translations", whichSentence: (sentence, count) => `Sentence ${sentence} of ${count}`,
  continuations: "Other continuations from this word", noAlternatives: "The model has no other continuation.", endsHere: "(ends here)", searching: "Searching …",
  confidence: (share) => `Confidence ${share}`,
  flags: {
    loop: "The model repeats itself here.", length: "The translation is unusually short or long for its source.",
    copy: "Much of the translation is copied from the source.", coverage: "A part of the source may be missing.",
    truncated: "The sentence is too long for the model; only its beginning was translated.", retried: "A first translation failed a check and was replaced.",
    low_score: "The model is unsure of this translation.", longer_than_training: "The sentence is much longer than those the model has learned from.",
  },
  unseenWords: (words) => `The model has not seen these words: ${words.join(", ")}.`,
  documentTitle: "Translate a text file", chooseFile: "Choose a file",
  documentHelp: "Drop a text file here or choose one. It is translated sentence by sentence, and line breaks are kept. The file is sent to this server only.",
  progress: (count, share) => `${englishSentences(count)} · ${share}`,
  finished: (count) => `${englishSentences(count)} · done`,
  stopped: (count) => `${englishSentences(count)} · stopped`,
  stop: "Stop", saveText: "Save translation", saveTable: "Save both as a table", emptyFile: "This file has no text. Choose another one.",
  notText: "This file is not text in UTF-8 or EUC-KR. Save it as plain text and choose it again.",
  glossary: "Glossary", addTerm: "Add a term", glossaryHelp: "Where the source has the term on the left, the translation uses the one on the right.",
  termSource: "Source term", termTarget: "Target term", removeTerm: "Remove this term", termSatisfied: "used", termUnsatisfied: "not used",
  termCount: (count) => (count ? `${count}` : ""),
  close: "Close", attentionTitle: "Attention of the model", treeTitle: "Beam search, step by step",
  positionsTitle: "How the model encodes positions", curvesTitle: "Training of the model", loading: "Loading …",
  shortcuts: "Keyboard shortcuts",
  shortcutList: {
    translate: "Translate now", source: "Go to the text", result: "Go to the translation", swap: "Swap languages", copy: "Copy the translation",
    mode: "Text or document", glossary: "Glossary", attention: "Attention", tree: "Search tree", positions: "Positions", curves: "Training curves", arrows: "In the translation: from word to word",
    enter: "On a word: other continuations", help: "This list (outside a text field)", escape: "Close what is open",
  },
  theme: { system: "Auto", light: "Light", dark: "Dark" }, themeLabel: (theme) => `Theme: ${theme}`, key: "API key", useKey: "Use",
  modelLoading: "The model is being loaded. You can type now; the translation appears when it is ready.",
  unreachable: "The server does not answer. Check that it is running.", serverError: (status) => `The server returned an error (status ${status}).`,
  retryIn: (seconds) => `Trying again in ${seconds} s.`, characters: (count, limit) => (limit ? `${number(count, "en")} / ${number(limit, "en")}` : number(count, "en")),
  noSwap: (source, target) => `Swap languages: no model for ${source} → ${target}`,
};

const KOREAN = {
  otherLanguage: "English", otherLanguageLabel: "View in English", skip: "본문으로 이동", keys: "단축키", model: "모델", mode: "번역 대상",
  text: "텍스트", document: "문서", retry: "다시 시도", clear: "지우기", swap: "언어 바꾸기", copy: "복사", copied: "복사했습니다",
  typeHere: "번역할 내용을 입력하거나 붙여 넣으세요", shading: "불확실한 단어 표시", attention: "어텐션", tree: "탐색 트리", positions: "위치 인코딩", curves: "학습 곡선",
  source: "원문", target: "번역", label: "레이블", probability: "텍스트의 확률", empty: "입력하면 여기에 번역이 표시됩니다.",
  emptyLabel: "입력하면 여기에 레이블이 표시됩니다.", emptyScore: "입력하면 여기에 텍스트의 확률이 표시됩니다.",
  score: (logProb, perplexity) => `로그 확률 ${logProb} · 토큰당 퍼플렉시티 ${perplexity}`,
  alternatives: "다른 번역", whichSentence: (sentence, count) => `${count}개 문장 중 ${sentence}번째`,
  continuations: "이 단어부터 다르게 번역하기", noAlternatives: "다른 번역 후보가 없습니다.", endsHere: "(여기서 끝냄)", searching: "찾는 중…",
  confidence: (share) => `신뢰도 ${share}`,
  flags: {
    loop: "모델이 같은 말을 반복했습니다.", length: "원문에 비해 번역이 지나치게 짧거나 깁니다.",
    copy: "원문을 그대로 옮긴 부분이 많습니다.", coverage: "원문의 일부가 번역에서 빠졌을 수 있습니다.",
    truncated: "문장이 모델의 최대 길이를 넘어 앞부분만 번역했습니다.", retried: "첫 번역이 검사를 통과하지 못해 다시 번역했습니다.",
    low_score: "모델이 확신하지 못하는 번역입니다.", longer_than_training: "모델이 학습한 문장보다 훨씬 긴 문장입니다.",
  },
  unseenWords: (words) => `모델이 학습하지 않은 단어: ${words.join(", ")}.`,
  documentTitle: "텍스트 파일 번역", chooseFile: "파일 선택",
  documentHelp: "텍스트 파일을 여기에 끌어다 놓거나 선택하세요. 문장 단위로 번역하며 줄바꿈은 그대로 유지합니다. 파일은 이 서버로만 전송됩니다.",
  progress: (count, share) => `${number(count, "ko")}문장 · ${share}`,
  finished: (count) => `${number(count, "ko")}문장 · 완료`,
  stopped: (count) => `${number(count, "ko")}문장 · 중지됨`,
  stop: "중지", saveText: "번역 저장", saveTable: "원문과 번역을 표로 저장", emptyFile: "내용이 없는 파일입니다. 다른 파일을 선택하세요.",
  notText: "UTF-8이나 EUC-KR 텍스트 파일이 아닙니다. 일반 텍스트로 저장한 뒤 다시 선택하세요.",
  glossary: "용어집", addTerm: "용어 추가", glossaryHelp: "원문에 왼쪽 용어가 나오면 번역에 오른쪽 용어를 씁니다.",
  termSource: "원문 용어", termTarget: "번역 용어", removeTerm: "이 용어 삭제", termSatisfied: "적용됨", termUnsatisfied: "적용되지 않음",
  termCount: (count) => (count ? `${count}개` : ""),
  close: "닫기", attentionTitle: "모델의 어텐션", treeTitle: "단계별로 본 빔 서치",
  positionsTitle: "모델의 위치 인코딩", curvesTitle: "모델의 학습 과정", loading: "불러오는 중…",
  shortcuts: "키보드 단축키",
  shortcutList: {
    translate: "바로 번역", source: "입력란으로 이동", result: "번역으로 이동", swap: "언어 바꾸기", copy: "번역 복사",
    mode: "텍스트·문서 전환", glossary: "용어집", attention: "어텐션", tree: "탐색 트리", positions: "위치 인코딩", curves: "학습 곡선", arrows: "번역에서: 단어 사이 이동",
    enter: "단어에서: 다르게 번역하기", help: "이 목록 (입력란 밖에서)", escape: "열린 창 닫기",
  },
  theme: { system: "자동", light: "밝게", dark: "어둡게" }, themeLabel: (theme) => `화면 테마: ${theme}`, key: "API 키", useKey: "사용",
  modelLoading: "모델을 불러오는 중입니다. 지금 입력해 두면 준비되는 대로 번역합니다.",
  unreachable: "서버가 응답하지 않습니다. 서버가 실행 중인지 확인하세요.", serverError: (status) => `서버에서 오류가 발생했습니다(상태 코드 ${status}).`,
  retryIn: (seconds) => `${seconds}초 뒤에 다시 시도합니다.`, characters: (count, limit) => (limit ? `${number(count, "ko")} / ${number(limit, "ko")}` : number(count, "ko")),
  noSwap: (source, target) => `언어 바꾸기: ${source} → ${target} 모델이 없습니다`,
};

let language = loadSetting("language", (navigator.language || "").startsWith("ko") ? "ko" : "en");
const listeners = [];

export const currentLanguage = () => language;
export const labels = () => (language === "ko" ? KOREAN : ENGLISH);
/** Call the listener now and after each change of the language. */
export const onLanguageChange = (listener) => { listeners.push(listener); listener(); };

export const languageName = (code) => {
  if (!code) return "";
  try {
    return new Intl.DisplayNames([language], { type: "language" }).of(code);
  } catch {
    return code;
  }
};

/** Return what the reader should know about a translated sentence, without its unseen words. */
export const sentenceNotes = (sentence) => {
  const marks = ["truncated", "retried", "low_score", "longer_than_training"].filter((name) => sentence[name]);
  return [...(sentence.flags || []), ...marks].map((name) => labels().flags[name] || name);
};
/** Return a note on the words of these sentences that the model has not seen, or an empty list. */
export const unseenWordNotes = (sentences) => {
  const words = [...new Set(sentences.flatMap((sentence) => sentence.unseen_words || []))];
  return words.length ? [labels().unseenWords(words)] : [];
};

export const formatPercent = (share) => `${Math.round(share * 100)}%`;

/** Set texts and attributes of all elements that name a label: data-text, data-aria-label, data-placeholder. */
export const applyLanguage = () => {
  document.documentElement.lang = language;
  for (const node of document.querySelectorAll("[data-text]")) node.textContent = labels()[node.dataset.text];
  for (const attribute of ["aria-label", "placeholder"]) {
    for (const node of document.querySelectorAll(`[data-${attribute}]`)) node.setAttribute(attribute, labels()[node.getAttribute(`data-${attribute}`)]);
  }
  for (const listener of listeners) listener();
};

export const switchLanguage = () => {
  language = language === "ko" ? "en" : "ko";
  saveSetting("language", language);
  applyLanguage();
};
