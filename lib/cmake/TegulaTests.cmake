# Test programs and their CTest entries.
#
# tegula_test(<target> SUITE <prefix> LABEL <label> SOURCES <file>... LINKS <target>...)
#   One Catch2 program; every case becomes a CTest entry "<prefix>: <name>" whose labels are <label> and the
#   case's tags, so that a capability row is found by its number. Exit status 4 means skipped.
function(tegula_test target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SUITE;LABEL" "SOURCES;LINKS")
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE tegula_test_support ${arg_LINKS} tegula_warnings)
  list(LENGTH arg_SOURCES count)
  if(TEGULA_PRECOMPILE AND count GREATER 3)
    target_precompile_headers(${target} PRIVATE <support/catch.hpp> <algorithm> <random> <string> <vector>)
  endif()
  set_property(GLOBAL APPEND PROPERTY TEGULA_TEST_PROGRAMS ${target})

  set(cases "${CMAKE_CURRENT_BINARY_DIR}/${target}_cases.cmake")
  set(include "${CMAKE_CURRENT_BINARY_DIR}/${target}_include.cmake")
  list(JOIN CMAKE_CROSSCOMPILING_EMULATOR "]==] [==[" emulator)  # as the list quotes the arguments of a command
  if(emulator)
    string(APPEND emulator "]==] [==[")
  endif()
  add_custom_command(TARGET ${target} POST_BUILD BYPRODUCTS "${cases}" VERBATIM
    COMMAND ${target} --list-for-ctest "${cases}" "${emulator}$<TARGET_FILE:${target}>" "${arg_SUITE}" "${arg_LABEL}")
  file(WRITE "${include}"
    "if(EXISTS [==[${cases}]==])\n  include([==[${cases}]==])\n"
    "else()\n  add_test([==[${arg_SUITE}: not built]==] [==[${target}]==])\n"
    "  set_tests_properties([==[${arg_SUITE}: not built]==] PROPERTIES LABELS ${arg_LABEL})\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${include}")
endfunction()

# tegula_test_folder(<folder> LABEL <label> LINKS <target>...): one program of all test/<folder>/**/*_test.cpp.
function(tegula_test_folder folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL" "LINKS")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/test/${folder}/*_test.cpp")
  if(sources)
    string(REPLACE "/" "_" name "${folder}")
    tegula_test(tegula_test_${name} SUITE "${folder}" LABEL ${arg_LABEL} SOURCES ${sources} LINKS ${arg_LINKS})
  endif()
endfunction()

# tegula_command_test(<name> LABELS <label>... COMMAND ... [ENVIRONMENT ...] [EXPECT <regex>] [SKIP <regex>]
#     [FOLDER <folder>])
#   A test that is a command of its own. It must print EXPECT, if given, else succeed; printing SKIP skips it; it runs
#   in FOLDER. Its time limit, and that of test/support/main.cpp, stops a test that hangs: ten times the slowest seen on
#   a busy machine of two cores.
function(tegula_command_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "EXPECT;SKIP;FOLDER" "LABELS;COMMAND;ENVIRONMENT")
  add_test(NAME "${name}" COMMAND ${arg_COMMAND})
  set(timeout 3600)
  if(TEGULA_SANITIZE)
    set(timeout 14400)
  endif()
  set_tests_properties("${name}" PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${timeout} SKIP_RETURN_CODE 4
    ENVIRONMENT "TEGULA_CACHE_DIR=${PROJECT_BINARY_DIR}/test/cache;${arg_ENVIRONMENT}")
  if(arg_EXPECT)
    set_tests_properties("${name}" PROPERTIES PASS_REGULAR_EXPRESSION "${arg_EXPECT}")
  endif()
  if(arg_SKIP)
    set_tests_properties("${name}" PROPERTIES SKIP_REGULAR_EXPRESSION "${arg_SKIP}")
  endif()
  if(arg_FOLDER)
    set_tests_properties("${name}" PROPERTIES WORKING_DIRECTORY "${arg_FOLDER}")
  endif()
endfunction()

# tegula_row_labels(<variable> <file>): the rows of the line "// rows: N3 F44" among a file's first six, as "N3;F44".
function(tegula_row_labels variable file)
  set(labels "")
  file(STRINGS "${file}" lines LIMIT_COUNT 6)
  foreach(line IN LISTS lines)
    if(line MATCHES "^// rows: (.+)$")
      string(REGEX MATCHALL "[A-Z][0-9]+" rows "${CMAKE_MATCH_1}")
      list(APPEND labels ${rows})
    endif()
  endforeach()
  set(${variable} "${labels}" PARENT_SCOPE)
endfunction()
