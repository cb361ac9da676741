# Each source must be refused, with the message that it states.
file(GLOB sources CONFIGURE_DEPENDS "compile_fail/*.cpp")
foreach(source IN LISTS sources)
  get_filename_component(name "${source}" NAME_WE)
  tegula_row_labels(rows "${source}")
  tegula_command_test("compile_fail: ${name}" LABELS compile_fail ${rows}
    COMMAND ${CMAKE_COMMAND} "-DCOMPILER=${CMAKE_CXX_COMPILER}" "-DFLAGS=${TEGULA_USER_FLAGS}" "-DSOURCE=${source}"
      -P "${PROJECT_SOURCE_DIR}/lib/cmake/TegulaCompileFail.cmake")
endforeach()
