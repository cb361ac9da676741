tegula_test_folder(device LABEL device LINKS tegula_inside)
if(TEGULA_HAS_CUDA_HEADER AND TARGET tegula_test_device)
  target_include_directories(tegula_test_device SYSTEM PRIVATE "${TEGULA_CUDA_INCLUDE_DIR}")
endif()
