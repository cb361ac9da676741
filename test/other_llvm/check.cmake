# Builds a sample against another major of LLVM than the one configured and runs it on the host. Prints "skipped" where
# no other one of 19 or later is installed. The build folder is kept, so that a second run is short.
file(GLOB configs "/usr/lib/llvm-*/lib/cmake/llvm/LLVMConfig.cmake")
set(other "")
foreach(config IN LISTS configs)
  string(REGEX REPLACE "^/usr/lib/llvm-([0-9]+)/.*" "\\1" major "${config}")
  if(NOT major LESS 19 AND NOT major EQUAL CONFIGURED)
    set(other ${major})
  endif()
endforeach()
if(NOT other)
  message("skipped: no LLVM of 19 or later besides ${CONFIGURED} is installed")
  return()
endif()
foreach(step
    "-S;${SOURCE};-B;${BINARY};-G;Ninja;-DCMAKE_CXX_COMPILER=${COMPILER};-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER};-DCMAKE_BUILD_TYPE=Dev;-DTEGULA_WARNINGS_AS_ERRORS=ON;-DCMAKE_CXX_FLAGS_DEV=-O1 -g1;-DTEGULA_LLVM_VERSION=${other};-DTEGULA_BUILD_TESTS=OFF;-DTEGULA_BUILD_BENCH=OFF"
    "--build;${BINARY};--target;sample_02_softmax")
  execute_process(COMMAND "${CMAKE_COMMAND}" ${step}
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "cmake ${step}:\n${output}")
  endif()
endforeach()
execute_process(COMMAND "${CMAKE_COMMAND}" -E env TEGULA_DEVICE=host TEGULA_CACHE=off "${BINARY}/samples/sample_02_softmax"
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
message(STATUS "LLVM ${other}: ${output}")
if(NOT status EQUAL 0 OR NOT output MATCHES ", ok")
  message(FATAL_ERROR "softmax with LLVM ${other} ended with ${status}: ${output}")
endif()
