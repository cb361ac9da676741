# Random kernels through the passes: the judge, the tool around it, and its tests.
add_library(tegula_fuzzing STATIC fuzz/deletion.cpp fuzz/executors.cpp fuzz/generators.cpp
  fuzz/ir_generators.cpp fuzz/judge.cpp fuzz/kernel_generators.cpp fuzz/pipeline_case.cpp fuzz/processes.cpp
  fuzz/product_extents.cpp fuzz/shrink.cpp)
target_link_libraries(tegula_fuzzing PUBLIC tegula_test_support tegula_inside PRIVATE tegula_warnings ${TEGULA_FMT})
if(TEGULA_PROFILER)
  set_source_files_properties(fuzz/pipeline_case.cpp PROPERTIES COMPILE_DEFINITIONS TEGULA_HAS_PROFILER=1)
endif()
tegula_test_folder(fuzz LABEL fuzz LINKS tegula_fuzzing tegula_inside)
if(TARGET CLI11::CLI11)
  add_executable(tegula_fuzz fuzz/tegula_fuzz.cpp)
  set_target_properties(tegula_fuzz PROPERTIES OUTPUT_NAME tegula-fuzz)
  target_link_libraries(tegula_fuzz PRIVATE tegula_fuzzing CLI11::CLI11 tegula_warnings ${TEGULA_FMT})
  set_property(GLOBAL APPEND PROPERTY TEGULA_TEST_TOOLS tegula_fuzz)
  # The same kernels at every run, about two minutes; ./dev fuzz draws others. CTest alone stops one that hangs.
  tegula_command_test("fuzz: random kernels through the cuda pipeline" LABELS fuzz N2
    COMMAND tegula_fuzz --pass pipeline --seed 1000001 --seconds-per-kernel 0)
  tegula_command_test("fuzz: all generators run together" LABELS fuzz N2
    COMMAND tegula_fuzz --generator all --seed 1 --count 12 --seconds-per-kernel 0)
endif()
