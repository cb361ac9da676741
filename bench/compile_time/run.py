#!/usr/bin/env python3
"""Measures the processor seconds that a compilation takes at -O0.

They are user and system seconds, so that other work on the machine counts little: of the umbrella header alone, of one
kernel with its launch each, then of the samples, which also check themselves. Both compilers where installed; the
minimum of three runs.

    run.py [--json FILE] [source...]    times these sources in place of those; --json appends the results to FILE, one
                                        JSON object a line
"""
import argparse
import datetime
import json
import re
import resource
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def processor_seconds(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=ROOT, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, 2)


def three_runs(compiler: str, source: Path) -> list[float]:
    """Returns the seconds of three compilations, in ascending order."""
    command = [compiler, "-std=c++20", "-O0", "-Iinclude", "-Isamples", '-DTEGULA_SAMPLE_DATA=""', "-c", str(source),
               "-o", "/dev/null"]
    return sorted(processor_seconds(command) for _ in range(3))


def line(compiler: str, label: str, seconds: list[float]) -> str:
    model = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return json.dumps({
        "program": "compile_time", "kernel": label, "shape": "-O0", "variant": compiler, "unit": "s",
        "median": seconds[1], "min": seconds[0], "max": seconds[2], "rival": None, "ratio_median": None,
        "ratio_min": None, "ratio_max": None, "error": None, "clock": None, "seed": None,
        "commit": output("git", "rev-parse", "--short", "HEAD"), "machine": model[1] if model else "",
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("sources", nargs="*", type=Path)
    arguments = parser.parse_args()
    sources = [source.resolve() for source in arguments.sources]
    if not sources:
        sources = sorted(ROOT.glob("bench/compile_time/*.cpp")) + sorted(ROOT.glob("samples/*.cpp"))

    clang = output("./dev", "clang-version")
    compilers = ["g++"] + ([f"clang++-{clang}"] if clang else [])
    print(f"{'seconds at -O0':28}" + "".join(f"{compiler:>14}" for compiler in compilers))
    with tempfile.TemporaryDirectory() as folder:
        empty, umbrella = Path(folder, "empty.cpp"), Path(folder, "umbrella.cpp")
        empty.write_text("int main() {}\n")
        umbrella.write_text("#include <tegula/tegula.hpp>\n")
        rows = [("empty file", empty), ("umbrella header", umbrella)] + [(source.name, source) for source in sources]
        for label, source in rows:
            print(f"{label:28}", end="", flush=True)
            for compiler in compilers:
                seconds = three_runs(compiler, source)
                print(f"{seconds[0]:14.2f}", end="", flush=True)
                if arguments.json:
                    with arguments.json.open("a") as file:
                        file.write(line(compiler, label, seconds) + "\n")
            print()


main()
