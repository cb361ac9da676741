# Configures SOURCE in BINARY against the old LLVM and expects to be stopped with the least version named.
file(REMOVE_RECURSE "${BINARY}")
execute_process(
  COMMAND "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${BINARY}" -G Ninja "-DCMAKE_CXX_COMPILER=${COMPILER}"
    "-DLLVM_DIR=${CMAKE_CURRENT_LIST_DIR}/llvm-16" ${EXTRA}
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
file(REMOVE_RECURSE "${BINARY}")
string(REGEX REPLACE "[ \n]+" " " output "${output}")
if(status EQUAL 0 OR NOT output MATCHES "${EXPECTED}")
  message(FATAL_ERROR "expected '${EXPECTED}', found: ${output}")
endif()
