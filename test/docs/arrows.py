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


def place_of(path, root, table):
    """Folder and part of a source; the part is the folder where the table does not part it."""
    inner = path.is_relative_to(root / "lib")
    parts = path.relative_to(root / ("lib" if inner else "include/tegula")).parts
    folder = parts[0]
    parted = any(other.startswith(f"{folder}/") for other in table)
    part = "/".join(parts[:2]) if inner and parted and len(parts) > 2 else folder
    if folder in table and part not in table:
        raise SystemExit(f"lib/arrows.txt: {part} has no line")
    return folder, part


def foreign(line, folder, public):
    """The beginnings of headers of others that a line includes outside of the folder that may."""
    return [begin for begin, owner in FOREIGN.items()
            if re.match(rf'\s*#\s*include\s*[<"]{begin}', line) and (folder != owner or public)]


def arrow_of(line, folder, part, table):
    """The arrow of an include, from folder to folder or from part to part, or None."""
    found = INCLUDE.match(line)
    if not found or found["folder"] not in table:
        return None
    if found["folder"] != folder:
        return folder, found["folder"]
    parted = any(other.startswith(f"{folder}/") for other in table)
    to = f"{folder}/{found['part']}" if parted and found["part"] else folder
    return (part, to) if is_part(part) and to != part and not found["public"] else None


def includes(root, table):
    """(folder, included folder, whether a header includes it, place) of each include between folders, or parts of one."""
    files = [path for base in ("lib", "include/tegula") for path in sorted((root / base).rglob("*"))
             if path.suffix in (".hpp", ".cpp", ".def")]
    for path in files:
        folder, part = place_of(path, root, table)
        if folder not in table:  # the umbrella header and its like
            continue
        public = "include" in path.relative_to(root).parts[0]
        for number, line in enumerate(path.read_text().splitlines(), 1):
            place = f"{path.relative_to(root)}:{number}"
            for begin in foreign(line, folder, public):
                yield folder, begin, True, place
            if arrow := arrow_of(line, folder, part, table):
                yield *arrow, path.suffix != ".cpp", place


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
