# tegula_source_hash(<target>): gives a target the header compiler_source_hash.hpp, whose TEGULA_SOURCE_HASH stands for all
# sources that decide what a compilation makes. It is part of every cache key, so that no build of Tegula uses what another
# one compiled. Run as a script (-P) this file writes the header.
if(CMAKE_SCRIPT_MODE_FILE)
  file(STRINGS "${LIST}" sources)
  set(all "")
  foreach(source IN LISTS sources)
    file(SHA256 "${ROOT}/${source}" hash)
    string(APPEND all "${source} ${hash}\n")
  endforeach()
  string(SHA256 hash "${all}")
  string(SUBSTRING "${hash}" 0 16 hash)
  file(WRITE "${OUTPUT}" "#define TEGULA_SOURCE_HASH \"${hash}\"\n")
  return()
endif()

# Gives the folders that the given ones reach by lib/arrows.txt, themselves included.
function(tegula_reached result)
  set(reached "")
  set(open ${ARGN})
  while(open)
    list(POP_FRONT open folder)
    if(NOT folder IN_LIST reached)
      list(APPEND reached ${folder})
      set(below ${TEGULA_PUBLIC_${folder}} ${TEGULA_PRIVATE_${folder}})
      list(TRANSFORM below REPLACE "^tegula_" "")
      list(APPEND open ${below})
    endif()
  endwhile()
  set(${result} ${reached} PARENT_SCOPE)
endfunction()

function(tegula_source_hash target)
  set(patterns "")
  tegula_reached(folders dsl compiler)
  foreach(folder IN LISTS folders)
    list(APPEND patterns "${PROJECT_SOURCE_DIR}/lib/${folder}/*.[ch]pp" "${PROJECT_SOURCE_DIR}/lib/${folder}/*.def"
         "${PROJECT_SOURCE_DIR}/include/tegula/${folder}/*.hpp" "${PROJECT_SOURCE_DIR}/include/tegula/${folder}/*.def")
  endforeach()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" ${patterns})
  list(SORT sources)
  set(folder "${PROJECT_BINARY_DIR}/source_hash")
  set(list "${folder}/sources.txt")
  list(JOIN sources "\n" text)
  file(CONFIGURE OUTPUT "${list}" CONTENT "${text}\n" @ONLY)
  list(TRANSFORM sources PREPEND "${PROJECT_SOURCE_DIR}/" OUTPUT_VARIABLE paths)
  add_custom_command(OUTPUT "${folder}/compiler_source_hash.hpp" VERBATIM
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DLIST=${list} -DOUTPUT=${folder}/compiler_source_hash.hpp
      -P "${PROJECT_SOURCE_DIR}/lib/cmake/TegulaSourceHash.cmake"
    DEPENDS ${paths} "${list}" "${PROJECT_SOURCE_DIR}/lib/cmake/TegulaSourceHash.cmake"
    COMMENT "Hashing the sources of the compiler")
  target_sources(${target} PRIVATE "${folder}/compiler_source_hash.hpp")
  target_include_directories(${target} PRIVATE "${folder}")
endfunction()
