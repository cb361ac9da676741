"""Reads what CTest, gcovr and git print, for ./dev.

    dev.py rows <capabilities.md> <results.xml> <tests.json>   rows without a passing test; tests.json: ctest --show-only
    dev.py coverage <all.csv>                                   executed lines by folder, and the files with fewest
    dev.py changed-lines < diff                                 a line filter and a name for each source of git diff -U0
    dev.py subjects < log                                       faults of subjects of commits, "<hash> <subject>" a line
"""
import csv
import json
import re
import sys
import xml.etree.ElementTree as xml
from collections import defaultdict
from pathlib import Path

SUBJECT_LENGTH = 72
AREA = r"(?:[a-z][\w./+, -]*|[A-Z]+): "  # README is an area too
NOT_IMPERATIVE = re.compile(r"[a-z]+(?:ed|ing|(?<!s)s)")
IMPERATIVE = {"bring", "embed", "exceed", "feed", "focus", "need", "proceed", "seed", "speed", "string", "bias"}


def rows(capabilities, results, tests):
    """Joins the rows with the results of the last whole run of the tests."""
    found = {}
    for case in xml.parse(results).iter("testcase"):
        skipped = re.search(r"skipped: (.*)", case.findtext("system-out") or "")
        found[case.get("name")] = (case.get("status"), skipped.group(1) if skipped else "")
    labels = defaultdict(list)
    for test in json.loads(Path(tests).read_text())["tests"]:
        for entry in test.get("properties", []):
            if entry["name"] == "LABELS":
                for label in entry["value"]:
                    labels[label].append(found.get(test["name"], ("", "")))
    written = re.findall(r"(?m)^\| ([PDFHBNL]\d+) \|([^|\n]*)\|", Path(capabilities).read_text())
    passed = 0
    for row, title in written:
        states = labels[row]
        if any(status == "run" for status, _ in states):
            passed += 1
            continue
        reasons = [reason for status, reason in states if status == "notrun"]
        why = f"(skipped here: {reasons[0]})" if reasons else "(its tests fail)" if states else ""
        print(f"{row}{title}{why}")
    print(f"{passed} of {len(written)} rows have a passing test")


def coverage(path):
    """Sources see headers through include_view/<folder>; of a header with two paths the better one counts."""
    files = {}
    for line in csv.DictReader(Path(path).open(newline="")):
        name = re.sub(r"^build/coverage/include_view/[^/]*/tegula/", "include/tegula/", line["filename"])
        name = re.sub(r"^build/coverage/include_view/[^/]*/", "lib/", name)
        total, run = int(line["line_total"]), int(line["line_covered"])
        if name not in files or run > files[name][1]:
            files[name] = (total, run)
    folders = defaultdict(lambda: [0, 0])
    for name, (total, run) in files.items():
        for folder in (name.rpartition("/")[0], "all"):
            folders[folder][0] += total
            folders[folder][1] += run
    print(f"{'folder':<36} {'lines':>7} {'run':>7} {'%':>6}")
    for folder, (total, run) in sorted(folders.items(), key=lambda item: (item[0] == "all", item[0])):
        print(f"{folder:<36} {total:7} {run:7} {100 * run / max(total, 1):6.1f}")
    print("lowest files:")
    lowest = sorted((100 * run / total, name, run, total) for name, (total, run) in files.items() if total >= 20)
    for share, name, run, total in lowest[:20]:
        print(f"{share:6.1f}  {name} ({run} of {total})")


def changed_lines():
    """Prints clang-tidy's filter of the lines that a diff without context adds or changes."""
    changed, name = {}, None
    for line in sys.stdin:
        file, hunk = re.match(r"\+\+\+ b/(.+)", line), re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line)
        if file:
            name = file.group(1)
        elif hunk and hunk.group(2) != "0":
            first = int(hunk.group(1))
            changed.setdefault(name, []).append([first, first + int(hunk.group(2) or 1) - 1])
    for name, lines in changed.items():
        print("--line-filter=" + json.dumps([{"name": name, "lines": lines}], separators=(",", ":")))
        print(name)


def subjects():
    """A subject is "area: verb ...", short, about one topic."""
    wrong = count = 0
    for line in sys.stdin:
        commit, _, subject = line.rstrip("\n").partition(" ")
        count += 1
        faults = []
        if len(subject) > SUBJECT_LENGTH:
            faults.append(f"has {len(subject)} characters, at most {SUBJECT_LENGTH} are read")
        if ";" in subject:
            faults.append('has a ";": one topic a commit')
        area = re.match(AREA, subject)
        if not area:
            faults.append('does not begin with "area: "')
        else:
            word = re.match(r"\S*", subject[area.end():]).group()
            if NOT_IMPERATIVE.fullmatch(word) and word not in IMPERATIVE:
                faults.append(f'begins with "{word}" in place of an imperative')
        for fault in faults:
            print(f'{commit}: the subject "{subject}" {fault}')
        wrong += bool(faults)
    print(f'subjects: {count - wrong} of {count} are "area: what"')
    return 1 if wrong else 0


COMMANDS = {"rows": rows, "coverage": coverage, "changed-lines": changed_lines, "subjects": subjects}

if __name__ == "__main__":
    sys.exit(COMMANDS[sys.argv[1]](*sys.argv[2:]) or 0)
