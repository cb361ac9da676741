#!/usr/bin/env python3
"""Measures the processor seconds of passes and code generation for kernels of so many ops, for the host and for a GPU.

Twice the ops take about twice the time. Each op of a chain reads the previous one twice; each of a sum adds another
constant.

    length.py [build folder]    needs build/release (./dev demo), or another build folder
"""
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
ROWS = [("chain", ops) for ops in (125, 250, 500, 1000, 2000, 20000)] + [("sum", ops) for ops in (500, 1000, 10000)]
TARGETS = [("host", "asm"), ("cuda", "ptx")]


def body(kind: str, ops: int) -> str:
    if kind == "chain":
        return "".join(f"  %a{i + 1} = add %a{i}, %a{i} : i64\n" for i in range(ops))
    return "".join(f"  %c{i} = constant {{value = {i + 2} : i64}} : i64\n"
                   f"  %t{i} = add %e, %c{i} : i64\n"
                   f"  %a{i + 1} = add %a{i}, %t{i} : i64\n" for i in range(ops))


def kernel(kind: str, ops: int) -> str:
    return ("tegula-ir 1\n"
            "kernel @k(%x: in tensor<?x?xf32>, %o: out tensor<?x?xf32>) {\n"
            "  %z = constant {value = 0 : i64} : i64\n"
            "  %e = extent %o : i64\n"
            "  grid %e\n"
            "  %a0 = block_index : i64\n"
            f"{body(kind, ops)}"
            f"  %v = load %x, %a{ops}, %z : tile<16x16xf32>\n"
            "  store %o, %v, %a0, %z\n"
            "  return\n"
            "}\n")


def processor_seconds(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    build = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "build" / "release"
    program = str(build / "lib" / "tools" / "tegula_opt")
    print(f"{'kind':>8} {'ops':>8} {'host':>10} {'cuda':>10}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "kernel.tir")
        for kind, ops in ROWS:
            file.write_text(kernel(kind, ops))
            print(f"{kind:>8} {ops:8}", end="", flush=True)
            for target, form in TARGETS:
                seconds = processor_seconds([program, "-p", "default", "--target", target, "--emit", form, str(file)])
                print(f" {seconds:10.2f}", end="", flush=True)
            print()


main()
