# Steps through a kernel in gdb and compares the printed tiles: cmake -DPROGRAM= -DSOURCE= -DPRINTERS= -P check.cmake
include("${CMAKE_CURRENT_LIST_DIR}/gdb.cmake")
find_gdb()

# The lines of the source behind `// break here: <name>`.
foreach(name "in the loop" "in the branch" "in the other branch")
  string(REPLACE " " "_" key "${name}")
  line_of("${SOURCE}" "// break here: ${name}\n" ${key})
endforeach()
get_filename_component(file "${SOURCE}" NAME)

set(ENV{TEGULA_DEVICE} debug)
execute_process(
  COMMAND ${gdb} -nx -batch -x "${PRINTERS}"
    -ex "set breakpoint pending on"
    -ex "tbreak ${file}:${in_the_loop}" -ex run
    -ex "echo first:" -ex "print part" -ex "echo index:" -ex "print k" -ex "echo carried:" -ex "print so_far"
    -ex "tbreak ${file}:${in_the_loop}" -ex continue
    -ex "echo second:" -ex "print part" -ex "echo index:" -ex "print k" -ex "echo carried:" -ex "print so_far"
    -ex "echo next:" -ex "print next"
    -ex "tbreak ${file}:${in_the_other_branch}" -ex continue
    -ex "echo sum:" -ex "print sum"
    -ex "tbreak ${file}:${in_the_branch}" -ex continue
    -ex "echo negated:" -ex "print sum" -ex "echo block:" -ex "print block"
    -ex continue
    "${PROGRAM}"
  OUTPUT_VARIABLE output ERROR_VARIABLE errors)
skip_if_untraced("${output}" "${errors}")
require_texts("${output}" "${errors}"
  "first:$1 = 2x4xf32 {{0, 1, 2, 3}, {8, 9, 10, 11}}"
  "index:$2 = 0"
  "carried:$3 = 2x4xf32 {{0, 0, 0, 0}, {0, 0, 0, 0}}"
  "second:$4 = 2x4xf32 {{4, 5, 6, 7}, {12, 13, 14, 15}}"
  "index:$5 = 1"
  "carried:$6 = 2x4xf32 {{0, 0.5, 1, 1.5}, {4, 4.5, 5, 5.5}}"
  "next:$7 = 2x4xf32 {{2, 3, 4, 5}, {10, 11, 12, 13}}"
  "sum:$8 = 2x4xf32 {{2, 3, 4, 5}, {10, 11, 12, 13}}"
  "negated:$9 = 2x4xf32 {{18, 19, 20, 21}, {26, 27, 28, 29}}"
  "block:$10 = 1"
  "right")
message("every value is as expected")
