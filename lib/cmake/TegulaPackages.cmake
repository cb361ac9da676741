# Third-party packages other than LLVM. A missing one stops with the name of the package that has it.
function(tegula_need found what package)
  if(NOT ${found})
    message(FATAL_ERROR "tegula: ${what} was not found; on Debian and Ubuntu install ${package}, "
      "or run ./dev setup, which installs everything")
  endif()
endfunction()

find_package(Threads REQUIRED)

if(POLICY CMP0167)
  cmake_policy(SET CMP0167 OLD)
endif()
find_package(Boost 1.74 QUIET)
tegula_need(Boost_FOUND "Boost 1.74 or newer (headers: Hana, Asio)" libboost-dev)

find_package(fmt CONFIG QUIET)
tegula_need(fmt_FOUND "fmt" libfmt-dev)

find_path(TEGULA_XXHASH_INCLUDE_DIR xxhash.h)
tegula_need(TEGULA_XXHASH_INCLUDE_DIR "xxhash.h" libxxhash-dev)

find_package(nlohmann_json 3.9 CONFIG QUIET)
tegula_need(nlohmann_json_FOUND "nlohmann-json" nlohmann-json3-dev)
if(TEGULA_BUILD_TOOLS OR TEGULA_BUILD_SAMPLES OR TEGULA_BUILD_BENCH)
  find_package(CLI11 CONFIG QUIET)
  tegula_need(CLI11_FOUND "CLI11" libcli11-dev)
endif()
if(TEGULA_BUILD_SAMPLES)
  find_package(PNG QUIET)
  tegula_need(PNG_FOUND "libpng" libpng-dev)
endif()
if(TEGULA_BUILD_TESTS)
  find_package(Catch2 QUIET)
  tegula_need(Catch2_FOUND "Catch2 2 or 3" catch2)
  # The reference of the elementary functions; without it that test is skipped.
  find_path(TEGULA_MPFR_INCLUDE_DIR mpfr.h)
  if(TEGULA_STATIC_LLVM)
    find_library(TEGULA_MPFR_LIBRARY libmpfr.a)
    find_library(TEGULA_GMP_LIBRARY libgmp.a)
  else()
    find_library(TEGULA_MPFR_LIBRARY mpfr)
    find_library(TEGULA_GMP_LIBRARY gmp)
  endif()
endif()

# The CUDA driver is opened at run time; only its header is used at build time, and only where it is found.
find_path(TEGULA_CUDA_INCLUDE_DIR cuda.h
  PATHS /usr/local/cuda/include ENV CUDA_HOME ENV CUDA_PATH PATH_SUFFIXES include)
if(TEGULA_CUDA_INCLUDE_DIR)
  file(STRINGS "${TEGULA_CUDA_INCLUDE_DIR}/cuda.h" _tegula_cuda_version REGEX "#define CUDA_VERSION " LIMIT_COUNT 1)
endif()
if(_tegula_cuda_version)
  set(TEGULA_HAS_CUDA_HEADER ON)
  message(STATUS "tegula: cuda.h in ${TEGULA_CUDA_INCLUDE_DIR}")
else()
  set(TEGULA_HAS_CUDA_HEADER OFF)
  message(STATUS "tegula: no cuda.h, the CUDA runtime is left out")
endif()
