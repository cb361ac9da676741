if(TEGULA_INSTALL AND EXISTS "${PROJECT_SOURCE_DIR}/include/tegula/tegula.hpp")
  set(client_flags "${CMAKE_CXX_FLAGS}")
  if(TEGULA_SANITIZE)
    string(APPEND client_flags " -fsanitize=${TEGULA_SANITIZE}")
  endif()
  tegula_command_test("install: a client project finds, links and runs the package" LABELS install
    COMMAND ${CMAKE_COMMAND} "-DBUILD=${PROJECT_BINARY_DIR}" "-DBINARY=${CMAKE_CURRENT_BINARY_DIR}/install_check"
      "-DCOMPILER=${CMAKE_CXX_COMPILER}" "-DFLAGS=${client_flags}" "-DLAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}"
      -P "${CMAKE_CURRENT_SOURCE_DIR}/install/check.cmake")
endif()
