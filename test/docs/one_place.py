"""Demands that locks, guarded statics and changes of files stand in the one place that serves all of lib/ and include/.
Demands, too, that no switch over op kinds has a default: a new op is asked for where it matters; and that fmt
makes texts of numbers in lib/, bench/ and test/. Samples, which users compile, do without fmt, and take a text() of
their own. Public headers make none.

    one_place.py <root>

Names file and line of each other one, and what to use. An exception is a file with the text of the line, and its reason.
"""
import re
import sys
from pathlib import Path

RULES = [
    # what, its text, the files that may have it, the remedy
    ("a lock",
     re.compile(r"\b(std::(recursive_|timed_|shared_|shared_timed_)?mutex|std::condition_variable(_any)?|std::once_flag|std::call_once"
                r"|std::counting_semaphore|std::latch|std::barrier|pthread_(mutex|rwlock|spin|once|cond|atfork)\w*|std::atexit|::fork)\b"),
     ("lib/support/locks.hpp", "lib/support/locks.cpp"),
     "take Lock, Mutex in an object of PerProcess, HoldsForkOff, ChildAction or at_exit of support/locks.hpp, or a child of fork() may hang"),
    ("a static of a function that is made at its first use",
     re.compile(r"^\s+static (?!constexpr\b|constinit\b|inline\b|thread_local\b)(?!\w[\w:<>, ]*\()[^()]*?(=|;|\{)"),
     (),
     "write static constinit, with Lasting or PerProcess of support/locks.hpp around what needs code: its guard is a lock that a child of "
     "fork() may find held"),
    ("a file that is written, removed or renamed",
     re.compile(r"\b(std::ofstream|std::fopen|std::rename|std::remove\(\"|::open\(|::unlink\(|::rename\(|::mkdir\(|::mkdtemp\(|::mkstemp|mkostemp"
                r"|fs::(rename|remove|remove_all|create_director\w+)\(|std::filesystem::(rename|remove_all|create_director\w+)\(|raw_fd_ostream)"),
     ("lib/support/files.cpp",),
     "take a function of support/files.hpp, which follows no link of others and removes own files alone"),
]

# Made where a lock or HoldsForkOff keeps fork() out, or without code.
EXCEPTIONS = {
    ("lib/runtime/host/thread_pool.cpp", "static Closer const closer;"),
    ("lib/codegen/host/target.cpp", "static bool const done = [] {"),
    ("lib/codegen/nvptx/machine.cpp", "static bool const done = [] {"),
    ("include/tegula/call/dlpack.hpp", "static DLTensor const none{};"),
}


def defaults_on_ops(name, text):
    """Returns a failure for each switch that has a default and cases of op kinds, its own or of a list of ops."""
    code = re.sub(r"//[^\n]*", lambda comment: " " * len(comment.group()), text)
    for start in re.finditer(r"\bswitch \(", code):
        opened = code.index("{", start.end())
        depth, own = 0, []
        nested = [0]  # depths at which inner switches begin
        for place in re.finditer(r"[{}]|\bswitch \(|\bdefault:|case (?:ir::)?OpKind::|ops\.def|elementary\.def", code[opened:]):
            token = place.group()
            if token == "{":
                depth += 1
            elif token == "}":
                depth -= 1
                if depth == 0:
                    break
                if depth == nested[-1]:
                    nested.pop()
            elif token.startswith("switch"):
                nested.append(depth)
            elif len(nested) == 1:
                own.append(token)
        if "default:" in own and len(set(own)) > 1:
            line = code.count("\n", 0, start.start()) + 1
            yield (f"{name}:{line}: a switch over op kinds has a default; switch over families, ask a statement of the op's struct, "
                   "or list rules with match of ir/core/match.hpp")


TEXT_OF_NUMBERS = {  # folder: the remedy
    "lib": "take fmt::format or fmt::to_string",
    "bench": "take fmt::format or fmt::to_string",
    "test": "take fmt::format or fmt::to_string",
    "samples": "take text of samples/support/text.hpp",
    "include": "move the function to lib/, and take fmt::format there",
}


def texts_of_numbers(root):
    """Returns a failure for each text that std::to_string makes."""
    for base, remedy in TEXT_OF_NUMBERS.items():
        for path in sorted((root / base).rglob("*.?pp")):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if "std::to_string(" in line:
                    yield f"{path.relative_to(root)}:{number}: a number becomes text by std::to_string; {remedy}"


def main(root):
    failures = list(texts_of_numbers(root))
    used = set()
    for base in ("lib", "include"):
        for path in sorted((root / base).rglob("*")):
            if path.suffix not in (".hpp", ".cpp"):
                continue
            name = str(path.relative_to(root))
            failures += defaults_on_ops(name, path.read_text())
            for number, line in enumerate(path.read_text().splitlines(), 1):
                code = line.split("//")[0]
                for what, text, allowed, remedy in RULES:
                    if not text.search(code) or name in allowed:
                        continue
                    exception = next((e for e in EXCEPTIONS if e[0] == name and e[1] in line), None)
                    if exception:
                        used.add(exception)
                        continue
                    failures.append(f"{name}:{number}: {what}: {code.strip()}; {remedy}")
    failures += [f"one_place.py: the exception of {file} is not needed: {text}" for file, text in sorted(EXCEPTIONS - used)]
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
