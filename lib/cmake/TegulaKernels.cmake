# tegula_kernels(<target> KERNELS <source>... [NAME <name>] [ARCH <architecture>...] [CPU <level>])
# tegula_kernels(<target> LAUNCHES <source>... [NAME <name>] [ARCH <architecture>...] [CPU <level>])
# tegula_kernels(<target> FROM <folder> NAME <name> [LAUNCHES])
#
# Compiles kernels while <target> is built, and embeds them. The sources define objects `tegula::exported` (see
# tegula/exporter/exporter.hpp). <target> can include "<name>.hpp", whose objects <name>::<kernel> it launches, and links
# the runtime: no LLVM, no compiler, no CUDA toolkit.
#
#   NAME  the header's name and namespace; if not given, <target>_kernels
#   ARCH  targets: host and names of GPU architectures; if not given, host and sm_90a
#   CPU   the level of the host's CPU: x86-64-v2, x86-64-v3 (if not given) or x86-64-v4
#
#   LAUNCHES  sources with an object `tegula::exported_launches`, in place of KERNELS: the launches of its function are
#         embedded, and <target> launches the same kernel objects. It is compiled with TEGULA_EMBEDDED, so that launches
#         need no compiler. With FROM: the folder is that of such a build. What else the sources need, link to
#         <name>_exporter.
#
#   FROM  a folder with the files <name>.hpp, <name>.cpp and lib<name>_host.a that another build made: for programs of
#         a system on which the compiler does not run
#
# Needs no GPU. Where ptxas is installed the program holds machine code, else PTX that the driver assembles.
function(tegula_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAME;CPU;FROM" "KERNELS;LAUNCHES;ARCH")
  set(sources ${arg_KERNELS} ${arg_LAUNCHES})
  set(own_launches OFF)
  if(DEFINED arg_LAUNCHES OR "LAUNCHES" IN_LIST arg_KEYWORDS_MISSING_VALUES)
    set(own_launches ON)
  endif()
  if(arg_UNPARSED_ARGUMENTS OR (NOT sources AND NOT arg_FROM) OR (sources AND arg_FROM) OR (arg_KERNELS AND own_launches))
    message(FATAL_ERROR "tegula_kernels(${target}): one of KERNELS <source>..., LAUNCHES <source>... and FROM <folder> is "
      "expected, found '${ARGN}'")
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
  if(arg_FROM)
    foreach(file IN ITEMS ${arg_NAME}.hpp ${arg_NAME}.cpp lib${arg_NAME}_host.a)
      if(NOT EXISTS "${arg_FROM}/${file}")
        message(FATAL_ERROR "tegula_kernels(${target}): FROM '${arg_FROM}' holds no ${file}; name the folder and the "
          "NAME of a build with tegula_kernels(... KERNELS ...)")
      endif()
    endforeach()
    _tegula_embed(${target} ${arg_NAME} "${arg_FROM}" ${own_launches})
    return()
  endif()
  if(NOT TARGET tegula::exporter)
    message(FATAL_ERROR "tegula_kernels(${target}): this tegula has no compiler, or the package was asked for without "
      "it; find_package(tegula) without COMPONENTS finds both, FROM takes kernels that another build compiled")
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${arg_NAME}")
  file(MAKE_DIRECTORY "${folder}")
  set(exporter ${arg_NAME}_exporter)
  add_executable(${exporter} ${sources})
  target_link_libraries(${exporter} PRIVATE tegula::tegula tegula::exporter)
  set(archive "${folder}/lib${arg_NAME}_host.a")
  add_custom_command(
    OUTPUT "${folder}/${arg_NAME}.hpp" "${folder}/${arg_NAME}.cpp" "${archive}"
    COMMAND ${exporter} --name ${arg_NAME} --arch ${arg_ARCH} --cpu ${arg_CPU}
      --header "${folder}/${arg_NAME}.hpp" --source "${folder}/${arg_NAME}.cpp" --archive "${archive}"
    DEPENDS ${exporter} VERBATIM COMMENT "Compiling the kernels of ${arg_NAME} for ${arg_ARCH}")
  _tegula_embed(${target} ${arg_NAME} "${folder}" ${own_launches})
endfunction()

# Links the compiled kernels in <folder> into <target>. Launches of kernel objects find theirs in a list that nothing else
# refers to, so a linker would leave a member of an archive out.
function(_tegula_embed target name folder own_launches)
  get_filename_component(folder "${folder}" ABSOLUTE)
  set(kind STATIC)
  set(code PRIVATE)
  if(own_launches)
    set(kind OBJECT)
    set(code PUBLIC)  # an object library hands on no other
    target_compile_definitions(${target} PRIVATE TEGULA_EMBEDDED=1)
  endif()
  add_library(${name} ${kind} "${folder}/${name}.cpp" "${folder}/${name}.hpp")
  target_include_directories(${name} PUBLIC "${folder}")
  target_link_libraries(${name} PUBLIC tegula::runtime ${code} "${folder}/lib${name}_host.a")
  target_link_libraries(${target} PRIVATE ${name})
endfunction()
