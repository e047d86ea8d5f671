"use strict";

const form = document.getElementById("search");
const status = document.getElementById("status");
const skills = document.getElementById("skills");
const tools = document.getElementById("tools");
let latest = 0;

function element(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function showTool(tool) {
  const item = element("li");
  const head = element("div", "head");
  const name = element("span", "name", tool.name);
  name.append(element("span", "server", ` · ${tool.server} · ${tool.type}`));
  head.append(name, element("span", "score", tool.score.toFixed(2)));
  item.append(head, element("p", "", tool.description));
  if (tool.input_schema) {
    const details = element("details");
    details.append(element("summary", "", "Schema"), element("pre", "", JSON.stringify(tool.input_schema, null, 2)));
    item.append(details);
  }
  tools.append(item);
}

function show(result) {
  const meta = result.metadata;
  const note = meta.fallback ? `, fallback: ${meta.fallback}` : "";
  const worry = meta.degraded ? `, degraded: ${meta.degraded}` : "";
  status.textContent = result.tools.length
    ? `${meta.final_count} of ${meta.stage2_candidate_count} in ${meta.total_time_ms.toFixed(1)} ms (${meta.strategy_used}${note}${worry})`
    : `No tools found (${meta.strategy_used}${note}${worry}). Try other words, or another strategy.`;
  for (const skill of result.matched_skills) skills.append(element("li", "", `${skill.name} ${skill.score.toFixed(2)}`));
  result.tools.forEach(showTool);
}

async function search() {
  const mine = ++latest;
  const body = { query: form.query.value, strategy: form.strategy.value };
  let answer;
  let failed = false;
  try {
    const response = await fetch("/api/v1/search", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    answer = await response.json();
    failed = !response.ok;
  } catch {
    answer = { detail: "The service does not answer." };
    failed = true;
  }
  if (mine !== latest) return;
  skills.replaceChildren();
  tools.replaceChildren();
  status.classList.toggle("error", failed);
  if (failed) status.textContent = answer.detail;
  else show(answer);
  history.replaceState(null, "", `?${new URLSearchParams(body)}`);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  search();
});
form.strategy.addEventListener("change", () => form.query.value.trim() && search());

const given = new URLSearchParams(location.search);
if (given.get("strategy")) form.strategy.value = given.get("strategy");
if (given.get("query")) {
  form.query.value = given.get("query");
  search();
}
