/** Sentences as the page needs them: words with their places in JavaScript's counting, and what is linked to what. */
import { places } from "./characters.js";

const WORD = /\S+/gu;
const found = (text) => Array.from(text.matchAll(WORD), (match) => ({ begin: match.index, end: match.index + match[0].length }));
const placedBy = (table) => ([start, end]) => ({ begin: table[start], end: table[end] });

/** A sentence of the server's answer for `text`, whose places are `table`. */
export const placed = (text, table, told) => {
  const begin = table[told.start], finish = table[told.end];
  return { ...read(told), begin, finish, whole: told.source === text.slice(begin, finish) };
};

/** Words of both sides and the links between them, of what the server has told of one sentence. */
export const read = (told) => {
  const { alignment, words = [] } = told;
  const target = places(told.text), spans = alignment ? alignment.target : words.map(({ start, end }) => [start, end]);
  const targetWords = spans.length ? spans.map(placedBy(target)) : found(told.text);
  for (const word of targetWords) {
    const same = words.find(({ start, end }) => target[start] < word.end && target[end] > word.begin);
    word.probability = same ? same.probability : null;
  }
  return {
    ...told, targetWords,
    sourceWords: alignment ? alignment.source.map(placedBy(places(told.source))) : [],
    links: alignment ? alignment.links : [],
  };
};

/** The same sentence with another translation, of whose words nothing may be known yet. */
export const said = (sentence, { text, alignment, words = [], confidence = null, flags = [] }) => ({
  ...sentence, ...read({ ...sentence, text, alignment, words }), confidence, flags,
});

/** The whole translation: what stood between the sentences of the source stands between them again. */
export const joined = (text, sentences) => {
  let at = 0, whole = "";
  for (const sentence of sentences) {
    whole += text.slice(at, sentence.begin) + sentence.text;
    at = sentence.finish;
  }
  return whole + (sentences.length ? text.slice(at).match(/^\s*/u)[0] : "");
};
