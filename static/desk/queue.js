"use strict";
// Keys for the suggestions queue. Every key does what a visible button does; the server renders all of it.
(() => {
  const $ = (selector) => document.querySelector(selector);
  const items = () => [...document.querySelectorAll("#queue .item")];
  const typing = (target) => target.matches("input:not([type=checkbox]):not([type=radio]), textarea, select");

  function choose(item) {
    if (!item) return;
    items().forEach((other) => { other.classList.toggle("chosen", other === item); other.removeAttribute("aria-current"); });
    item.setAttribute("aria-current", "true");
    item.scrollIntoView({ block: "nearest" });
  }

  function step(by) {
    const all = items(), at = all.findIndex((item) => item.classList.contains("chosen"));
    const next = all[Math.min(Math.max(at + by, 0), all.length - 1)];
    if (next && next !== all[at]) { choose(next); htmx.trigger(next.querySelector("a"), "click"); }
  }

  function open(id) {
    const panel = document.getElementById(id);
    if (!panel) return;
    document.querySelectorAll(".panel").forEach((other) => { other.open = other === panel; });
    const field = panel.querySelector("input[name=reason], input[name=name], input[name=into]:checked, input[name=other]");
    if (field) { field.focus(); if (field.name === "name") field.select(); }
    if (id === "merge") preview();
    panel.scrollIntoView({ block: "nearest" });
  }

  function close() {
    document.querySelectorAll(".panel").forEach((panel) => { panel.open = false; });
    document.activeElement.blur();
  }

  // What a merge would do, for the skill that is picked or typed.
  function preview() {
    const form = $("#merge form");
    if (!form) return;
    const into = form.elements.other.value.trim() || new FormData(form).get("into") || "";
    htmx.ajax("GET", `${form.dataset.review}?into=${encodeURIComponent(into)}`, { target: "#merge-preview", swap: "outerHTML" });
  }

  function pick(number) {
    const radio = document.querySelectorAll("#merge input[name=into]")[number - 1];
    if (radio) { radio.checked = true; radio.focus(); $("#merge form").elements.other.value = ""; preview(); }
  }

  const keys = {
    j: () => step(1), ArrowDown: () => step(1), k: () => step(-1), ArrowUp: () => step(-1),
    a: () => $("#approve")?.requestSubmit(),
    e: () => open("edit"), m: () => open("merge"), r: () => open("reject"),
    u: () => { const button = $("#undo-form button"); if (button && !button.disabled) $("#undo-form").requestSubmit(); },
    x: () => { const box = $("#queue .item.chosen input"); if (box) { box.checked = !box.checked; counted(); } },
    "/": () => $("#queue input[name=q]")?.focus(),
    "?": () => $("#help").showModal(),
    Escape: close,
  };

  document.addEventListener("keydown", (event) => {
    if ($("#help").open || event.altKey) return;
    const merging = $("#merge")?.open;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && $("#edit")?.open) {
      event.preventDefault();
      $("#edit form").requestSubmit();
      return;
    }
    if (event.ctrlKey || event.metaKey) return;
    if (typing(event.target)) { if (event.key === "Escape") close(); return; }
    if (merging && /^[1-6]$/.test(event.key)) { event.preventDefault(); pick(Number(event.key)); return; }
    if (merging && event.key === "Enter" && event.target.type !== "submit") { event.preventDefault(); $("#merge form").requestSubmit(); return; }
    if (merging && event.target.type === "radio" && event.key.startsWith("Arrow")) return;
    const act = keys[event.key];
    if (act) { event.preventDefault(); act(); }
  });

  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-open]");
    if (opener) { event.preventDefault(); open(opener.dataset.open); return; }
    if (event.target.closest("#help-open")) { $("#help").showModal(); return; }
    const item = event.target.closest("#queue .item a");
    if (item) choose(item.closest(".item"));
  });

  document.addEventListener("change", (event) => {
    if (event.target.matches("#merge input")) preview();
    if (event.target.matches("#queue .item input")) counted();
  });

  function counted() {
    const label = $("#bulk-count"), count = document.querySelectorAll("#queue .item input:checked").length;
    if (label) label.textContent = count ? `${count} selected:` : "Selected:";
  }

  // The number in the sidebar follows without a reload.
  document.addEventListener("htmx:afterSwap", () => {
    const badge = [...document.querySelectorAll("#nav-sidebar a")].find((link) => link.getAttribute("href").endsWith("/skills/suggestion/"))?.querySelector("span:last-child");
    const pending = $("#queue")?.dataset.pending;
    if (badge && pending !== undefined && badge.textContent.trim().match(/^\d+$/)) badge.textContent = pending;
    document.querySelector("#queue .item.chosen")?.scrollIntoView({ block: "nearest" });
  });
  document.addEventListener("htmx:responseError", (event) => {
    const box = document.createElement("div");
    box.className = "notice error";
    box.textContent = event.detail.xhr.status === 403 ? "You may not do this, or your session has ended. Reload the page." : "The service did not answer as expected. Reload the page.";
    $("#notices").replaceChildren(box);
  });
})();
