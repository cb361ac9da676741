"""Checks that the messages which lib/doc/errors.md, fallbacks.md and those of lib/doc/language quote occur in the sources.

    errors.py <root>

A message is a text in backticks in the first column of a table whose heading says "text". "..." in it stands for
values; each part between them occurs in a literal of the sources, where adjacent literals count as one.
"""
import re
import sys
from pathlib import Path


def messages(page):
    """The quoted messages of a page, each with its line."""
    quoting = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if not line.startswith("|"):
            quoting = False
            continue
        first = line.split("|")[1].strip()
        if first == "text":
            quoting = True
        elif quoting:
            for text in re.findall(r"`([^`]+)`", first):
                yield number, text


def main():
    root = Path(sys.argv[1])
    text = "\n".join(
        path.read_text(errors="replace")
        for base in ("include", "lib")
        for path in sorted((root / base).rglob("*"))
        if path.suffix in (".hpp", ".cpp")
    )
    text = re.sub(r'"\s*"', "", text)  # adjacent literals
    wrong, count = [], 0
    doc = root / "lib" / "doc"
    for page in (doc / "errors.md", doc / "fallbacks.md", *sorted((doc / "language").glob("*.md"))):
        for line, message in messages(page):
            count += 1
            for part in (part.strip(" ;,:") for part in message.split("...")):
                if part and part not in text:
                    wrong.append(f"{page.relative_to(root)}:{line}: the sources do not hold \"{part}\"")
    print("\n".join(wrong) if wrong else f"the sources hold the {count} messages that the pages quote")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
