#!/usr/bin/env python3
"""Checks each number of lib/doc/limits.md against the sources.

    limits.py <root>

Each row of a table of the page has an entry in ROWS: the sources of its numbers, in their order. A source is a file and
a regular expression with one group, an integer expression of C++, and perhaps a divisor. A plain integer stands for a number that follows from
others or names something (sm_90, bits of a type); its comment says what. A row without an entry, an entry without a
row, and a number that differs are errors.
"""
import ast
import operator
import re
import sys
from pathlib import Path

EXTENTS = "include/tegula/support/extents.hpp"
CONTROL = "include/tegula/ir/ops/control.hpp"
LIMITS = "include/tegula/abi/limits.hpp"
TARGET = "include/tegula/target/target_info.hpp"
TMA = "include/tegula/target/tma_rules.hpp"
OPTIONS = "lib/transform/check_options.cpp"

STAGES = (CONTROL, r"max_stages = (.*?);")
UNROLLED = (CONTROL, r"max_unrolled = (.*?);")
BLOCKS = (LIMITS, r"max_grid_blocks = (.*?);")
# Of the row of the target that the page describes.
IN_ROW = r"\.architecture = \"sm_90a\",[^}]*?"
SHARED = (TARGET, IN_ROW + r"\.shared = (\d+),")
THREADS = (TARGET, IN_ROW + r"\.threads = (\d+),")
REGISTERS = (TARGET, IN_ROW + r"\.registers = (\d+),")
STEP = (TMA, r"step_bytes = (\d+);")
TMA_EXTENT = (TMA, r"max_extent = (.*?);")
WARPS = [(OPTIONS, r"warps\{" + r"\d+, " * at + r"(\d+)") for at in range(7)]
WGMMA = r"MatrixInstruction wgmma\{\s*\.rows = (\d+), \.column_step = (\d+), \.max_columns = (\d+), \.depth_bytes = (\d+)"
MMA = r"MatrixInstruction mma\{\s*\.rows = (\d+), \.column_step = (\d+), \.max_columns = (\d+), \.depth_bytes = (\d+)"


def nth(pattern, number):
    """The pattern with its group of this number alone."""
    count = iter(range(pattern.count("(")))
    return re.sub(r"\((\\d\+)\)", lambda group: group[0] if next(count) == number else group[1], pattern)


ROWS = {
    "axes of a tensor or tile": [(EXTENTS, r"max_rank = (.*?);")],
    "elements of a tile": [(EXTENTS, r"max_tile_elements = (.*?);")],
    "extents of a tile": [("include/tegula/dsl/shape.hpp", r"shape: every extent must be at least (\d+)")],
    "members of a struct of tiles, scalars or parameters": [("include/tegula/dsl/members.hpp", r"max_members = (.*?);")],
    "depth of `stages<n, d>`": [("include/tegula/dsl/shape.hpp", r"stages: a depth must be at least (\d+)"), STAGES],
    "factor of `unroll<n>`": [UNROLLED],
    "loops and branches inside of each other": [("lib/trace/recorder_impl.hpp", r"ir::(max_nesting - 1)\)")],
    "name of a kernel": [],
    "name of a record of a profile": [
        ("include/tegula/dsl/record.hpp", r"is_record_name = size > (\d+)"),
        ("include/tegula/abi/profile_format.hpp", r"max_record_name = (.*?);")],
    "operands of `interleave`": [("include/tegula/dsl/regroup.hpp", r"interleave: the tiles must have this axis, and at most (\d+)")],
    "elements along an axis": [(LIMITS, r"max_tensor_extent = (.*?);")],
    "offset of any element": [63],  # all of std::int64_t
    "alignment of the address": [],
    "strides of a tensor that is read": [0],  # a stride
    "strides of a tensor that is written": [],
    "blocks of a grid, all axes together": [BLOCKS],
    "axes of a grid": [("include/tegula/dsl/grid.hpp", r"grid: 1 to (\d+) numbers of blocks")],
    "iterations of a loop": [("lib/ir/values/integer_range.hpp", r"max_iterations = (.*?);")],
    "builds of one kernel by facts of its tensors": [("lib/jit/fact_sets.hpp", r"max_builds = (.*?);")],
    "`warps`": WARPS[1:] + WARPS[:1],
    "`stages`, `unroll`": [1, STAGES, 0],  # 0 is the default of both
    "`distance`": [1, (CONTROL, r'field\("distance", &ForOp::distance, \{0, (max_stages - 1)\}'), 0],
    "`split`": [(OPTIONS, r"split\{0, 1, (\d+)"), (OPTIONS, r"split\{[^}]*, (\d+), \d+\}"), (OPTIONS, r"split\{[^}]*, (\d+)\}"),
                (OPTIONS, r"split\{0, (\d+)"),
                (OPTIONS, r"split\{(\d+)")],
    "`share`": [(OPTIONS, r"share\{0, 1, (\d+)"), (OPTIONS, r"share\{0, 1, 2, (\d+)\}"), (OPTIONS, r"share\{(\d+)"),
                (OPTIONS, r"share\{0, (\d+)")],
    "shared memory of a CTA": [SHARED, (*SHARED, 1024)],
    "threads of a CTA": [THREADS, (*THREADS, 32)],
    "registers of a CTA": [REGISTERS],
    "registers of a thread": [(TARGET, IN_ROW + r"\.registers_per_thread = (\d+),")],
    "CTAs of a cluster": [(OPTIONS, r"split\{[^}]*, (\d+)\}"), (OPTIONS, r"share\{0, 1, 2, (\d+)\}")],
    "named barriers": [(TARGET, r"named_barriers = (\d+);")],
    "`wgmma`": [(TARGET, nth(WGMMA, 0)), (TARGET, nth(WGMMA, 1)), (TARGET, nth(WGMMA, 2)), (TARGET, nth(WGMMA, 1))],
    "`mma`": [(TARGET, nth(MMA, 0)), (TARGET, nth(MMA, 2))],
    "depth of both": [(TARGET, nth(WGMMA, 3))],
    "axes of the tensor": [1, (TMA, r"max_axes = (\d+);")],
    "elements of a box along an axis": [1, (TMA, r"max_box_extent = (\d+);")],
    "the last axis of the tile": [STEP],
    "address and strides of the tensor": [STEP, (TMA, r"stride_limit = (.*?);")],
    "the last axis of the tensor": [1],  # a stride
    "elements along an axis, by TMA": [TMA_EXTENT],
    "the pad": [0],  # the value that TMA writes outside of a tensor
    "tiles that one thread holds at once": [("lib/codegen/host/emitter.hpp", r"scratch_limit = (.*?);")],
    "threads of the executor": [
        ("lib/support/environment.cpp", r"read_integer<&Options::threads, (\d+), \d+>"),
        ("lib/support/environment.cpp", r"read_integer<&Options::threads, \d+, (\d+)>")],
    "level of embedded host code": [("lib/exporter/exporter.cpp", r"level of the host's CPU: x86-64-v(\d)"),
                                    ("lib/exporter/exporter.cpp", r"x86-64-v\d, x86-64-v(\d)"),
                                    ("lib/exporter/exporter.cpp", r"or x86-64-v(\d)")],
    "numbers of a problem (extents and integers)": [("include/tegula/abi/tuned_table.hpp", r"max_numbers = (.*?);")],
    "tables of one kernel": [("include/tegula/jit/variants.hpp", r"max_tables = (.*?);")],
    "kernels on disk": [("lib/support/options.hpp", r"cache_limit = (.*?);")],
}
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.LShift: operator.lshift}


