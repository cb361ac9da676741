# test/unit/<folder> mirrors lib/<folder> and sees what its sources see. A folder with a tests.cmake adds to its program
# there, or leaves sources out.

# tegula_unit_folder(<folder> [ONLY <regex>]): one program of unit/<folder>/**/*_test.cpp, or of those that match.
function(tegula_unit_folder folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "ONLY" "")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "unit/${folder}/*_test.cpp")
  if(arg_ONLY)
    list(FILTER sources INCLUDE REGEX "${arg_ONLY}")
  endif()
  if(NOT sources)
    return()
  endif()
  set(links "")
  if(TARGET tegula_${folder} AND NOT folder STREQUAL "test_support")
    get_target_property(links tegula_${folder} TEGULA_SEES)
  endif()
  tegula_test(tegula_unit_${folder} SUITE "unit/${folder}" LABEL unit SOURCES ${sources} LINKS ${links})
endfunction()

file(GLOB folders CONFIGURE_DEPENDS LIST_DIRECTORIES true RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}/unit" "unit/*")
foreach(folder IN LISTS folders)
  if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/unit/${folder}/tests.cmake")
    include(unit/${folder}/tests.cmake)
  else()
    tegula_unit_folder(${folder})
  endif()
endforeach()
