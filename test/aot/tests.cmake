# Kernels that are compiled while the tests are built.
if(TARGET tegula_exporter)
  tegula_test_folder(aot LABEL host LINKS tegula_inside)
  tegula_kernels(tegula_test_aot NAME aot_kernels KERNELS aot/exported.cpp)
  add_executable(tegula_aot_client aot/client.cpp)
  tegula_kernels(tegula_aot_client NAME aot_client_kernels KERNELS aot/client_exported.cpp ARCH host)
  tegula_command_test("aot: a program that embeds kernels runs without LLVM" LABELS host H13 N4
    COMMAND ${CMAKE_COMMAND} "-DPROGRAM=$<TARGET_FILE:tegula_aot_client>" "-DOBJDUMP=${CMAKE_OBJDUMP}"
      "-DEMULATOR=${CMAKE_CROSSCOMPILING_EMULATOR}" -P "${CMAKE_CURRENT_SOURCE_DIR}/aot/without_llvm.cmake")
endif()
