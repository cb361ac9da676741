#include "profile/page_text.hpp"

namespace tegula::profiling {

std::string_view const page_style = R"css(
body{font:13px/1.45 system-ui,sans-serif;margin:16px;color:#1b1b1b;background:#fff}
h1{font-size:18px;margin:0 0 4px}
p{margin:4px 0 8px}
table{border-collapse:collapse;margin:8px 0}
td,th{padding:2px 10px;text-align:right;border-bottom:1px solid #e6e6e6}
td:first-child,th:first-child{text-align:left}
tr.role td{font-weight:bold;background:#f3f3f3}
.swatch{display:inline-block;width:11px;height:11px;margin-right:6px;vertical-align:-1px}
.note{color:#9c3b00}
#bar button{margin-right:4px}
#box{position:relative;border:1px solid #ccc;height:62vh;overflow-y:auto;overflow-x:hidden}
#time{position:sticky;top:0;left:0;display:block}
#tip{position:fixed;display:none;background:#222;color:#fff;padding:4px 8px;border-radius:3px;pointer-events:none;
white-space:pre;font-size:12px;z-index:2}
)css";

std::string_view const page_script = R"js(
"use strict";
const bar = 14, gap = 5, left = 200, top_ = 24;
const box = document.getElementById("box"), canvas = document.getElementById("time"), tip = document.getElementById("tip");
const space = document.getElementById("space"), draw2d = canvas.getContext("2d");
let from = 0, to = data.end, tracks = [], hits = [], select = document.getElementById("cta");

function text(ns) {
  const a = Math.abs(ns);
  if (a < 1e3) return ns.toFixed(1) + " ns";
  if (a < 1e6) return (ns / 1e3).toFixed(2) + " us";
  if (a < 1e9) return (ns / 1e6).toFixed(2) + " ms";
  return (ns / 1e9).toFixed(2) + " s";
}
function layOut() {
  tracks = [];
  let y = 0, before = null;
  for (const t of data.tracks) {
    if (select.value !== "" && t.group !== select.value) continue;
    if (before !== null && before !== t.group) y += 2 * gap;
    before = t.group;
    tracks.push({t: t, y: y, height: (t.depth + 1) * bar});
    y += (t.depth + 1) * bar + gap;
  }
  space.style.height = Math.max(y + top_ - canvas.clientHeight, 0) + "px";
}
function firstAt(t, time) {  // the first event that may reach the time: starts are sorted, ends are bounded by `reach`
  let low = t.first, high = t.first + t.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (data.reach[middle] < time) low = middle + 1; else high = middle;
  }
  return low;
}
function step(span, ticks) {
  const least = span / ticks, power = Math.pow(10, Math.floor(Math.log10(least)));
  for (const f of [1, 2, 5]) if (f * power >= least) return f * power;
  return 10 * power;
}
function paint() {
  const ratio = window.devicePixelRatio || 1, w = box.clientWidth, h = box.clientHeight;
  if (canvas.width !== w * ratio || canvas.height !== h * ratio) {
    canvas.width = w * ratio; canvas.height = h * ratio;
    canvas.style.width = w + "px"; canvas.style.height = h + "px";
    layOut();
  }
  const g = draw2d, scale = (w - left - 8) / (to - from), scroll = box.scrollTop;
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.fillStyle = "#fff"; g.fillRect(0, 0, w, h);
  g.font = "11px sans-serif"; g.textBaseline = "middle";
  hits = [];
  for (const k of tracks) {
    const y = k.y - scroll + top_;
    if (y + k.height < top_ || y > h) continue;
    const t = k.t;
    g.fillStyle = "#f3f3f3";
    const a = left + (Math.max(t.start, from) - from) * scale, b = left + (Math.min(t.stop, to) - from) * scale;
    if (b > a) g.fillRect(a, y, b - a, k.height);
    const drawn = new Array(t.depth + 1).fill(-1);
    for (let e = firstAt(t, from); e < t.first + t.count && data.start[e] <= to; ++e) {
      if (data.stop[e] < from) continue;
      const d = data.depth[e], half = data.state[e] !== 0;
      let x = left + (Math.max(data.start[e], from) - from) * scale;
      const r = left + (Math.min(data.stop[e], to) - from) * scale;
      if (r < drawn[d] + 0.4 && !half) continue;
      x = Math.max(x, drawn[d]);
      const width = Math.max(r - x, 0.7), n = data.names[data.name[e]];
      drawn[d] = x + width;
      g.fillStyle = n.colour; g.globalAlpha = half ? 0.4 : 1;
      g.fillRect(x, y + d * bar, width, bar - 1);
      g.globalAlpha = 1;
      if (half) { g.strokeStyle = "#c00"; g.strokeRect(x + 0.5, y + d * bar + 0.5, Math.max(width - 1, 1), bar - 2); }
      const value = data.value[e], label = value === undefined ? n.label : n.label + " " + value;
      if (width > 6 * label.length + 6) { g.fillStyle = "#111"; g.fillText(label, x + 3, y + d * bar + bar / 2); }
      hits.push([x, y + d * bar, width, e, t]);
    }
    g.fillStyle = "#fff"; g.fillRect(0, y, left - 4, k.height);
    g.fillStyle = "#333"; g.fillText(t.title, 4, y + bar / 2, left - 8);
  }
  g.fillStyle = "#fff"; g.fillRect(0, 0, w, top_);
  g.fillStyle = "#555"; g.textAlign = "center";
  const s = step(to - from, Math.max(w / 130, 1));
  for (let t = Math.ceil(from / s) * s; t <= to; t += s) {
    const x = left + (t - from) * scale;
    g.fillText(text(t), x, 9);
    g.fillRect(x, 17, 1, 5);
  }
  g.textAlign = "left";
}
function zoom(factor, at) {
  const span = Math.max((to - from) * factor, 1);
  const share = (at - from) / (to - from);
  from = Math.max(at - share * span, 0);
  to = Math.min(from + span, data.end);
  if (to - from < 1) to = from + 1;
  paint();
}
function all() { from = 0; to = data.end; paint(); }
function pan(by) {
  const span = to - from;
  from = Math.min(Math.max(from + by, 0), Math.max(data.end - span, 0));
  to = from + span;
  paint();
}
function timeAt(x) { return from + (x - left) / (box.clientWidth - left - 8) * (to - from); }
canvas.addEventListener("wheel", e => {
  if (!e.ctrlKey && !e.shiftKey) return;
  e.preventDefault();
  zoom((e.deltaY || e.deltaX) > 0 ? 1.25 : 0.8, timeAt(e.offsetX));
}, {passive: false});
let held = null;
canvas.addEventListener("mousedown", e => { held = e.offsetX; });
window.addEventListener("mouseup", () => { held = null; });
canvas.addEventListener("mousemove", e => {
  if (held !== null && e.buttons) { pan((held - e.offsetX) / (box.clientWidth - left) * (to - from)); held = e.offsetX; }
  const hit = hits.find(q => e.offsetX >= q[0] && e.offsetX <= q[0] + q[2] && e.offsetY >= q[1] && e.offsetY < q[1] + bar);
  tip.style.display = hit ? "block" : "none";
  if (!hit) return;
  const i = hit[3], n = data.names[data.name[i]];
  const halves = ["", "stop without start\n", "start without stop\n"][data.state[i]];
  tip.textContent = n.label + (data.value[i] === undefined ? "" : " " + data.value[i]) + "\n" + halves +
    (data.state[i] ? "" : text(data.net[i]) + " without records\n") + "at " + text(data.start[i]) + "\n" +
    hit[4].title + ", " + hit[4].where + (n.line ? "\n" + n.line : "");
  tip.style.left = Math.min(e.clientX + 12, window.innerWidth - 260) + "px";
  tip.style.top = e.clientY + 14 + "px";
});
canvas.addEventListener("mouseleave", () => { tip.style.display = "none"; });
canvas.addEventListener("dblclick", all);
window.addEventListener("keydown", e => {
  const middle = (from + to) / 2, k = e.key;
  if (k === "w" || k === "+") zoom(0.7, middle);
  else if (k === "s" || k === "-") zoom(1.4, middle);
  else if (k === "a") pan(-(to - from) / 5);
  else if (k === "d") pan((to - from) / 5);
  else if (k === "0") all();
});
document.getElementById("in").onclick = () => zoom(0.5, (from + to) / 2);
document.getElementById("out").onclick = () => zoom(2, (from + to) / 2);
document.getElementById("earlier").onclick = () => pan(-(to - from) / 3);
document.getElementById("later").onclick = () => pan((to - from) / 3);
document.getElementById("whole").onclick = all;
for (const g of new Set(data.tracks.map(t => t.group))) select.add(new Option(g, g));
select.onchange = () => {
  box.scrollTop = 0;
  layOut();
  from = 0; to = data.end;
  if (select.value !== "" && tracks.length) {
    from = Math.min(...tracks.map(k => k.t.start));
    to = Math.max(from + 1, ...tracks.map(k => k.t.stop));
  }
  paint();
};
box.addEventListener("scroll", paint);
window.addEventListener("resize", paint);
paint();
)js";

}  // namespace tegula::profiling
