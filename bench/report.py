#!/usr/bin/env python3
"""Makes a page of results for each machine, its plot, and figures of other pages from bench/results/*.jsonl.

    bench/report.py            writes them
    bench/report.py --check    fails if one of them is not what the data gives

A line of data is one figure: program, kernel, shape, variant, unit, median, min, max, rival, ratio_median, ratio_min,
ratio_max, error, clock, seed, commit, machine, date. A field that was not recorded is null.

A page shows families of figures. Each family is of one run: the lines of one date and one commit. Of the runs that
compared the most sizes with the rival, it is the newest. All other lines are data only.
"""
import json
import math
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT / "bench"
RESULTS = BENCH / "results"

CUBLASLT = ("cuBLASLt", "cuBLASLt, best of its heuristics")
COPY = ("the driver's copy", "driver's copy")
CUDNN = ("cuDNN", "cuDNN")
MEMORY = ["vector addition f32", "row sums f32", "softmax f32", "rmsnorm f32", "rmsnorm bf16", "layernorm bf16",
          "bias and GELU bf16", "transpose f32, tiles of 64", "transpose bf16, tiles of 64",
          "transpose bf16, tiles of 128"]

# A family: title, what its rates count, rival (text, beginning of its name in the data), and groups of columns: name,
# kernels, variants, ending of the shapes. No variants: the fastest one of each size. A family of several kernels names
# them in its rows.
GPU = [
    ("Product, bf16", "TFLOP/s", CUBLASLT, [("tuned table", ["gpu product bf16"], ["tuned table"], ""),
                                            ("cost model", ["gpu product bf16"], ["cost model"], "")]),
    ("Product of", "TFLOP/s", CUBLASLT, [(element, [f"gpu product {element}"], [], "")
                                         for element in ("tf32", "e4m3", "i8")]),
    ("Product with bias and GELU", "TFLOP/s", ("our product without bias and GELU", "plain product"),
     [("tanh by exp", ["gpu product gelu"], [], ""), ("tanh by fast_tanh", ["gpu product gelu by fast_tanh"], [], "")]),
    ("Attention", "TFLOP/s", CUDNN, [("full", ["gpu attention"], [], ""), ("causal", ["gpu attention, causal"], [], "")]),
    ("Gradients of attention", "TFLOP/s", CUDNN, [("full", ["gpu attention backward"], [], ""),
                                                  ("causal", ["gpu attention backward, causal"], [], "")]),
    ("Limited by memory", "GB/s", COPY, [("", ["gpu " + kernel for kernel in MEMORY], [], "")]),
]
# Families that were measured on an H200 alone, beside libraries that ./dev rivals compiles.
SERVING = [
    ("Transforms of rows, f32", "GB/s", ("cuFFT", "cuFFT"), [("", ["gpu transform f32"], [], "")]),
    ("Prefix sums, u32", "GB/s", ("CUB", "CUB"), [("", ["gpu prefix sums u32"], [], "")]),
]
ROWS = ["host " + kernel for kernel in ("vadd", "softmax", "layernorm")] + ["rmsnorm", "sums", "transpose"]


def levels(kernels):
    """The groups of a family on the host: all instructions of the CPU, and AVX2 alone."""
    return [("AVX-512", kernels, ["tile ops"], ", threads 1"), ("AVX2", kernels, ["tile ops"], ", threads 1, x86-64-v3")]


