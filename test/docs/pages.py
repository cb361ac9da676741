"""Checks that the files and names which CONTRIBUTING.md, README.md and lib/doc cite exist.

    pages.py <root>

A path in backticks is one from the root, from lib/ or from the page's folder. Or, as `parser.cpp` after
`lib/ir/text/lexer.cpp`, it is one from a folder that the same paragraph or list item cites. `*` and `<...>` stand for
any part, and `analysis/liveness` for its header; build/ is made later. Blocks of Python are Python.

A link to a place of a page leads to a heading. lib/doc/README.md links every page of lib/doc, and a page links those
of its folder, as tutorial.md the lessons in tutorial/. README.md has at most 110 lines. In the sections "Add ..." of
CONTRIBUTING.md the other words in backticks are names that the sources hold.
"""
import ast
import re
import sys
from pathlib import Path

SPAN = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"(\./)?[\w<>*.-]+(/[\w<>*.-]+)*(\.(cpp|hpp|def|py|md|tir|txt|json|cmake)|/)|[\w<>-]+(/[\w<>*-]+)+")
NAME = re.compile(r"[A-Za-z_]\w+")
LINK = re.compile(r"\]\(([^)\s#:]*)#([^)\s]+)\)")
# Names of the examples themselves, which the reader adds.
EXAMPLES = {"SignOp", "sm_XYa"}
FIRST_PAGE_LINES = 110


def find(path, folders):
    """The first file or folder that a cited path means in one of the folders, or None."""
    pattern = re.sub(r"<[^>]*>", "*", path).rstrip("/")
    found = (next(folder.glob(text), None) for folder in folders for text in (pattern, pattern + ".hpp"))
    return next(filter(None, found), None)


def items(text):
    """Paragraphs and list items, each with the heading above it and the number of its first line."""
    heading, block, first, fenced = "", [], 0, False
    for number, line in enumerate(text.splitlines() + [""], 1):
        if line.startswith("```"):
            fenced = not fenced
        if fenced:
            continue
        if line.startswith("#"):
            heading = line.strip("# ")
        begins = line == "" or line.startswith(("#", "```", "|")) or re.match(r"(\d+\.|-) ", line)
        if begins and block:
            yield heading, first, "\n".join(block)
            block = []
        if line:
            if not block:
                first = number
            block.append(line)


def without_code(text):
    return re.sub(r"(?ms)^ *```.*?^ *```", "", text)


def places(page):
    """The anchors of a page's headings, as GitHub and the site name them."""
    headings = re.findall(r"(?m)^#+ (.*)", without_code(page.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead_links(page, root):
    for file, place in LINK.findall(re.sub(r"`[^`\n]*`", "", without_code(page.read_text()))):
        target = page.parent / file if file else page
        if target.suffix == ".md" and target.is_file() and place not in places(target):
            yield f"{page.relative_to(root)}: {target.name} has no heading #{place}"


def broken_python(page):
    """Line and message of each block of Python that is not Python."""
    text = page.read_text()
    for block in re.finditer(r"(?ms)^```python\n(.*?)^```", text):
        try:
            ast.parse(block[1])
        except SyntaxError as error:
            yield text[:block.start(1)].count("\n") + (error.lineno or 1), error.msg


def wrong_spans(page, root, words):
    """Line and message of each path in backticks that leads nowhere, and of each name that the sources do not hold."""
    for heading, line, text in items(page.read_text()):
        folders = [root, root / "lib", page.parent]
        names = heading.startswith("Add ") and page.name == "CONTRIBUTING.md"
        for span in SPAN.findall(text):
            if span.startswith("build/"):
                continue
            if not FILE.fullmatch(span):
                if names and NAME.fullmatch(span) and span not in EXAMPLES and span not in words:
                    yield line, f"the sources do not hold `{span}`"
            elif at := find(span, folders):
                at = at if at.is_dir() else at.parent
                folders += [at, *(above for above in at.parents if root in above.parents)]
            else:
                yield line, f"there is no `{span}`"


def not_linked(page):
    """The pages of a page's own folder that it does not link."""
    return [part.name for part in sorted(page.with_suffix("").glob("*.md"))
            if f"]({part.parent.name}/{part.name})" not in page.read_text()]


def words_of(root):
    """All words of the sources."""
    sources = (path for base in ("include", "lib", "test", "bench", "samples") for path in (root / base).rglob("*")
               if path.suffix in (".hpp", ".cpp", ".def", ".py", ".txt", ".cmake", ".tir"))
    return {word for path in sources for word in re.findall(r"\w+", path.read_text(errors="replace"))}


def main():
    root = Path(sys.argv[1])
    doc, words = root / "lib" / "doc", words_of(root)
    pages = [root / "CONTRIBUTING.md", root / "README.md", *sorted(doc.rglob("*.md"))]
    wrong = []
    for page in pages:
        name = page.relative_to(root)
        found = [*broken_python(page), *wrong_spans(page, root, words)]
        wrong += [f"{name}:{line}: {message}" for line, message in found]
        wrong += [*dead_links(page, root), *(f"{name} does not link {part}" for part in not_linked(page))]
    index = (doc / "README.md").read_text()
    wrong += [f"lib/doc/README.md does not link {page.name}" for page in sorted(doc.glob("*.md"))
              if page.name != "README.md" and f"]({page.name})" not in index]
    lines = len((root / "README.md").read_text().splitlines())
    if lines > FIRST_PAGE_LINES:
        wrong.append(f"README.md has {lines} lines, at most {FIRST_PAGE_LINES} are wanted; lib/doc has pages for more")
    print("\n".join(wrong) if wrong else f"{len(pages)} pages cite files and names that exist")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
