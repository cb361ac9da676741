"""Compiles the C++ examples of README.md and of the pages on the language, without making code of them.

    examples.py <root> <compiler> [flag...]

The blocks of README.md, and those of the pages of lib/doc/language, follow one another in one file, behind the include
and the using-directive that lib/doc/language.md names.
"""
import re
import subprocess
import sys
from pathlib import Path

BEFORE = "#include <tegula/tegula.hpp>\n#include <vector>\nusing namespace tegula;\n"
BLOCK = re.compile(r"^```cpp\n(.*?)^```", re.M | re.S)


def main():
    root, compiler = Path(sys.argv[1]), sys.argv[2]
    for pages in ([root / "README.md"], sorted((root / "lib" / "doc" / "language").glob("*.md"))):
        source = BEFORE
        for page in pages:
            text = page.read_text()
            for block in BLOCK.finditer(text):
                line = text.count("\n", 0, block.start()) + 2
                source += f'#line {line} "{page.relative_to(root)}"\n{block[1]}'
        command = [compiler, "-std=c++20", "-fsyntax-only", f"-I{root / 'include'}", *sys.argv[3:], "-x", "c++", "-"]
        if subprocess.run(command, input=source, text=True).returncode != 0:
            print(f"an example of {pages[0].relative_to(root)} or its neighbours does not compile")
            return 1
    print("the examples compile")
    return 0


if __name__ == "__main__":
    sys.exit(main())
