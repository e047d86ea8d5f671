"use strict";
// Tools by skill, as stacked bars. The data is JSON in the page: names are drawn on a canvas, never as markup.
(() => {
  const canvas = document.getElementById("chart");
  if (!canvas) return;
  const rows = JSON.parse(document.getElementById("chart-data").textContent);
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  let chart = null;

  function draw() {
    const dark = document.documentElement.classList.contains("dark");
    const text = dark ? colour("--color-base-300") : colour("--color-base-600");
    const line = dark ? "rgba(255,255,255,.08)" : "rgba(0,0,0,.06)";
    if (chart) chart.destroy();
    chart = new Chart(canvas, {
      type: "bar",
      data: {
        labels: rows.map((row) => (row.name.length > 34 ? row.name.slice(0, 33) + "…" : row.name)),
        datasets: [
          { label: "firm", data: rows.map((row) => row.firm), backgroundColor: dark ? "#a78bfa" : "#7c3aed", borderRadius: 3 },
          { label: "low confidence", data: rows.map((row) => row.weak), backgroundColor: dark ? "#fbbf24" : "#f59e0b", borderRadius: 3 },
        ],
      },
      options: {
        indexAxis: "y",
        maintainAspectRatio: false,
        animation: false,
        barPercentage: 0.75,
        onClick: (_, hits) => { if (hits.length) location.href = `../${encodeURIComponent(rows[hits[0].index].id)}/change/`; },
        onHover: (event, hits) => { event.native.target.style.cursor = hits.length ? "pointer" : "default"; },
        plugins: { legend: { position: "top", align: "end", labels: { color: text, boxWidth: 12, boxHeight: 12 } } },
        scales: {
          x: { stacked: true, beginAtZero: true, ticks: { color: text, precision: 0 }, grid: { color: line }, border: { display: false } },
          y: { stacked: true, ticks: { color: text, autoSkip: false }, grid: { display: false }, border: { display: false } },
        },
      },
    });
  }
  draw();
  new MutationObserver(draw).observe(document.documentElement, { attributes: true, attributeFilter: ["class"] });
})();
