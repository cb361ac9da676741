if(TEGULA_PROFILER)
  tegula_test_folder(profile LABEL host LINKS tegula_inside)
endif()
