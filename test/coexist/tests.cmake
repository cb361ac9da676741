# Tegula as shared libraries, and in one process with another LLVM, of any major.
if(TEGULA_SHARED)
  tegula_command_test("coexist: the shared libraries show names of Tegula alone" LABELS install N16
    COMMAND ${CMAKE_COMMAND} "-DNM=${CMAKE_NM}" "-DLIBRARIES=$<TARGET_FILE:tegula::runtime>;$<TARGET_FILE:tegula::tegula>"
      -P "${CMAKE_CURRENT_SOURCE_DIR}/coexist/shown_names.cmake")
endif()
get_target_property(fmt_library fmt::fmt TYPE)
if(fmt_library STREQUAL "SHARED_LIBRARY")
  tegula_command_test("coexist: a library that shows names of fmt is refused" LABELS install N16
    EXPECT "a[ \n]+name[ \n]+that[ \n]+is[ \n]+not[ \n]+Tegula's"
    COMMAND ${CMAKE_COMMAND} "-DNM=${CMAKE_NM}" "-DLIBRARIES=$<TARGET_FILE:fmt::fmt>"
      -P "${CMAKE_CURRENT_SOURCE_DIR}/coexist/shown_names.cmake")
endif()
set(other "")
file(GLOB headers "/usr/lib/llvm-*/include/llvm-c/Core.h")
foreach(header IN LISTS headers)
  string(REGEX REPLACE "^/usr/lib/llvm-([0-9]+)/.*" "\\1" major "${header}")
  if(NOT major EQUAL LLVM_VERSION_MAJOR AND EXISTS "/usr/lib/llvm-${major}/lib/libLLVM-${major}.so")
    set(other ${major})
  endif()
endforeach()
if(NOT other)
  message(STATUS "tegula: no second LLVM, the test of two in one process is left out")
  return()
endif()
add_library(tegula_other_llvm SHARED coexist/other_llvm.c)
target_include_directories(tegula_other_llvm SYSTEM PRIVATE "/usr/lib/llvm-${other}/include")
target_link_libraries(tegula_other_llvm PRIVATE "/usr/lib/llvm-${other}/lib/libLLVM-${other}.so")
add_executable(tegula_coexist coexist/client.cpp)
target_link_libraries(tegula_coexist PRIVATE tegula::tegula tegula_other_llvm tegula_warnings)
if(TEGULA_STATIC_LLVM)  # its own LLVM is a part of the program
  set(loaded 1)
else()
  set(loaded 2)
endif()
target_compile_definitions(tegula_coexist PRIVATE TEGULA_LOADED_LLVMS=${loaded})
tegula_command_test("coexist: one process holds Tegula and another LLVM" LABELS install N16
  EXPECT "coexist: ok, beside LLVM ${other}" COMMAND tegula_coexist ENVIRONMENT TEGULA_CACHE=off)
