# Builds the runtime of SOURCE with musl, and a static program with kernels that the compiler in the build tree BUILD
# embeds; runs it. ./dev musl calls this.
foreach(step
    # the kernels, by this machine's compiler
    "-S;${SOURCE}/test/install;-B;${BINARY}/kernels;-G;Ninja;-Dtegula_DIR=${BUILD}"
    "--build;${BINARY}/kernels;--target;embedded_kernels"
    # the runtime and the program, with musl
    "-S;${SOURCE}/test/musl;-B;${BINARY}/program;-G;Ninja;--toolchain;${SOURCE}/lib/cmake/TegulaMusl.cmake;-DTEGULA=${SOURCE};-DFROM=${BINARY}/kernels/embedded_kernels;-DCMAKE_BUILD_TYPE=Release"
    "--build;${BINARY}/program;--target;embedded")
  execute_process(COMMAND "${CMAKE_COMMAND}" ${step} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
execute_process(COMMAND "${BINARY}/program/embedded" OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
file(STRINGS "${BINARY}/program/embedded" loader REGEX "ld-linux|libc[.]so|libstdc")
if(NOT output MATCHES "embedded: ok" OR loader)
  message(FATAL_ERROR "the program printed '${output}' and needs '${loader}'")
endif()
file(SIZE "${BINARY}/program/embedded" bytes)
message(STATUS "musl: ok, ${bytes} bytes")
