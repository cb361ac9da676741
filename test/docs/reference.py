"""Checks that the reference lacks nothing: each public name and each op has a comment and an example.

    reference.py <root> [--list]

A name's comment stands at its declaration in a public header, an op's at its struct. An example of a name is code of
the pages, the samples or the tests, an example of an op a line of IR text in test/ir. --list prints what was found.
"""
import sys
from pathlib import Path

ROOT = Path(sys.argv[1]).resolve()
sys.path.insert(0, str(ROOT / "lib" / "doc" / "site"))
import headers  # noqa: E402
import ops  # noqa: E402
import public_names  # noqa: E402


def without_comment(names):
    return [f"{each.header}: {each.full} has no comment; say what it does, its shapes, units and errors"
            for each in names if not each.summary]


def without_example(names):
    examples = headers.Examples(names)
    return [f"{each.header}: no page, sample or test shows {each.full}; lib/doc/language is the place for it"
            for each in names if not examples.of(each)]


def without_entry(names):
    """The names that public_names.py finds and the reference does not."""
    found, wrong = {each.name for each in names}, []
    base = ROOT / "include" / "tegula"
    for pattern in public_names.HEADERS:
        for header in sorted(base.glob(pattern)):
            text = public_names.clean(header.read_text())
            wrong += [f"{header.relative_to(ROOT)}: the API reference does not have {name}"
                      for name in public_names.public_names(text, public_names.ONLY.get(pattern))
                      if name not in found and name not in public_names.EXCEPTIONS]
    return wrong


def wrong_ops():
    comments, examples = ops.comments(), ops.Examples()
    for struct in ops.listed():
        if struct not in comments:
            yield f"include/tegula/ir/ops.def: the op reference finds no struct {struct} with a mnemonic"
            continue
        mnemonic, comment, path = comments[struct]
        if not comment.split("On a host")[0].strip():
            yield f"{path}: {struct} has no comment; say what {mnemonic} does"
        if not examples.of(mnemonic):
            yield f"{path}: no text of test/ir shows {mnemonic}; test/ir/roundtrip is the place for it"


def main():
    names = headers.public_names()
    if "--list" in sys.argv:
        for each in names:
            print(f"{each.header}: {each.full}: {each.summary}")
    wrong = [*without_comment(names), *without_example(names), *without_entry(names), *wrong_ops()]
    print("\n".join(wrong) if wrong else f"the reference has {len(names)} public names and {len(ops.listed())} ops")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
