"""Builds the documentation as HTML pages: the pages of lib/doc, the API reference and the reference of ops.

    build.py <tegula_opt> <folder>

Writes Markdown to <folder>/source and HTML to <folder>/html. Needs sphinx, myst-parser, furo and codespell. Every
warning is an error, a dead link between pages too. The HTML is read without a network.
"""
import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import headers
import ops
from source_text import ROOT

HERE = Path(__file__).resolve().parent
GROUPS = {
    "Kernels": ("dsl",),
    "Launches and options": ("jit", "runtime", "call", "abi", "support"),
    "Profiles, tuning, kernels at build time": ("profile", "tune", "exporter", "aot"),
}
LEARN = ["overview", "tutorial", "coming_from", "coming_from_kernels", "patterns", "existing_programs", "one_file",
         "build_time", "python"]
USE = ["language", "glossary", "errors", "debugging", "profiling", "kernel_page", "tuning", "advice", "fallbacks",
       "limits", "cache", "numerics", "packages"]
INSIDE = ["passes", "plan", "layouts", "block_ir", "memory_model", "rings", "arithmetic", "blackwell", "tried"]


def plain(text):
    """A comment as Markdown: marks outside of code are text, and a list has an empty line before it."""
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [re.sub(r"([<>*_$\[\]|~])", r"\\\1", part) for part in parts[::2]]
    lines, result = "".join(parts).splitlines(), []
    for line in lines:
        if re.match(r"- |\d\. ", line) and result and result[-1] and not re.match(r"- |\d\. | ", result[-1]):
            result.append("")
        if line.startswith("  ") and result and not re.match(r"- |\d\. |  ", result[-1]):
            line = line.lstrip()
        if re.match(r"#|=+$", line):
            line = "\\" + line
        result.append(line)
    return "\n".join(result)


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def code(language, text):
    return f"```{language}\n{text}\n```\n"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


# --- pages of the repository ---------------------------------------------------------------------------------------

def page_text(path, at):
    """A page for the site, where it stands at `at`: links to other files of the repository become their paths."""
    text = path.read_text()

    def link(found):
        target, anchor = (found[2].split("#") + [""])[:2]
        if not target or re.match(r"\w+:", target):
            return found[0]
        file = (path.parent / target).resolve()
        if not file.exists():
            raise SystemExit(f"{path.relative_to(ROOT)}: there is no {target}")
        name = file.relative_to(ROOT).as_posix()
        if name == "README.md":
            name = "overview.md"
        elif name == "lib/doc/README.md":
            name = "index.md"
        elif name == "CONTRIBUTING.md":
            name = "contributing.md"
        elif name.startswith("lib/doc/") and file.suffix in (".md", ".svg", ".png"):
            name = name.removeprefix("lib/doc/")
        elif file.suffix in (".svg", ".png"):
            shutil.copy(file, SOURCE / file.name)
            name = file.name
        else:
            return f"{found[1].strip('![]')} (`{name}`)" if name not in found[1] else found[1].strip("[]")
        return f"{found[1]}({os.path.relpath(name, at.parent)}{'#' + anchor if anchor else ''})"

    parts = re.split(r"(^ *```.*?^ *```)", text, flags=re.M | re.S)
    parts[::2] = [re.sub(r"(!?\[[^\]\n]*(?:\n[^\]\n]*)?\])\(([^)\s]+)\)", link, part) for part in parts[::2]]
    return re.sub(r"^```arrows$", "```text", "".join(parts), flags=re.M)


def copy_pages():
    for path in sorted((ROOT / "lib/doc").rglob("*")):
        at = path.relative_to(ROOT / "lib/doc")
        if "site" in at.parts or path.is_dir() or at == Path("README.md"):  # index.md takes its place
            continue
        if path.suffix == ".md":
            text = page_text(path, at)
            if parts := list(path.with_suffix("").glob("*.md")):  # the lessons of tutorial.md, the pages of passes.md
                parts.sort(key=lambda each: path.read_text().find(f"({each.parent.name}/{each.name}"))
                names = "\n".join(f"{each.parent.name}/{each.stem}" for each in parts)
                text += f"\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"
            write(SOURCE / at, text)
        else:
            shutil.copy(path, SOURCE / at)
    write(SOURCE / "overview.md", page_text(ROOT / "README.md", Path("overview.md")))
    write(SOURCE / "contributing.md", page_text(ROOT / "CONTRIBUTING.md", Path("contributing.md")))


# --- the API -------------------------------------------------------------------------------------------------------

