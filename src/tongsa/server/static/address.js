/** The part of the address after #: model and text of a link, and the view that is open. */

/** @typedef {{ model: string, text: string, look: string, sentence: number }} Link the sentence counts from 1 */

/** Return the part after #; empty fields are left out. @param {Partial<Link>} link */
export const formatLink = ({ model, text, look, sentence }) => {
  const fields = Object.entries({ model, text, look, sentence }).filter(([, value]) => value);
  return `#${new URLSearchParams(fields.map(([name, value]) => [name, String(value)]))}`;
};

/** @param {string} hash @returns {Link} */
export const parseLink = (hash) => {
  const fields = new URLSearchParams(hash.replace(/^#/u, ""));
  const [model, text, look] = ["model", "text", "look"].map((name) => fields.get(name) ?? "");
  return { model, text, look, sentence: Math.max(0, parseInt(fields.get("sentence") ?? "", 10) || 0) };
};
