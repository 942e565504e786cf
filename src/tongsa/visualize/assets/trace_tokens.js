/** Source and output tokens in the header: a click follows a token. */
import { displayToken } from "./canvas_text.js";
import { make } from "./dom.js";

/** @param {any} app */
export const traceTokens = (app) => {
  const source = make("div", { class: "tokens", role: "group" }),
    target = make("div", { class: "tokens", role: "group" }),
    arrow = make("span", { class: "quiet", "aria-hidden": true, text: "⟶" });
  const element = make("div", { class: "sentence" }, source, make("div", { class: "outputs" }, arrow, target));

  const isFollowed = (side, i) => app.state.token?.side === side && app.state.token.i === i;
  const follow = (side, i) => (isFollowed(side, i) ? null : { side, i });
  const token = (side, text, i, label, style, click) =>
    make("button", {
      type: "button",
      class: `token ${style}`,
      "data-token": `${side}${i + 1}`,
      "aria-label": label,
      "aria-pressed": isFollowed(side, i),
      text: displayToken(text),
      click,
    });
  const sourceToken = (text, i) => {
    const click = () => app.change({ token: follow("source", i) });
    return token("source", text, i, app.labels().follow(displayToken(text)), "", click);
  };
  const targetToken = (text, i) => {
    const style = i + 1 === app.state.step ? "now" : i + 1 > app.state.step ? "later" : "";
    const click = () => app.change({ step: i + 1, token: follow("target", i) });
    return token("target", text, i, app.labels().writes(i + 1, displayToken(text)), style, click);
  };
  /** Scroll the output tokens, not the page, to the token of the step. */
  const showNow = () => {
    const now = target.querySelector(".now");
    if (!now) return;
    const [box, frame] = [now, target].map((part) => part.getBoundingClientRect());
    target.scrollLeft += box.left - frame.left - (frame.width - box.width) / 2;
    target.scrollTop += box.top - frame.top - (frame.height - box.height) / 2;
  };
  const show = () => {
    const { data } = app.store(),
      labels = app.labels();
    const focused = /** @type {ShadowRoot} */ (element.getRootNode()).activeElement?.getAttribute("data-token");
    source.setAttribute("aria-label", labels.source);
    target.setAttribute("aria-label", labels.target);
    source.replaceChildren(...data.source.tokens.map(sourceToken));
    target.replaceChildren(...data.target.outputs.map(targetToken));
    showNow();
    const again = focused && element.querySelector(`[data-token="${focused}"]`); // the button was created again
    if (again instanceof HTMLElement) again.focus();
  };
  return { element, show };
};

/** Which token is followed, and a button that shows all rows again. */
export const followedToken = (app) => {
  const element = make("div", { class: "control following", hidden: "" });
  const show = () => {
    const { token } = app.state,
      { data } = app.store(),
      labels = app.labels();
    element.hidden = !token;
    if (!token) {
      element.replaceChildren();
      return;
    }
    const { tokens } = data.source,
      { inputs, outputs } = data.target,
      nameAt = (names) => displayToken(names[token.i] ?? "");
    const text =
      token.side === "source"
        ? labels.following(nameAt(tokens))
        : labels.followingStep(nameAt(inputs), nameAt(outputs));
    const all = () => app.change({ token: null });
    element.replaceChildren(
      make("span", { class: "small", text }),
      make("button", { type: "button", class: "plain", text: labels.all, click: all }),
    );
  };
  return { element, show };
};
