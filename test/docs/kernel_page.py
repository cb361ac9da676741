"""Reads pages of kernels in a headless Chromium: tabs, passes, folds, themes, widths.

    kernel_page.py <root> <tegula_opt> <program> [--pictures <folder>]

tegula_opt makes pages of IR text. The program is the lesson whose `explain` writes product.html, a page of a launch.
Needs Chromium, without a network. Exit status 4: skipped, with the reason. --pictures keeps pictures of the pages.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from browser import Browser, brightness, fetched_from_elsewhere, find_browser, skip

KERNELS = ("gemm_tiles", "softmax_rows")
PARTS = ["kernel", "passes", "ptx", "sass", "facts", "advice", "timeline"]
LAUNCH = "product"  # the kernel of the program, whose page has a part more
# Names that try to leave their place in the page.
NASTY = "</script><script>document.title='taken'</script><b id=taken>"
# Opens each page in a frame of both widths, clicks through it, and writes a line of findings for each.
FRAME = """<html><body style="margin:0"><iframe id="f" style="border:0;height:1500px"></iframe>
<pre id="r"></pre><script>
const frame = document.getElementById('f'), lines = [];
const shown = page => [...page.querySelectorAll('.pane .body > section')].map(each => each.id);
const article = page => [...page.querySelectorAll('article')].filter(each => each.offsetParent).map(each => each.id);
async function measure() {
  for (const name of PAGES) for (const width of [360, 1400]) {
    frame.style.width = width + 'px';
    await new Promise(done => { frame.onload = done; frame.src = name; });
    const page = frame.contentDocument, root = page.documentElement, panes = [...page.querySelectorAll('.pane')];
    const tabs = pane => [...pane.querySelectorAll('.tabs button')];
    const style = frame.contentWindow.getComputedStyle(page.body), found = {page: name, width};
    Object.assign(found, {title: page.title, needs: root.scrollWidth, has: root.clientWidth,
      background: style.backgroundColor, color: style.color, headings: page.querySelectorAll('h1').length,
      tabs: panes.map(pane => tabs(pane).map(each => each.textContent)), first: shown(page),
      beside: panes[0].getBoundingClientRect().top === panes[1].getBoundingClientRect().top,
      taken: page.querySelectorAll('#taken').length});
    found.each = {};
    for (const tab of tabs(panes[1])) {  // the right pane shows each part once
      tab.click();
      const [left, right] = shown(page), part = page.getElementById(right);
      found.each[right] = {left, text: part.innerText.length, needs: root.scrollWidth};
    }
    tabs(panes[0])[1].click();  // the passes, on the left
    const changed = [...page.querySelectorAll('ol.list a')];
    changed[changed.length - 1].click();
    found.last = article(page);
    const before = page.querySelector('article.chosen');
    found.lastIs = changed[changed.length - 1].hash.slice(1);
    before.querySelector('button.earlier').click();
    found.earlier = article(page);
    found.earlierIs = changed[changed.length - 2].hash.slice(1);
    const folds = [...page.querySelectorAll('article.chosen details.equal')], whole = before.querySelector('button.whole');
    const wholeNow = page.querySelector('article.chosen button.whole');
    found.folded = folds.length && folds.every(each => !each.open);
    if (wholeNow) wholeNow.click();
    found.opened = folds.every(each => each.open);
    const idle = page.querySelector('li.idle details');
    found.idle = idle.querySelectorAll('li').length && !idle.open;
    found.address = frame.contentWindow.location.hash;
    found.added = frame.contentWindow.getComputedStyle(page.querySelector('article.chosen ins')).backgroundColor;
    found.removed = frame.contentWindow.getComputedStyle(page.querySelector('.counts del')).backgroundColor;
    lines.push(JSON.stringify(found));
    // The address shows the same again.
    await new Promise(done => { frame.onload = done; frame.src = 'about:blank'; });
    await new Promise(done => { frame.onload = done; frame.src = name + found.address; });
    lines.push(JSON.stringify({page: name, width, again: shown(frame.contentDocument),
      article: article(frame.contentDocument), address: found.address}));
  }
  document.getElementById('r').textContent = lines.join('\\n');
}
measure().catch(error => { document.getElementById('r').textContent = JSON.stringify({error: String(error)}); });
</script></body></html>"""


def parts_of(kernel):
    return PARTS[:-1] + ["launch", *PARTS[-1:]] if kernel == LAUNCH else PARTS


def make_pages(root, program, lesson, folder):
    """Pages of KERNELS, of which one has comments that attack the page, and that of the lesson."""
    subprocess.run([lesson], check=True, cwd=folder, stdout=subprocess.DEVNULL,
                   env={**os.environ, "TEGULA_DEVICE": "host"})
    names = [f"{LAUNCH}.html"]
    for kernel in KERNELS:
        text = (root / "test" / "ir" / "tiles" / f"{kernel}.tir").read_text()
        if kernel == KERNELS[0]:
            text = text.replace('"gemm: A is', f'"{NASTY} gemm: A is', 1).replace("// ", f"// {NASTY} ", 1)
        source = folder / f"{kernel}.tir"
        source.write_text(text)
        subprocess.run([program, "--target", "cuda", "--architecture", "sm_90a", "--extent", "128", "--page",
                        str(folder / f"{kernel}.html"), str(source)], check=True)
        source.unlink()
        names.append(f"{kernel}.html")
    return names


def wrong_parts(found):
    """Says what the parts of a page miss: both panes show each, and no part is wider than the screen."""
    parts = parts_of(found["page"].removesuffix(".html"))
    if found["first"] != parts[:2] or any(len(tabs) != len(parts) for tabs in found["tabs"]):
        yield f"begins with {found['first']} and tabs {found['tabs']}"
    if sorted(found["each"]) != sorted(parts):
        yield f"the tabs show {sorted(found['each'])}"
    for part, seen in found["each"].items():
        if seen["left"] == part or seen["text"] < 40:
            yield f"{part} beside {seen['left']} has {seen['text']} characters"
        if seen["needs"] > found["has"]:
            yield f"{part} needs {seen['needs']} pixels of {found['has']}"


def wrong_passes(found):
    if found["last"] != [found["lastIs"]] or found["earlier"] != [found["earlierIs"]]:
        yield f"shows {found['last']}, then {found['earlier']}, not {found['lastIs']}, {found['earlierIs']}"
    if not found["folded"] or not found["opened"] or not found["idle"]:
        yield f"folds are closed {found['folded']}, opened {found['opened']}, idle passes {found['idle']}"


def wrong_looks(found):
    if found["needs"] > found["has"]:
        yield f"needs {found['needs']} pixels of {found['has']}"
    if found["beside"] != (found["width"] > 900):
        yield f"the panes stand {'beside' if found['beside'] else 'below'} each other"
    background, color = brightness(found["background"]), brightness(found["color"])
    if (found["theme"] == "dark") != (background < 96) or abs(background - color) < 96:
        yield f"background {background} and text {color} of 255"
    if len({found["added"], found["removed"], found["background"]}) != 3:
        yield f"changes are not marked: {found['added']}, {found['removed']}, {found['background']}"


def wrong_in(found):
    """Says what is wrong in one view of a page, or in the page that the address of a choice opened again."""
    if "again" in found:
        left, right, article = found["address"].lstrip("#").split("/")
        if found["again"] != [left, right] or found["article"] != [article]:
            yield f"{found['address']} shows {found['again']} and {found['article']}"
        return
    kernel = found["page"].removesuffix(".html")
    if found["title"] != f"{kernel}: kernel" or found["taken"] or found["headings"] != 1:
        yield f"title {found['title']}, {found['headings']} headings, {found['taken']} elements of an attack"
    yield from wrong_parts(found)
    yield from wrong_passes(found)
    yield from wrong_looks(found)


def main():
    root, program, lesson = Path(sys.argv[1]).resolve(), sys.argv[2], Path(sys.argv[3]).resolve()
    chromium = find_browser()
    if chromium is None:
        skip("no Chromium here; install chromium")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        names = make_pages(root, program, lesson, folder)
        wrong = list(fetched_from_elsewhere(folder))
        browser = Browser(chromium, folder)
        views = 0
        for theme, options in (("light", []), ("dark", ["--blink-settings=preferredColorScheme=0"])):
            answers = browser.answers(FRAME.replace("PAGES", json.dumps(names)), *options)
            views += len(answers)
            for found in answers:
                where = f"{found.get('page')}, {found.get('width')} pixels, {theme}"
                wrong += [f"{where}: {each}" for each in (
                    [found["error"]] if "error" in found else wrong_in({**found, "theme": theme}))]
        if views != 2 * 2 * 2 * len(names):
            wrong.append(f"the browser answered for {views} of {2 * 2 * 2 * len(names)} views")
        if "--pictures" in sys.argv:
            kept = Path(sys.argv[sys.argv.index("--pictures") + 1]).resolve()
            kept.mkdir(parents=True, exist_ok=True)
            for name in names:
                for kind, width, dark in (("light", 1400, False), ("dark", 1400, True), ("narrow", 500, False)):
                    browser.picture(name, kept / f"{name}.{kind}.png", width, dark)
                browser.picture(name + "#timeline/ptx/pass-0", kept / f"{name}.timeline.png", 1400, False)
    print("\n".join(wrong) if wrong else f"{len(names)} pages read well in {views} views")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
