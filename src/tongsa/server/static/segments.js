/** Sentences of a text: their positions in UTF-16 units, their words, and which of them an edit of the text changes. */
import { codePointOffsets } from "./characters.js";

/** @typedef {{ begin: number, end: number, probability?: number | null }} Word */
/**
 * @typedef {object} Sentence a translated sentence
 * @property {number} key stays the same while the sentence keeps its place, also when its translation changes
 * @property {number} begin start in the text
 * @property {number} end
 * @property {string} source
 * @property {string} text the translation as the model wrote it
 * @property {string} finalPunctuation the stop that the model did not write; added among several sentences
 * @property {Word[]} targetWords
 * @property {Word[]} sourceWords
 * @property {[number, number][]} links pairs of a source word and a target word
 * @property {boolean} isUnchanged the server read exactly this part of the text
 * @property {boolean} [isPending] the translation belongs to an earlier version of the sentence
 * @property {string} [gap] white space before a pending sentence
 * @property {string} [original] first translation, if the user has chosen another one
 * @property {{ text: string, final_punctuation: string, score: number }[]} [alternatives]
 * @property {number | null} confidence
 * @property {string[]} flags
 * @property {string[]} [unseen_words]
 * @property {any[]} [terms]
 * @property {boolean} [truncated]
 * @property {boolean} [retried]
 * @property {boolean} [low_score]
 * @property {boolean} [longer_than_training]
 */
/**
 * @typedef {object} Choice another translation of a sentence
 * @property {string} text
 * @property {string} [finalPunctuation]
 * @property {any} [alignment]
 * @property {any[]} [words]
 * @property {number | null} [confidence]
 * @property {string[]} [flags]
 */
/**
 * @typedef {object} Update what an edit changes
 * @property {Sentence[]} before kept sentences before the changed part
 * @property {Sentence[]} replaced earlier translations of the changed part, pending
 * @property {Sentence[]} after kept sentences after it, at their new positions
 * @property {number} begin start of the changed part in the new text, without white space
 * @property {number} end
 */

