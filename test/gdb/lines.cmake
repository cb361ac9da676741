# Stops in compiled code of a kernel, at a line of its lambda: cmake -DPROGRAM= -DSOURCE= -P lines.cmake
include("${CMAKE_CURRENT_LIST_DIR}/gdb.cmake")
find_gdb()
line_of("${SOURCE}" "tile next = so_far" line)
get_filename_component(file "${SOURCE}" NAME)

set(ENV{TEGULA_LINES} on)
set(ENV{TEGULA_CACHE} off)
execute_process(
  COMMAND ${gdb} -nx -batch -ex "set breakpoint pending on" -ex "tbreak running_sum.blocks" -ex run
    -ex "echo entry:" -ex frame -ex "tbreak ${file}:${line}" -ex continue -ex "echo line:" -ex frame -ex "backtrace 4"
    "${PROGRAM}"
  OUTPUT_VARIABLE output ERROR_VARIABLE errors)
skip_if_untraced("${output}" "${errors}")
require_texts("${output}" "${errors}" "entry:#0  running_sum.blocks () at ${file}:"
  "line:#0  running_sum.blocks () at ${file}:${line}")
message("gdb stops where it should")
