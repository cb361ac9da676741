# tegula_library(<folder> [PRIVATE <target>...] [PRECOMPILE <header>...] [TOGETHER [APART <source>...]]) makes the target
# of one folder of lib/. It links the folders of its row in lib/arrows.txt, and privately the targets given. The headers,
# none of its own, are precompiled where TEGULA_PRECOMPILE is on. With TOGETHER, sources are compiled by eights where
# TEGULA_TOGETHER is on: no two of them may define one name, but for those after APART.
#
# A target sees the headers of its own folder and of the folders it links, and no others. Each target has a view folder
# that holds only links to lib/<folder> and include/tegula/<folder>. So a wrong #include "codegen/x.hpp" or
# <tegula/jit/launch.hpp> does not compile.
function(tegula_include_view target folder)
  set(view "${PROJECT_BINARY_DIR}/include_view/${folder}")
  file(MAKE_DIRECTORY "${view}/tegula")
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/lib/${folder}" "${view}/${folder}" SYMBOLIC)
  file(MAKE_DIRECTORY "${view}/tegula")
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/include/tegula/${folder}" "${view}/tegula/${folder}" SYMBOLIC)
  if(folder STREQUAL "support")  # what has no folder in lib/ belongs to everyone
    file(GLOB others CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/include/tegula/*")
    foreach(other IN LISTS others)
      get_filename_component(name "${other}" NAME)
      if(NOT EXISTS "${PROJECT_SOURCE_DIR}/lib/${name}/CMakeLists.txt" AND NOT name STREQUAL "tegula.hpp")
        file(CREATE_LINK "${PROJECT_SOURCE_DIR}/${other}" "${view}/tegula/${name}" SYMBOLIC)
      endif()
    endforeach()
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    target_include_directories(${target} INTERFACE "$<BUILD_INTERFACE:${view}>")
  else()
    target_include_directories(${target} PUBLIC "$<BUILD_INTERFACE:${view}>")
  endif()
endfunction()

function(tegula_library folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TOGETHER" "" "PRIVATE;PRECOMPILE;APART")
  set(target tegula_${folder})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/lib/${folder}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "/main[.]cpp$")  # it makes a program of what links it, and is a library of its own
  if(sources)
    add_library(${target} STATIC ${sources})
    target_compile_features(${target} PUBLIC cxx_std_20)
    target_link_libraries(${target} PUBLIC ${TEGULA_PUBLIC_${folder}}
      PRIVATE ${TEGULA_PRIVATE_${folder}} $<BUILD_INTERFACE:tegula_warnings> ${TEGULA_FMT} ${arg_PRIVATE})
    target_include_directories(${target} SYSTEM PRIVATE "${TEGULA_XXHASH_INCLUDE_DIR}")
    # Shared libraries show what users and the other library call (tegula_join).
    if(TEGULA_SHARED AND (folder IN_LIST TEGULA_RUNTIME_FOLDERS OR EXISTS "${PROJECT_SOURCE_DIR}/include/tegula/${folder}"))
      set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET default)
      target_compile_options(${target} PRIVATE -fno-semantic-interposition)
    endif()
    foreach(header IN LISTS arg_PRECOMPILE)  # looked for in every build, since few precompile them
      string(REGEX REPLACE "[<>]" "" header "${header}")
      string(REGEX REPLACE "/.*" "" owner "${header}")
      if(IS_DIRECTORY "${PROJECT_SOURCE_DIR}/lib/${owner}" AND NOT EXISTS "${PROJECT_SOURCE_DIR}/lib/${header}")
        message(FATAL_ERROR "lib/${folder}/CMakeLists.txt: PRECOMPILE names <${header}>, which is not in lib/")
      endif()
    endforeach()
    if(TEGULA_PRECOMPILE)
      target_precompile_headers(${target} PRIVATE ${arg_PRECOMPILE})
    endif()
    if(TEGULA_TOGETHER AND arg_TOGETHER)
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
      foreach(source IN LISTS arg_APART)
        set_source_files_properties("${PROJECT_SOURCE_DIR}/lib/${folder}/${source}" TARGET_DIRECTORY ${target}
          PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      endforeach()
    endif()
  else()
    add_library(${target} INTERFACE)
    target_compile_features(${target} INTERFACE cxx_std_20)
    target_link_libraries(${target} INTERFACE ${TEGULA_PUBLIC_${folder}})
  endif()
  set_target_properties(${target} PROPERTIES TEGULA_SEES "${target};${TEGULA_PRIVATE_${folder}}")
  tegula_include_view(${target} ${folder})
endfunction()

# tegula_join(<target> STATIC|SHARED NAME <file> FOLDERS <folder>... [PUBLIC <target>...] [PRIVATE <target>...]): one
# library of the objects of folders, as users link it.
#
# A shared one shows names of namespace tegula alone, those of folders that tegula_library compiles with default
# visibility: nothing of LLVM, fmt or Boost. Archives show nothing at all.
function(tegula_join target type)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "NAME" "FOLDERS;PUBLIC;PRIVATE")
  set(objects "")
  foreach(folder IN LISTS arg_FOLDERS)
    get_target_property(kind tegula_${folder} TYPE)
    if(NOT kind STREQUAL "INTERFACE_LIBRARY")
      list(APPEND objects $<TARGET_OBJECTS:tegula_${folder}>)
    endif()
  endforeach()
  add_library(${target} ${type} ${objects})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${arg_NAME} LINKER_LANGUAGE CXX)
  target_compile_features(${target} INTERFACE cxx_std_20)
  target_include_directories(${target} INTERFACE
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_link_libraries(${target} PUBLIC ${arg_PUBLIC} INTERFACE $<TARGET_NAME_IF_EXISTS:Boost::headers>)
  if(type STREQUAL "STATIC")
    target_link_libraries(${target} PRIVATE ${arg_PRIVATE})
  else()
    set(names "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/shared_names.map")
    foreach(library IN LISTS arg_PRIVATE)  # those that link this one need not find them
      list(APPEND private $<BUILD_INTERFACE:${library}>)
    endforeach()
    target_link_libraries(${target} PRIVATE ${private})
    target_link_options(${target} PRIVATE "LINKER:--version-script=${names}" "LINKER:--no-undefined")
    set_target_properties(${target} PROPERTIES LINK_DEPENDS "${names}" VERSION ${PROJECT_VERSION}
      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
  endif()
endfunction()

# The archive of fmt is not linked into the single static binary, whose only shared libraries are the system's, and not
# needed by a runtime without compiler.
if(TEGULA_STATIC_LLVM OR NOT TEGULA_COMPILER)
  set(TEGULA_FMT $<BUILD_INTERFACE:fmt::fmt-header-only>)
else()
  set(TEGULA_FMT fmt::fmt)
endif()