/** Characters after the start of a sentence that the server's splitter looks at. */
const LOOKAHEAD = 8;
/** Characters before a boundary that are searched for the last word. */
const MAX_CONTEXT = 100;
/** Below this share of unchanged characters, the earlier translation has nothing to do with the new text. */
const MIN_COMMON_SHARE = 0.5;
const STOP = /[.!?…‥。！？]["'”’»›“‘)\]}」』〉》〕】]*$/u;
const WORD = /\S+/gu;

/** @param {string} text @returns {Word[]} */
const splitWords = (text) =>
  Array.from(text.matchAll(WORD), ({ 0: word, index }) => ({ begin: index, end: index + word.length }));
/** @param {number[]} offsets @returns {(span: [number, number]) => Word} */
const spanMapper =
  (offsets) =>
  ([start, end]) => ({ begin: offsets[start], end: offsets[end] });

/** Add the words of both sides and the links between them. @param {any} response */
const withWords = (response) => {
  const { alignment, words = [] } = response,
    offsets = codePointOffsets(response.text);
  const spans = alignment ? alignment.target : words.map((/** @type {any} */ { start, end }) => [start, end]);
  /** @type {Word[]} */
  const targetWords = spans.length ? spans.map(spanMapper(offsets)) : splitWords(response.text);
  for (const word of targetWords) {
    const scored = words.find(
      (/** @type {any} */ { start, end }) => offsets[start] < word.end && offsets[end] > word.begin,
    );
    word.probability = scored ? scored.probability : null;
  }
  return {
    ...response,
    targetWords,
    sourceWords: alignment ? alignment.source.map(spanMapper(codePointOffsets(response.source))) : [],
    links: alignment ? alignment.links : [],
  };
};

/**
 * Return a sentence of a response with its position.
 * @param {string} text the text that was sent
 * @param {number[]} offsets of its code points
 * @param {any} response
 * @param {number} [base] position of that text in the whole text
 * @returns {Sentence}
 */
export const locateSentence = (text, offsets, response, base = 0) => {
  const begin = offsets[response.start],
    end = offsets[response.end],
    isUnchanged = response.source === text.slice(begin, end),
    finalPunctuation = response.final_punctuation ?? "";
  const written = { ...response, text: withoutStop(response.text, finalPunctuation), finalPunctuation };
  return { ...withWords(written), key: 0, begin: base + begin, end: base + end, isUnchanged };
};

/**
 * Return what the model wrote: the server adds a missing stop to the sentences of a text, but not to a single one.
 * @param {string} text
 * @param {string} stop
 */
const withoutStop = (text, stop) => (stop && text.endsWith(stop) ? text.slice(0, -stop.length) : text);

/**
 * The stop to show after a sentence.
 * @param {{ finalPunctuation: string }} sentence
 * @param {number} count of all sentences
 */
export const addedStop = (sentence, count) => (count > 1 ? sentence.finalPunctuation : "");

/** @param {{ text: string, finalPunctuation: string }} sentence @param {number} count of all sentences */
export const shownText = (sentence, count) => sentence.text + addedStop(sentence, count);

/**
 * Return the sentence with another translation, whose details may be unknown.
 * @param {Sentence} sentence
 * @param {Choice} translation
 * @returns {Sentence}
 */
export const replaceTranslation = (sentence, { text, finalPunctuation = "", alignment, words = [], ...details }) => {
  const { key, begin, end, isUnchanged, isPending, original } = sentence,
    { confidence = null, flags = [] } = details;
  const replaced = { ...withWords({ ...sentence, text, alignment, words }), finalPunctuation };
  return { ...replaced, key, begin, end, isUnchanged, isPending, original, confidence, flags, low_score: false };
};

/** The white space before a sentence. @param {string} text @param {Sentence[]} sentences @param {number} index */
export const gapBefore = (text, sentences, index) => {
  const { begin, gap } = sentences[index];
  return gap ?? text.slice(index ? sentences[index - 1].end : 0, begin);
};

/**
 * Return the whole translation, with the white space of the source between its sentences.
 * @param {string} text
 * @param {Sentence[]} sentences
 */
export const joinSentences = (text, sentences) => {
  if (!sentences.length) return "";
  const space = text.slice(sentences[sentences.length - 1].end).match(/^\s*/u)?.[0] ?? "";
  const parts = sentences.map(
    (sentence, i) => gapBefore(text, sentences, i) + shownText(sentence, sentences.length),
  );
  return parts.join("") + space;
};

/** @param {string} a @param {string} b */
const commonPrefix = (a, b) => {
  const limit = Math.min(a.length, b.length);
  let length = 0;
  while (length < limit && a[length] === b[length]) length += 1;
  return length;
};
/** @param {string} a @param {string} b @param {number} limit */
const commonSuffix = (a, b, limit) => {
  let length = 0;
  while (length < limit && a[a.length - 1 - length] === b[b.length - 1 - length]) length += 1;
  return length;
};

/**
 * Return the part of a text that decides whether a sentence ends at a position; null if nothing near it does, as at the
 * end of the text or between the parts of a long sentence.
 * @param {string} text
 * @param {number} end
 * @returns {{ begin: number, end: number } | null}
 */
const boundaryContext = (text, end) => {
  const gap = text.slice(end).match(/^\s*/u)?.[0] ?? "",
    newline = gap.search(/[\n\r]/u);
  if (newline >= 0) return { begin: end + newline, end: end + newline + 1 };
  const next = end + gap.length,
    earlier = text.slice(Math.max(0, end - MAX_CONTEXT), end);
  if (next === text.length || !STOP.test(earlier)) return null;
  return { begin: end - earlier.length + earlier.search(/\S+$/u), end: Math.min(next + LOOKAHEAD, text.length) };
};

/** @param {Sentence} sentence @param {number} shift @returns {Sentence} */
const moved = (sentence, shift) =>
  shift ? { ...sentence, begin: sentence.begin + shift, end: sentence.end + shift } : sentence;

/**
 * Indices of the sentences before which a part of the text has no translation; the count of sentences for the end.
 * @param {string} text
 * @param {Sentence[]} sentences
 */
const untranslatedGaps = (text, sentences) => {
  const ends = [0, ...sentences.map((sentence) => sentence.end)],
    begins = [...sentences.map((sentence) => sentence.begin), text.length];
  return ends.flatMap((end, i) => (/\S/u.test(text.slice(end, begins[i])) ? [i] : []));
};

/** Whether all of a text has a translation. @param {string} text @param {Sentence[]} sentences */
export const isTranslated = (text, sentences) => !untranslatedGaps(text, sentences).length;

/**
 * Mark all translations as those of an earlier request.
 * @param {string} text
 * @param {Sentence[]} sentences
 * @returns {Sentence[]}
 */
export const allPending = (text, sentences) =>
  sentences.map((sentence, i) => ({
    ...sentence,
    gap: gapBefore(text, sentences, i),
    begin: 0,
    end: 0,
    isPending: true,
  }));

/**
 * Compare a text with its edited version: sentences whose surroundings did not change are kept.
 * @param {string} text
 * @param {Sentence[]} sentences translations of `text`; pending ones are never kept
 * @param {string} edited
 * @returns {Update}
 */
export const planUpdate = (text, sentences, edited) => {
  const settled = sentences.filter((sentence) => !sentence.isPending);
  const prefix = commonPrefix(text, edited);
  const suffix = commonSuffix(text, edited, Math.min(text.length, edited.length) - prefix);
  const isSame = text === edited,
    shift = edited.length - text.length,
    suffixBegin = isSame ? 0 : text.length - suffix;
  const gaps = untranslatedGaps(text, settled),
    firstGap = gaps[0] ?? settled.length;
  let keptBefore = isSame && !gaps.length ? settled.length : 0,
    keptAfter = settled.length;
  for (let i = 1; i <= firstGap; i += 1) {
    const context = boundaryContext(text, settled[i - 1].end);
    if (context && context.end <= prefix) keptBefore = Math.max(keptBefore, i);
  }
  for (let i = settled.length - 1; i >= Math.max(keptBefore, gaps.at(-1) ?? 0, 1); i -= 1) {
    const context = boundaryContext(text, text.slice(0, settled[i].begin).trimEnd().length);
    if (context && context.begin >= suffixBegin) keptAfter = i;
  }
  const before = settled.slice(0, keptBefore),
    after = settled.slice(keptAfter).map((sentence) => moved(sentence, shift));
  const begin = before.at(-1)?.end ?? 0,
    end = after[0]?.begin ?? edited.length,
    changed = edited.slice(begin, end);
  const trimmedBegin = begin + (changed.length - changed.trimStart().length);
  const update = { before, after, begin: trimmedBegin, end: Math.max(trimmedBegin, begin + changed.trimEnd().length) };
  return { ...update, replaced: replacedSentences({ text, sentences, edited, prefix, suffix }, update) };
};

/**
 * @param {{ text: string, sentences: Sentence[], edited: string, prefix: number, suffix: number }} edit
 * @param {Omit<Update, "replaced">} update
 * @returns {Sentence[]}
 */
const replacedSentences = ({ text, sentences, edited, prefix, suffix }, { before, after, begin, end }) => {
  const kept = new Set([...before, ...after].map((sentence) => sentence.key));
  const oldLength = text.length - begin - (edited.length - end);
  const common = Math.max(0, prefix - begin) + Math.max(0, suffix - (edited.length - end));
  if (begin === end || common < MIN_COMMON_SHARE * Math.min(oldLength, end - begin)) return [];
  return sentences.flatMap((sentence, i) => {
    if (kept.has(sentence.key)) return [];
    return [{ ...sentence, gap: gapBefore(text, sentences, i), begin, end: begin, isPending: true }];
  });
};
