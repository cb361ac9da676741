#!/usr/bin/env python3
"""Makes a page of results for each machine, its plot, and figures of other pages from bench/results/*.jsonl.

    bench/report.py            writes them
    bench/report.py --check    fails if one of them is not what the data gives

A line of data is one figure: program, kernel, shape, variant, unit, median, min, max, rival, ratio_median, ratio_min,
ratio_max, error, clock, seed, commit, machine, date. A field that was not recorded is null.

A page shows families of figures, each in one table. A family is of one run: the lines of one date and one commit. Of
the runs that compared the most sizes with the rivals, it is the newest. All other lines are data only.
"""
import json
import math
import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT / "bench"
RESULTS = BENCH / "results"

CUBLASLT = ("cuBLASLt", "cuBLASLt, best of its heuristics")
COPY = ("the driver's copy", "driver's copy")
CUDNN = ("cuDNN", "cuDNN")
PLAIN = ("our product without them", "plain product")
MEMORY = ["vector addition f32", "row sums f32", "softmax f32", "rmsnorm f32", "rmsnorm bf16", "layernorm bf16",
          "bias and GELU bf16", "transpose f32, tiles of 64", "transpose bf16, tiles of 64",
          "transpose bf16, tiles of 128"]


class Group(NamedTuple):
    """Three columns of a family: our rate, the rival's and the ratio."""
    column: str  # above them; "": the family has no other group
    name: str  # in the summary and the plot
    rival: tuple  # its text, and the beginning of its name in the data
    kernels: list  # several kernels name the rows
    variants: list = []  # none: the fastest one of each size
    ending: str = ""  # of the shapes

    def shape_of(self, line):
        """The shape of a line of data, without the ending, or None for a line of something else."""
        shape = line["shape"].removesuffix(self.ending)
        compared = line["ratio_median"] is not None and line["date"] and (line["rival"] or "").startswith(self.rival[1])
        taken = line["kernel"] in self.kernels and (not self.variants or line["variant"] in self.variants)
        return shape if compared and taken and shape + self.ending == line["shape"] and "threads" not in shape else None


def elements(*names):
    return [Group(name, f"Product of {name}", CUBLASLT, [f"gpu product {name}"]) for name in names]


# A family: title, what its rates count, and groups of columns.
GPU = [
    ("Products of bf16", "TFLOP/s",
     [Group("tuned table", "Product, bf16, tuned table", CUBLASLT, ["gpu product bf16"], ["tuned table"]),
      Group("cost model", "Product, bf16, cost model", CUBLASLT, ["gpu product bf16"], ["cost model"])]),
    ("Products of other elements, and with bias and GELU", "TFLOP/s",
     elements("tf32", "e4m3", "i8") +
     [Group("GELU by exp", "Product, bias and GELU by exp", PLAIN, ["gpu product gelu"]),
      Group("GELU by fast_tanh", "Product, bias and GELU by fast_tanh", PLAIN, ["gpu product gelu by fast_tanh"])]),
    ("Attention and its gradients", "TFLOP/s",
     [Group("full", "Attention, full", CUDNN, ["gpu attention"]),
      Group("causal", "Attention, causal", CUDNN, ["gpu attention, causal"]),
      Group("gradients, full", "Gradients of attention, full", CUDNN, ["gpu attention backward"]),
      Group("gradients, causal", "Gradients of attention, causal", CUDNN, ["gpu attention backward, causal"])]),
    ("Limited by memory", "GB/s", [Group("", "Limited by memory", COPY, ["gpu " + kernel for kernel in MEMORY])]),
]
# A family that was measured on an H200 alone, beside libraries that ./dev rivals compiles.
SERVING = [
    ("Transforms of rows, prefix sums", "GB/s",
     [Group("transform f32", "Transforms of rows, f32", ("cuFFT", "cuFFT"), ["gpu transform f32"]),
      Group("sums u32", "Prefix sums, u32", ("CUB", "CUB"), ["gpu prefix sums u32"])]),
]
ROWS = ["host " + kernel for kernel in ("vadd", "softmax", "layernorm")] + ["rmsnorm", "sums", "transpose"]


