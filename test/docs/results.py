#!/usr/bin/env python3
"""Checks the pages of results against the data, without the script that makes them.

    results.py <source directory>

- A page has a summary and sections, and none of them is empty.
- A section has one date. Each rate and ratio in it stands in a line of data of that date, machine and unit; all lines of
  a section share one commit, which is that of its rows in the summary.
- The summary's mean and worst size are those of the section. A page has at most 90 lines.
"""
import json
import math
import re
import sys
from pathlib import Path

PAGES = {"RESULTS.md": "NVIDIA H200", "RESULTS_H100.md": "NVIDIA H100", "RESULTS_HOST.md": "AMD EPYC"}
MAX_LINES = 90


def tables(text):
    """The lines of each table, by the heading above it; "" for the summary."""
    found, heading = {}, ""
    for line in text.splitlines():
        if line.startswith("## "):
            heading = line[3:]
            found[heading] = []
        elif line.startswith("|"):
            found.setdefault(heading, []).append([cell.strip() for cell in line[1:-1].split("|")])
    return found


def close(shown, value):
    """The text is the number, rounded to the digits shown."""
    digits = len(shown.split(".")[1]) if "." in shown else 0
    return abs(float(shown) - value) <= 0.5001 * 10 ** -digits


def check(page, machine, data):
    errors = []
    text = page.read_text()
    if text.count("\n") > MAX_LINES:
        errors.append(f"{text.count(chr(10))} lines, at most {MAX_LINES} are wanted")
    found = tables(text)
    summary = found.pop("", [])
    if len(summary) < 3:
        return errors + ["no summary"]
    if not found:
        return errors + ["no section"]
    mine = [line for line in data if (line["machine"] or "").startswith(machine)]
    ratios = []  # of every column of ratios: (date, commits, [(size, ratio)])
    for heading, rows in found.items():
        dates = re.findall(r"\d{4}-\d\d-\d\d", heading)
        if len(dates) != 1:
            errors.append(f"{heading}: {len(dates)} dates, 1 is expected")
            continue
        if len(rows) < 3:
            errors.append(f"{heading}: empty")
            continue
        of_day = [line for line in mine if line["date"] == dates[0]]
        commits = None
        compared = "ratio" in rows[0]
        groups = {at: [] for at, word in enumerate(rows[0]) if word == "ratio"}
        for row in rows[2:]:
            numbers = [(at, cell) for at, cell in enumerate(row[1:], 1) if cell]
            if not numbers:
                errors.append(f"{heading}: row {row[0]} has no figure")
            for at, cell in numbers:
                if compared and rows[0][at] == "rival":
                    continue  # may be the rate over the ratio, which is checked
                field = "ratio_median" if compared and rows[0][at] == "ratio" else "median"
                lines = [line for line in of_day if line[field] is not None and close(cell, line[field])]
                here = {line["commit"] for line in lines}
                if not here:
                    errors.append(f"{heading}: {cell} of {row[0]} is in no line of {dates[0]}")
                    continue
                commits = here if commits is None else commits & here
            if compared:
                for at, group in groups.items():
                    if row[at]:
                        group.append((row[0], float(row[at])))
                        ours, rival = float(row[at - 2]), float(row[at - 1])
                        # Medians of rates and of ratios differ by what a round differs from another.
                        if abs(ours / rival / float(row[at]) - 1) > 0.025:
                            errors.append(f"{heading}: {row[0]}: {ours} over {rival} is far from {row[at]}")
        if not commits:
            errors.append(f"{heading}: its figures are of several runs")
        if compared:
            ratios += [(dates[0], commits, group) for group in groups.values()]
    if len(ratios) != len(summary) - 2:
        errors.append(f"the summary has {len(summary) - 2} rows, the sections have {len(ratios)} columns of ratios")
        return errors
    for row, (date, commits, group) in zip(summary[2:], ratios):
        mean = math.exp(sum(math.log(ratio) for _, ratio in group) / len(group))
        shown, count = row[2:4]
        if abs(float(shown) - mean) > 0.0011 or int(count) != len(group):
            errors.append(f"{row[0]}: the summary says {row[2]} of {row[3]}, its section {mean:.3f} of {len(group)}")
        worst, size = row[4].split(": ")
        if (size, float(worst)) not in group or float(worst) != min(ratio for _, ratio in group):
            errors.append(f"{row[0]}: {row[4]} is not the worst size of its section")
        day, commit = row[5].split(", ")
        if day != date or commit not in (commits or ()):
            errors.append(f"{row[0]}: the run {row[5]} is not that of its section, {date}")
    for picture in re.findall(r"!\[[^]]*\]\(([^)]+)\)", text):
        if not (page.parent / picture).exists():
            errors.append(f"no picture {picture}")
    return errors


def main():
    bench = Path(sys.argv[1]) / "bench"
    data = [json.loads(text) for path in sorted((bench / "results").glob("*.jsonl"))
            for text in path.read_text().splitlines()]
    status = 0
    pages = sorted(bench.glob("RESULTS*.md"))
    for page in pages:
        if page.name not in PAGES:
            print(f"{page.name}: name its machine in test/docs/results.py")
            status = 1
            continue
        for error in check(page, PAGES[page.name], data):
            print(f"{page.name}: {error}")
            status = 1
    if len(pages) != len(PAGES):
        print(f"{len(pages)} pages of results, {len(PAGES)} are expected")
        status = 1
    sys.exit(status)


if __name__ == "__main__":
    main()