def value(text, names):
    """Computes an integer expression of C++ from literals and names."""
    def of(node):
        if isinstance(node, ast.Expression):
            return of(node.body)
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.Name) and node.id in names:
            return names[node.id]
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](of(node.left), of(node.right))
        raise ValueError(f"cannot compute {text}")
    return of(ast.parse(re.sub(r"std::u?int64_t\{(\d+)\}", r"\1", text).strip(), mode="eval"))


def only(root, file, pattern):
    """The one text of a file that the pattern's group has."""
    found = re.findall(pattern, (root / file).read_text())
    if len(found) != 1:
        sys.exit(f"test/docs/limits.py: {file} has {len(found)} texts like {pattern}, 1 is expected")
    return found[0]


def numbers(cell):
    """The numbers of a cell: 2^24, 2^31 - 1, 256 MiB, 1024."""
    cell = re.sub(r"x86-64-v(\d)", r" \1", cell)
    cell = re.sub(r"(?<=, )v(\d)|or v(\d)", lambda level: f" {level[1] or level[2]}", cell)
    cell = re.sub(r"\[[^]]*\]\([^)]*\)|`[A-Z_]+`|`<[^`]*>`", "", cell)
    found = []
    for term in re.finditer(r"2\^(\d+)(?: - (?:2\^(\d+)|(\d+)))?|(\d+)(?: (KiB|MiB|GiB))?", cell):
        power, minus_power, minus, plain, unit = term.groups()
        if power:
            found.append((1 << int(power)) - (1 << int(minus_power) if minus_power else int(minus or 0)))
        else:
            found.append(int(plain) * (UNITS[unit] if unit and unit != "KiB" else 1))
    return found


def main():
    root = Path(sys.argv[1])
    page = root / "lib" / "doc" / "limits.md"
    names = {name: value(only(root, file, rf"{name} = (.*?);"), {})
             for name, file in (("max_stages", CONTROL), ("max_nesting", "lib/ir/text/text.hpp"))}
    wrong, seen, count = [], set(), 0
    heading = False
    for line_number, line in enumerate(page.read_text().splitlines(), 1):
        if not line.startswith("|"):
            heading = False
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not heading or set(cells[0]) <= set("-"):
            heading = True
            continue
        here = f"lib/doc/limits.md:{line_number}"
        name = cells[0] if cells[0] not in seen else f"{cells[0]}, by TMA"
        seen.add(name)
        if name not in ROWS:
            wrong.append(f"{here}: test/docs/limits.py has no entry for \"{name}\"")
            continue
        expected = []
        for source in ROWS[name]:
            if isinstance(source, int):
                expected.append(source)
            else:
                expected.append(value(only(root, *source[:2]), names) // (source[2] if len(source) > 2 else 1))
        shown = numbers(cells[1])
        count += len(shown)
        if shown != expected:
            wrong.append(f"{here}: {name}: the page says {shown}, the sources {expected}")
    wrong += [f"lib/doc/limits.md has no row \"{name}\"" for name in ROWS if name not in seen]
    print("\n".join(wrong) if wrong else f"{count} numbers of lib/doc/limits.md are those of the sources")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
