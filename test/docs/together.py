#!/usr/bin/env python3
"""Checks that sources which are compiled together define no name twice (TEGULA_TOGETHER, preset demo).

    together.py <source directory>

The builds of every day compile each source alone, so they do not see it. Looked at are the names in namespaces without a
name: variables, types, aliases, and functions whose parameters have the same types. Types of headers of the folder count, too.
"""
import re
import sys
from pathlib import Path

NAMESPACE = re.compile(r"^(?:inline )?namespace ?([\w:]*) ?\{")
TYPE = re.compile(r"^(?:struct|class|union|enum(?: class)?) (\w+)(?: final)?(?: :[^:].*)? ?(?:\{|$)")
ALIAS = re.compile(r"^using (\w+) =")
VARIABLE = re.compile(r"^(?:(?:inline|static|constexpr|constinit|thread_local|const) )+[\w:<>,\s*&]*?(\w+)\s*(?:\[[^\]]*\]\s*)?(?:=|\{)(?!=)")
FURTHER = re.compile(r", (\w+) = ")
FUNCTION = re.compile(r"^(?!return|if|for|while|switch|template|struct|class|using|namespace|static_assert|#|//|\s|\})"
                      r"[\w:<>,\s*&\[\]]+?\b(\w+)\((.*?\)(?: const)?(?: noexcept)?) \{")
SPELLING = re.compile(r"\b\w+::|\b\w+(?=[,)])")  # qualifiers, and names of parameters


def sources_of(folder):
    """The sources of a folder that are compiled together, or none."""
    lists = (folder / "CMakeLists.txt").read_text()
    call = re.search(r"tegula_library\((\w+)([^)]*)\)", lists)
    if not call or "TOGETHER" not in call[2].split():
        return []
    apart = re.search(r"\bAPART ([^A-Z]*)", call[2])
    left_out = set(apart[1].split()) if apart else set()
    return [path for path in sorted(folder.rglob("*.cpp"))
            if path.name != "main.cpp" and str(path.relative_to(folder)) not in left_out]


def defined(text, header=False):
    """What a source defines for itself: namespace, name or line of a function, and of an alias its line.

    Of a header the types."""
    open_namespaces = []
    for line in text.splitlines():
        if found := NAMESPACE.match(line):
            open_namespaces.append(found[1])
        elif line.startswith("}") and "// namespace" in line and open_namespaces:
            open_namespaces.pop()
        elif header:
            if found := TYPE.match(line):
                yield "::".join(open_namespaces), found[1], ""
        elif "" in open_namespaces:
            where = "::".join(each for each in open_namespaces if each)
            if found := ALIAS.match(line):  # equal ones may stand together
                yield where, found[1], line
            elif found := TYPE.match(line) or VARIABLE.match(line):
                yield where, found[1], ""
                if VARIABLE.match(line) and line.rstrip().endswith(";"):
                    for further in FURTHER.findall(line):
                        yield where, further, ""
            elif found := FUNCTION.match(line):
                yield where, f"{found[1]}({SPELLING.sub('', found[2])}", ""


def main():
    root, wrong, seen_files = Path(sys.argv[1]), [], 0
    for lists in sorted((root / "lib").glob("*/CMakeLists.txt")):
        first = {}
        for header in sorted(lists.parent.rglob("*.hpp")):  # one source may not see what its neighbour includes
            for *name, _ in defined(header.read_text(), header=True):
                first.setdefault(tuple(name), (header, ""))
        for path in sources_of(lists.parent):
            seen_files += 1
            for *name, alias in set(defined(path.read_text())):
                other, other_alias = first.setdefault(tuple(name), (path, alias))
                if other != path and not (alias and alias == other_alias):
                    wrong.append(f"{path.relative_to(root)} and {other.relative_to(root)} define {name[1]} in {name[0]}; "
                                 "rename one, or list one file after APART in the CMakeLists.txt of the folder")
    if seen_files == 0:
        wrong.append("no folder of lib/ is compiled together")
    print("\n".join(sorted(wrong)) or f"{seen_files} sources that are compiled together define no name twice")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
