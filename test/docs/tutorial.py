"""Writes code and expected output of the lessons and patterns into the pages of lib/doc, from their sources.

    tutorial.py <root>           writes the pages
    tutorial.py <root> --check   names each place where a page differs from its source, and changes nothing

A source marks a region by lines "// [begin: name]" and "// [end]". A page shows it between "<!-- file region -->" and
"<!-- end -->", where the file is one from the root. A region called "output" is a comment; the page shows its text.
Between "<!-- neighbours -->" and "<!-- end -->" stand links to the lessons around.

Each lesson has a page of its name, three exercises whose solutions the page shows, and a line in lib/doc/tutorial.md.
Each region is shown, those of the other pages in test/docs too, and links of all pages lead to files.
"""
import re
import sys
from pathlib import Path

MARK = re.compile(r"<!-- (\S+\.[ch]pp) (.+?) -->\n(.*?)<!-- end -->", re.DOTALL)
NEIGHBOURS = re.compile(r"<!-- neighbours -->\n(.*?)<!-- end -->", re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def regions(path):
    """The regions of a source by name, each as text without the indentation that all of its lines have."""
    found, name, lines = {}, None, []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        begin = re.match(r"\s*// \[begin: (.+)\]$", line)
        if begin or re.match(r"\s*// \[end\]$", line):
            if bool(begin) == (name is not None):
                raise SystemExit(f"{path}:{number}: a region begins and ends once, and holds no other one")
            if begin:
                name, lines = begin.group(1), []
            else:
                margin = min((len(x) - len(x.lstrip()) for x in lines if x.strip()), default=0)
                found[name] = "\n".join(x[margin:] for x in lines) + "\n"
                name = None
        elif name is not None:
            lines.append(line)
    if name is not None:
        raise SystemExit(f"{path}: the region {name} does not end")
    return {name: text if name != "output" else re.sub(r"(?m)^// ?", "", text) for name, text in found.items()}


def neighbours(pages, page):
    """Links to the index, the lesson before and the one behind."""
    at = pages.index(page)
    around = [("back", pages[at - 1])] * (at > 0) + [("next", to) for to in pages[at + 1:at + 2]]
    links = ["[Tutorial](../tutorial.md)"]
    for word, to in around:
        links.append(f"{word}: [{to.read_text().splitlines()[0].strip('# ')}]({to.name})")
    return "<!-- neighbours -->\n" + " |\n".join(links) + "\n<!-- end -->"


def lacks(root, lesson, index):
    """Says what a lesson lacks: exercises on its page, a link, solutions."""
    page = index.with_suffix("") / (lesson.stem + ".md")
    text = page.read_text() if page.is_file() else ""
    for needed in ("## Exercises", *(f"**{number}.**" for number in (1, 2, 3))):
        if needed not in text:
            yield f"{page.relative_to(root)} lacks {needed}"
    if f"](tutorial/{page.name})" not in index.read_text():
        yield f"{index.relative_to(root)} does not link {page.name}"
    solution = lesson.parent / "solutions" / lesson.name
    if not solution.is_file():
        yield f"there is no {solution.relative_to(root)}"


def main():
    root, check = Path(sys.argv[1]), "--check" in sys.argv[2:]
    lessons = root / "samples" / "tutorial"
    sources, shown, wrong = {}, set(), []

    def written(match):
        file, region = match.group(1), match.group(2)
        if file not in sources:
            sources[file] = regions(root / file) if (root / file).is_file() else {}
        shown.add((file, region))
        if "<!-- " in match.group(3):
            wrong.append(f"{page.relative_to(root)}: {file} {region} lacks its <!-- end -->")
            return match.group()
        if region not in sources[file]:
            wrong.append(f"{page.relative_to(root)}: {file} does not have a region {region}")
            return match.group()
        language = "" if region == "output" else "cpp"
        return f"<!-- {file} {region} -->\n```{language}\n{sources[file][region]}```\n<!-- end -->"

    index = root / "lib" / "doc" / "tutorial.md"
    pages = sorted(index.with_suffix("").glob("*.md"))
    for page in sorted(index.parent.rglob("*.md")):
        old = page.read_text()
        new = MARK.sub(written, old)
        if page in pages:
            new = NEIGHBOURS.sub(lambda _: neighbours(pages, page), new)
        if new != old and check:
            wrong.append(f"{page.relative_to(root)} differs from its sources; run test/docs/tutorial.py .")
        elif new != old:
            page.write_text(new)
        links = LINK.findall(re.sub(r"(?ms)^```.*?^```|`[^`\n]*`", "", new))
        wrong += [f"{page.relative_to(root)}: there is no {to}" for to in links if not (page.parent / to).exists()]
    lesson_files = sorted(lessons.glob("*.cpp"))
    for lesson in lesson_files:
        wrong += lacks(root, lesson, index)
    solutions = [lessons / "solutions" / lesson.name for lesson in lesson_files]
    for source in filter(Path.is_file, [*lesson_files, *solutions, *sorted((root / "test" / "docs").glob("*.cpp"))]):
        file = str(source.relative_to(root))
        wrong += [f"no page shows the region {name} of {file}" for name in regions(source) if (file, name) not in shown]
    print("\n".join(wrong) if wrong else f"the pages show {len(shown)} regions of their sources")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
