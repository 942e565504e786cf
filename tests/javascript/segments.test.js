/** Sentences: an edit asks for the changed sentences only, and the rest keeps its place. */
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  allPending,
  isTranslated,
  joinSentences,
  locateSentence,
  planUpdate,
} from "../../src/tongsa/server/static/segments.js";
import { codePointOffsets } from "../../src/tongsa/server/static/characters.js";

const STOP = /[^.!?\n]*[.!?]+|[^.!?\n]+/gu;

/** Translate as the server would: a line break or a stop ends a sentence; the translation is the source in capitals. */
const translate = (text, base = 0, firstKey = 1) => {
  const offsets = codePointOffsets(text),
    index = (unit) => offsets.indexOf(unit);
  return [...text.matchAll(STOP)].flatMap(({ 0: part, index: start }) => {
    const begin = start + part.length - part.trimStart().length,
      source = part.trim();
    if (!source) return [];
    const response = {
      start: index(begin),
      end: index(begin + source.length),
      source,
      text: source.toUpperCase(),
      flags: [],
    };
    return [{ ...locateSentence(text, offsets, response, base), key: firstKey + begin }];
  });
};
/** Apply an edit as the page does: keep what the plan keeps, translate the changed part. */
const edit = (text, sentences, edited) => {
  const { before, after, begin, end } = planUpdate(text, sentences, edited);
  return {
    sent: edited.slice(begin, end),
    sentences: [...before, ...translate(edited.slice(begin, end), begin, 1000), ...after],
  };
};

const TEXT = "One is here. Two is there! Three was.\nFour is on a line. Five is 😀 last.";

test("a character in the middle sends its sentence only", () => {
  const edited = TEXT.replace("Four is", "Four iss");
  const { sent, sentences } = edit(TEXT, translate(TEXT), edited);
  assert.equal(sent, "Four iss on a line.");
  assert.equal(joinSentences(edited, sentences), edited.toUpperCase());
});

test("appending sends the last sentence only", () => {
  const edited = `${TEXT} Six`;
  assert.equal(edit(TEXT, translate(TEXT), edited).sent, "Five is 😀 last. Six");
  const { sent } = edit(edited, translate(edited), `${edited} is`);
  assert.ok(!sent.includes("Four"), sent);
});

test("a removed stop joins two sentences, so both are sent", () => {
  const edited = TEXT.replace("there!", "there");
  const { sent, sentences } = edit(TEXT, translate(TEXT), edited);
  assert.equal(sent, "Two is there Three was.");
  assert.equal(joinSentences(edited, sentences), edited.toUpperCase());
});

test("any edit at any place gives the translation of the whole text", () => {
  for (const inserted of ["", "x", " New one. ", "\n", ". "]) {
    for (let i = 0; i <= TEXT.length; i += 1) {
      for (const removed of [0, 1, 9]) {
        const edited = TEXT.slice(0, i) + inserted + TEXT.slice(i + removed);
        if (edited.isWellFormed && !edited.isWellFormed()) continue; // half a 😀
        const { sentences } = edit(TEXT, translate(TEXT), edited);
        assert.equal(
          joinSentences(edited, sentences).trim(),
          edited.toUpperCase().trim(),
          `${i} ${removed} ${JSON.stringify(inserted)}`,
        );
        assert.ok(isTranslated(edited, sentences));
        for (const { begin, end, source } of sentences) assert.equal(edited.slice(begin, end), source);
      }
    }
  }
});

test("an interrupted translation continues where it stopped", () => {
  const sentences = translate(TEXT),
    done = sentences.slice(0, 2);
  const { before, begin } = planUpdate(TEXT, done, TEXT);
  assert.deepEqual(before, done);
  assert.equal(TEXT.slice(begin, begin + 5), "Three");
  assert.ok(!isTranslated(TEXT, done));
});

test("earlier translations stay as pending until theirs arrive, but not those of another text", () => {
  const { replaced } = planUpdate("I go home.", translate("I go home."), "I go home now.");
  assert.deepEqual(
    replaced.map(({ text, isPending }) => [text, isPending]),
    [["I GO HOME.", true]],
  );
  assert.deepEqual(planUpdate("I go home.", translate("I go home."), "Where?").replaced, []);
});

test("other settings make all translations pending and send everything", () => {
  const pending = allPending(TEXT, translate(TEXT)),
    { replaced, begin, end } = planUpdate(TEXT, pending, TEXT);
  assert.equal(TEXT.slice(begin, end), TEXT);
  assert.equal(replaced.length, pending.length);
  assert.equal(joinSentences(TEXT, pending).trim(), TEXT.toUpperCase());
});

test("a missing stop is shown among several sentences, and not after a single one", () => {
  const respond = (source, text, stop) => {
    const response = { start: 0, end: source.length, source, text, final_punctuation: stop, flags: [] };
    return locateSentence(source, codePointOffsets(source), response);
  };
  const alone = respond("One.", "하나", "."); // as the server answers a single sentence
  const first = respond("One.", "하나.", "."), // and the first of several
    second = { ...respond("Two", "둘", ""), begin: 5, end: 8 };
  assert.deepEqual([alone.text, first.text], ["하나", "하나"]);
  assert.equal(joinSentences("One.", [first]), "하나");
  assert.equal(joinSentences("One. Two", [alone, second]), "하나. 둘");
  assert.equal(first.text.slice(first.targetWords[0].begin, first.targetWords[0].end), "하나");
});