def section(entry, fields, examples):
    lines = [f"({entry.label})=\n## {entry.full}\n"]
    shown_comments = set()
    for each in entry.declarations:
        if each.comment and each.comment not in shown_comments:
            lines.append(plain(each.comment) + "\n")
        shown_comments.add(each.comment)
        lines.append(code("cpp", each.head))
    errors = dict.fromkeys(message for each in entry.declarations for message in each.errors if " " in message)
    if errors:
        lines.append("**Errors**\n")
        lines += [f"- `{message}`" for message in errors]
        lines.append("")
    if example := examples.of(entry):
        source, text = example
        lines.append(f"**Example**, from `{source}`:\n")
        lines.append(code("cpp", text))
    for each in fields:
        lines.append(f"({each.label})=\n### {entry.full}: {each.name}\n\n{plain(each.declarations[0].comment)}\n")
    return "\n".join(lines)


def write_api():
    names = headers.public_names()
    examples = headers.Examples(names)
    by_header = defaultdict(list)
    for entry in names:
        by_header[entry.header].append(entry)
    pages = defaultdict(list)
    for header, entries in by_header.items():
        folder = header.parts[2]
        page = f"{folder}-{header.stem}"
        pages[folder].append(page)
        include = header.relative_to("include").as_posix()
        text = [f"# {include}\n\n{plain(headers.introduction(header))}\n"]
        owned = defaultdict(list)
        for entry in entries:
            owned[entry.owner].append(entry)
        for entry in entries:
            if not entry.owner:
                text.append(section(entry, owned[entry.name], examples))
        write(SOURCE / "api" / f"{page}.md", "\n".join(text))
    index = ["# API reference\n\nEvery public name, from the comments of the public headers. `#include "
             "<tegula/tegula.hpp>` declares them all but those of `aot` and `exporter`. Shapes are written as in\n"
             "M x K; extents and offsets count elements, sizes of memory count bytes. Times say their unit in the "
             "name or\nin the comment. [The language](../language.md) shows the names in the order in which a kernel "
             "needs them.\n"]
    for title, folders in GROUPS.items():
        of_group = [page for folder in folders for page in pages[folder]]
        index.append(f"## {title}\n\n| name | does |\n|---|---|")
        for entry in sorted(names, key=lambda each: each.full.lower()):
            if entry.header.parts[2] in folders:
                index.append(f"| [`{entry.full}`](#{entry.label}) | {cell(plain(entry.summary))} |")
        index.append("\n```{toctree}\n:hidden:\n\n" + "\n".join(of_group) + "\n```\n")
    write(SOURCE / "api" / "index.md", "\n".join(index))
    return len(names)


# --- ops -----------------------------------------------------------------------------------------------------------

def of_attribute(attribute):
    kind = attribute["kind"]
    if "values" in attribute:
        kind = ", ".join(f"`{value}`" for value in attribute["values"])
    elif "min" in attribute:
        kind += f", {attribute['min']} to {attribute['max']}"
    default = attribute.get("default", "")
    default = str(default).lower() if isinstance(default, bool) else default
    return f"| `{attribute['name']}` | {kind} | {f'`{default}`' if default != '' else ''} |"


def of_effect(effect):
    text = f"{effect['access']} {effect['space']} memory" if effect["space"] in ("global", "shared") else (
        f"{effect['access']} the {effect['space']}")
    if "operand" in effect:
        text += f" of `{effect['operand']}`"
    if effect.get("atomic"):
        text += ", atomically"
    if "proxy" in effect:
        text += ", through the async proxy"
    if "completion" in effect:
        text += {"later": "; a pass makes the access"}.get(
            effect["completion"], f"; completed by the {effect['completion']} mechanism")
    return text


def operands_of(op):
    operands = [f"`{name}`" for name in op["operands"]]
    if "variadic" in op["traits"] and operands:
        operands[-1] += " (any number)"
    return ", ".join(operands) or "none"


def elements_of(op, seen):
    """The elements that an op states, else those that the tests show."""
    if op["elements"]:
        return op["elements"]
    if seen:
        return "in the tests: " + ", ".join(f"`{element}`" for element in seen)
    return "those of its operands" if op["operands"] else "none"


def effects_of(op):
    if op["effects"]:
        return "; ".join(of_effect(effect) for effect in op["effects"])
    if op["family"] not in ("synchronisation", "report", "control", "launch"):
        return "none: pure"
    return "those of its blocks" if "has_regions" in op["traits"] else "kept in its place"


