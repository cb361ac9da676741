"""Reads the public headers: each public name with its declarations, comments, errors and an example.

The names are those of test/docs/public_names.py, so the reference has the names that its test knows.
"""
import re
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

from ops import comments
from source_text import ROOT, comment_above, comment_behind

sys.path.insert(0, str(ROOT / "test" / "docs"))
from public_names import EXCEPTIONS, HEADERS, INTERNAL, ONLY, closing, names_of  # noqa: E402

INSIDE = INTERNAL | {"aot", "tuning"}  # what the typed functions call

FENCE = re.compile(r"^ *```(?:cpp)?\n(.*?)^ *```", re.M | re.S)
# Text of the messages that a body states: of assertions, and of errors that it throws.
ASSERTED = re.compile(r'static_assert\([^;]*?,\s*((?:"(?:\\.|[^"\\])*"\s*)+)\)\s*;', re.S)
THROWN = re.compile(r'UserError\(\s*((?:"(?:\\.|[^"\\])*"\s*)+)')


@dataclass
class Declaration:
    """One declaration of a name: its text, and its comment without slashes."""
    head: str
    comment: str
    errors: list
    is_type: bool
    inherited: bool = False  # the comment is that of the declaration above


@dataclass
class Name:
    """A public name of a header; `space` is the namespace inside tegula, or empty."""
    name: str
    header: Path
    space: str
    owner: str = ""  # the struct or enumeration that has it as a field or an enumerator
    declarations: list = field(default_factory=list)

    @property
    def full(self):
        return f"{self.space}::{self.name}" if self.space else self.name

    @property
    def label(self):
        stem = self.header.with_suffix("").as_posix().replace("include/tegula/", "").replace("/", "-")
        kind = "-type" if self.name[0].isupper() and not self.owner else ""  # Shape beside shape
        return f"api-{stem}-{self.full.replace('::', '-')}".lower() + kind

    @property
    def summary(self):
        comment = next((each.comment for each in self.declarations if each.comment), "")
        return first_sentence(comment)


def first_sentence(comment):
    """The text up to its first period, or up to the colon before a list or an example."""
    return re.split(r"(?<=\.)\s|:(?=\s*`|\s+- |\s*$)", comment.replace("\n", " "), maxsplit=1)[0]


def blanked(text):
    """The code with comments, strings, preprocessor lines and attributes as spaces, every place kept."""
    def spaces(found):
        return re.sub(r"[^\n]", " ", found[0])
    def quoted(found):
        return f'"{" " * (len(found[0]) - 2)}"' if found[0].startswith('"') else spaces(found)
    text = re.sub(r'//[^\n]*|/\*.*?\*/|"(\\.|[^"\\\n])*"', quoted, text, flags=re.S)
    text = re.sub(r"'(\\.|[^'\\\n])'", spaces, text)
    text = re.sub(r"^[ \t]*#([^\n]*\\\n)*[^\n]*", spaces, text, flags=re.M)
    return re.sub(r"\[\[.*?\]\]", spaces, text, flags=re.S)


def places(text, at, end):
    """The declarations of a scope as places: begin and end of the head, then of the body, or None."""
    start = at
    while at < end:
        if text[at] == "(":
            at = closing(text, at)
        elif text[at] == "{":
            behind = closing(text, at)
            yield start, at, (at + 1, behind - 1)
            start = at = behind
        elif text[at] == ";":
            if text[start:at].strip():
                yield start, at, None
            at += 1
            start = at
        else:
            at += 1


def without_private(text):
    """The public part of a class: what stands after private: or protected: is left out."""
    parts = re.split(r"^ *(public|private|protected):\s*\n", text, flags=re.M)
    shown, access = [parts[0]], ""
    for access, part in zip(parts[1::2], parts[2::2]):
        if access == "public":
            shown.append(part)
    return "".join(shown)


def outline(text):
    """The members of a class as declarations: bodies of functions are left out."""
    code, result, last, initialised = blanked(text), [], 0, False
    for begin, end, body in places(code, 0, len(code)):
        head = code[begin:end]
        if initialised and body and (not head.strip() or head.lstrip().startswith(",")):
            last = body[1] + 1  # the rest of the initialisers, and the body
            initialised = bool(head.strip()) or head == ""
            continue
        initialised = False
        if body and re.search(r"\)[\w\s:&<>,{}()*.-]*$", head) and not re.match(r"\s*(struct|class|enum)\b", head):
            cut = end
            if initialisers := re.search(r"\)\s*(noexcept\s*)?:(?!:)", head):  # of a constructor
                cut = begin + initialisers.start() + 1
                initialised = True
            result.append(text[last:cut].rstrip() + ";")
            last = body[1] + 1
    result.append(text[last:])
    kept = "".join(result)
    kept = re.sub(r"^ *(static_assert|friend)\b[^;]*;\n?", "", kept, flags=re.M)
    return re.sub(r"\n{3,}", "\n\n", kept).strip("\n")


