"""Compiles the C++ examples of README.md and lib/doc/language.md, without making code of them.

    examples.py <root> <compiler> [flag...]

The blocks of a page follow one another in one file, behind the include and the using-directive that the page names.
"""
import re
import subprocess
import sys
from pathlib import Path

BEFORE = "#include <tegula/tegula.hpp>\n#include <vector>\nusing namespace tegula;\n"
BLOCK = re.compile(r"^```cpp\n(.*?)^```", re.M | re.S)


def main():
    root, compiler = Path(sys.argv[1]), sys.argv[2]
    for page in ("README.md", "lib/doc/language.md"):
        text = (root / page).read_text()
        source = BEFORE
        for block in BLOCK.finditer(text):
            line = text.count("\n", 0, block.start()) + 2
            source += f'#line {line} "{page}"\n{block[1]}'
        command = [compiler, "-std=c++20", "-fsyntax-only", f"-I{root / 'include'}", *sys.argv[3:], "-x", "c++", "-"]
        if subprocess.run(command, input=source, text=True).returncode != 0:
            print(f"{page}: an example does not compile")
            return 1
    print("the examples compile")
    return 0


if __name__ == "__main__":
    sys.exit(main())
