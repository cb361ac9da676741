# tegula_kernels(<target> KERNELS <source>... [NAME <name>] [ARCH <architecture>...] [CPU <level>])
#
# Compiles kernels while <target> is built, and embeds them. The sources define objects `tegula::exported` (see
# tegula/exporter/exporter.hpp). <target> can include "<name>.hpp", whose objects <name>::<kernel> it launches, and links
# the runtime: no LLVM, no compiler, no CUDA toolkit.
#
#   NAME  the header's name and namespace; if not given, <target>_kernels
#   ARCH  targets: host and names of GPU architectures; if not given, host and sm_90a
#   CPU   the level of the host's CPU: x86-64-v2, x86-64-v3 (if not given) or x86-64-v4
#
# Needs no GPU. Where ptxas is installed the program holds machine code, else PTX that the driver assembles.
function(tegula_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAME;CPU" "KERNELS;ARCH")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_KERNELS)
    message(FATAL_ERROR
      "tegula_kernels(${target}): KERNELS <source>... is expected, found '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  if(NOT TARGET ${target})
    message(FATAL_ERROR "tegula_kernels(${target}): there is no target '${target}'; add it before")
  endif()
  if(NOT arg_NAME)
    set(arg_NAME ${target}_kernels)
  endif()
  if(NOT arg_ARCH)
    set(arg_ARCH host sm_90a)
  endif()
  if(NOT arg_CPU)
    set(arg_CPU x86-64-v3)
    if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
      set(arg_CPU generic)
    endif()
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${arg_NAME}")
  file(MAKE_DIRECTORY "${folder}")
  set(exporter ${arg_NAME}_exporter)
  add_executable(${exporter} ${arg_KERNELS})
  target_link_libraries(${exporter} PRIVATE tegula::tegula tegula::exporter)
  set(archive "${folder}/lib${arg_NAME}_host.a")
  add_custom_command(
    OUTPUT "${folder}/${arg_NAME}.hpp" "${folder}/${arg_NAME}.cpp" "${archive}"
    COMMAND ${exporter} --name ${arg_NAME} --arch ${arg_ARCH} --cpu ${arg_CPU}
      --header "${folder}/${arg_NAME}.hpp" --source "${folder}/${arg_NAME}.cpp" --archive "${archive}"
    DEPENDS ${exporter} VERBATIM COMMENT "Compiling the kernels of ${arg_NAME} for ${arg_ARCH}")
  add_library(${arg_NAME} STATIC "${folder}/${arg_NAME}.cpp" "${folder}/${arg_NAME}.hpp")
  target_include_directories(${arg_NAME} PUBLIC "${folder}")
  target_link_libraries(${arg_NAME} PUBLIC tegula::aot PRIVATE "${archive}")
  target_link_libraries(${target} PRIVATE ${arg_NAME})
endfunction()