def op_section(op, comment, examples):
    mnemonic = op["mnemonic"]
    rows = [("operands", operands_of(op)), ("elements", elements_of(op, examples.elements(mnemonic))),
            ("effects", effects_of(op)),
            ("traits", ", ".join(f"`{trait}`" for trait in op["traits"]) or "none"),
            ("runs on", ", ".join(op["executors"]) or "nothing itself")]
    if "replaced_by" in op:
        rows.append(("replaced by", f"the pass `{op['replaced_by']}`"))
    if "number" in op:
        rows.append(("returns", f"{op['number'][0]} to {op['number'][1]}"))
    text = [f"(op-{mnemonic.replace('_', '-')})=\n## {mnemonic}\n\n{plain(comment)}\n", "| | |\n|---|---|"]
    text += [f"| {key} | {cell(value)} |" for key, value in rows]
    if op["attributes"]:
        text.append("\n| attribute | values | default |\n|---|---|---|")
        text += map(of_attribute, op["attributes"])
    path, example = examples.of(mnemonic)
    text.append(f"\n**Example**, from `{path}`:\n\n{code('text', example)}")
    return "\n".join(text)


def write_ops(tegula_opt):
    table = json.loads(subprocess.run([tegula_opt, "--list-ops"], check=True, capture_output=True, text=True).stdout)
    comments, examples = ops.comments(), ops.Examples()
    families = defaultdict(list)
    for op in table:
        families[op["family"]].append(op)
    index = ["# Op reference\n\nEvery op of the IR, from its struct in `include/tegula/ir/ops`, with an example from "
             "the tests. The table is that of\n`tegula_opt --list-ops`. [Block IR](../block_ir.md) explains types and "
             "places, [passes](../passes.md) which pass makes which\nop. The words in the rows \"effects\" and "
             "\"traits\" are those of `include/tegula/ir/fields.hpp`.\n"]
    for family, members in families.items():
        text = [f"# Ops: {family}\n"]
        index.append(f"## {family.capitalize()}\n\n| op | does |\n|---|---|")
        for op in members:
            comment = comments[op["struct"]][1]
            text.append(op_section(op, comment, examples))
            summary = headers.first_sentence(comment)
            label = "op-" + op["mnemonic"].replace("_", "-")
            index.append(f"| [`{op['mnemonic']}`](#{label}) | {cell(plain(summary))} |")
        index.append("")
        write(SOURCE / "ops" / f"{family}.md", "\n".join(text))
    index.append("```{toctree}\n:hidden:\n\n" + "\n".join(families) + "\n```\n")
    write(SOURCE / "ops" / "index.md", "\n".join(index))
    return len(table)


# --- all -----------------------------------------------------------------------------------------------------------

def write_index():
    def tree(title, pages):
        return f"```{{toctree}}\n:caption: {title}\n:maxdepth: 1\n\n" + "\n".join(pages) + "\n```\n"

    known = set(LEARN + USE + INSIDE)
    others = [path.stem for path in sorted((ROOT / "lib/doc").glob("*.md")) if path.stem not in {"README", *known}]
    write(SOURCE / "index.md", "# Tegula\n\nTegula is a C++20 language for GPU tile kernels. Start with the "
          "[overview](overview.md) or with the\n[tutorial](tutorial.md). Look names up in the [API reference]"
          "(api/index.md), ops in the [op reference](ops/index.md),\nterms in the [glossary](glossary.md).\n\n"
          + tree("Learn", ["Overview <overview>", *LEARN[1:]]) + tree("Use", USE)
          + tree("Reference", ["api/index", "ops/index"])
          + tree("Inside", INSIDE + others + ["contributing"]))


def check_spelling():
    """Spells the pages and the comments that the references show; words.txt holds words that codespell may not know."""
    files = [str(path) for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "lib/doc").rglob("*.md"),
                                    *(SOURCE / "api").glob("*.md"), *(SOURCE / "ops").glob("*.md")]]
    program = Path(sys.executable).parent / "codespell"
    program = str(program) if program.exists() else "codespell"
    subprocess.run([program, "--ignore-words", str(HERE / "words.txt"), *files], check=True)


def main():
    global SOURCE
    tegula_opt, folder = sys.argv[1], Path(sys.argv[2]).resolve()
    SOURCE = folder / "source"
    shutil.rmtree(SOURCE, ignore_errors=True)
    SOURCE.mkdir(parents=True)
    copy_pages()
    shutil.copy(HERE / "conf.py", SOURCE)
    shutil.copytree(HERE / "static", SOURCE / "static")
    name_count, op_count = write_api(), write_ops(tegula_opt)
    write_index()
    check_spelling()
    html = folder / "html"
    shutil.rmtree(html, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-d",
                    str(folder / "doctrees"), str(SOURCE), str(html)], check=True)
    pages = len(list(html.rglob("*.html")))
    print(f"docs: {pages} pages with {name_count} public names and {op_count} ops: {html / 'index.html'}")


if __name__ == "__main__":
    main()