def messages(text):
    found = [*ASSERTED.findall(text), *THROWN.findall(text)]
    return ["".join(re.findall(r'"((?:\\.|[^"\\])*)"', each)).replace('\\"', '"') for each in found]


def shown(text, begin, end, body):
    """The text of a declaration: with its members if it is a type, else without a body."""
    head = textwrap.dedent(re.sub(r"^\s*///.*\n", "", text[begin:end], flags=re.M)).strip()
    head = re.sub(r"^//.*\n", "", head, flags=re.M)
    head = re.sub(r"^#.*\n?", "", head, flags=re.M).strip()
    code = re.sub(r"//.*", "", head)
    is_type = bool(re.search(r"(?:^|\s)(?:struct|class|enum(?:\s+class)?)\s+\w+[^()=]*$", code))
    if body and is_type:
        members = outline(without_private(text[body[0]:body[1]]))
        return (f"{head} {{\n{members}\n}};" if members.strip() else f"{head};"), True
    if body and re.search(r"=\s*$|\b(?:inline\s+)?constexpr\s[\w:<>, ]+$", head) and "(" not in head:
        return f"{head.rstrip('= ')};", False
    return f"{head};", False


class Reader:
    """Reads the declarations of a header: their names, and the mistakes that overloads report."""

    def __init__(self, text, header, only, names, mistakes):
        self.text, self.code, self.header, self.only = text, blanked(text), header, only
        self.names, self.mistakes = names, mistakes

    def read(self, begin, end, space="", above=""):
        """Reads a scope in a namespace. `above`: the comment above the scope, for declarations without one."""
        last = {}  # comment and end of the declaration before
        for start, stop, body in places(self.code, begin, end):
            head = self.code[start:stop].strip()
            first = stop - len(self.code[start:stop].lstrip())
            comment = comment_above(self.text, self.text.rfind("\n", 0, first) + 1)
            if found := re.match(r"(?:inline\s+)?namespace\s*([\w:]*)$", head):
                self.read_namespace(found[1], body, space, comment)
                continue
            made = names_of(re.sub(r"\s+", " ", head), self.code[body[0]:body[1]] if body else None)
            if not made or self.only and not self.only.fullmatch(made[0]):
                continue
            errors = self.errors_of(body)
            if self.header.name in ("mistakes.hpp", "std_mistakes.hpp"):  # overloads that only say how a word is called
                for name in made:
                    self.mistakes.setdefault(name, []).extend(errors)
                continue
            shown_text, is_type = shown(self.text, start, stop, body)
            for name in made:
                about = self.comment_inside(name, body) if name != made[0] else ""
                about = about or comment or comment_behind(self.text, stop)
                entry = self.names.setdefault((self.header, space, name), Name(name, self.header, space))
                inherited = not about and not entry.declarations
                if inherited:
                    about = self.comment_of_row(last, begin, first, above)
                if name != made[0]:
                    entry.owner = made[0]
                else:
                    last["comment"] = about or last.get("comment", "")
                is_named_type = is_type and name == made[0]
                entry.declarations.append(Declaration(shown_text, about, errors, is_named_type, inherited))
            last["end"] = body[1] + 1 if body else stop

    def read_namespace(self, name, body, space, comment):
        if body and not INSIDE & set(name.split("::")):
            inner = "::".join(part for part in [space, name.removeprefix("tegula").strip(":")] if part)
            self.read(*body, inner, comment)

    def errors_of(self, body):
        return messages(self.text[body[0]:body[1]]) if body else []

    def comment_of_row(self, last, begin, first, above):
        """The comment of a declaration without one: declarations in a row share that above the first."""
        in_row = last and "\n\n" not in self.text[last.get("end", begin):first]
        return last.get("comment", "") if in_row else above

    def comment_inside(self, name, body):
        """The comment of an enumerator, or of a field of options."""
        at = body[0] + re.search(rf"\b{name}\b", self.code[body[0]:body[1]]).start()
        return comment_above(self.text, self.text.rfind("\n", 0, at) + 1) or comment_behind(self.text, at)


