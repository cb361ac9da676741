# Runs PROGRAM with ARGUMENTS and checks that it refuses them: exit status 1 and REASON, a regular expression.
execute_process(COMMAND "${PROGRAM}" ${ARGUMENTS} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 1 OR NOT output MATCHES "${REASON}" OR output MATCHES "internal error")
  message(FATAL_ERROR "exit status ${status}, expected 1 and ${REASON}\n${output}")
endif()
