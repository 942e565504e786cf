"use strict";
// before the first paint, so that a dark page never flashes white
(() => {
  try {
    const theme = JSON.parse(localStorage.getItem("tongsa.theme"));
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch { /* a browser that keeps nothing follows the system */ }
})();
