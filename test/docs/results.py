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


def columns(rows, word):
    return [at for at, title in enumerate(rows[0]) if title == word]


def commits_of(heading, rows, lines, errors):
    """The commits whose lines of data hold all figures of a section."""
    commits, ratios = None, columns(rows, "ratio")
    derived = columns(rows, "rival") if ratios else []  # may be the rate over the ratio, which ratios_of() checks
    for row in rows[2:]:
        figures = [(at, cell) for at, cell in enumerate(row[1:], 1) if cell]
        if not figures:
            errors.append(f"{heading}: row {row[0]} has no figure")
        for at, cell in figures:
            if at in derived:
                continue
            field = "ratio_median" if at in ratios else "median"
            here = {line["commit"] for line in lines if line[field] is not None and close(cell, line[field])}
            if not here:
                errors.append(f"{heading}: {cell} of {row[0]} is in no line of this day")
            else:
                commits = here if commits is None else commits & here
    if not commits:
        errors.append(f"{heading}: its figures are of several runs")
    return commits or set()


def ratios_of(heading, rows, errors):
    """Pairs of a size and its ratio, for each column of ratios."""
    result = []
    for at in columns(rows, "ratio"):
        group = [(row[0], float(row[at - 2]), float(row[at - 1]), float(row[at])) for row in rows[2:] if row[at]]
        for size, ours, rival, ratio in group:
            # Medians of rates and of ratios differ by what a round differs from another.
            if abs(ours / rival / ratio - 1) > 0.025:
                errors.append(f"{heading}: {size}: {ours} over {rival} is far from {ratio}")
        result.append([(size, ratio) for size, _, _, ratio in group])
    return result


def check_section(heading, rows, lines, errors):
    """The columns of ratios of a section, each with its date and the commits that it may be of."""
    dates = re.findall(r"\d{4}-\d\d-\d\d", heading)
    if len(dates) != 1:
        errors.append(f"{heading}: {len(dates)} dates, 1 is expected")
        return []
    if len(rows) < 3:
        errors.append(f"{heading}: empty")
        return []
    commits = commits_of(heading, rows, [line for line in lines if line["date"] == dates[0]], errors)
    return [(dates[0], commits, group) for group in ratios_of(heading, rows, errors)]


def check_summary(row, date, commits, group, errors):
    """Compares a row of the summary with its column of ratios."""
    name, _, mean, count, worst, run = row
    found = math.exp(sum(math.log(ratio) for _, ratio in group) / len(group))
    if abs(float(mean) - found) > 0.0011 or int(count) != len(group):
        errors.append(f"{name}: the summary says {mean} of {count}, its section {found:.3f} of {len(group)}")
    ratio, size = worst.split(": ")
    if (size, float(ratio)) not in group or float(ratio) != min(each for _, each in group):
        errors.append(f"{name}: {worst} is not the worst size of its section")
    day, commit = run.split(", ")
    if day != date or commit not in commits:
        errors.append(f"{name}: the run {run} is not that of its section, {date}")


def check(page, machine, data):
    errors = []
    text = page.read_text()
    if text.count("\n") > MAX_LINES:
        errors.append(f"{text.count(chr(10))} lines, at most {MAX_LINES} are wanted")
    found = tables(text)
    summary = found.pop("", [])
    if len(summary) < 3 or not found:
        return errors + ["no summary, or no section"]
    mine = [line for line in data if (line["machine"] or "").startswith(machine)]
    ratios = [column for heading, rows in found.items() for column in check_section(heading, rows, mine, errors)]
    if len(ratios) != len(summary) - 2:
        errors.append(f"the summary has {len(summary) - 2} rows, the sections have {len(ratios)} columns of ratios")
    for row, column in zip(summary[2:], ratios):
        check_summary(row, *column, errors)
    errors += [f"no picture {picture}" for picture in re.findall(r"!\[[^]]*\]\(([^)]+)\)", text)
               if not (page.parent / picture).exists()]
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
