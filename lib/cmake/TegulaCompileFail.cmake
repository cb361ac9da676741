# One compile-fail case, run by CTest:
#   cmake -DCOMPILER=<c++> -DFLAGS=<list> -DSOURCE=<file.cpp> -P TegulaCompileFail.cmake
# ok_*.cpp must compile in silence. Any other file must be refused, its first error must print the sentence of
# its first line ("// expect: <sentence>"), and the compiler's whole output must stay under 15 lines.
get_filename_component(name "${SOURCE}" NAME)
execute_process(COMMAND "${COMPILER}" ${FLAGS} -fsyntax-only "${SOURCE}"
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)

if(name MATCHES "^ok_")
  if(NOT status EQUAL 0 OR NOT output STREQUAL "")
    message(FATAL_ERROR "${name} must compile without a word, but printed:\n${output}")
  endif()
  return()
endif()

file(STRINGS "${SOURCE}" first_line LIMIT_COUNT 1)
if(NOT first_line MATCHES "^// expect: (.+)$")
  message(FATAL_ERROR "${name}: the first line must be '// expect: <sentence>'")
endif()
string(REPLACE "\\;" ";" sentence "${CMAKE_MATCH_1}")  # file(STRINGS) escapes them
if(status EQUAL 0)
  message(FATAL_ERROR "${name} compiles, but must be refused with: ${sentence}")
endif()
string(FIND "${output}" "error:" at)
string(SUBSTRING "${output}" ${at} -1 from_error)
string(FIND "${from_error}" "\n" end)
string(SUBSTRING "${from_error}" 0 ${end} first_error)
string(FIND "${first_error}" "${sentence}" found)
if(found EQUAL -1)
  message(FATAL_ERROR "${name}: the first error is\n  ${first_error}\nexpected\n  ${sentence}\nwhole output:\n${output}")
endif()
string(REGEX REPLACE "[^\n]" "" newlines "${output}")
string(LENGTH "${newlines}" lines)
if(NOT lines LESS 15)
  message(FATAL_ERROR "${name}: ${lines} lines of output, allowed are fewer than 15:\n${output}")
endif()
message(STATUS "${name}: ${lines} lines")
