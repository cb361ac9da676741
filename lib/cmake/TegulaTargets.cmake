# tegula_library(<folder> [PRIVATE <target>...] [PRECOMPILE <header>...]) makes the target of one folder of lib/. It links
# the folders of its row in lib/arrows.txt, and privately the targets given. The headers, none of its own, are
# precompiled where TEGULA_PRECOMPILE is on.
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
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "PRIVATE;PRECOMPILE")
  set(target tegula_${folder})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/lib/${folder}/*.cpp")
  if(sources)
    add_library(${target} STATIC ${sources})
    target_compile_features(${target} PUBLIC cxx_std_20)
    target_link_libraries(${target} PUBLIC ${TEGULA_PUBLIC_${folder}}
      PRIVATE ${TEGULA_PRIVATE_${folder}} $<BUILD_INTERFACE:tegula_warnings> ${TEGULA_FMT} ${arg_PRIVATE})
    target_include_directories(${target} SYSTEM PRIVATE "${TEGULA_XXHASH_INCLUDE_DIR}")
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
  else()
    add_library(${target} INTERFACE)
    target_compile_features(${target} INTERFACE cxx_std_20)
    target_link_libraries(${target} INTERFACE ${TEGULA_PUBLIC_${folder}})
  endif()
  add_library(tegula::${folder} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${folder} TEGULA_SEES "${target};${TEGULA_PRIVATE_${folder}}")
  tegula_include_view(${target} ${folder})
  set_property(GLOBAL APPEND PROPERTY TEGULA_LIBRARIES ${target})
endfunction()

# The archive of fmt is not linked into the single static binary, whose only shared libraries are the system's.
if(TEGULA_STATIC_LLVM)
  set(TEGULA_FMT $<BUILD_INTERFACE:fmt::fmt-header-only>)
else()
  set(TEGULA_FMT fmt::fmt)
endif()