def host(title, unit, rival, kernels):
    """A family on the host, with all instructions of the CPU and with AVX2 alone."""
    return (title, unit, [Group(level, f"{title}, {level}", rival, kernels, ["tile ops"], f", threads 1{cpu}")
                          for level, cpu in (("AVX-512", ""), ("AVX2", ", x86-64-v3"))])


HOST = [
    host("Product, f32 and f64", "GFLOP/s", ("OpenBLAS", "OpenBLAS"), ["gemm f32", "gemm f64"]),
    host("Product, f32", "GFLOP/s", ("Eigen", "Eigen"), ["gemm f32"]),
    host("Product, narrow elements", "GFLOP/s", ("the same in f32", "tile ops in f32"), ["gemm bf16", "gemm i8"]),
    host("Attention, f32", "GFLOP/s", ("a product of 1024 cubed", "tile ops, 1024 cubed"), ["attention f32"]),
    host("Rows and elements", "GB/s", ("loops of OpenMP", "OpenMP"), ROWS),
]
# Kernels whose first compilation a page shows.
COMPILED = ["product, 128 x 256 x 64", "attention, heads of 128", "causal attention, heads of 128"]

# Page, machine in its title, beginning of the machine's name in the data, families, plot.
PAGES = [
    ("RESULTS.md", "NVIDIA H200", "NVIDIA H200", GPU + SERVING, "h200.svg"),
    ("RESULTS_H100.md", "NVIDIA H100", "NVIDIA H100", GPU, "h100.svg"),
    ("RESULTS_HOST.md", "one core of Zen 4", "AMD EPYC", HOST, "host.svg"),
]

# The first page's figures: text, and the line of data that holds the ratio.
FIRST_PAGE = [
    ("bf16 product, 8192 x 8192 x 8192, H200", "cuBLASLt", "gpu product bf16", "8192x8192x8192", "tuned table",
     "cuBLASLt, best of its heuristics"),
    ("bf16 product, 8192 x 1000 x 4096, H200", "cuBLASLt", "gpu product bf16", "8192x1000x4096", "tuned table",
     "cuBLASLt, best of its heuristics"),
    ("attention, heads of 128, 16384 tokens, H200", "cuDNN", "gpu attention", "1x16x16384x128", "tiles of 128 x 128",
     "cuDNN"),
    ("its causal gradients, H200", "cuDNN", "gpu attention backward, causal", "1x16x16384x128",
     "sums in memory, tiles of 64 x 128", "cuDNN"),
    ("softmax, rows of 4096 f32, H200", "the driver's copy", "gpu softmax f32", "32768x4096", "tile ops", "driver's copy"),
    ("vector addition, 64 Mi f32, H200", "the driver's copy", "gpu vector addition f32", "67108864", "tile ops",
     "driver's copy"),
    ("f32 product, 1024 x 1024 x 1024, one core of Zen 4", "OpenBLAS", "gemm f32", "1024 cubed, threads 1", "tile ops",
     "OpenBLAS Zen"),
]

# The page that compares languages: its row, and the group and size that hold Tegula's ratio.
OTHERS = "lib/doc/coming_from.md"
COMPARED = [(f"product bf16, {size} cubed", "Product, bf16, tuned table", " x ".join([size] * 3))
            for size in ("4096", "8192", "4000")] + [
    ("product e4m3, 8192 cubed", "Product of e4m3", "8192 x 8192 x 8192"),
    ("attention, 4 x 16 x 4096 x 128", "Attention, full", "4 x 16 x 4096 x 128"),
    ("causal attention, 4 x 16 x 4096 x 128", "Attention, causal", "4 x 16 x 4096 x 128"),
    ("attention, 16384 tokens, heads of 128", "Attention, full", "1 x 16 x 16384 x 128"),
    ("attention, 16384 tokens, heads of 64", "Attention, full", "1 x 32 x 16384 x 64"),
    ("softmax f32, rows of 4096", "Limited by memory", "softmax f32, 32768 x 4096"),
    ("transpose f32, 8192 x 8192", "Limited by memory", "transpose f32, tiles of 64, 8192 x 8192"),
]
COMPILED_ROWS = [("Tegula, a product", COMPILED[0]), ("Tegula, attention", COMPILED[1])]


