tegula_unit_folder(runtime)
# A library in place of the driver, with one device, which keeps the rules of capture and does nothing else.
if(NOT TEGULA_SANITIZE)
  add_library(tegula_fake_driver SHARED "${CMAKE_CURRENT_SOURCE_DIR}/unit/runtime/fake_driver.cpp")
  set_target_properties(tegula_fake_driver PROPERTIES OUTPUT_NAME cuda SUFFIX ".so.1" LIBRARY_OUTPUT_DIRECTORY
    "${PROJECT_BINARY_DIR}/test/fake_driver")
  tegula_command_test("a graph takes in the launches of another graph, by a driver that stands in" LABELS unit D6
    COMMAND tegula_unit_runtime "a graph takes in the launches of another graph"
    ENVIRONMENT "LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/test/fake_driver")
endif()
