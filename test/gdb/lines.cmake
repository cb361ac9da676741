# Stops in compiled code of a kernel, at a line of its lambda: cmake -DPROGRAM= -DSOURCE= -P lines.cmake
find_program(gdb gdb)
if(NOT gdb)
  message("skipped: gdb is not installed")
  return()
endif()
file(READ "${SOURCE}" text)
string(FIND "${text}" "tile next = so_far" at)
string(SUBSTRING "${text}" 0 ${at} before)
string(REGEX MATCHALL "\n" newlines "${before}")
list(LENGTH newlines line)
math(EXPR line "${line} + 1")
get_filename_component(file "${SOURCE}" NAME)

set(ENV{TEGULA_LINES} on)
set(ENV{TEGULA_CACHE} off)
set(ENV{DEBUGINFOD_URLS} "")
execute_process(
  COMMAND ${gdb} -nx -batch -ex "set breakpoint pending on" -ex "tbreak running_sum.blocks" -ex run
    -ex "echo entry:" -ex frame -ex "tbreak ${file}:${line}" -ex continue -ex "echo line:" -ex frame -ex "backtrace 4"
    "${PROGRAM}"
  OUTPUT_VARIABLE output ERROR_VARIABLE errors TIMEOUT 240)
if(errors MATCHES "ptrace|not permitted" OR output MATCHES "Could not trace|not permitted")
  message("skipped: gdb may not trace programs here: ${errors}")
  return()
endif()
foreach(wanted "entry:#0  running_sum.blocks () at ${file}:" "line:#0  running_sum.blocks () at ${file}:${line}")
  string(FIND "${output}" "${wanted}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "gdb did not print ${wanted}:\n${output}\n${errors}")
  endif()
endforeach()
message("gdb stops where it should")
