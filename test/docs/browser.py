"""Reads the HTML of `./dev docs` in a headless Chromium: pages, navigation, code, search, dark and narrow screens.

It looks at pages, and uses them: opens the menu of a narrow screen and follows a link, changes the theme, types into the
search and follows what it finds.

    browser.py <html> [--pictures <folder>]

Needs Chromium, without a network: every host name is unknown to it. Exit status 4: skipped, with the reason.
--pictures keeps a picture of some pages, light, dark and narrow.
"""
import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from html import unescape
from pathlib import Path

PAGES = ("index.html", "overview.html", "language.html", "language/products.html", "glossary.html", "api/index.html",
         "api/dsl-dot.html", "api/runtime-buffer.html", "ops/index.html", "ops/memory.html",
         "tutorial/01_vector_addition.html", "passes.html", "arithmetic.html")
# Pages with code, and the least number of its colors; IR text has none.
CODE = {"language/products.html": 3, "api/dsl-dot.html": 3, "ops/memory.html": 0, "tutorial/01_vector_addition.html": 3}
# A word, and the page and the place that a search for it must offer.
SEARCHES = (("atomic_add", "api/dsl-atomic.html"), ("cp_async_gather", "ops/memory.html"), ("swizzle", "glossary.html"))
# Loads each page in a frame, narrow and wide, light and dark, and writes a line of findings for each.
FRAME = """<html><body style="margin:0"><iframe id="f" style="border:0;height:2000px"></iframe>
<pre id="r"></pre><script>
const frame = document.getElementById('f'), lines = [];
async function measure() {
  for (const page of PAGES) for (const width of WIDTHS) {
    frame.style.width = width + 'px';
    await new Promise(done => { frame.onload = done; frame.src = page; });
    const page_document = frame.contentDocument, root = page_document.documentElement, body = page_document.body;
    for (const theme of ['light', 'dark']) {
      body.dataset.theme = theme;
      const style = frame.contentWindow.getComputedStyle(body);
      lines.push(JSON.stringify({page, width, theme, needs: root.scrollWidth, has: root.clientWidth,
        background: style.backgroundColor, color: style.color, heading: page_document.querySelectorAll('h1').length,
        code: [...page_document.querySelectorAll('div.highlight > pre')].map(each => ({
          colors: new Set([...each.querySelectorAll('span')].map(
            span => frame.contentWindow.getComputedStyle(span).color)).size,
          cut: each.scrollWidth > each.clientWidth &&
            !['auto', 'scroll'].includes(frame.contentWindow.getComputedStyle(each).overflowX)})),
        links: [...page_document.querySelectorAll('.sidebar-tree a')].map(link => link.href)}));
    }
  }
  document.getElementById('r').textContent = lines.join('\\n');
}
measure();
</script></body></html>"""

