# A debugger steps through the lambda of this program, so it is compiled for that.
if(TARGET tegula_test_host)
  add_executable(tegula_test_stepped_kernel gdb/stepped_kernel.cpp)
  target_compile_options(tegula_test_stepped_kernel PRIVATE -O0 -g)
  target_link_libraries(tegula_test_stepped_kernel PRIVATE tegula::tegula tegula_warnings)
  tegula_command_test("gdb: steps through a kernel and prints its tiles" LABELS host N7 SKIP "skipped: "
    COMMAND ${CMAKE_COMMAND} "-DPROGRAM=$<TARGET_FILE:tegula_test_stepped_kernel>"
      "-DSOURCE=${CMAKE_CURRENT_SOURCE_DIR}/gdb/stepped_kernel.cpp"
      "-DPRINTERS=${PROJECT_SOURCE_DIR}/lib/tools/gdb/tegula_gdb.py" -P "${CMAKE_CURRENT_SOURCE_DIR}/gdb/check.cmake")
  tegula_command_test("gdb: stops at a line of a kernel in its compiled code" LABELS host F7 SKIP "skipped: "
    COMMAND ${CMAKE_COMMAND} "-DPROGRAM=$<TARGET_FILE:tegula_test_stepped_kernel>"
      "-DSOURCE=${CMAKE_CURRENT_SOURCE_DIR}/gdb/stepped_kernel.cpp" -P "${CMAKE_CURRENT_SOURCE_DIR}/gdb/lines.cmake")
endif()
