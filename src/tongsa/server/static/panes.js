/** Scrolling of the two panes. */

/**
 * Scroll a pane, and nothing else, until an element of it is visible.
 * @param {HTMLElement} pane
 * @param {HTMLElement | null} element
 */
export const revealInPane = (pane, element) => {
  if (!element || pane.scrollHeight <= pane.clientHeight) return;
  const outer = pane.getBoundingClientRect(),
    inner = element.getBoundingClientRect();
  if (inner.top < outer.top) pane.scrollTop += inner.top - outer.top - 8;
  else if (inner.bottom > outer.bottom)
    pane.scrollTop += Math.min(inner.bottom - outer.bottom + 8, inner.top - outer.top);
};

/** Keep two panes at the same share of their heights. @param {HTMLElement} first @param {HTMLElement} second */
export const syncScroll = (first, second) => {
  /** The pane that the page itself has just scrolled. @type {HTMLElement | null} */
  let followed = null;
  for (const [pane, other] of [
    [first, second],
    [second, first],
  ]) {
    pane.addEventListener(
      "scroll",
      () => {
        if (followed === pane) {
          followed = null;
          return;
        }
        const range = pane.scrollHeight - pane.clientHeight,
          target = (pane.scrollTop / range) * (other.scrollHeight - other.clientHeight);
        if (range <= 0 || Math.abs(target - other.scrollTop) < 1) return;
        followed = other;
        other.scrollTop = target;
      },
      { passive: true },
    );
  }
};
