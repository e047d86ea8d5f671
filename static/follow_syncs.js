// Follows syncs that run: while one does, the table of a list is fetched again every two seconds.
(function () {
  "use strict";
  const EVERY = 2000;

  function isRunning(root) {
    const table = root.querySelector("#result_list");
    return table !== null && /\brunning\b|\bnever synced\b/.test(table.textContent);
  }

  async function follow() {
    const chosen = document.querySelector("#result_list input.action-select:checked");
    if (!document.hidden && !chosen) {
      const answer = await fetch(location.href, { credentials: "same-origin" });
      if (answer.ok) {
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
        const [old, next] = [document.querySelector("#result_list"), fresh.querySelector("#result_list")];
        if (old && next) old.replaceWith(next);
      }
    }
    if (isRunning(document)) setTimeout(follow, EVERY);
  }

  document.addEventListener("DOMContentLoaded", () => {
    // A sync that was just asked for is not there yet: look at least twice.
    if (document.querySelector("#result_list")) setTimeout(follow, EVERY);
    else if (/\/syncrun\/$/.test(location.pathname)) setTimeout(() => location.reload(), EVERY);
  });
})();