# Uses the pages as a reader does, and writes what it saw.
USE = """<html><body style="margin:0"><iframe id="f" style="border:0;height:1000px"></iframe>
<pre id="r"></pre><script>
const frame = document.getElementById('f'), seen = {searches: []};
const page = () => frame.contentDocument, path = () => frame.contentWindow.location.pathname.slice(1);
const sleep = time => new Promise(done => setTimeout(done, time));
const loaded = act => new Promise(done => { frame.onload = done; act(); });
const open_page = (name, width) => loaded(() => { frame.style.width = width + 'px'; frame.src = name; });
const left = () => page().querySelector('.sidebar-drawer').getBoundingClientRect().left;
async function use() {
  await open_page('index.html', 360);
  page().head.insertAdjacentHTML('beforeend', '<style>* { transition: none !important; }</style>');
  seen.closed = left() < 0;
  page().querySelector('.nav-overlay-icon').click();
  await sleep(500);
  seen.opened = left() >= 0;
  const link = [...page().querySelectorAll('.sidebar-tree a')].find(each => each.href.endsWith('glossary.html'));
  await loaded(() => link.click());
  seen.followed = path();
  await open_page('index.html', 1280);
  const toggle = [...page().querySelectorAll('button.theme-toggle')].find(each => each.offsetParent);
  const background = () => frame.contentWindow.getComputedStyle(page().body).backgroundColor;
  seen.themes = {};
  for (let time = 0; time < 3; ++time) {
    toggle.click();
    await sleep(500);
    seen.themes[page().body.dataset.theme] = background();
  }
  while (page().body.dataset.theme !== 'dark') toggle.click();
  await open_page('language.html', 1280);
  seen.kept = page().body.dataset.theme;
  for (const word of WORDS) {
    await open_page('index.html', 1280);
    const field = page().querySelector('input.sidebar-search');
    field.value = word;
    await loaded(() => field.form.submit());
    let results = [], before = -1;
    for (let time = 0; time < 50 && (!results.length || results.length > before); ++time) {  // they come one by one
      before = results.length;
      await sleep(500);
      results = [...page().querySelectorAll('ul.search li a')];
    }
    const found = {word, results: results.map(each => each.getAttribute('href'))};
    if (results.length) {
      await loaded(() => results[0].click());
      found.first = path();
      found.says = page().body.innerText.includes(word);
    }
    seen.searches.push(found);
  }
  document.getElementById('r').textContent = JSON.stringify(seen);
}
use().catch(error => { document.getElementById('r').textContent = JSON.stringify({error: String(error)}); });
</script></body></html>"""


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(4)


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Browser:
    def __init__(self, program, root):
        self.program, self.root = program, root
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(root)))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.base = f"http://127.0.0.1:{self.server.server_address[1]}/"

    def call(self, *options):
        with tempfile.TemporaryDirectory() as profile:
            command = [self.program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                       f"--user-data-dir={profile}", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
                       "--virtual-time-budget=60000", *options]
            return subprocess.run(command, capture_output=True, text=True, timeout=180).stdout

    def dom(self, page):
        return self.call("--dump-dom", self.base + page)

    def picture(self, page, file, width, dark):
        options = ["--blink-settings=preferredColorScheme=0", "--force-dark-mode"] if dark else []
        self.call(*options, f"--window-size={width},1000", f"--screenshot={file}", self.base + page)

    def measured(self):
        """What the frame finds on each page at each width and in each theme."""
        return self.answers(FRAME.replace("PAGES", json.dumps(PAGES)).replace("WIDTHS", "[360, 1280]"))

    def answers(self, frame, *options):
        """The lines of JSON that a page beside the others writes into its <pre id="r">."""
        file = self.root / f"_frame_{os.getpid()}.html"  # another run may read the same pages
        file.write_text(frame)
        try:
            found = re.search(r'<pre id="r">([^<]*)', self.call(*options, "--dump-dom", self.base + file.name))
        finally:
            file.unlink()
        return [json.loads(unescape(line)) for line in found[1].splitlines()] if found else []


def brightness(color):
    return sum(map(int, re.findall(r"\d+", color)[:3])) // 3


def fetched_from_elsewhere(root):
    """Scripts, styles, fonts and pictures that a page or a style sheet takes from a network."""
    for path in [*root.rglob("*.html"), *root.rglob("*.css")]:
        text = path.read_text(errors="replace")
        for found in re.findall(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="(?:https?:)?//[^"]*"|'
                                r'url\(["\']?(?:https?:)?//[^)]*\)|@import[^;]*//[^;]*', text):
            if 'rel="canonical"' not in found and 'rel="search"' not in found:
                yield f"{path.relative_to(root)}: takes {found} from a network"


def dead_links(root):
    targets = {}
    def ids(path):
        if path not in targets:
            targets[path] = set(re.findall(r'\bid="([^"]+)"', path.read_text(errors="replace")))
        return targets[path]
    for path in root.rglob("*.html"):
        for link in set(re.findall(r'<a [^>]*href="([^"]+)"', path.read_text(errors="replace"))):
            if re.match(r"\w+:", link):
                continue
            file, _, place = unescape(link).partition("#")
            at = (path.parent / file).resolve() if file else path
            if not at.exists():
                yield f"{path.relative_to(root)}: the link {link} leads nowhere"
            elif place and at.suffix == ".html" and place not in ids(at):
                yield f"{path.relative_to(root)}: the place {link} does not exist"


