"use strict";
// before the first paint, so that a dark page never flashes white
(() => {
  try {
    const theme = JSON.parse(localStorage.getItem("tongsa.theme") ?? "null");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    /* without storage the page follows the system */
  }
})();
