# tegula_library(<folder> [LINKS <folder>...] [PRIVATE <target>...]) makes the target of one folder of lib/.
#
# A target sees the headers of its own folder and of the folders it links, and no others: each target has a
# view folder that holds only links to lib/<folder> and include/tegula/<folder>, so that a wrong
# #include "codegen/x.hpp" or <tegula/jit/launch.hpp> does not compile.
function(tegula_include_view target folder)
  set(view "${PROJECT_BINARY_DIR}/include_view/${folder}")
  file(MAKE_DIRECTORY "${view}/tegula")
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/lib/${folder}" "${view}/${folder}" SYMBOLIC)
  file(MAKE_DIRECTORY "${view}/tegula")
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/include/tegula/${folder}" "${view}/tegula/${folder}" SYMBOLIC)
  if(folder STREQUAL "support")  # what stands beside the folders belongs to everyone
    foreach(header fwd config)
      file(CREATE_LINK "${PROJECT_SOURCE_DIR}/include/tegula/${header}.hpp" "${view}/tegula/${header}.hpp" SYMBOLIC)
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
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINKS;PRIVATE")
  set(target tegula_${folder})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/lib/${folder}/*.cpp")
  list(TRANSFORM arg_LINKS PREPEND tegula_)
  if(sources)
    add_library(${target} STATIC ${sources})
    target_compile_features(${target} PUBLIC cxx_std_20)
    target_link_libraries(${target} PUBLIC ${arg_LINKS}
      PRIVATE $<BUILD_INTERFACE:tegula_warnings> ${TEGULA_FMT} ${arg_PRIVATE})
    target_include_directories(${target} SYSTEM PRIVATE "${TEGULA_XXHASH_INCLUDE_DIR}")
  else()
    add_library(${target} INTERFACE)
    target_compile_features(${target} INTERFACE cxx_std_20)
    target_link_libraries(${target} INTERFACE ${arg_LINKS})
  endif()
  add_library(tegula::${folder} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${folder})
  tegula_include_view(${target} ${folder})
  set_property(GLOBAL APPEND PROPERTY TEGULA_LIBRARIES ${target})
endfunction()

# The archive of fmt is not linked into the single static binary, whose only shared libraries are the system's.
if(TEGULA_STATIC_LLVM)
  set(TEGULA_FMT $<BUILD_INTERFACE:fmt::fmt-header-only>)
else()
  set(TEGULA_FMT fmt::fmt)
endif()