def read_lines():
    """All lines of data, oldest first; lines without a date are the oldest."""
    lines = []
    for path in sorted(RESULTS.glob("*.jsonl")):
        for number, text in enumerate(path.read_text().splitlines(), 1):
            try:
                line = json.loads(text)
            except json.JSONDecodeError as error:
                sys.exit(f"{path.name}:{number}: not JSON: {error}")
            if line["program"] == "host_ratios" and line["kernel"] in ("vadd", "softmax", "layernorm"):
                line["kernel"] = "host " + line["kernel"]
            lines.append(line)
    return sorted(lines, key=lambda line: line["date"] or "")


def spaced(shape):
    """The extents with spaces around their x; names of CPUs keep theirs."""
    return re.sub(r"(?<=\d)x(?=\d)", " x ", shape)


def key(line):
    return line["kernel"], line["shape"], line["variant"], line["rival"] or ""


def size(shape):
    """Orders shapes by their numbers."""
    return [int(part) for part in "".join(c if c.isdigit() else " " for c in shape).split()]


def digits(rate):
    """Four significant digits, without an exponent."""
    return f"{rate:.{max(0, 3 - math.floor(math.log10(rate)))}f}"


class Family:
    """Holds the figures of one run: for each row and group of columns the line with its rate and ratio."""

    def __init__(self, title, unit, groups, lines):
        self.title, self.unit, self.groups = title, unit, groups
        order = list(dict.fromkeys(kernel for group in groups for kernel in group.kernels))
        several = any(len(group.kernels) > 1 for group in groups)
        runs = {}  # cells and the number of the last line, by date and commit; cells by row and column
        for number, line in enumerate(lines):
            for group in groups:
                if (shape := group.shape_of(line)) is None:
                    continue
                text = re.sub("^(gpu|host|gemm) ", "", line["kernel"]) + ", " if several else ""
                row = order.index(line["kernel"]) if several else 0, tuple(size(shape)), text + spaced(shape)
                run = line["date"], line["commit"]
                cells, _ = runs.get(run, ({}, 0))
                runs[run] = cells, number
                cell = row, group.column
                if cell not in cells or cells[cell]["ratio_median"] < line["ratio_median"]:
                    cells[cell] = line
        if not runs:
            sys.exit(f"bench/report.py: no data for {title}")
        (self.date, self.commit), (cells, _) = max(runs.items(), key=lambda run: (len(run[1][0]), run[1][1]))
        self.rows = {}  # lines by column, by the text of the row
        for row, column in sorted(cells, key=lambda cell: cell[0]):
            self.rows.setdefault(row[2], {})[column] = cells[row, column]
        self.rates = {(line["kernel"], line["shape"], line["variant"]): line["median"] for line in lines
                      if not line["rival"] and (line["date"], line["commit"]) == (self.date, self.commit)}

    def rate_of_rival(self, line):
        """The rival's rate of the same run; where the run kept the ratio alone, the rate over the ratio."""
        return self.rates.get((line["kernel"], line["shape"], line["rival"]), line["median"] / line["ratio_median"])

    def ratios(self, group):
        """Pairs of a row's text and its ratio."""
        found = [(text, lines[group.column]["ratio_median"]) for text, lines in self.rows.items()
                 if group.column in lines]
        if not found:
            sys.exit(f"bench/report.py: the run of {self.title}, {self.date}, {self.commit}, lacks {group.name}")
        return found

    def mean(self, group):
        ratios = [ratio for _, ratio in self.ratios(group)]
        return math.exp(sum(map(math.log, ratios)) / len(ratios))


