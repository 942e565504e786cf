/** The result of all checks: every tensor that the page can compute, compared with PyTorch's numbers. */
import { make } from "./dom.js";

/** @param {any} app @param {AbortSignal} signal */
export const traceChecks = (app, signal) => {
  /** @type {string[]} */
  let failed = [];
  const button = make("button", { type: "button", class: "plain checks", "aria-live": "polite" });
  button.addEventListener(
    "click",
    () => {
      if (failed.length) app.goTo(failed[0], null);
    },
    { signal },
  );

  /** Compute all tensors in the background. */
  const run = async () => {
    const store = app.store(),
      wrong = [];
    let count = 0;
    button.className = "plain checks";
    button.textContent = app.labels().checkPending;
    for (const id of new Set(store.ids)) {
      const { check } = await store.load(id);
      await new Promise((resolve) => {
        setTimeout(resolve);
      }); // the page stays responsive
      if (signal.aborted || store !== app.store()) return;
      if (check) count += 1;
      if (check?.ok === false) wrong.push(id);
    }
    failed = wrong;
    const labels = app.labels();
    button.textContent = failed.length ? labels.checksFailed(failed.length, count) : labels.checksOk(count);
    button.classList.add(failed.length ? "failed" : "ok");
  };
  return { button, run };
};
