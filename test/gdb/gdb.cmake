# Serves the tests that run gdb: each is a script that includes this file.

# Ends the script where gdb is not installed.
macro(find_gdb)
  find_program(gdb gdb)
  if(NOT gdb)
    message("skipped: gdb is not installed")
    return()
  endif()
  set(ENV{DEBUGINFOD_URLS} "")
endmacro()

# Ends the script where gdb may not trace programs, or knows too little of the CPU's registers to call their functions.
macro(skip_if_untraced output errors)
  if("${output}${errors}" MATCHES "Couldn't write extended state status")
    message("skipped: gdb cannot call a program's functions on this CPU: it could not write the extended state")
    return()
  endif()
  if("${errors}" MATCHES "ptrace|not permitted" OR "${output}" MATCHES "Could not trace|not permitted")
    message("skipped: gdb may not trace programs here: ${errors}")
    return()
  endif()
endmacro()

# Gives the number of the line of a file on which a text begins.
function(line_of file text result)
  file(READ "${file}" all)
  string(FIND "${all}" "${text}" at)
  string(SUBSTRING "${all}" 0 ${at} before)
  string(REGEX MATCHALL "\n" newlines "${before}")
  list(LENGTH newlines line)
  math(EXPR line "${line} + 1")
  set(${result} ${line} PARENT_SCOPE)
endfunction()

# Fails where the output lacks one of the texts that follow.
function(require_texts output errors)
  foreach(wanted IN LISTS ARGN)
    string(FIND "${output}" "${wanted}" at)
    if(at EQUAL -1)
      message(FATAL_ERROR "gdb did not print ${wanted}:\n${output}\n${errors}")
    endif()
  endforeach()
endfunction()
