"use strict";
// The map of the catalogue on a canvas: ten thousand points stay fluent. Text from tools is drawn or set as text only.
(() => {
  const root = document.querySelector(".map");
  const canvas = document.getElementById("map");
  const tip = document.getElementById("map-tip");
  const state = document.getElementById("map-state");
  const context = canvas.getContext("2d");
  let data = null, view = { x: 0, y: 0, scale: 1 }, picked = -2, found = null, hovered = null, waiting = false;

  const dark = () => document.documentElement.classList.contains("dark");
  // Hues by the golden angle, so that neighbours in the list differ; three lightnesses where there are many skills.
  function colour(skill) {
    if (skill < 0) return dark() ? "#6b7280" : "#9ca3af";
    const light = (dark() ? [68, 58, 76] : [46, 58, 36])[skill % 3];
    return `hsl(${(skill * 137.508) % 360} 68% ${light}%)`;
  }

  const size = () => ({ width: canvas.clientWidth, height: canvas.clientHeight });
  function unit() { const { width, height } = size(); return 0.46 * Math.min(width, height) * view.scale; }
  function stretch() { const { width, height } = size(); return Math.min(1.7, Math.max(1, width / Math.max(height, 1))); }
  function place(x, y) {
    const { width, height } = size(), u = unit();
    return [width / 2 + (x - view.x) * u * stretch(), height / 2 + (y - view.y) * u];
  }

  function draw() {
    waiting = false;
    const ratio = window.devicePixelRatio || 1, { width, height } = size();
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    if (!data) return;
    drawTools(width, height);
    drawSkills(width, height);
  }

  function drawTools(width, height) {
    const { x, y, skill } = data.tools, many = x.length;
    const radius = Math.min(7, (many > 4000 ? 1.8 : many > 800 ? 2.6 : 3.6) * Math.sqrt(view.scale));
    for (let i = 0; i < many; i++) {
      const [px, py] = place(x[i], y[i]);
      if (px < -9 || py < -9 || px > width + 9 || py > height + 9) continue;
      const shown = (picked === -2 || skill[i] === picked) && (!found || found.has(i));
      context.globalAlpha = shown ? 0.85 : 0.09;
      context.fillStyle = colour(skill[i]);
      context.beginPath();
      context.arc(px, py, shown && found ? radius + 1.5 : radius, 0, 6.2832);
      context.fill();
    }
    context.globalAlpha = 1;
    if (hovered && hovered.kind === "tool") ring(...place(x[hovered.i], y[hovered.i]), radius + 3, dark() ? "#fff" : "#111827");
  }

  function drawSkills(width, height) {
    const taken = [];
    const order = data.skills.map((_, i) => i).sort((a, b) => data.skills[b].tools - data.skills[a].tools);
    context.font = "600 12px Inter, sans-serif";
    context.textAlign = "center";
    const seen = order.map((i) => [i, ...place(data.skills[i].x, data.skills[i].y)])
      .filter(([, px, py]) => px >= 0 && py >= 0 && px <= width && py <= height);
    const fade = (i) => { context.globalAlpha = picked === -2 || picked === i ? 1 : 0.15; };
    for (const [i, px, py] of seen) { fade(i); ring(px, py, 7, colour(i), dark() ? "#111827" : "#fff"); }
    for (const [i, px, py] of seen) {
      const name = data.skills[i].name, text = name.length > 28 ? name.slice(0, 27) + "…" : name;
      const half = context.measureText(text).width / 2 + 3;
      const middle = Math.min(Math.max(px, half + 2), width - half - 2), above = py > 30 ? 0 : 36;
      const box = [middle - half, py - 26 + above, middle + half, py - 9 + above];
      if (taken.some((t) => box[0] < t[2] && box[2] > t[0] && box[1] < t[3] && box[3] > t[1]) && picked !== i) continue;
      taken.push(box);
      fade(i);
      context.lineWidth = 4;
      context.strokeStyle = dark() ? "rgba(17,24,39,.85)" : "rgba(255,255,255,.9)";
      context.strokeText(text, middle, py - 13 + above);
      context.fillStyle = dark() ? "#f3f4f6" : "#111827";
      context.fillText(text, middle, py - 13 + above);
    }
    context.globalAlpha = 1;
  }

  function ring(px, py, radius, stroke, fill) {
    context.beginPath();
    context.arc(px, py, radius, 0, 6.2832);
    if (fill) { context.fillStyle = fill; context.fill(); }
    context.lineWidth = 3; context.strokeStyle = stroke; context.stroke();
  }

  function redraw() { if (!waiting) { waiting = true; requestAnimationFrame(draw); } }

  function nearest(px, py) {
    let best = null, reach = 12 * 12;
    const look = (kind, x, y, i) => {
      const [qx, qy] = place(x, y), d = (qx - px) ** 2 + (qy - py) ** 2;
      if (d < reach) { reach = d; best = { kind, i }; }
    };
    data.skills.forEach((skill, i) => look("skill", skill.x, skill.y, i));
    for (let i = 0; i < data.tools.x.length; i++) {
      if (picked === -2 || data.tools.skill[i] === picked) look("tool", data.tools.x[i], data.tools.y[i], i);
    }
    return best;
  }

  function line(tag, text, name) {
    const element = document.createElement(tag);
    element.textContent = text;
    if (name) element.className = name;
    return element;
  }

  function tell(hit, px, py) {
    tip.hidden = !hit;
    if (!hit) return;
    if (hit.kind === "tool") {
      const t = data.tools, skill = data.skills[t.skill[hit.i]];
      tip.replaceChildren(line("b", t.name[hit.i]), line("div", `${t.server[hit.i]} · ${skill ? skill.name : "unclassified"}`, "dim"), line("div", t.about[hit.i]));
    } else {
      const skill = data.skills[hit.i];
      tip.replaceChildren(line("b", skill.name), line("div", `skill, ${skill.tools} tools`, "dim"));
    }
    const { width, height } = size();
    tip.style.left = `${Math.min(px + 14, width - tip.offsetWidth - 8)}px`;
    tip.style.top = `${Math.min(py + 14, height - tip.offsetHeight - 8)}px`;
  }

  function open(hit) {
    const address = hit.kind === "tool"
      ? root.dataset.tool.replace("/0/", `/${data.tools.id[hit.i]}/`)
      : root.dataset.skill.replace("__id__", encodeURIComponent(data.skills[hit.i].id));
    location.href = address;
  }

  function zoom(factor, px, py) {
    const { width, height } = size(), before = unit();
    px = px ?? width / 2; py = py ?? height / 2;
    const wx = view.x + (px - width / 2) / (before * stretch()), wy = view.y + (py - height / 2) / before;
    view.scale = Math.min(40, Math.max(0.7, view.scale * factor));
    view.x = wx - (px - width / 2) / (unit() * stretch());
    view.y = wy - (py - height / 2) / unit();
    redraw();
  }

  function listen() {
    let drag = null;
    canvas.addEventListener("pointerdown", (e) => { drag = { x: e.offsetX, y: e.offsetY, moved: false }; canvas.setPointerCapture(e.pointerId); });
    canvas.addEventListener("pointermove", (e) => {
      if (drag && e.buttons) {
        const dx = e.offsetX - drag.x, dy = e.offsetY - drag.y;
        if (Math.abs(dx) + Math.abs(dy) > 3) drag.moved = true;
        if (drag.moved) {
          view.x -= dx / (unit() * stretch()); view.y -= dy / unit();
          drag.x = e.offsetX; drag.y = e.offsetY;
          canvas.classList.add("dragging"); tip.hidden = true; redraw();
        }
        return;
      }
      hovered = nearest(e.offsetX, e.offsetY);
      canvas.classList.toggle("over", Boolean(hovered));
      tell(hovered, e.offsetX, e.offsetY);
      redraw();
    });
    canvas.addEventListener("pointerup", (e) => {
      const hit = drag && !drag.moved ? nearest(e.offsetX, e.offsetY) : null;
      drag = null; canvas.classList.remove("dragging");
      if (hit) open(hit);
    });
    canvas.addEventListener("pointerleave", () => { hovered = null; tip.hidden = true; redraw(); });
    canvas.addEventListener("wheel", (e) => { e.preventDefault(); zoom(Math.exp(-e.deltaY * 0.0015), e.offsetX, e.offsetY); }, { passive: false });
    document.getElementById("zoom-in").onclick = () => zoom(1.5);
    document.getElementById("zoom-out").onclick = () => zoom(1 / 1.5);
    const all = () => { view = { x: 0, y: 0, scale: 1 }; redraw(); };
    document.getElementById("zoom-all").onclick = all;
    canvas.addEventListener("keydown", (e) => {
      if (e.key === "+" || e.key === "=") zoom(1.4); else if (e.key === "-") zoom(1 / 1.4); else if (e.key === "0") all();
    });
    document.getElementById("map-find").addEventListener("input", (e) => find(e.target.value.trim().toLowerCase()));
    new ResizeObserver(redraw).observe(canvas);
    new MutationObserver(() => { legend(); redraw(); }).observe(document.documentElement, { attributes: true, attributeFilter: ["class"] });
  }

  function find(text) {
    const { name, server } = data.tools;
    found = text ? new Set(name.map((_, i) => i).filter((i) => name[i].toLowerCase().includes(text) || server[i].toLowerCase().includes(text))) : null;
    redraw();
  }

  function legend() {
    const list = document.getElementById("map-skills"), homeless = data.tools.skill.filter((s) => s < 0).length;
    const entries = data.skills.map((skill, i) => [i, skill.name, skill.tools]).sort((a, b) => b[2] - a[2]);
    if (homeless) entries.push([-1, "Unclassified", homeless]);
    list.replaceChildren(...entries.map(([i, name, count]) => {
      const item = document.createElement("li"), button = document.createElement("button"), dot = document.createElement("span");
      dot.className = "dot"; dot.style.background = colour(i);
      button.setAttribute("aria-pressed", String(picked === i));
      button.append(dot, line("span", name, "grow clip"), line("span", String(count), "dim small"));
      button.onclick = () => { picked = picked === i ? -2 : i; legend(); redraw(); };
      item.append(button);
      return item;
    }));
  }

  async function start() {
    try {
      const response = await fetch(root.dataset.source, { headers: { Accept: "application/json" } });
      if (!response.ok) throw new Error(`The service answered ${response.status}.`);
      data = await response.json();
    } catch (error) {
      state.textContent = `The map could not be loaded. ${error.message}`;
      return;
    }
    state.hidden = data.tools.id.length + data.skills.length > 0;
    state.textContent = "Nothing is indexed yet.";
    const wanted = new URLSearchParams(location.search).get("skill");
    const index = data.skills.findIndex((skill) => skill.id === wanted);
    if (index >= 0) picked = index;
    legend(); listen(); draw();
    canvas.deskPlace = (name) => { const i = data.tools.name.indexOf(name); return place(data.tools.x[i], data.tools.y[i]); };
    canvas.dataset.ready = String(data.tools.id.length);
  }
  start();
})();
