tegula_test_folder(mutation LABEL mutation LINKS tegula_fuzzing tegula_inside)
if(TEGULA_PROFILER)
  set_source_files_properties(mutation/passes_test.cpp PROPERTIES COMPILE_DEFINITIONS TEGULA_HAS_PROFILER=1)
endif()
