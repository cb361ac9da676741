#include "page/fixed_text.hpp"

namespace tegula::page {

std::string_view const style = R"css(
:root{color-scheme:light dark;--back:#fff;--text:#1b1b1b;--faint:#5c5c5c;--line:#d8d8d8;--panel:#f5f5f5;
--chosen:#dbe9fb;--add:#dff5e1;--add-text:#0c5b1c;--remove:#fde3e3;--remove-text:#8b1515;--link:#0b57b0}
@media (prefers-color-scheme:dark){:root{--back:#16181c;--text:#e4e4e4;--faint:#a3a3a3;--line:#3a3d44;--panel:#202329;
--chosen:#24405f;--add:#12361b;--add-text:#9fe3ae;--remove:#451a1c;--remove-text:#f4a9a9;--link:#8ab8f5}
iframe{filter:invert(.92) hue-rotate(180deg)}}
*{box-sizing:border-box}
body{font:14px/1.45 system-ui,sans-serif;margin:0;padding:12px 16px;color:var(--text);background:var(--back)}
h1{font-size:19px;margin:0;overflow-wrap:anywhere}
h2{font-size:16px;margin:16px 0 6px}
h3{font-size:14px;margin:10px 0 2px;overflow-wrap:anywhere}
header p{margin:2px 0 10px;color:var(--faint);overflow-wrap:anywhere}
p{margin:2px 0 8px}
a{color:var(--link)}
.note{color:var(--faint);overflow-wrap:anywhere}
pre{font:12px/1.4 ui-monospace,monospace;margin:0;padding:6px 8px;overflow-x:auto;background:var(--panel);tab-size:8}
ins,del{text-decoration:none}
pre ins,pre del{display:inline-block;min-width:100%}
ins{background:var(--add);color:var(--add-text)}
del{background:var(--remove);color:var(--remove-text)}
.counts{font-size:12px;white-space:nowrap;font-weight:normal}
.counts ins,.counts del{padding:0 3px}
details.equal summary{font-size:12px;color:var(--faint);background:var(--panel);padding:1px 8px;cursor:pointer;
border-top:1px solid var(--line);border-bottom:1px solid var(--line)}
iframe{width:100%;height:70vh;border:1px solid var(--line);background:#fff}
ol.list{list-style:none;margin:0;padding:0}
ol.list li{overflow-wrap:anywhere}
ol.list a{display:block;padding:1px 6px;text-decoration:none}
ol.list li.idle{color:var(--faint);font-size:12px;padding:1px 6px}
ol.list li.idle summary{cursor:pointer}
ol.list ul{margin:0;padding-left:14px;list-style:none}
/* With scripts: two panes, each with tabs. */
.panes{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr);gap:14px}
.pane{min-width:0}
.tabs{display:flex;flex-wrap:wrap;gap:4px;border-bottom:1px solid var(--line);padding-bottom:6px;position:sticky;top:0;
background:var(--back);z-index:1}
button{font:inherit;font-size:13px;color:var(--text);background:var(--panel);border:1px solid var(--line);
border-radius:4px;padding:2px 8px;cursor:pointer}
button[aria-pressed=true]{background:var(--chosen)}
.scripted h2{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.scripted section{margin-top:8px}
.scripted .passes{display:flex;flex-wrap:wrap;gap:12px}
.scripted .list{flex:1 1 200px;max-height:78vh;overflow-y:auto}
.scripted .articles{flex:3 1 340px;min-width:0}
.scripted article{display:none}
.scripted article.chosen{display:block}
.scripted ol.list a.chosen{background:var(--chosen)}
[hidden]{display:none!important}
@media (max-width:900px){.panes{grid-template-columns:minmax(0,1fr)}.scripted .list{max-height:30vh}}
)css";

std::string_view const script = R"js(
"use strict";
const main = document.querySelector("main");
const sections = [...main.querySelectorAll(":scope > section")];
const articles = [...main.querySelectorAll("article")];
const links = new Map([...main.querySelectorAll("ol.list a")].map(link => [link.hash.slice(1), link]));
const panes = [], store = element("div", "store", "");
let pass = articles[Math.min(1, articles.length - 1)].id;

function element(name, of, text) {
  const made = document.createElement(name);
  made.className = of;
  made.textContent = text;
  return made;
}
function remember() {  // the address names what is shown, so that it can be shown again
  history.replaceState(null, "", "#" + panes.map(pane => pane.shown.id).join("/") + "/" + pass);
}
function show(pane, section) {
  const other = panes.find(each => each !== pane);
  if (other && other.shown === section) place(other, pane.shown || sections.find(each => each !== section));
  place(pane, section);
}
function place(pane, section) {
  store.append(...pane.body.children);
  pane.shown = section;
  pane.body.append(section);
  for (const [button, of] of pane.buttons) button.setAttribute("aria-pressed", of === section);
}
function choose(id) {
  pass = id;
  for (const article of articles) article.classList.toggle("chosen", article.id === id);
  for (const [of, link] of links) link.classList.toggle("chosen", of === id);
}
function step(by) {
  const at = articles.findIndex(article => article.id === pass) + by;
  if (at < 0 || at >= articles.length) return;
  choose(articles[at].id);
  links.get(pass).scrollIntoView({block: "nearest"});
  remember();
}
function make() {
  document.body.classList.add("scripted");
  const box = element("div", "panes", "");
  for (let i = 0; i < 2; ++i) {
    const pane = {box: element("div", "pane", ""), body: element("div", "body", ""), buttons: [], shown: null};
    const tabs = element("div", "tabs", "");
    for (const section of sections) {
      const button = element("button", "", section.dataset.title);
      button.type = "button";
      button.onclick = () => { show(pane, section); remember(); };
      pane.buttons.push([button, section]);
      tabs.append(button);
    }
    pane.box.append(tabs, pane.body);
    box.append(pane.box);
    panes.push(pane);
  }
  store.hidden = true;
  store.append(...sections);
  main.append(box, store);
  for (const article of articles) {
    const bar = element("p", "bar", "");
    const earlier = element("button", "earlier", "previous"), later = element("button", "later", "next");
    earlier.onclick = () => step(-1);
    later.onclick = () => step(1);
    bar.append(earlier, " ", later);
    const folded = [...article.querySelectorAll("details.equal")];
    if (folded.length) {
      const whole = element("button", "whole", "whole text");
      whole.onclick = () => { const open = !folded[0].open; for (const each of folded) each.open = open; };
      bar.append(" ", whole);
    }
    article.querySelector("h3").after(bar);
  }
  for (const [id, link] of links) link.onclick = event => { event.preventDefault(); choose(id); remember(); };
  const [left, right, chosen] = location.hash.slice(1).split("/");
  const named = (id, otherwise) => sections.find(section => section.id === id) || sections[otherwise];
  choose(links.has(chosen) ? chosen : pass);
  show(panes[0], named(left, 0));
  const second = named(right, 1);
  show(panes[1], second === panes[0].shown ? sections.find(section => section !== second) : second);
}
if (sections.length > 1) make();
)js";

}  // namespace tegula::page