HOST = [
    ("Product, f32 and f64", "GFLOP/s", ("OpenBLAS", "OpenBLAS"), levels(["gemm f32", "gemm f64"])),
    ("Product, f32", "GFLOP/s", ("Eigen", "Eigen"), levels(["gemm f32"])),
    ("Product, narrow elements", "GFLOP/s", ("the same in f32", "tile ops in f32"), levels(["gemm bf16", "gemm i8"])),
    ("Attention, f32", "GFLOP/s", ("a product of 1024 cubed", "tile ops, 1024 cubed"), levels(["attention f32"])),
    ("Rows and elements", "GB/s", ("loops of OpenMP", "OpenMP"), levels(ROWS)),
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

# The page that compares languages: its row, and the family, group and size that hold Tegula's ratio.
OTHERS = "lib/doc/coming_from.md"
COMPARED = [(f"product bf16, {size} cubed", "Product, bf16", "tuned table", " x ".join([size] * 3))
            for size in ("4096", "8192", "4000")] + [
    ("product e4m3, 8192 cubed", "Product of", "e4m3", "8192 x 8192 x 8192"),
    ("attention, 4 x 16 x 4096 x 128", "Attention", "full", "4 x 16 x 4096 x 128"),
    ("causal attention, 4 x 16 x 4096 x 128", "Attention", "causal", "4 x 16 x 4096 x 128"),
    ("attention, 16384 tokens, heads of 128", "Attention", "full", "1 x 16 x 16384 x 128"),
    ("attention, 16384 tokens, heads of 64", "Attention", "full", "1 x 32 x 16384 x 64"),
    ("softmax f32, rows of 4096", "Limited by memory", "", "softmax f32, 32768 x 4096"),
    ("transpose f32, 8192 x 8192", "Limited by memory", "", "transpose f32, tiles of 64, 8192 x 8192"),
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

    def __init__(self, title, unit, rival, groups, lines):
        self.title, self.unit, self.rival = title, unit, rival[0]
        self.groups = [group for group, *_ in groups]
        order = list(dict.fromkeys(kernel for _, names, *_ in groups for kernel in names))
        several = any(len(names) > 1 for _, names, *_ in groups)
        runs = {}  # cells and the number of the last line, by date and commit; cells by row and group
        for number, line in enumerate(lines):
            if line["ratio_median"] is None or not line["date"] or not (line["rival"] or "").startswith(rival[1]):
                continue
            for group, names, variants, ending in groups:
                if line["kernel"] not in names or (variants and line["variant"] not in variants):
                    continue
                shape = line["shape"].removesuffix(ending)
                if shape + ending != line["shape"] or "threads" in shape:
                    continue
                text = re.sub("^(gpu|host|gemm) ", "", line["kernel"]) + ", " if several else ""
                row = order.index(line["kernel"]) if several else 0, tuple(size(shape)), text + spaced(shape)
                run = line["date"], line["commit"]
                cells, _ = runs.get(run, ({}, 0))
                runs[run] = cells, number
                if (row, group) not in cells or cells[row, group]["ratio_median"] < line["ratio_median"]:
                    cells[row, group] = line
        if not runs:
            sys.exit(f"bench/report.py: no data for {title}")
        (self.date, self.commit), (cells, _) = max(runs.items(), key=lambda run: (len(run[1][0]), run[1][1]))
        self.rows = {}  # lines by group, by the text of the row
        for row, group in sorted(cells, key=lambda cell: cell[0]):
            self.rows.setdefault(row[2], {})[group] = cells[row, group]
        self.rates = {(line["kernel"], line["shape"], line["variant"]): line["median"] for line in lines
                      if not line["rival"] and (line["date"], line["commit"]) == (self.date, self.commit)}

    def rate_of_rival(self, line):
        """The rival's rate of the same run; where the run kept the ratio alone, the rate over the ratio."""
        return self.rates.get((line["kernel"], line["shape"], line["rival"]), line["median"] / line["ratio_median"])

    def ratios(self, group):
        """Pairs of a row's text and its ratio."""
        return [(text, lines[group]["ratio_median"]) for text, lines in self.rows.items() if group in lines]

    def mean(self, group):
        ratios = [ratio for _, ratio in self.ratios(group)]
        return math.exp(sum(map(math.log, ratios)) / len(ratios))

    def name(self, group):
        return self.title + (f" {group}" if self.title.endswith(" of") else f", {group}" if group else "")


def table(family):
    """The section of a family: a row for each size."""
    columns = [f"{group}: ours" if group else "ours" for group in family.groups]
    head = "".join(f" {ours} | rival | ratio |" for ours in columns)
    title = family.title.removesuffix(" of")
    out = [f"## {title}: {family.unit}, beside {family.rival}, {family.date}", f"| size |{head}", "|---|" + "---|---|---|" * len(family.groups)]
    for text, lines in family.rows.items():
        row = f"| {text} |"
        for group in family.groups:
            if group not in lines:
                row += " | | |"
                continue
            line = lines[group]
            row += f" {digits(line['median'])} | {digits(family.rate_of_rival(line))} |"
            row += f" {line['ratio_median']:.3f} |"
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
           "`bench/report.py` makes this page from the data in `bench/results/`; [METHOD.md](METHOD.md) says how they are",
           "measured. A ratio above 1 says that Tegula is faster. \"Ours\" is the fastest of the tile shapes that the run",
           "measured, if the column names no other choice. Each family is of one run. Sizes: a product M x N x K; attention",
           "batch x heads x sequence x dimension of a head; else the extents of the tensor.", "",
           "| family | rival | geometric mean | sizes | worst size | run |", "|---|---|---|---|---|---|"]
    for family in families:
        for group in family.groups:
            ratios = family.ratios(group)
            text, worst = min(ratios, key=lambda row: row[1])
            out.append(f"| {family.name(group)} | {family.rival} | {family.mean(group):.3f} | {len(ratios)} | "
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
        out.append(f'<text x="{left - 10}" y="{y + 4}" text-anchor="end">{family.name(group)}</text>')
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
           f"| bf16 products, geometric mean of {len(products.ratios(group))} sizes, H200 | {products.rival} | "
           f"{products.mean(group):.3f} | {products.date} |"]
    for text, rival_text, *wanted in FIRST_PAGE:
        line = by_key.get(tuple(wanted))
        if line is None:
            sys.exit(f"bench/report.py: no data for the first page's figure: {wanted}")
        out.append(f"| {text} | {rival_text} | {line['ratio_median']:.3f} | {line['date']} |")
    return "\n".join(out) + "\n"


def compared(text, families, lines):
    """A page with Tegula's figures in the third column of the rows of COMPARED, in the second of those of COMPILED."""
    for row, title, group, wanted in COMPARED:
        ratio = dict(families[title].ratios(group)).get(wanted)
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
            others = compared((ROOT / OTHERS).read_text(), {family.title: family for family in made}, lines)
            pages[ROOT / OTHERS] = others
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
