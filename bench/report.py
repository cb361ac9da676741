#!/usr/bin/env python3
"""Makes bench/RESULTS.md, its plots and the figures of the first page from bench/results/*.jsonl; and RESULTS_H100.md
from the lines of that machine.

    bench/report.py            writes them
    bench/report.py --check    fails if one of them is not what the data gives

A line of data is one figure: program, kernel, shape, variant, unit, median, min, max, rival, ratio_median, ratio_min,
ratio_max, error, clock, seed, commit, machine, date. A field that was not recorded is null. Of two lines for the same
figure the one with the later date counts, of one date the one in the later file by name.
"""
import json
import math
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"

METHOD = """\
# Measured rates

`bench/report.py` makes this page from the data in `bench/results/`. Do not edit it: add data, then run the script.

## Method

- Rates are medians. They count what is read and what is written, or the multiplications and additions of the formula.
- A ratio is the rate over the rival's rate. Above 1 the kernel is faster than the rival. Brackets hold min and max.
- A kernel and its rival run in turns in one process: 120 ms idle, 3 warm launches, then about 12 ms of launches between
  two events. Five rounds each. `device_memory_rate` takes 15 rounds of 4 ms in turns, `gpu_table` three of 12 ms.
- Every output is first compared with float64: at small ragged sizes in full, at timed sizes on samples. Outputs are
  poisoned before, so an entry that is NaN or not written counts as wrong.
- compute-sanitizer's memcheck, racecheck and synccheck report nothing on the hand-written kernels at small sizes
  (commits 46477bf and d5fd1ce), nor on `test/device/elements_test.cpp`. The simulator reports nothing either, and it
  reports each synchronising op that is taken out.
- Variants called `*.tir` are kernels in IR text. `device_target_kernels` measured them; it was in the tree until commit
  1a3bf230. The sections "Table on a GPU" have the same problems, solved by kernels in C++.
- Cards of one model differ by up to 3 %, so compare ratios, not rates of different days.
- On the host each turn has a process of its own, because idle threads of OpenBLAS spin and slow down what runs beside
  them. Ratios are of medians.

## Commands

On the device machine, in the unpacked `build/bundle.tar.gz` of `./dev bundle`:

```
./tegula bench device_memory_rate --json results.jsonl
./tegula bench device_launch_cost --json results.jsonl
./tegula bench gpu_table --json results.jsonl
```

On a machine with a compiler and a GPU, `./dev bench gpu --json $PWD/results.jsonl` is the last of them. It takes a few
minutes; `--only attention` takes the rows with this in their names, `--quick` few sizes. `--check` times nothing: it
compares all kernels at small sizes, also without a GPU, and prints registers and spills.

On the host:

```
./dev bench host_ratios --json $PWD/results.jsonl
./dev bench compile_time --json $PWD/results.jsonl
```

Each command appends to the file. Copy it to `bench/results/`, named by date, machine and commit, and run
`bench/report.py`. The bundle holds its commit in the file `commit`; `TEGULA_BENCH_COMMIT` overrides it.
"""

