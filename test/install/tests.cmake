if(TEGULA_INSTALL)
  set(client_flags "${CMAKE_CXX_FLAGS}")
  if(TEGULA_SANITIZE)
    string(APPEND client_flags " -fsanitize=${TEGULA_SANITIZE}")
  endif()
  set(clients ${CMAKE_COMMAND} "-DBUILD=${PROJECT_BINARY_DIR}" "-DSOURCE=${PROJECT_SOURCE_DIR}"
    "-DCOMPILER=${CMAKE_CXX_COMPILER}" "-DFLAGS=${client_flags}" "-DLAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}")
  tegula_command_test("install: clients find, link and run the installed package and its runtime" LABELS install
    COMMAND ${clients} -DWAY=install "-DBINARY=${CMAKE_CURRENT_BINARY_DIR}/install_check"
      -P "${CMAKE_CURRENT_SOURCE_DIR}/install/check.cmake")
  tegula_command_test("install: clients find, link and run the build tree" LABELS install
    COMMAND ${clients} -DWAY=build "-DBINARY=${CMAKE_CURRENT_BINARY_DIR}/build_tree_check"
      -P "${CMAKE_CURRENT_SOURCE_DIR}/install/check.cmake")
  tegula_command_test("install: a project adds the folder, without tests and samples" LABELS install
    COMMAND ${clients} -DWAY=configure "-DBINARY=${CMAKE_CURRENT_BINARY_DIR}/subdirectory_check"
      -P "${CMAKE_CURRENT_SOURCE_DIR}/install/check.cmake")
endif()
