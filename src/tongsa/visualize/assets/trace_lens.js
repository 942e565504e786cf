/** Logit lens: the token that the followed row of a decoder's residual stream would write. */
import { displayToken } from "./canvas_text.js";
import { make } from "./dom.js";
import { formulaElement } from "./trace_math.js";

/** How the lens reads a row x of the residual stream. */
const FORMULA = "argmax softmax(W norm(x))";

/**
 * What the lens shows for the followed token at a tensor; null where there is no lens.
 * @returns {{token: string, share: string} | null}
 */
export const lensAt = (app, id) => {
  const { token } = app.state,
    row = token?.side === "target" ? app.store().data.logit_lens?.[id]?.[token.i] : null;
  return row ? { token: displayToken(row[0]), share: `${Math.round(row[1] * 100)} %` } : null;
};

/** The lens after the last state of a layer, or of the embedding: what a group of stages has made of the token. */
export const lensAfter = (app, { stages }) => {
  const ids = stages.flatMap(({ tensors }) => tensors);
  return ids.map((id) => lensAt(app, id)).findLast(Boolean) ?? null;
};

/** Short text of a lens for the rail. */
export const lensText = (lens) => (lens ? `→ ${lens.token} ${lens.share.replace(" ", "\u00a0")}` : "");

/** Line of a card; hidden where there is no lens. */
export const lensLine = (app, id) => {
  const element = make("p", { class: "small lens", hidden: "" });
  const show = () => {
    const lens = lensAt(app, id),
      labels = app.labels();
    element.hidden = !lens;
    element.replaceChildren(
      ...(lens
        ? [
            make("b", { text: `${labels.lens}: ` }),
            make("span", { class: "token", text: lens.token }),
            ` ${lens.share} · `,
            formulaElement(FORMULA),
            make("span", { class: "quiet", text: ` ${labels.lensHelp}` }),
          ]
        : []),
    );
  };
  return { element, show };
};