# Title, kernels and sentences of each section.
SECTIONS = [
    ("Product, bf16", ["gemm"],
     "C = A * B, row-major, f32 accumulation. `gemm.tir` is hand-written block IR; `gemm_tiles.tir` is the plain tile "
     "kernel of `test/ir/tiles/` (tiles of 128 x 256 x 64, four stages) after the passes. Results are bit-equal to "
     "cuBLAS's. The tensor pipe is the limit, at the clock that the power cap leaves."),
    ("Product, tf32", ["gemm_tf32"],
     "f32 multiplied as tf32, B stored N x K, tiles of 128 x 256 x 32, four stages. The error against float64 of the "
     "operands cut to 10 bits of fraction is 4.8e-06 to 3.8e-05. It grows with K, as the tensor core cuts its sums."),
    ("Product, e4m3", ["gemm_e4m3"],
     "bf16 results, B stored N x K, tiles of 128 x 256 x 128, four stages. cublasGemmEx does not support e4m3, so the "
     "rival is the best of cuBLASLt's heuristic, with fast accumulation. The error is 1.9e-03 to 3.6e-03, of which "
     "rounding to bf16 is 1.7e-03. With the sum of each step added in f32 it is 1.6e-03 to 1.7e-03."),
    ("Product, i8", ["gemm_i8"],
     "i32 results, B stored N x K, tiles of 128 x 256 x 128, four stages. Results are exact and bit-equal to cuBLAS's."),
    ("Product with 16 rows, bf16", ["gemm_m16"],
     "`gemm_m16.tir` is hand-written with mma.sync, K split over the warps of a CTA. `gemm_m16_tiles.tir` has tiles of "
     "16 x 64 x 128 and eight stages; swap-operands makes it a wgmma of 64 x 16. The memory that holds B is the limit."),
    ("Attention, heads of 128", ["attention", "attention_causal"],
     "Forward, bf16, 16 heads, 16 Ki tokens. Sizes are batch x heads x sequence x head dimension. cuDNN is PyTorch's "
     "cuDNN backend, run by a script of its own right after."),
    ("Attention, heads of 64", ["attention_d64", "attention_causal_d64"],
     "Forward, bf16, 32 heads, 16 Ki tokens: four warpgroups of 64 rows in turns, blocks of 64 keys, four stages."),
    ("Rows", ["softmax", "layernorm"],
     "softmax of f32, layernorm of bf16. The driver's copy moves as many bytes from device to device. `softmax_tiles.tir` "
     "gives a CTA to each row; `layernorm_tiles.tir` has persistent CTAs with four rows in flight."),
    ("Elements and copies", ["copy", "driver copy", "relu bf16", "gelu bf16", "vadd"],
     "Arrays of 64 Mi elements, far larger than the L2 cache. vadd can beat the copy: two reads for one write suit the "
     "memory better than one read for one write."),
    ("Host", ["gemm f32", "gemm f64", "gemm bf16", "gemm i8", "attention f32", "host vadd", "host softmax",
              "host layernorm", "rmsnorm", "sums", "transpose"],
     "Rivals are OpenBLAS 0.3.21 with its fastest core type, Eigen, and hand-written loops (`gcc -O3 -ffast-math -fopenmp`, "
     "for the machine or for AVX2), without which GCC does not vectorise `expf`. Narrow products are compared with the "
     "same numbers in f32. Rates are of processor time (`--cpu-time`), since the machine did other work. x86-64-v3 is "
     "AVX2 alone. `lib/doc/tried.md` says what limits the rows below 0.95. The first `prepare` of softmax (trace, "
     "passes, LLVM, load) took 22 ms. With two threads on two cores, loops of OpenMP whose threads had to wait for a core "
     "are left out."),
    ("Launches", ["launch"],
     "Microseconds of the calling thread for each launch: medians of bursts of 200 launches, of all sides in turn. A "
     "ratio is the rival's time over this one. On a device the rival is `cuLaunchKernel` with the same parameters; on "
     "the host it is the library's pool of threads with as many empty blocks."),
    ("Records", ["profile"],
     "Kernels of the samples with records beside the same kernels without: softmax with 8 records of its author in each "
     "warp, products and attention with the compiler's. Values are equal bit for bit. A CTA of the softmax lives for "
     "4 us, so the start and the end of its rows count; its 42 registers instead of 40 leave room for 5 CTAs on a "
     "multiprocessor instead of 6."),
    ("Tuned products", ["tuned product"],
     "The plain bf16 product of `samples/tuned_products.hpp`, all of its tiles at each problem, by `./dev tune`: the "
     "fastest beside the largest tile. The model of the cost, without a table, takes 1.02 times the fastest's time "
     "in the geometric mean, 1.13 times at worst."),
    ("Table on a GPU: product, bf16", ["gpu product bf16"],
     "`./dev bench gpu`: kernels in C++ by the public launcher, beside the best of cuBLASLt's heuristic. The product is "
     "that of `samples/tuned_products.hpp`; its tiles are chosen by the tuned table, or by the model of the cost alone. "
     "Products of less than 5 GFLOP run as CUDA graphs of 64 launches, both sides."),
    ("Table on a GPU: product with bias and GELU", ["gpu product gelu", "gpu product gelu by fast_tanh"],
     "tanh-GELU of product and bias in the same kernel, beside the plain product with the same tiles; by `exp`, or by "
     "`fast_tanh`. cuBLASLt's own epilogue ran in another program of the same call. On an H200 it reaches 1.008, 0.973 "
     "and 0.932 of its product."),
    ("Table on a GPU: products of other elements", ["gpu product tf32", "gpu product e4m3", "gpu product i8"],
     "B stored N x K, tiles of 128 x 256, beside the best of cuBLASLt's heuristic. Results are f32, bf16 and i32."),
    ("Table on a GPU: attention", ["gpu attention", "gpu attention, causal",
                                   "gpu attention, 8 heads of queries to one of keys", "gpu attention, e4m3",
                                   "gpu attention backward", "gpu attention backward, causal"],
     "bf16 unless stated, 16 Ki tokens. Sizes are batch x heads x sequence x head dimension. The way back takes three "
     "kernels; its rate counts five products of the visible pairs. cuDNN's rates "
     "are from other programs on the same day; the sections on attention in RESULTS.md have those of FlashAttention-3. "
     "cuDNN's e4m3 attention gives e4m3, with an error of 0.04; Tegula's gives bf16, "
     "with 0.026."),
    ("Table on a GPU: kernels that the memory limits",
     ["gpu " + name for name in ("rmsnorm bf16", "rmsnorm f32", "layernorm bf16", "softmax f32", "row sums f32",
                                 "bias and GELU bf16", "transpose bf16, tiles of 64", "transpose bf16, tiles of 128",
                                 "transpose f32, tiles of 64", "vector addition f32")],
     "The driver's copy moves as many bytes from device to device as the kernel reads and writes."),
    ("Table on a GPU: first compilation", ["gpu compile"],
     "Seconds for sm_90a without any cache, in a process that has not compiled before: the product's have LLVM's "
     "start in them. Without ptxas the driver assembles, and may use its own cache."),
    ("Compile time", ["umbrella header"],
     "User seconds at -O0, `#include <tegula/tegula.hpp>` alone: min and max. `<string>` and `<vector>` are 0.16 s of "
     "them. A kernel with its launch takes 0.6 to 0.8 s."),
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


def number(value, digits):
    return "" if value is None else f"{value:.{digits}f}"


def rate(line):
    if line["median"] is None:
        return f"{line['min']} to {line['max']} {line['unit']}" if line["min"] is not None else ""
    return f"{line['median']:g} {line['unit']}"


def ratio(line):
    if line["ratio_median"] is None:
        return ""
    spread = ""
    if line["ratio_min"] is not None:
        spread = f" ({number(line['ratio_min'], 3)} to {number(line['ratio_max'], 3)})"
    return number(line["ratio_median"], 3) + spread


def made_by_passes(line):
    return (line["variant"].endswith("_tiles.tir") or line["program"] in ("host_ratios", "gpu_table")
            or line["variant"] == "vadd")


def name(line):
    return line["kernel"].removeprefix("host ").removeprefix("gpu ")


def geometric_means(judged):
    """One sentence: the mean of the ratios of each variant to its rival, in the table on a GPU."""
    ratios = {}
    for line in judged:
        if line["program"] == "gpu_table":
            ratios.setdefault((line["variant"], line["rival"]), []).append(line["ratio_median"])
    parts = [f"{variant}: {number(math.exp(sum(map(math.log, all)) / len(all)), 3)} of {rival} ({len(all)} rows)"
             for (variant, rival), all in ratios.items()]
    return ["", "Geometric mean: " + "; ".join(parts) + "."] if parts else []


def is_step(line):
    return line["variant"].startswith("passes ")


def size(shape):
    """Orders shapes by their numbers."""
    return [int(part) for part in "".join(c if c.isdigit() else " " for c in shape).split()]


def section(title, kernels, text, lines, latest):
    mine = [line for line in latest if line["kernel"] in kernels and not is_step(line)]
    if not mine and kernels[0].startswith("gpu "):  # not measured yet
        return []
    mine.sort(key=lambda line: (kernels.index(line["kernel"]), size(line["shape"]), line["rival"] or "", line["variant"]))
    rivals = {(line["kernel"], line["shape"], line["variant"], line["commit"]): line for line in lines if not line["rival"]}
    shown_as_rival = {(line["kernel"], line["shape"], line["rival"]) for line in mine if line["rival"]}
    out = [f"## {title}", "", *textwrap.wrap(text, 120), "", "| kernel | size | variant | rate | rival | its rate | ratio | commit | date |",
           "|---|---|---|---|---|---|---|---|---|"]
    for line in mine:
        if not line["rival"] and (line["kernel"], line["shape"], line["variant"]) in shown_as_rival:
            continue
        rival = rivals.get((line["kernel"], line["shape"], line["rival"], line["commit"]))
        cells = [name(line), spaced(line["shape"]), line["variant"], rate(line),
                 line["rival"] or "", rate(rival) if rival else "", ratio(line), line["commit"] or "", line["date"] or ""]
        out.append("| " + " | ".join(cells) + " |")
    judged = [line for line in mine if made_by_passes(line) and line["ratio_median"] is not None]
    if judged:
        worst = min(judged, key=lambda line: line["ratio_median"])
        out += ["", f"Worst: {name(worst)}, {spaced(worst['shape'])}: "
                f"{number(worst['ratio_median'], 3)} of {worst['rival']}."]
        out += geometric_means(judged)
    machines = {line["machine"] for line in mine if line["machine"]}
    machines = sorted(name for name in machines if not any(other != name and other.startswith(name) for other in machines))
    return out + ["", "Machine: " + "; ".join(machines) + ".", ""]


def steps_of(lines, kernel, shape):
    found = {line["variant"]: line["ratio_median"] for line in lines
             if is_step(line) and line["kernel"] == kernel and line["shape"] == shape}
    return [found.get(name) for name in step_names(lines)]


def step_names(lines):
    return sorted({line["variant"] for line in lines if is_step(line)})


SEQUENCES = [("1024", "16x16x1024x128"), ("4096", "4x16x4096x128"), ("16384", "1x16x16384x128")]


def passes_section(lines):
    out = ["## Steps of the passes", "",
           "Attention, heads of 128: ratio to the hand-written kernel after each step, by sequence. Steps add up.", "",
           "| step | " + " | ".join(f"{kind}{length}" for kind in ("", "causal ") for length, _ in SEQUENCES) + " |",
           "|---|---|---|---|---|---|---|"]
    columns = [steps_of(lines, kernel, shape) for kernel in ("attention", "attention_causal") for _, shape in SEQUENCES]
    for i, name in enumerate(step_names(lines)):
        out.append(f"| {name.removeprefix('passes ')} | " + " | ".join(number(column[i], 3) for column in columns) + " |")
    return out + ["", "![steps](results/passes.svg)", ""]


def plot(title, labels, series):
    """One SVG: a line of ratios for each (name, values); a gap where a value is missing."""
    width, height, left, top, bottom, right = 760, 360, 56, 40, 56, 210
    known = [value for _, values in series for value in values if value is not None]
    low, high = min(known + [1.0]) - 0.02, max(known + [1.0]) + 0.02
    x = lambda i: left + (width - left - right) * (i + 0.5) / len(labels)
    y = lambda value: top + (height - top - bottom) * (high - value) / (high - low)
    colours = ["#1b6ca8", "#c8553d", "#2a9d5c", "#8e5ea2", "#b8860b", "#555555"]
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height}" fill="white"/>', f'<text x="{left}" y="20" font-size="14">{title}</text>']
    step = next(step for step in (0.02, 0.05, 0.1, 0.2) if (high - low) / step <= 10)
    tick = int(low / step) * step
    while tick <= high:
        if tick >= low:
            out.append(f'<line x1="{left}" x2="{width - right}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="#dddddd"/>')
            out.append(f'<text x="{left - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:.2f}</text>')
        tick += step
    out.append(f'<line x1="{left}" x2="{width - right}" y1="{y(1):.1f}" y2="{y(1):.1f}" stroke="#333333" stroke-dasharray="5 4"/>')
    for i, label in enumerate(labels):
        out.append(f'<text x="{x(i):.1f}" y="{height - bottom + 20}" text-anchor="middle">{label}</text>')
    for at, (name, values) in enumerate(series):
        colour = colours[at % len(colours)]
        points = [(x(i), y(value)) for i, value in enumerate(values) if value is not None]
        out.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="'
                   + " ".join(f"{px:.1f},{py:.1f}" for px, py in points) + '"/>')
        out += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="{colour}"/>' for px, py in points]
        row = top + 18 * at
        out.append(f'<rect x="{width - right + 14}" y="{row}" width="12" height="12" fill="{colour}"/>')
        out.append(f'<text x="{width - right + 32}" y="{row + 10}">{name}</text>')
    return "\n".join(out + ["</svg>", ""])