def public_names():
    """All public names, in the order of the headers."""
    names, mistakes = {}, {}
    base = ROOT / "include" / "tegula"
    for pattern in HEADERS:
        for path in sorted(base.glob(pattern)):
            text = path.read_text()
            Reader(text, path.relative_to(ROOT), ONLY.get(pattern), names, mistakes).read(0, len(text))
    # A function without a comment has that of its op.
    of_ops = {mnemonic: comment for mnemonic, comment, _ in comments().values()}
    for entry in names.values():
        borrowed = all(each.inherited or not each.comment for each in entry.declarations)
        if not entry.space and entry.name in of_ops and borrowed:
            for each in entry.declarations:
                each.comment = of_ops[entry.name]
        if not entry.space:
            entry.declarations[-1].errors += mistakes.get(entry.name, [])
    return [entry for entry in names.values() if entry.name not in EXCEPTIONS]


def introduction(header):
    """The comment at the top of a header."""
    lines = []
    for line in (ROOT / header).read_text().splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[2:].removeprefix(" "))
    return "\n".join(lines)


class Examples:
    """Finds the shortest piece of code that shows a name: in the pages, else in samples, tests and tables of pages."""

    def __init__(self, names):
        self.names = names
        self.pieces = []  # rank, source, text
        first = [*sorted((ROOT / "lib/doc/language").glob("*.md")), ROOT / "README.md"]
        then = [*sorted((ROOT / "lib/doc").glob("*.md")), *sorted((ROOT / "lib/doc/tutorial").glob("*.md"))]
        for page in [*first, *then]:
            text, source = page.read_text(), page.relative_to(ROOT)
            for block in FENCE.findall(text):
                self.add(page not in first, source, block)
            spans = re.findall(r"`([^`\n]+)`", FENCE.sub("", text))
            self.pieces += [(9, source, span) for span in spans if re.search(r"[(<{ ]", span)]
        for folder in ("samples", "test/sim", "test/host", "test/device", "test/aot", "test/docs", "test/profile",
                       "test/unit"):
            for source in sorted((ROOT / folder).rglob("*.cpp")):
                self.add(2 + 2 * folder.startswith("test"), source.relative_to(ROOT), source.read_text())
        quiet = re.compile(r'//.*|"(\\.|[^"\\\n])*"')
        self.words = [set(re.findall(r"\w+", quiet.sub("", text))) for _, _, text in self.pieces]

    def add(self, rank, source, text):
        """Adds paragraphs of code, and the lines of long ones by threes."""
        for part in re.split(r"\n\s*\n", text):
            lines = part.strip("\n").splitlines()
            if not lines or "#include" in part:
                continue
            if len(lines) <= 14:
                self.pieces.append((rank, source, textwrap.dedent("\n".join(lines))))
            else:
                windows = [lines[at:at + 3] for at in range(len(lines) - 2)]
                self.pieces += [(rank + 1, source, textwrap.dedent("\n".join(each))) for each in windows]

    def of(self, entry):
        """The source and the text of an example, or None; that of a name which has this one in its declaration too."""
        best, name = self.shown(entry), re.escape(entry.name)
        if best or entry.owner:
            return best
        served = []  # names with it in their declaration: objects of a type, functions that take or give it
        for other in self.names:
            heads = "\n".join(re.sub(r"//.*", "", each.head) for each in other.declarations)
            if other is not entry and not other.owner and re.search(rf"\b{name}\b", heads):
                served.append((other.header != entry.header, other))
        for _, other in sorted(served, key=lambda each: each[0]):
            if found := self.shown(other):
                return found
        return None

    def shown(self, entry):
        """The source and the text of the best code that has the name itself, or None."""
        name = re.escape(entry.name)
        called = any(re.search(rf"\b{name}\(", each.head) for each in entry.declarations)
        called = called and not entry.owner and not any(each.is_type for each in entry.declarations)
        if entry.name.startswith("_"):
            use = re.compile(rf"\w{name}\b")
        elif entry.owner:
            use = re.compile(rf"\.{name}\b|\b{name}\b")
        elif entry.space:
            use = re.compile(rf"\b{entry.space}::{name}\b")
        else:
            use = re.compile(rf"(?<![\w.>:]){name}" + (r"\s*[(<]" if called else r"\b"))
        best = None
        for (rank, source, text), words in zip(self.pieces, self.words):
            if not entry.name.startswith("_") and entry.name not in words or not use.search(text):
                continue
            key = (rank, abs(len(text) - 120))
            if best is None or key < best[0]:
                best = (key, source, text)
        return best and best[1:]
