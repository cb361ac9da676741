tegula_command_test("configure: an old LLVM is refused with the minimum version named" LABELS install D15
  COMMAND ${CMAKE_COMMAND} "-DSOURCE=${PROJECT_SOURCE_DIR}" "-DBINARY=${CMAKE_CURRENT_BINARY_DIR}/old_llvm_found"
    "-DCOMPILER=${CMAKE_CXX_COMPILER}" "-DEXPECTED=LLVM 19 or newer is needed, found 16.0.6"
    -P "${CMAKE_CURRENT_SOURCE_DIR}/old_llvm/check.cmake")
tegula_command_test("configure: a request for an old LLVM is refused with the minimum version named" LABELS install D15
  COMMAND ${CMAKE_COMMAND} "-DSOURCE=${PROJECT_SOURCE_DIR}" "-DBINARY=${CMAKE_CURRENT_BINARY_DIR}/old_llvm_asked"
    "-DCOMPILER=${CMAKE_CXX_COMPILER}" -DEXTRA=-DTEGULA_LLVM_VERSION=16
    "-DEXPECTED=LLVM 19 or newer is needed, found 16.0.6" -P "${CMAKE_CURRENT_SOURCE_DIR}/old_llvm/check.cmake")
