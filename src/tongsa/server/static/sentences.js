/** Sentences of the server's response: offsets in UTF-16 units, words of both sides, links between them. */
import { codePointOffsets } from "./characters.js";

const WORD = /\S+/gu;
const splitWords = (text) => Array.from(text.matchAll(WORD), (match) => ({ begin: match.index, end: match.index + match[0].length }));
const spanMapper = (offsets) => ([start, end]) => ({ begin: offsets[start], end: offsets[end] });

/** Return a sentence of the response with its position in `text`; `offsets` are those of its code points. */
export const locateSentence = (text, offsets, response) => {
  const begin = offsets[response.start], end = offsets[response.end];
  return { ...withWords(response), begin, end, isUnchanged: response.source === text.slice(begin, end) };
};

/** Add the words of both sides and the links between them. */
const withWords = (response) => {
  const { alignment, words = [] } = response;
  const offsets = codePointOffsets(response.text), spans = alignment ? alignment.target : words.map(({ start, end }) => [start, end]);
  const targetWords = spans.length ? spans.map(spanMapper(offsets)) : splitWords(response.text);
  for (const word of targetWords) {
    const scored = words.find(({ start, end }) => offsets[start] < word.end && offsets[end] > word.begin);
    word.probability = scored ? scored.probability : null;
  }
  return {
    ...response, targetWords,
    sourceWords: alignment ? alignment.source.map(spanMapper(codePointOffsets(response.source))) : [],
    links: alignment ? alignment.links : [],
  };
};

/** Return the sentence with another translation, whose details may be unknown. */
export const replaceTranslation = (sentence, { text, alignment, words = [], confidence = null, flags = [] }) => ({
  ...sentence, ...withWords({ ...sentence, text, alignment, words }), begin: sentence.begin, end: sentence.end, confidence, flags, low_score: false,
});

/** Return the whole translation, with the white space of the source between its sentences. */
export const joinSentences = (text, sentences) => {
  let offset = 0, joined = "";
  for (const sentence of sentences) {
    joined += text.slice(offset, sentence.begin) + sentence.text;
    offset = sentence.end;
  }
  return joined + (sentences.length ? text.slice(offset).match(/^\s*/u)[0] : "");
};
