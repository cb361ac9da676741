"""Reads the op structs: the mnemonic and the comment of each op, and an example from the IR texts of the tests."""
import re

from source_text import ROOT, comment_above

STRUCT = re.compile(r"^struct (\w+) : [^{;]*\{(.*?)^\};", re.M | re.S)
MNEMONIC = re.compile(r'std::string_view mnemonic = "(\w+)"')
ROW = re.compile(r"^TEGULA_(?:EXACT|EXPANDED|EXPANDED_2)\((\w+), (\w+), (.*)\)$", re.M)
ELEMENT = re.compile(r"(?:[<x]|: )(bool|bf16|e4m3|e5m2|[iu](?:4|8|16|32|64)|f(?:16|32|64))(?=[>,\s}]|$)")


def listed():
    """The structs of ops.def and of elementary.def, in their order."""
    names = []
    for line in (ROOT / "include/tegula/ir/ops.def").read_text().splitlines():
        if found := re.fullmatch(r"TEGULA_OP\((\w+)\)", line):
            names.append(found[1])
        elif "elementary.def" in line:
            names += [found[1] for found in ROW.finditer((ROOT / "include/tegula/math/elementary.def").read_text())]
    return names


def comments():
    """For each struct of an op: its mnemonic, its comment and the file of both."""
    result = {}
    for path in sorted((ROOT / "include/tegula/ir/ops").glob("*.hpp")):
        text = path.read_text()
        for found in STRUCT.finditer(text):
            if mnemonic := MNEMONIC.search(found[2]):
                result[found[1]] = (mnemonic[1], comment_above(text, found.start()), path.relative_to(ROOT))
    path = ROOT / "include/tegula/math/elementary.def"
    text = path.read_text()
    for found in ROW.finditer(text):
        result[found[1]] = (found[2], comment_above(text, found.start()) + accuracy(found[0], found[3]),
                            path.relative_to(ROOT))
    return result


def accuracy(row, rest):
    """The errors that a row of elementary.def states, in ulp."""
    figures = [part.strip() for part in rest.split(",")]
    if row.startswith("TEGULA_EXACT"):
        return f"\n\nOn a host the result is rounded correctly. " \
               f"On Hopper the error of f32 is at most {figures[-1]} ulp."
    host = f"\n\nOn a host the error is at most {figures[-3]} ulp of f32 and {figures[-2]} ulp of f64. "
    return host + f"On Hopper that of f32 is at most {figures[-1]} ulp."


class Examples:
    """Lines of IR text in the tests, the golden texts first."""

    def __init__(self):
        self.lines = []
        texts = sorted((ROOT / "test/ir").rglob("*.tir"), key=lambda path: (path.parent.name != "roundtrip", str(path)))
        for rank, path in enumerate(texts):
            if "invalid" in path.parts:
                continue
            lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("//")]
            for at, line in enumerate(lines):
                self.lines.append((path.parent.name != "roundtrip", path.relative_to(ROOT), lines, at, line))

    def of(self, mnemonic):
        """The file and the lines of an example, or None: one line, or the region behind it."""
        use = re.compile(rf"\s*(?:%[^=]*= )?{mnemonic}(?:\s|$)")
        best = None
        for rank, path, lines, at, line in self.lines:
            if not use.match(line):
                continue
            text = [line]
            if line.endswith("{"):
                indent = len(line) - len(line.lstrip())
                for inner in lines[at + 1:]:
                    text.append(inner)
                    if inner.startswith(" " * indent + "}") and not inner.endswith("{"):
                        break
            key = (rank, len(text) > 10, abs(sum(map(len, text)) - 60))
            if best is None or key < best[0]:
                cut = len(line) - len(line.lstrip())
                best = (key, path, "\n".join(each[cut:] for each in text))
        return best and best[1:]

    def elements(self, mnemonic):
        """The elements in the types of the lines that have the op."""
        use = re.compile(rf"\s*(?:%[^=]*= )?{mnemonic}(?:\s|$)")
        found = set()
        for _, _, _, _, line in self.lines:
            if use.match(line):
                found |= set(ELEMENT.findall(line))
        return sorted(found)
