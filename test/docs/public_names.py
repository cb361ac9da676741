"""Checks that README.md or a page of lib/doc shows every public name of include/tegula as code.

    public_names.py <root> [--list]

A public name is declared in namespace tegula, or in a namespace in it that programs use, by a header of HEADERS. It is
a type, a concept, a function, a variable, an enumerator without scope, or a field of a struct of options. The page has
it in backticks or in a block of code. --list prints the names, each with the header that declares it.
"""
import re
import sys
from pathlib import Path

# Headers whose names a program writes.
HEADERS = ("dsl/*.hpp", "jit/*.hpp", "runtime/*.hpp", "call/dlpack.hpp", "profile/*.hpp", "tune/*.hpp",
           "aot/launch.hpp", "exporter/*.hpp", "support/error.hpp", "support/location.hpp", "abi/advice.hpp",
           "abi/budget.hpp", "abi/compile_options.hpp", "abi/kernel_facts.hpp", "abi/kernel_paths.hpp",
           "abi/profile_format.hpp")
# Namespaces of the implementation, and of the library's specialisations.
INTERNAL = {"detail", "jit", "ir", "trace", "runtime", "call", "math", "std"}
# Structs whose fields a program sets.
OPTIONS = re.compile(r"\w*Options|Checks|ProfileView")
# Names that those headers declare for other parts of Tegula.
EXCEPTIONS = {
    "Argument", "GridOverride",  # the launcher's templates fill them
    "element_of", "element_v",  # the language's own headers ask them
}
# Headers that also describe memory which the compiler and the launcher share: these names of them count.
ONLY = {
    "abi/profile_format.hpp": re.compile(r"ProfileOptions|ProfileStrategy|ProfileGranularity"),
}

OPENING, CLOSING = "([{<", ")]}>"


def clean(text):
    """The code without comments, text in quotes, lines of the preprocessor and attributes."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r'"(\\.|[^"\\\n])*"', '""', text)
    text = re.sub(r"'(\\.|[^'\\\n])'", "' '", text)
    text = re.sub(r"^[ \t]*#([^\n]*\\\n)*[^\n]*", "", text, flags=re.M)
    return re.sub(r"\[\[.*?\]\]", "", text, flags=re.S)


def closing(text, at):
    """The place behind the bracket that closes the one at `at`."""
    pair = OPENING.index(text[at])
    depth = 0
    for place in range(at, len(text)):
        if text[place] == OPENING[pair]:
            depth += 1
        elif text[place] == CLOSING[pair] and not (pair == 3 and text[place - 1] in "-="):
            depth -= 1
            if depth == 0:
                return place + 1
    raise ValueError(f"no end of: {text[at:at + 60]}")


def declarations(text):
    """The declarations of a scope, each as its head and its body, which is None without braces."""
    at, start = 0, 0
    while at < len(text):
        if text[at] == "(":
            at = closing(text, at)
        elif text[at] == "{":
            end = closing(text, at)
            yield text[start:at].strip(), text[at + 1:end - 1]
            start = at = end
        elif text[at] == ";":
            if text[start:at].strip():
                yield text[start:at].strip(), None
            at += 1
            start = at
        else:
            at += 1


def without(head, word, brackets):
    """The head without `word` and the brackets behind it."""
    while found := re.search(rf"\b{word}\s*(?=\{brackets})", head):
        head = head[:found.start()] + head[closing(head, found.end()):]
    return head


def names_of(head, body):
    """The names that a declaration at namespace scope makes."""
    head = without(without(head, "template", "<"), "requires", "(").strip()
    if found := re.search(r'operator\s*""\s*(_\w+)', head):
        return [found[1]]
    if re.search(r"\boperator\b", head) or head.startswith(("static_assert", "friend", "TEGULA_")):
        return []
    if found := re.search(r"\b(?:using|concept)\s+(\w+)\s*=", head):
        return [found[1]]
    if found := re.search(r"(?:^|\s)(enum\s+class|enum|class|struct)\s+(\w+)", head):
        if body is None:
            return []  # declared before its definition
        names = [found[2]]
        if found[1] == "enum":
            names += re.findall(r"(\w+)\s*(?:=[^,]*)?(?:,|$)", body.strip())
        if OPTIONS.fullmatch(found[2]):
            names += [name for field, _ in declarations(body) for name in fields_of(field)]
        return names
    if found := re.search(r"\(\s*(\w+)\s*\)\s*\(", head) or re.search(r"\b(\w+)\s*\(", head):
        return [found[1]]
    if found := re.search(r"(\w+)\s*(?:<[^=]*>)?\s*(?:=.*)?$", head, re.S):
        return [found[1]]
    return []


def fields_of(head):
    """The names of the data members of one declaration in a struct."""
    if "(" in head.split("=")[0] or re.search(r"\b(friend|using|static|struct|class|enum)\b", head):
        return []
    return re.findall(r"([A-Za-z_]\w*)\s*(?:=[^,]*)?(?:,|$)", head)


def public_names(text, only=None):
    """The public names that a header declares; `only`, those of declarations whose first name it matches."""
    for head, body in declarations(text):
        if found := re.match(r"(?:inline\s+)?namespace\s*([\w:]*)$", head):
            if body is not None and not INTERNAL & set(found[1].split("::")):
                yield from public_names(body, only)
        elif (found := names_of(head, body)) and (only is None or only.fullmatch(found[0])):
            yield from found


def shown_in(page):
    """The words that a page shows as code."""
    fenced = r"^ *```[^\n]*\n(.*?)^ *```"
    text = page.read_text()
    blocks = re.findall(fenced, text, re.M | re.S)
    spans = re.findall(r"`([^`]+)`", re.sub(fenced, "", text, flags=re.M | re.S))
    return set(re.findall(r"\w+", "\n".join(blocks + spans)))


def main():
    root = Path(sys.argv[1])
    base = root / "include" / "tegula"
    names = {}
    for pattern in HEADERS:
        for header in sorted(base.glob(pattern)):
            for name in public_names(clean(header.read_text()), ONLY.get(pattern)):
                names.setdefault(name, header.relative_to(root))
    if "--list" in sys.argv:
        for name, header in names.items():
            print(f"{header}: {name}")
        return 0
    pages = [root / "README.md", *sorted((root / "lib" / "doc").glob("*.md")),
             *sorted((root / "lib" / "doc" / "language").glob("*.md"))]
    shown = set().union(*(shown_in(page) for page in pages))
    missing = [f"{header}: no page shows `{name}`; lib/doc/language is the place for it"
               for name, header in names.items() if name not in shown and name not in EXCEPTIONS]
    missing += [f"public_names.py: the exception of {name} is not needed" for name in EXCEPTIONS if name not in names]
    print("\n".join(missing) if missing else f"{len(pages)} pages show {len(names)} public names")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
