"""Checks that the pages of passes in lib/doc/passes show what tegula_opt prints.

    pass_pages.py <root> <tegula_opt>

A page names a golden text and a kernel of it, "<!-- test/ir/<pass>/<case>.tir @kernel -->", and shows two blocks: lines
of the kernel as it is written, and lines of the output of the passes in the text's RUN line. Lines stand in the order of
the text. A line "..." stands for any lines, and "..." within a line for any characters; indentation does not count.

A page has at most 60 lines of 120 columns, an example, a drawing and the section "Place in the order", whose items name
passes on the right side of its own: "After `a` and `b`: the reason". Its pass has one row in lib/doc/passes.md, which
links the page. Each pass of the cuda pipeline has one row there; those that run once stand in the order of
lib/transform/pass_table.cpp.
"""
import re
import subprocess
import sys
from pathlib import Path

EXAMPLE = re.compile(r"<!-- (\S+\.tir) @(\w+) -->\n```\n(.*?)```\n```\n(.*?)```\n", re.DOTALL)
LONGEST = 60


def kernel_of(text, name):
    """The lines of one kernel, without indentation and comments."""
    found = re.search(rf"(?ms)^kernel @{name}\(.*?^\}}", text)
    lines = [line.strip() for line in found.group().splitlines()] if found else []
    return "".join(line + "\n" for line in lines if not line.startswith("//"))


def pattern_of(block):
    """The expression that a block stands for."""
    parts = []
    for line in map(str.strip, block.splitlines()):
        parts.append("(?:.*\n)*?" if line == "..." else ".*".join(map(re.escape, line.split("..."))) + "\n")
    return re.compile("^" + "".join(parts), re.MULTILINE)


def faults(root, tool, page):
    text = page.read_text()
    lines = text.splitlines()
    if len(lines) > LONGEST:
        yield f"has {len(lines)} lines, at most {LONGEST} fit a screen"
    for number, line in enumerate(lines, 1):
        if len(line) > 120:
            yield f"line {number} has {len(line)} columns"
    examples = EXAMPLE.findall(text)
    if not examples:
        yield "does not have an example"
    if "```" not in EXAMPLE.sub("", text):
        yield "does not have a drawing"
    if "\n## Place in the order\n" not in text:
        yield 'does not have the section "Place in the order"'
    for file, name, before, after in examples:
        golden = root / file
        written = golden.read_text() if golden.is_file() else ""
        run = re.match(r"// RUN: ((?:\w+=\w+ )*)(\S+)\n", written)  # options, then passes
        if not run or page.stem not in run.group(2).split(","):
            yield f"names {file}, whose RUN line does not have the pass"
            continue
        options = ["--" + option for option in run.group(1).split()]
        command = [tool, "--target", "cuda", *options, "-p", run.group(2), str(golden)]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        for block, source, place in ((before, written, "text"), (after, printed, "output")):
            if not pattern_of(block).search(kernel_of(source, name)):
                yield f"shows lines that the {place} of @{name} in {file} does not have: {block.splitlines()[0]} ..."


def faults_of_places(text, own, pipeline):
    """The items of the section on the order that the pipeline contradicts."""
    for item in re.findall(r"(?ms)^- (.*?)(?=^- |\Z)", text.partition("\n## Place in the order\n")[2]):
        head = re.split("[:.,]", item)[0]  # "Free after `a`", "Ahead of `a` and `b`"
        others = [other for other in re.findall(r"`([\w-]+)`", head) if other in pipeline]
        for other in others:
            if re.match("(Free a|A)fter", head) and pipeline.index(other) > pipeline.index(own):
                yield f"stands ahead of {other} in the pipeline"
            if head.startswith("Ahead of") and pipeline[::-1].index(other) > pipeline[::-1].index(own):
                yield f"stands after {other} in the pipeline"


def faults_of_rows(rows, pipeline):
    """The rows of lib/doc/passes.md that do not suit the pipeline."""
    yield from (f"{name} has two rows" for name in sorted({x for x in rows if rows.count(x) > 1}))
    yield from (f"{name} has no row" for name in dict.fromkeys(pipeline) if name not in rows)
    once = [name for name in pipeline if pipeline.count(name) == 1]
    shown = [name for name in rows if name in once]
    expected = [name for name in once if name in rows]
    for found, right in zip(shown, expected):
        if found != right:
            yield f"the row of {found} stands where {right} is next in the pipeline"
            return


def main():
    root, tool = Path(sys.argv[1]), sys.argv[2]
    index = (root / "lib" / "doc" / "passes.md").read_text()
    rows = re.findall(r"(?m)^\| \[?`([\w-]+)`", index)
    table = (root / "lib" / "transform" / "pass_table.cpp").read_text()
    pipeline = re.findall(r'"([\w-]+)"', re.search(r"for_cuda = list\((.*?)\);", table, re.DOTALL)[1])
    wrong = [f"lib/doc/passes.md: {fault}" for fault in faults_of_rows(rows, pipeline)]
    pages = sorted((root / "lib" / "doc" / "passes").glob("*.md"))
    for page in pages:
        if f"| [`{page.stem}`](passes/{page.name}) |" not in index:
            wrong.append(f"lib/doc/passes.md does not link {page.name} in the row of its pass")
        wrong += [f"{page.relative_to(root)} {fault}" for fault in faults(root, tool, page)]
        wrong += [f"{page.relative_to(root)} {fault}" for fault in faults_of_places(page.read_text(), page.stem, pipeline)]
    print("\n".join(wrong) if wrong else f"{len(pages)} pages show what passes do")
    return 1 if wrong or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
