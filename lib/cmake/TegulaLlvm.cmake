# Finds LLVM: LLVM_DIR if given, else TEGULA_LLVM_VERSION if given, else the newest installed one.
# Defines tegula_llvm, which only lib/codegen and the tests of its PTX may link. Stops below the least version.
set(TEGULA_LLVM_LEAST 19)

if(NOT LLVM_DIR)
  file(GLOB _tegula_llvm_dirs "${CMAKE_SYSROOT}/usr/lib/llvm-*/lib/cmake/llvm" "${CMAKE_SYSROOT}/usr/lib64/llvm*/lib*/cmake/llvm"
       "/usr/local/opt/llvm*/lib/cmake/llvm" "/opt/homebrew/opt/llvm*/lib/cmake/llvm")
  list(SORT _tegula_llvm_dirs COMPARE NATURAL ORDER DESCENDING)
  if(TEGULA_LLVM_VERSION)
    list(FILTER _tegula_llvm_dirs INCLUDE REGEX "llvm[-@]?${TEGULA_LLVM_VERSION}/")
  endif()
  if(_tegula_llvm_dirs)
    list(GET _tegula_llvm_dirs 0 _tegula_llvm_dir)
    set(LLVM_DIR "${_tegula_llvm_dir}" CACHE PATH "Folder of LLVMConfig.cmake" FORCE)
  endif()
endif()

# LLVM's package looks for the C compiler's view of zlib, zstd and libxml2; Tegula is C++ only.
enable_language(C)

# The single binary carries its own zlib and libpng; zstd stays shared, as LLVM's exported targets ask for.
if(TEGULA_STATIC_LLVM)
  set(_tegula_suffixes "${CMAKE_FIND_LIBRARY_SUFFIXES}")
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  find_package(ZLIB QUIET)
  find_package(PNG QUIET)
  set(CMAKE_FIND_LIBRARY_SUFFIXES "${_tegula_suffixes}")
endif()
# No version is asked for here: LLVM's package accepts only its own major and minor number.
find_package(LLVM CONFIG QUIET)
if(NOT LLVM_FOUND)
  message(FATAL_ERROR "tegula: LLVM ${TEGULA_LLVM_LEAST} or newer is needed, none was found; "
    "on Debian and Ubuntu install llvm-22-dev (or the newest llvm-N-dev that apt offers), or set LLVM_DIR")
endif()
if(TEGULA_LLVM_VERSION AND NOT TEGULA_LLVM_VERSION EQUAL LLVM_VERSION_MAJOR AND NOT LLVM_VERSION_MAJOR LESS TEGULA_LLVM_LEAST)
  message(FATAL_ERROR "tegula: LLVM ${TEGULA_LLVM_VERSION} was asked for, but ${LLVM_PACKAGE_VERSION} was found in ${LLVM_DIR}")
endif()
if(LLVM_VERSION_MAJOR LESS TEGULA_LLVM_LEAST)
  message(FATAL_ERROR "tegula: LLVM ${TEGULA_LLVM_LEAST} or newer is needed, found ${LLVM_PACKAGE_VERSION} in "
    "${LLVM_DIR}; on Debian and Ubuntu install llvm-22-dev (or the newest llvm-N-dev that apt offers)")
endif()
message(STATUS "tegula: LLVM ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}")

add_library(tegula_llvm INTERFACE)
target_include_directories(tegula_llvm SYSTEM INTERFACE "$<BUILD_INTERFACE:${LLVM_INCLUDE_DIRS}>")
separate_arguments(_tegula_llvm_definitions UNIX_COMMAND "${LLVM_DEFINITIONS}")
list(FILTER _tegula_llvm_definitions EXCLUDE REGEX "_FILE_OFFSET_BITS|_GNU_SOURCE")
target_compile_options(tegula_llvm INTERFACE ${_tegula_llvm_definitions})
set(TEGULA_LLVM_COMPONENTS NVPTX orcjit orcdebugging native passes)
if(TEGULA_STATIC_LLVM)
  llvm_map_components_to_libnames(_tegula_llvm_libs ${TEGULA_LLVM_COMPONENTS})
  target_link_libraries(tegula_llvm INTERFACE ${_tegula_llvm_libs})
  target_link_options(tegula_llvm INTERFACE -Wl,--gc-sections,--as-needed)
elseif(TARGET LLVM)
  target_link_libraries(tegula_llvm INTERFACE LLVM)
else()
  llvm_map_components_to_libnames(_tegula_llvm_libs ${TEGULA_LLVM_COMPONENTS})
  target_link_libraries(tegula_llvm INTERFACE ${_tegula_llvm_libs})
endif()
