"""Finds the root of the sources, and the comment of a declaration."""
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def comment_above(text, at):
    """The /// lines right above a place, or behind a declaration in its line (`///<`)."""
    lines = []
    for line in reversed(text[:at].rstrip(" ").splitlines()):
        if not line.strip().startswith("///"):
            break
        lines.append(line.strip()[3:].removeprefix(" "))
    return "\n".join(reversed(lines)).strip()


def comment_behind(text, at):
    line = text[at:text.find("\n", at)]
    found = re.search(r"///<\s*(.*)", line)
    return found[1] if found else ""
