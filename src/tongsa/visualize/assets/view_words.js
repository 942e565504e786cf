/** Texts of the view pages by language, and what all their panels take. */
import { english } from "./view_words_en.js";
import { korean } from "./view_words_ko.js";

/** @typedef {"en" | "ko"} Language */
/**
 * Options of a panel's `draw(root, data, options)`.
 * @typedef {object} PanelOptions
 * @property {Language} [language]
 * @property {Record<string, string>} [saved] an earlier selection
 * @property {(selection: Record<string, string | number>) => void} [onChange] receives each new selection
 * @property {number} [sentence] index of the sentence
 * @property {boolean} [hasHeader] the page shows the texts of the sentence itself
 * @property {AbortSignal} [signal] removes all listeners
 */
/** @typedef {{setLanguage: (language: Language) => void, setSentence: (index: number) => void}} Panel */

/** Texts by language. */
export const WORDS = { en: english, ko: korean };