def table(family):
    """The section of a family: a row for each size."""
    columns = [f"{group.column}: ours" if group.column else "ours" for group in family.groups]
    head = "".join(f" {ours} | rival | ratio |" for ours in columns)
    rivals = " and ".join(dict.fromkeys(group.rival[0] for group in family.groups))
    out = [f"## {family.title}: {family.unit}, beside {rivals}, {family.date}", f"| size |{head}",
           "|---|" + "---|---|---|" * len(family.groups)]
    for text, lines in family.rows.items():
        row = f"| {text} |"
        for group in family.groups:
            line = lines.get(group.column)
            row += " | | |" if line is None else (
                f" {digits(line['median'])} | {digits(family.rate_of_rival(line))} | {line['ratio_median']:.3f} |")
        out.append(row)
    return out + [""]


def compilation(lines):
    """The section of the newest run that measured the compiler."""
    of_compiler = [line for line in lines if line["kernel"] == "gpu compile"]
    if not of_compiler:
        return []
    last = of_compiler[-1]
    seconds = {(line["shape"], line["variant"]): line["median"] for line in of_compiler
               if (line["date"], line["commit"]) == (last["date"], last["commit"])}
    steps = ["trace", "passes", "LLVM", "ptxas", "all"]
    out = [f"## First compilation without a cache: seconds, {last['date']}", "| kernel | " + " | ".join(steps) + " |",
           "|---|" + "---|" * len(steps)]
    for kernel in COMPILED:
        out.append(f"| {kernel} | " + " | ".join(f"{seconds[kernel, step]:.4f}" for step in steps) + " |")
    return out + [""]


def page(machine, families, plot_name, lines):
    out = [f"# Measured rates, {machine}", "",
           "`bench/report.py` makes this page from the data in `bench/results/` ([method](METHOD.md)). A ratio above 1: Tegula is",
           "faster. \"Ours\" is the fastest tile shape of the run, if the column names no other choice. Each family is of one run.",
           "Sizes: a product M x N x K; attention batch x heads x sequence x dimension of a head; else extents of the tensor.", "",
           "| family | rival | geometric mean | sizes | worst size | run |", "|---|---|---|---|---|---|"]
    for family in families:
        for group in family.groups:
            ratios = family.ratios(group)
            text, worst = min(ratios, key=lambda row: row[1])
            out.append(f"| {group.name} | {group.rival[0]} | {family.mean(group):.3f} | {len(ratios)} | "
                       f"{worst:.3f}: {text} | {family.date}, {family.commit} |")
    out += ["", f"![ratios by family](results/{plot_name})", ""]
    for family in families:
        out += table(family)
    return "\n".join(out + compilation(lines))


def plot(machine, families):
    """One SVG: a line for each group of columns, a dot for each size, a bar for the geometric mean."""
    groups = [(family, group) for family in families for group in family.groups]
    width, left, right, top, step, bottom = 940, 290, 20, 44, 22, 30
    height = top + step * len(groups) + bottom
    every = [ratio for family, group in groups for _, ratio in family.ratios(group)]
    low, high = math.log(min(every + [0.95])) - 0.02, math.log(max(every + [1.05])) + 0.02

    def x(ratio):
        return left + (width - left - right) * (math.log(ratio) - low) / (high - low)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
           'font-size="12">', f'<rect width="{width}" height="{height}" fill="white"/>',
           f'<text x="{left}" y="20" font-size="14">{machine}: rate over the rival\'s, each size a dot, the mean a bar</text>']
    ticks = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.75, 2, 2.5, 3, 4]
    last = -100.0
    for tick in [tick for tick in ticks if low < math.log(tick) < high]:
        at = x(tick)
        style = 'stroke="#333333" stroke-dasharray="5 4"' if tick == 1 else 'stroke="#dddddd"'
        out.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{top - 8}" y2="{height - bottom}" {style}/>')
        if at - last > 28:
            out.append(f'<text x="{at:.1f}" y="{height - bottom + 18}" text-anchor="middle">{tick:g}</text>')
            last = at
    for number, (family, group) in enumerate(groups):
        y = top + step * number + 6
        out.append(f'<text x="{left - 10}" y="{y + 4}" text-anchor="end">{group.name}</text>')
        for _, ratio in family.ratios(group):
            out.append(f'<circle cx="{x(ratio):.1f}" cy="{y}" r="3.5" fill="#1b6ca8" fill-opacity="0.5"/>')
        mean = x(family.mean(group))
        out.append(f'<line x1="{mean:.1f}" x2="{mean:.1f}" y1="{y - 8}" y2="{y + 8}" stroke="#c8553d" stroke-width="3"/>')
    return "\n".join(out + ["</svg>", ""])


