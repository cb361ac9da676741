# Builds and runs client projects of Tegula. BUILD is its build tree, BINARY a folder for the clients, FLAGS those of the
# build. WAY says where the clients find it:
#   install     in a tree that BUILD is installed into; there, too, with the runtime alone, and by pkg-config
#   build       in BUILD
#   configure   as a part of the client's own build of SOURCE, which is configured alone
#   subdirectory  the same, built
cmake_minimum_required(VERSION 3.25)
set(prefix "${BINARY}/prefix")
file(REMOVE_RECURSE "${BINARY}")
file(MAKE_DIRECTORY "${BINARY}")

# run(<command>...): stops with the output of a command that fails; else it is in OUTPUT.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${status}:\n${output}")
  endif()
  set(OUTPUT "${output}" PARENT_SCOPE)
endfunction()

# run_clients(<file>...): each says its name and that it is well.
function(run_clients)
  foreach(file IN LISTS ARGN)
    run("${file}")
    get_filename_component(name "${file}" NAME)
    if(NOT OUTPUT MATCHES "${name}: ok")
      message(FATAL_ERROR "${file} printed: ${OUTPUT}")
    endif()
  endforeach()
endfunction()

set(clients "${BINARY}/clients")
set(configure_client "${CMAKE_COMMAND}" -G Ninja "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=${FLAGS}"
  "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}")
if(WAY STREQUAL "install")
  run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${prefix}")
  set(where "-DCMAKE_PREFIX_PATH=${prefix}")
elseif(WAY STREQUAL "build")
  set(where "-Dtegula_DIR=${BUILD}")
else()
  set(where "-DSUBDIRECTORY=${SOURCE}" ${OPTIONS})
endif()
run(${configure_client} -S "${CMAKE_CURRENT_LIST_DIR}" -B "${clients}" ${where})
if(WAY STREQUAL "configure")
  if(EXISTS "${clients}/tegula/test" OR EXISTS "${clients}/tegula/samples" OR EXISTS "${clients}/tegula/tegulaConfig.cmake")
    message(FATAL_ERROR "a client that adds Tegula's folder would build its tests or samples, or install it")
  endif()
  file(REMOVE_RECURSE "${BINARY}")
  return()
endif()
run("${CMAKE_COMMAND}" --build "${clients}" --target client embedded)
run_clients("${clients}/client" "${clients}/embedded")

if(WAY STREQUAL "install")
  set(kernels "${clients}/embedded_kernels")
  run(${configure_client} -S "${CMAKE_CURRENT_LIST_DIR}/embedding" -B "${BINARY}/embedding" ${where} "-DFROM=${kernels}")
  run("${CMAKE_COMMAND}" --build "${BINARY}/embedding")
  run_clients("${BINARY}/embedding/embedded")

  find_program(pkg_config NAMES pkg-config pkgconf)
  if(pkg_config)
    separate_arguments(flags UNIX_COMMAND "-std=c++20 ${FLAGS}")
    file(GLOB_RECURSE folder "${prefix}/*/tegula.pc")
    get_filename_component(folder "${folder}" DIRECTORY)
    set(ENV{PKG_CONFIG_PATH} "${folder}")
    foreach(program "client;tegula;client.cpp"
        "embedded;tegula-runtime;embedded.cpp;-I${kernels};${kernels}/embedded_kernels.cpp;${kernels}/libembedded_kernels_host.a")
      list(POP_FRONT program name package source)
      run("${pkg_config}" --cflags ${package})
      separate_arguments(cflags UNIX_COMMAND "${OUTPUT}")
      run("${pkg_config}" --libs ${package})
      separate_arguments(libraries UNIX_COMMAND "${OUTPUT}")
      run("${COMPILER}" ${flags} ${cflags} "${CMAKE_CURRENT_LIST_DIR}/${source}" ${program} -o "${BINARY}/${name}"
        "-Wl,-rpath,${prefix}/lib" ${libraries})
      run_clients("${BINARY}/${name}")
    endforeach()
  endif()
endif()
file(REMOVE_RECURSE "${BINARY}")
