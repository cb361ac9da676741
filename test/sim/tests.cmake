tegula_test_folder(sim LABEL sim LINKS tegula_fuzzing tegula_inside)

# The kernels of samples/ as text for targets without TMA, wgmma and clusters.
if(TARGET tegula_test_sim)
  foreach(architecture sm_80 sm_86 sm_89)
    tegula_command_test("sim: the samples' kernels for ${architecture}" LABELS sim COMMAND tegula_test_sim "*sample's*"
      ENVIRONMENT "TEGULA_ARCH=${architecture}" TEGULA_CACHE=off)
  endforeach()
endif()
