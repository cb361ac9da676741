"""Checks that each static_assert of include/ and lib/ that has a message states its rule with the word "must".

    asserts.py <root>

A message is all literals of the assertion joined, with the macros of TEGULA_ that stand for literals.
"""
import re
import sys
from pathlib import Path

LITERAL = r'"((?:[^"\\]|\\.)*)"'


def end_of(text, begin):
    """Returns the place of the parenthesis that closes the one before `begin`; parentheses in literals do not count."""
    depth, at = 1, begin
    for token in re.finditer(LITERAL + r"|'(?:[^'\\]|\\.)'|[()]", text[begin:]):
        depth += {"(": 1, ")": -1}.get(token.group(), 0)
        at = begin + token.start()
        if depth == 0:
            break
    return at


def main(root):
    files = {
        path.relative_to(root): re.sub(r"//[^\n]*", "", path.read_text())
        for base in ("include", "lib")
        for path in sorted((root / base).rglob("*"))
        if path.suffix in (".hpp", ".cpp")
    }
    sentences = {}  # by the macro that stands for them
    for text in files.values():
        for name, body in re.findall(r"#define (TEGULA_\w+)\s*\\\n((?:[^\n]*\\\n)*[^\n]*\n)", text):
            if re.fullmatch(r'(?:\s|\\\n|' + LITERAL + ")*", body):
                sentences[name] = "".join(re.findall(LITERAL, body))
    wrong, count = [], 0
    for name, text in files.items():
        for start in re.finditer(r"\bstatic_assert\s*\(", text):
            assertion = text[start.end() : end_of(text, start.end())]
            named = [sentences[word] for word in re.findall(r"\bTEGULA_\w+", assertion) if word in sentences]
            message = "".join(re.findall(LITERAL, assertion) + named)
            if not message:
                continue
            count += 1
            if not re.search(r"\bmust\b", message):
                line = text.count("\n", 0, start.start()) + 1
                wrong.append(f"{name}:{line}: a static_assert states what must hold; found \"{message}\"")
    print("\n".join(wrong) if wrong else f"{count} messages of static_assert say what must hold")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