def in_browser(browser):
    found = browser.measured()
    if len(found) != 4 * len(PAGES):
        yield f"the browser read {len(found)} of {4 * len(PAGES)} views"
    for view in found:
        where = f"{view['page']}, {view['width']} pixels, {view['theme']}"
        if view["heading"] != 1:
            yield f"{where}: has {view['heading']} main headings, not 1"
        for link in ("api/index.html", "ops/index.html", "glossary.html", "language.html"):
            if link != view["page"] and not any(each.split("#")[0].endswith(link) for each in view["links"]):
                yield f"{where}: the navigation does not lead to {link}"
        if view["page"] in CODE and not any(block["colors"] >= CODE[view["page"]] for block in view["code"]):
            yield f"{where}: shows no code, or not in colors"
        if any(block["cut"] for block in view["code"]):
            yield f"{where}: cuts lines of code"
        if view["needs"] > view["has"]:
            yield f"{where}: needs {view['needs']} pixels of {view['has']}"
        background, color = brightness(view["background"]), brightness(view["color"])
        if (view["theme"] == "dark") != (background < 96) or abs(background - color) < 96:
            yield f"{where}: background {background} and text {color} of 255"
    for word, page in SEARCHES:
        results = re.search(r'<ul[^>]*class="search".*?</ul>', browser.dom(f"search.html?q={word}"), re.S)
        if not results or page not in results[0]:
            yield f"search: {word} does not give {page}"


def in_use(browser):
    found = browser.answers(USE.replace("WORDS", json.dumps([word for word, _ in SEARCHES])))
    if len(found) != 1 or "error" in found[0]:
        yield f"the browser could not use the pages: {found}"
        return
    seen = found[0]
    if not seen["closed"] or not seen["opened"] or seen["followed"] != "glossary.html":
        yield (f"narrow: the menu is closed {seen['closed']}, opened by its button {seen['opened']}, "
               f"and its link leads to {seen['followed']}")
    themes = seen["themes"]
    if not {"light", "dark"} <= set(themes) or brightness(themes["dark"]) > 96 or brightness(themes["light"]) < 160:
        yield f"the button of the theme gives {themes}"
    if seen["kept"] != "dark":
        yield f"the next page has the theme {seen['kept']}, not dark as chosen"
    for (word, page), search in zip(SEARCHES, seen["searches"]):
        if not any(page in result for result in search["results"]):
            yield f"search by the field: {word} gives {search['results'][:5]}, not {page}"
        elif not search["says"]:
            yield f"search by the field: {search['first']}, the first page found, does not say {word}"


def find_browser():
    """The path of Chromium; None where it is not installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def main():
    root = Path(sys.argv[1]).resolve()
    if not (root / "index.html").exists():
        skip(f"no pages in {root}; run ./dev docs")
    wrong = [*fetched_from_elsewhere(root), *dead_links(root)]
    program = find_browser()
    if program is None and not wrong:
        skip("no Chromium here; install chromium")
    if program:
        browser = Browser(program, root)
        wrong += [*in_browser(browser), *in_use(browser)]
        if "--pictures" in sys.argv:
            folder = Path(sys.argv[sys.argv.index("--pictures") + 1]).resolve()
            folder.mkdir(parents=True, exist_ok=True)
            for page in PAGES:
                for name, width, dark in (("light", 1280, False), ("dark", 1280, True), ("narrow", 500, False)):
                    browser.picture(page, folder / f"{page.replace('/', '-')}.{name}.png", width, dark)
    print("\n".join(wrong) if wrong else f"{len(PAGES)} pages read well; {len(SEARCHES)} searches find their page")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
