# Installs BUILD into a folder of its own, then configures, builds and runs the client against it.
set(prefix "${BINARY}/prefix")
file(REMOVE_RECURSE "${BINARY}")
foreach(step
    "--install;${BUILD};--prefix;${prefix}"
    "-S;${CMAKE_CURRENT_LIST_DIR};-B;${BINARY}/client;-G;Ninja;-DCMAKE_PREFIX_PATH=${prefix};-DCMAKE_CXX_COMPILER=${COMPILER};-DCMAKE_CXX_FLAGS=${FLAGS};-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}"
    "--build;${BINARY}/client")
  execute_process(COMMAND "${CMAKE_COMMAND}" ${step}
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "cmake ${step}:\n${output}")
  endif()
endforeach()
execute_process(COMMAND "${BINARY}/client/client" RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0 OR NOT output MATCHES "client: ok")
  message(FATAL_ERROR "the client ended with ${status}: ${output}")
endif()
execute_process(COMMAND "${BINARY}/client/embedded" RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0 OR NOT output MATCHES "embedded: ok")
  message(FATAL_ERROR "the program that embeds a kernel ended with ${status}: ${output}")
endif()
file(REMOVE_RECURSE "${BINARY}")
