/** Pure parts of the translator page. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

import { formatLink, parseLink } from "../../src/tongsa/server/static/address.js";
import { RequestError } from "../../src/tongsa/server/static/api.js";
import { createCache } from "../../src/tongsa/server/static/cache.js";
import { changedWords } from "../../src/tongsa/server/static/differences.js";
import { decodeText, extensionOf, translatedName } from "../../src/tongsa/server/static/documents.js";
import { formatTerms, parseTerms } from "../../src/tongsa/server/static/glossary.js";
import { describeCode, errorNotice } from "../../src/tongsa/server/static/notice.js";
import { endsWord, retryDelay, sendDelay } from "../../src/tongsa/server/static/pacing.js";
import { curlCommand, pythonCode } from "../../src/tongsa/server/static/request_panel.js";
import { addToHistory } from "../../src/tongsa/server/static/share.js";
import { shortcutKey } from "../../src/tongsa/server/static/shortcuts.js";
import { initialState, isStale, modeOf } from "../../src/tongsa/server/static/state.js";
import { createStore } from "../../src/tongsa/server/static/store.js";
import { splitText } from "../../src/tongsa/server/static/text_parts.js";
import { joinByteTokens } from "../../src/tongsa/server/static/tokens.js";
import { WORDS } from "../../src/tongsa/server/static/words.js";

test("a subscriber sees each change of its keys once, in order, also changes by other subscribers", () => {
  const store = createStore({ a: 0, b: 0 }),
    seen = [];
  store.subscribe(["a"], ({ a }) => {
    if (a) store.set({ b: a * 10 });
  });
  store.subscribe(["a", "b"], ({ a, b }) => seen.push([a, b]));
  store.set({ a: 1 });
  store.set({ a: 1 });
  assert.deepEqual(seen, [
    [0, 0],
    [1, 10],
    [1, 10],
  ]);
});

test("the cache forgets what was not used for the longest time", () => {
  const cache = createCache(2);
  cache.set("a", 1);
  cache.set("b", 2);
  cache.get("a");
  cache.set("c", 3);
  assert.deepEqual(
    ["a", "b", "c"].map((key) => cache.get(key)),
    [1, undefined, 3],
  );
});

test("steady typing sends at word ends at once and in a long word after 600 ms at the latest", () => {
  const times = [];
  let unsentSince = 0,
    due = Infinity;
  for (let now = 0; now <= 5000; now += 120) {
    // a key every 120 ms, a space every seventh
    if (due <= now) {
      times.push(due);
      due = Infinity;
      unsentSince = 0;
    }
    const typed = now % 840 === 0 ? " " : "a";
    unsentSince ||= now;
    due = now + sendDelay({ typed, now, unsentSince, sentAt: times.at(-1) ?? 0, isBusy: false, latency: 50 });
  }
  assert.ok(times.length >= 5, `${times}`);
  assert.equal(sendDelay({ typed: "b", now: 599, unsentSince: 1, sentAt: 0, isBusy: false, latency: 0 }), 2);
  // a slow server is not interrupted before it can answer
  assert.equal(sendDelay({ typed: " ", now: 1000, unsentSince: 1000, sentAt: 900, isBusy: true, latency: 1000 }), 250);
  assert.deepEqual(["a", "가", " ", ".", "。", "ab", null].map(endsWord), [false, false, true, true, true, true, true]);
});

test("retries back off", () =>
  assert.deepEqual(
    [1, 2, 3, 4, 9].map((count) => retryDelay(count)),
    [2, 4, 8, 30, 30],
  ));

test("a notice has the sentence of its code in both languages, and retries only what may succeed", () => {
  const notice = errorNotice(new RequestError("over_limit", { values: [20900, 20000] }), { retry: () => {} });
  assert.equal(notice.retryAt, null);
  assert.match(describeCode(WORDS.en, notice.code, notice.values), /^20,900 characters; at most 20,000/);
  assert.match(describeCode(WORDS.ko, notice.code, notice.values), /^20,900자/);
  assert.match(describeCode(WORDS.ko, "new_code", [418]), /418/);
  assert.ok(errorNotice(new RequestError("busy", { retryAfter: 1 }), { retry: () => {} }).retryAt);
});

test("Option on a Mac and other layouts type letters; shortcuts work everywhere else", () => {
  const event = { code: "KeyL", key: "l", altKey: true, ctrlKey: false, metaKey: false, shiftKey: false };
  const typing = { isMac: false, isTyping: true },
    mac = { isMac: true, isTyping: true };
  assert.equal(shortcutKey(event, typing), "L");
  assert.equal(shortcutKey({ ...event, key: "@" }, mac), "");
  assert.equal(shortcutKey({ ...event, key: "ł" }, typing), "");
  assert.equal(shortcutKey({ ...event, key: "ㅣ" }, typing), "L");
  assert.equal(shortcutKey({ ...event, key: "¬", ctrlKey: true }, mac), "L");
  assert.equal(shortcutKey({ ...event, getModifierState: (name) => name === "AltGraph" }, typing), "");
});

test("new words of a continuation are marked", () => {
  const words = changedWords("plays on a green field", "plays on a green grass field");
  assert.deepEqual(
    words.filter(({ isChanged }) => isChanged).map(({ word }) => word),
    ["grass"],
  );
});

test("parts respect the limit and prefer lines, then sentences, then words", () => {
  const text = `${"I go home. The cat sleeps.\n\n  The dog runs.\n".repeat(20)}${"😀".repeat(90)}`,
    parts = splitText(text, 40);
  assert.equal(parts.join(""), text);
  assert.ok(parts.every((part) => [...part].length <= 40));
  assert.deepEqual(splitText("One two. Three\nfour. Five six", 24), ["One two. Three\n", "four. Five six"]);
  assert.deepEqual(splitText("One two. Three four five", 20), ["One two. ", "Three four five"]);
  assert.deepEqual(splitText("one two three four", 12), ["one two ", "three four"]);
});

test("a translated file keeps its extension", () => {
  assert.equal(translatedName("my.book.srt", "ko", extensionOf("my.book.SRT")), "my.book.ko.srt");
  assert.throws(
    () => decodeText(new Uint8Array([0, 1, 255])),
    (error) => error.code === "not_text",
  );
});

test("a glossary survives export and import", () => {
  const terms = [
    { source: "coffee", target: "커피" },
    { source: "a b", target: "c" },
  ];
  assert.deepEqual(parseTerms(`${formatTerms(terms)}\nno tab\n`), terms);
});

test("a link restores model, text, view and sentence", () => {
  const link = { model: "en-ko & más", text: "a=b&c\n100% #1 😀", look: "attention", sentence: 2 };
  assert.deepEqual(parseLink(formatLink(link)), link);
  assert.equal(formatLink({ model: "en-ko", text: "", look: "curves", sentence: 0 }), "#model=en-ko&look=curves");
  for (const number of ["-3", "x", ""]) assert.equal(parseLink(`#look=tree&sentence=${number}`).sentence, 0);
});

test("the history keeps the last texts, and of a growing text the last version", () => {
  assert.deepEqual(addToHistory(["I go", "other"], "I go home"), ["I go home", "other"]);
  assert.equal(
    addToHistory(
      Array.from({ length: 30 }, (_, i) => `text ${i}`),
      "new",
    ).length,
    20,
  );
});

test("the shown requests hold the text unchanged, whatever it contains", () => {
  const body = { text: 'it\'s "quoted" $HOME `id` \\ \n 가 {{x}}', flag: true, terms: [{ source: "a", target: "b" }] };
  const command = curlCommand("http://h", { path: "/v1/translate", body }).replace(/^curl/u, "printf '%s\\n'");
  const printed = execFileSync("sh", ["-c", command], { encoding: "utf8" });
  assert.deepEqual(JSON.parse(printed.split("-d\n")[1]), body);
  const code = pythonCode("http://h", { path: "/", body }).split("url, headers")[0];
  const read = execFileSync("python3", ["-c", `${code}\nprint(json.dumps(body))`], { encoding: "utf8" });
  assert.deepEqual(JSON.parse(read), body);
});

test("bytes of one character are one token", () => {
  const tokens = ["▁a", "<0xEA>", "<0xB0>", "<0x80>", "▁b"].map((token) => ({ token, log_prob: -1 }));
  assert.deepEqual(
    joinByteTokens(tokens).map(({ text, log_prob: logProb }) => [text, logProb]),
    [
      ["a", -1],
      ["가", -3],
      [" b", -1],
    ],
  );
});

test("documents are for translation models, and a result of an earlier text is stale", () => {
  const models = [{ name: "labels", task: "classification" }];
  const state = {
    ...initialState(),
    models,
    model: "labels",
    mode: "document",
    text: "b",
    answer: { text: "a", response: {} },
  };
  assert.equal(modeOf(state), "text");
  assert.equal(isStale(state), true);
  assert.equal(isStale({ ...state, text: "a" }), false);
});