def first_page(lines, products):
    """The table of figures between the marks in README.md. `products`: the family of its first row."""
    by_key = {key(line): line for line in lines}
    group = products.groups[0]
    out = ["| work | compared with | ratio | date |", "|---|---|---|---|",
           f"| bf16 products, geometric mean of {len(products.ratios(group))} sizes, H200 | {group.rival[0]} | "
           f"{products.mean(group):.3f} | {products.date} |"]
    for text, rival_text, *wanted in FIRST_PAGE:
        line = by_key.get(tuple(wanted))
        if line is None:
            sys.exit(f"bench/report.py: no data for the first page's figure: {wanted}")
        out.append(f"| {text} | {rival_text} | {line['ratio_median']:.3f} | {line['date']} |")
    return "\n".join(out) + "\n"


def compared(text, families, lines):
    """A page with Tegula's figures in the third column of the rows of COMPARED, in the second of those of COMPILED."""
    ratios = {group.name: dict(family.ratios(group)) for family in families for group in family.groups}
    for row, name, wanted in COMPARED:
        ratio = ratios[name].get(wanted)
        if ratio is None:
            sys.exit(f"bench/report.py: no data for {row} of {OTHERS}")
        text, count = re.subn(rf"(?m)^(\| {re.escape(row)} \|[^|]*\|)[^|]*\|", rf"\g<1> {ratio:.3f} |", text)
        if count != 1:
            sys.exit(f"bench/report.py: {OTHERS} has {count} rows of {row}")
    last = [line for line in lines if line["kernel"] == "gpu compile" and line["variant"] == "all"]
    for row, kernel in COMPILED_ROWS:
        seconds = [line["median"] for line in last if line["shape"] == kernel][-1]
        text = re.sub(rf"(?m)^(\| {re.escape(row)} \|)[^|]*\|", rf"\g<1> {seconds:.2f} |", text)
    return text


def main():
    every = read_lines()
    pages, products = {}, None
    for name, machine, in_data, families, plot_name in PAGES:
        lines = [line for line in every if (line["machine"] or "").startswith(in_data)]
        made = [Family(*family, lines) for family in families]
        products = made[0] if name == "RESULTS.md" else products
        pages[BENCH / name] = page(machine, made, plot_name, lines)
        pages[RESULTS / plot_name] = plot(machine, made)
        if name == "RESULTS.md":
            pages[ROOT / OTHERS] = compared((ROOT / OTHERS).read_text(), made, lines)
    readme = (ROOT / "README.md").read_text()
    begin, end = "<!-- bench/report.py writes this table -->\n", "<!-- end -->"
    before, rest = readme.split(begin)
    of_first_page = [line for line in every if "H100" not in (line["machine"] or "")]
    pages[ROOT / "README.md"] = before + begin + first_page(of_first_page, products) + end + rest.split(end, 1)[1]
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not what bench/report.py makes of bench/results; run bench/report.py")
        sys.exit(1 if stale else 0)
    for path in stale:
        path.write_text(pages[path])
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
