#!/usr/bin/env bash
# Runs ./dev rows of the checkout $1 in the folder $2, over a made-up list of rows and results, and compares what it prints.
set -euo pipefail
checkout=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder/.ci" "$folder/test" "$folder/build/dev"
cp "$checkout/dev" "$folder/dev"
cp "$checkout/.ci/dev.py" "$folder/.ci/dev.py"
cat >"$folder/test/capabilities.md" <<'TEXT'
| F1 | shown | |
| F2 | needs a second LLVM | |
| F3 | broken | |
| F4 | untested | |
TEXT
cat >"$folder/build/dev/CMakeLists.txt" <<'TEXT'
cmake_minimum_required(VERSION 3.25)
project(rows LANGUAGES NONE)
enable_testing()
function(case name row)
  add_test(NAME "${name}" COMMAND "${CMAKE_COMMAND}" -E ${ARGN})
  set_tests_properties("${name}" PROPERTIES LABELS ${row} SKIP_REGULAR_EXPRESSION "skipped: ")
endfunction()
case("passes" F1 true)
case("a <name> & one that's skipped" F2 echo "skipped: no LLVM besides \"22\" is installed")
case("fails" F3 false)
TEXT
cd "$folder"
cmake -S build/dev -B build/dev >/dev/null
ctest --test-dir build/dev --output-junit "$PWD/build/dev/results.xml" >/dev/null 2>&1 || true
diff <(./dev rows) - <<'TEXT'
F2 needs a second LLVM (skipped here: no LLVM besides "22" is installed)
F3 broken (its tests fail)
F4 untested 
1 of 4 rows have a passing test
TEXT
