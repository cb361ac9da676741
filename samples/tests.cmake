# Every sample checks itself; here on the host, in a folder of its own, since some write files.
get_property(sample_programs GLOBAL PROPERTY TEGULA_SAMPLES)
# The families of kernels that a sample shows (rows of test/capabilities.md and of its list of families).
set(rows_of_sample_22_score_attention W6)
set(rows_of_sample_23_convolution W11)
set(rows_of_sample_24_transforms W12 W13)
set(rows_of_sample_25_sampling W8)
set(rows_of_sample_26_block_scaled W3)
set(rows_of_sample_27_state_space W7)
set(rows_of_sample_28_sort W13)
foreach(program IN LISTS sample_programs)
  tegula_command_test("${program}" LABELS host ${rows_of_${program}} FOLDER "${PROJECT_BINARY_DIR}/samples"
    COMMAND ${program} ENVIRONMENT "TEGULA_DEVICE=host")
endforeach()
tegula_command_test("sample_17_attention_family: checks of bounds and NaN find nothing" LABELS host L7
  FOLDER "${PROJECT_BINARY_DIR}/samples"
  COMMAND sample_17_attention_family ENVIRONMENT "TEGULA_DEVICE=host" "TEGULA_CHECKS=bounds,nan")
foreach(program IN ITEMS sample_18_norms sample_20_decode sample_21_four_bits sample_22_score_attention
    sample_23_convolution sample_24_transforms sample_25_sampling sample_26_block_scaled sample_27_state_space
    sample_28_sort)
  tegula_command_test("${program}: the same in the simulator of tiles" LABELS host
    FOLDER "${PROJECT_BINARY_DIR}/samples" COMMAND ${program} ENVIRONMENT "TEGULA_DEVICE=host" "TEGULA_SIMULATE=1")
endforeach()
get_property(python_package GLOBAL PROPERTY TEGULA_PYTHON_PACKAGE)
if(python_package)  # skipped where the interpreter has neither NumPy nor PyTorch
  get_property(python GLOBAL PROPERTY TEGULA_PYTHON)
  tegula_command_test("python: kernels and operators of the package agree with float64" LABELS host python N21
    COMMAND "${python}" "${PROJECT_SOURCE_DIR}/samples/python/tests/test_operators.py"
    ENVIRONMENT "PYTHONPATH=${python_package}" "PYTHONDONTWRITEBYTECODE=1")
endif()

# sample_parts_tests(<program> <case>): the tests of a program's parts, and one case of them in both simulators.
function(sample_parts_tests program case)
  if(TARGET ${program}_parts)
    tegula_test_folder(${program} LABEL host LINKS ${program}_parts tegula::tegula)
    foreach(simulator IN ITEMS "tiles;1" "warps;seed:7")
      list(GET simulator 0 what)
      list(GET simulator 1 value)
      tegula_command_test("${program}: ${case} in the simulator of ${what}" LABELS host
        COMMAND tegula_test_${program} "${program}: ${case}" ENVIRONMENT "TEGULA_SIMULATE=${value}")
    endforeach()
  endif()
endfunction()
sample_parts_tests(smollm "one layer gives the reference's logits")
sample_parts_tests(minilm "one layer gives the reference's embeddings")

if(TARGET smollm_embedded)
  foreach(device IN ITEMS host best)
    tegula_command_test("smollm: embedded kernels write the text of compiled ones, without LLVM, on the ${device} device"
      LABELS host H13 N4
      COMMAND ${CMAKE_COMMAND} "-DPROGRAM=$<TARGET_FILE:smollm_embedded>" "-DCOMPARED=$<TARGET_FILE:smollm>"
        "-DARGUMENTS=--random;--tokens;6;--prompt-tokens;15;--places;33;--device;${device}"
        "-DOBJDUMP=${CMAKE_OBJDUMP}" "-DEMULATOR=${CMAKE_CROSSCOMPILING_EMULATOR}"
        -P "${PROJECT_SOURCE_DIR}/test/aot/without_llvm.cmake"
      ENVIRONMENT "TEGULA_HOST_CPU=x86-64-v3")  # other vectors have other orders of sums
  endforeach()
endif()
