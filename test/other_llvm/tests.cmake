if(NOT TEGULA_SANITIZE)
  tegula_command_test("configure: another major of LLVM builds and runs the same sources" LABELS install F41
    SKIP "skipped: "
    COMMAND ${CMAKE_COMMAND} "-DSOURCE=${PROJECT_SOURCE_DIR}" "-DBINARY=${PROJECT_BINARY_DIR}_other_llvm"
      "-DCOMPILER=${CMAKE_CXX_COMPILER}" "-DLAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}"
      "-DCONFIGURED=${LLVM_VERSION_MAJOR}" -P "${CMAKE_CURRENT_SOURCE_DIR}/other_llvm/check.cmake")
endif()
