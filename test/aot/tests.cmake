# Kernels that are compiled while the tests are built.
if(TARGET tegula_exporter)
  tegula_test_folder(aot LABEL host LINKS tegula_inside)
  tegula_kernels(tegula_test_aot NAME aot_kernels KERNELS aot/exported.cpp)
  add_executable(tegula_aot_client aot/client.cpp)
  tegula_kernels(tegula_aot_client NAME aot_client_kernels KERNELS aot/client_exported.cpp ARCH host)
  tegula_command_test("aot: a program that embeds kernels runs without LLVM" LABELS host H13 N4
    COMMAND ${CMAKE_COMMAND} "-DPROGRAM=$<TARGET_FILE:tegula_aot_client>" "-DOBJDUMP=${CMAKE_OBJDUMP}"
      "-DEMULATOR=${CMAKE_CROSSCOMPILING_EMULATOR}" -P "${CMAKE_CURRENT_SOURCE_DIR}/aot/without_llvm.cmake")

  # A program that embeds the kernels of its own launches.
  set(architectures host)
  if(TEGULA_HAS_CUDA_HEADER)
    list(APPEND architectures sm_90a sm_80)
  endif()
  add_executable(tegula_aot_launches aot/launches.cpp)
  target_link_libraries(tegula_aot_launches PRIVATE tegula_warnings)
  tegula_kernels(tegula_aot_launches LAUNCHES aot/launches_exported.cpp ARCH ${architectures})
  tegula_command_test("aot: a program that embeds its own launches runs without LLVM" LABELS host H13 N4
    COMMAND ${CMAKE_COMMAND} "-DPROGRAM=$<TARGET_FILE:tegula_aot_launches>" "-DOBJDUMP=${CMAKE_OBJDUMP}"
      "-DEMULATOR=${CMAKE_CROSSCOMPILING_EMULATOR}" -P "${CMAKE_CURRENT_SOURCE_DIR}/aot/without_llvm.cmake")
  add_executable(tegula_aot_refused aot/refused.cpp)
  target_link_libraries(tegula_aot_refused PRIVATE tegula::tegula tegula::exporter tegula_warnings)
  tegula_command_test("aot: a launch of a kernel with captures is not embedded" LABELS host N4
    COMMAND tegula_aot_refused --name refused --arch host --header refused.hpp --source refused.cpp --archive refused.a
    EXPECT "kept: the lambda captures values, which the build cannot know; make them arg<T> or template parameters")
endif()
