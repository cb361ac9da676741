"""Compares lib/arrows.txt with every include of lib/ and include/tegula/, and with the drawing in CONTRIBUTING.md.

    arrows.py <root> [<list>]

Fails on an include that the table does not allow, on an arrow that nothing uses, on an arrow of headers that only sources
use, and on a drawing that does not reach the same folders. Lines such as transform/tile part a folder of lib/. The drawing
leaves them out. All parts may include the public headers of their folder. The list is that of the sources whose hash is
part of cache keys: it must have those of every folder that the compiler reaches.
"""
import re
import sys
from pathlib import Path

INCLUDE = re.compile(r'\s*#\s*include\s*[<"](?P<public>tegula/)?(?P<folder>\w+)/(?:(?P<part>\w+)/)?[^>"]*[>"]')
ROW = re.compile(r"([a-z]+(?:/[a-z_]+)?) *\|([a-z_/ ]*)\|([a-z_/ ]*)$")
DRAWING = re.compile(r"```arrows\n(.*?)```", re.S)
# Folders that see a foreign library, and how its includes begin.
FOREIGN = {"llvm/": "codegen", "cuda.h": "runtime"}


def read_table(path):
    table = {}
    for line in path.read_text().splitlines():
        if row := ROW.match(line):
            table[row[1]] = (row[2].split(), row[3].split())
            if unknown := set(row[2].split() + row[3].split()) - set(table):
                raise SystemExit(f"lib/arrows.txt: {row[1]} may include {', '.join(unknown)}, which has no line above it")
    return table


def is_part(folder):
    return "/" in folder


def includes(root, table):
    """(folder, included folder, whether a header includes it, place) of each include between folders, or parts of one."""
    files = [path for base in ("lib", "include/tegula") for path in sorted((root / base).rglob("*")) if path.suffix in (".hpp", ".cpp", ".def")]
    parted = {folder.split("/")[0] for folder in table if is_part(folder)}
    for path in files:
        inner = path.is_relative_to(root / "lib")
        parts = path.relative_to(root / ("lib" if inner else "include/tegula")).parts
        folder = parts[0]
        if folder not in table:  # the umbrella header and its like
            continue
        part = "/".join(parts[:2]) if inner and folder in parted and len(parts) > 2 else folder
        if part not in table:
            raise SystemExit(f"lib/arrows.txt: {part} has no line")
        for number, line in enumerate(path.read_text().splitlines(), 1):
            place = f"{path.relative_to(root)}:{number}"
            for begin, owner in FOREIGN.items():
                if re.match(rf'\s*#\s*include\s*[<"]{begin}', line) and (folder != owner or "include" in path.relative_to(root).parts[0]):
                    yield folder, begin, True, place
            found = INCLUDE.match(line)
            if not found or found["folder"] not in table:
                continue
            to = f"{found['folder']}/{found['part']}" if found["folder"] in parted and found["part"] else found["folder"]
            if found["folder"] != folder:
                yield folder, found["folder"], path.suffix != ".cpp", place
            elif is_part(part) and to != part and not found["public"]:
                yield part, to, path.suffix != ".cpp", place


def closure(arrows):
    """All folders that each one reaches."""
    reached = {}
    for folder, below in arrows.items():  # from the bottom up
        reached[folder] = set(below).union(*(reached.get(other, set()) for other in below))
    return reached


def check_drawing(root, table):
    table = {folder: arrows for folder, arrows in table.items() if not is_part(folder)}
    text = (root / "CONTRIBUTING.md").read_text()
    drawing = DRAWING.search(text)
    if not drawing:
        return ["CONTRIBUTING.md: no ```arrows drawing"]
    drawn = {folder: set() for folder in table}
    for line in drawing[1].splitlines():
        groups = [re.findall(r"[a-z]+", part) for part in line.split("<-")]
        for below, above in zip(groups, groups[1:]):
            for folder in above:
                if unknown := ({folder} | set(below)) - set(table):
                    return [f"CONTRIBUTING.md: the drawing names {', '.join(unknown)}, which lib/arrows.txt does not have"]
                drawn[folder] |= set(below)
    wanted = closure({folder: headers + sources for folder, (headers, sources) in table.items()})
    found = closure(drawn)
    return [f"CONTRIBUTING.md: in the drawing {folder} reaches {' '.join(sorted(found[folder])) or 'nothing'}, "
            f"in lib/arrows.txt {' '.join(sorted(wanted[folder])) or 'nothing'}" for folder in table if found[folder] != wanted[folder]]


def check_hashed(root, table, path):
    """A file of a folder that decides what a compilation makes, and that the list lacks; one a folder."""
    hashed = set(path.read_text().split())
    reached = closure({folder: headers + sources for folder, (headers, sources) in table.items() if not is_part(folder)})
    for folder in sorted({"compiler", "dsl"} | reached["compiler"] | reached["dsl"]):
        sources = sorted(str(file.relative_to(root)) for base in ("lib", "include/tegula")
                         for file in (root / base / folder).rglob("*.?pp"))
        if missing := next((source for source in sources if source not in hashed), None):
            yield f"{missing}: not hashed for the keys of the cache; lib/cmake/TegulaSourceHash.cmake leaves out {folder}"


def main():
    root = Path(sys.argv[1])
    table = read_table(root / "lib" / "arrows.txt")
    errors, used, used_by_header = [], set(), set()
    for folder, to, by_header, place in includes(root, table):
        headers, sources = table[folder]
        used.add((folder, to))
        if by_header:
            used_by_header.add((folder, to))
        if to in FOREIGN:
            errors.append(f"{place}: includes {to}, which only sources and headers in lib/{FOREIGN[to]} may")
        elif to not in headers + sources:
            errors.append(f"{place}: {folder} may not include {to}; it may include {' '.join(headers + sources) or 'nothing'}")
        elif by_header and to not in headers:
            errors.append(f"{place}: only sources of {folder} may include {to}; if headers must, move it to the first column of lib/arrows.txt")
    for folder, (headers, sources) in table.items():
        for to in headers + sources:
            if (folder, to) not in used:
                errors.append(f"lib/arrows.txt: {folder} does not include {to}; remove it")
            elif to in headers and (folder, to) not in used_by_header:
                errors.append(f"lib/arrows.txt: only sources of {folder} include {to}; move it to the last column")
    errors += check_drawing(root, table)
    if len(sys.argv) > 2:
        errors += check_hashed(root, table, Path(sys.argv[2]))
    print("\n".join(errors))
    sys.exit(1 if errors else 0)


main()
