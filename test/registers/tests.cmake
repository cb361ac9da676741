# The registers that kernels need of the assembler: the corpus and its table, and the tool that measures them.
add_library(tegula_register_needs STATIC registers/corpus.cpp registers/model.cpp registers/needs.cpp registers/sass.cpp)
target_compile_definitions(tegula_register_needs PRIVATE TEGULA_SOURCE_TEST_DIR="${CMAKE_CURRENT_SOURCE_DIR}")
target_link_libraries(tegula_register_needs PUBLIC tegula_fuzzing PRIVATE nlohmann_json::nlohmann_json tegula_warnings ${TEGULA_FMT})
tegula_test_folder(registers LABEL ir LINKS tegula_register_needs tegula_inside)
if(TARGET CLI11::CLI11)
  add_executable(tegula_registers EXCLUDE_FROM_ALL registers/tegula_registers.cpp)
  target_link_libraries(tegula_registers PRIVATE tegula_register_needs CLI11::CLI11 tegula_warnings ${TEGULA_FMT})
endif()