def plots(lines, latest):
    """SVG texts by file name."""
    def value(kernel, shape, variant, rival):
        for line in latest:
            if key(line) == (kernel, shape, variant, rival):
                return line["ratio_median"]
        return None

    cubes = ["2048", "4096", "8192"]
    names = {"gemm": "bf16", "gemm_tf32": "tf32", "gemm_i8": "i8"}
    products = [(f"{element}, tile ops", [value(kernel, f"{n}x{n}x{n}", kernel + "_tiles.tir", "cuBLAS") for n in cubes])
                for kernel, element in names.items()]
    products.append(("e4m3, tile ops, to cuBLASLt", [value("gemm_e4m3", f"{n}x{n}x{n}", "gemm_e4m3_tiles.tir",
                                                         "cuBLASLt, best of its heuristics") for n in cubes]))
    products.append(("bf16, hand-written", [value("gemm", f"{n}x{n}x{n}", "gemm.tir", "cuBLAS") for n in cubes]))
    attention = []
    for kernel, shapes in [("attention", "16x16x1024x128 4x16x4096x128 1x16x16384x128"),
                           ("attention_causal", "16x16x1024x128 4x16x4096x128 1x16x16384x128"),
                           ("attention_d64", "16x32x1024x64 4x32x4096x64 1x32x16384x64"),
                           ("attention_causal_d64", "16x32x1024x64 4x32x4096x64 1x32x16384x64")]:
        attention.append((kernel, [value(kernel, shape, kernel + "_tiles.tir", kernel + ".tir") for shape in shapes.split()]))
    sizes = ["512", "1024", "2048", "4096", "8192"]
    library = "cuBLASLt, best of its heuristics"
    table = [(text, [value("gpu product " + kernel, f"{n}x{n}x{n}", variant, rival) for n in sizes])
             for text, kernel, variant, rival in [
                 ("bf16, tuned table", "bf16", "tuned table", library), ("bf16, cost model", "bf16", "cost model", library),
                 ("bias and GELU, to plain", "gelu", "fused", "plain product"),
                 *[(element, element, "tiles of 128 x 256", library) for element in ("tf32", "e4m3", "i8")]]]
    steps = [(("causal " if "causal" in kernel else "") + length, steps_of(lines, kernel, shape))
             for kernel in ("attention", "attention_causal") for length, shape in SEQUENCES]
    pictures = {
        "products.svg": plot("Products from tile ops: ratio to cuBLAS, by size", [f"{n} cubed" for n in cubes], products),
        "attention.svg": plot("Attention from tile ops: ratio to the hand-written kernel, by sequence", ["1024", "4096", "16384"], attention),
        "passes.svg": plot("Attention, heads of 128: ratio to the hand-written kernel after each step",
                           [str(i + 1) for i in range(len(step_names(lines)))], steps),
    }
    if any(ratio is not None for _, ratios in table for ratio in ratios):
        pictures["gpu_products.svg"] = plot("Products in C++ on a GPU: ratio to cuBLASLt, by size",
                                            [f"{n} cubed" for n in sizes], table)
    return pictures


