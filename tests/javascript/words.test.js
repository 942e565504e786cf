/** Dictionaries of all pages: both languages have the same keys with values of the same type, and every key is used. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

const SOURCE = new URL("../../src/tongsa/", import.meta.url);
const FOLDERS = ["visualize/assets/", "server/static/"].map((folder) => new URL(folder, SOURCE));
const DICTIONARY = /words_en\.js$/;

const filesOf = (folder, pattern) =>
  readdirSync(folder)
    .filter((name) => pattern.test(name))
    .map((name) => new URL(name, folder));
const dictionaries = FOLDERS.flatMap((folder) => filesOf(folder, DICTIONARY));

const load = async (file) => {
  const exported = Object.values(await import(file.href));
  assert.equal(exported.length, 1, `${file}: a dictionary exports one object`);
  return exported[0];
};
const isTable = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
/** Return [path, type] of all entries, nested ones too. */
const entries = (table, path = "") =>
  Object.entries(table).flatMap(([key, value]) =>
    isTable(value)
      ? entries(value, `${path}${key}.`)
      : [[`${path}${key}`, Array.isArray(value) ? "array" : typeof value]],
  );

/** Text of everything that may name a key: the pages' modules and markup, and the Python that sends names as data. */
const users = () =>
  [
    ...FOLDERS.flatMap((folder) => filesOf(folder, /\.(js|html)$/)).filter(
      ({ href }) => !/words_(en|ko)\.js$/.test(href),
    ),
    ...["visualize/", "runs/", "evaluation/", "data/cleaning/"].flatMap((folder) => filesOf(new URL(folder, SOURCE), /\.py$/)),
    ...filesOf(new URL("server/api/", SOURCE), /\.py$/),
    ...filesOf(new URL("server/", SOURCE), /\.py$/),
  ]
    .map((file) => readFileSync(file, "utf8"))
    .join("\n");

for (const english of dictionaries) {
  const name = english.pathname.split("/").pop();
  test(`${name}: both languages have the same keys`, async () => {
    const korean = new URL(english.href.replace(/_en\.js$/, "_ko.js"));
    assert.deepEqual(entries(await load(korean)).sort(), entries(await load(english)).sort());
  });
  test(`${name}: every key is used`, async () => {
    const text = users();
    const keys = new Set(entries(await load(english)).flatMap(([path]) => path.split(".")));
    const unused = [...keys].filter((key) => !new RegExp(`(?<![\\w-])${key}(?![\\w-])`).test(text));
    assert.deepEqual(unused, []);
  });
}