def first_page(latest):
    """The table of figures between the marks in README.md."""
    by_key = {key(line): line for line in latest}
    out = ["| work | compared with | ratio | date |", "|---|---|---|---|"]
    for text, rival_text, *wanted in FIRST_PAGE:
        line = by_key.get(tuple(wanted))
        if line is None:
            sys.exit(f"bench/report.py: no data for the first page's figure: {wanted}")
        out.append(f"| {text} | {rival_text} | {number(line['ratio_median'], 3)} | {line['date']} |")
    return "\n".join(out) + "\n"


H100_PAGE = """\
# Measured rates, NVIDIA H100

`bench/report.py` makes this page from the data of this machine in `bench/results/`. [RESULTS.md](RESULTS.md) has the
method, the commands and the figures of an H200, whose memory is faster.
"""


def h100_page(lines):
    """The page of the table on a GPU, as an H100 gives it."""
    latest = list({key(line): line for line in lines}.values())
    body = H100_PAGE.splitlines() + [""]
    for title, kernels, text in SECTIONS:
        if kernels[0].startswith("gpu "):
            topic = title.removeprefix("Table on a GPU: ")
            body += section(topic[0].upper() + topic[1:], kernels, text, lines, latest)
    return "\n".join(body)


def main():
    every = read_lines()
    lines, of_h100 = [], []
    for line in every:
        (of_h100 if "H100" in (line["machine"] or "") else lines).append(line)
    latest = list({key(line): line for line in lines}.values())
    pages = {RESULTS / name: text for name, text in plots(lines, latest).items()}
    body = METHOD.splitlines() + ["", "![products](results/products.svg)", "", "![attention](results/attention.svg)", ""]
    if RESULTS / "gpu_products.svg" in pages:
        body += ["![products in C++](results/gpu_products.svg)", ""]
    for title, kernels, text in SECTIONS:
        body += section(title, kernels, text, lines, latest)
    body += passes_section(lines)
    pages[ROOT / "bench" / "RESULTS.md"] = "\n".join(body)
    pages[ROOT / "bench" / "RESULTS_H100.md"] = h100_page(of_h100)
    readme = (ROOT / "README.md").read_text()
    begin, end = "<!-- bench/report.py writes this table -->\n", "<!-- end -->"
    before, rest = readme.split(begin)
    pages[ROOT / "README.md"] = before + begin + first_page(latest) + end + rest.split(end, 1)[1]
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not what bench/report.py makes of bench/results; run bench/report.py")
        sys.exit(1 if stale else 0)
    for path in stale:
        path.write_text(pages[path])


if __name__ == "__main__":
    main()
