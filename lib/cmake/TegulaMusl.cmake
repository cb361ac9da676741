# Toolchain file: musl and libc++ by the Clang in the Python package ziglang, linked statically. It builds tegula::runtime,
# with TEGULA_COMPILER off. TEGULA_ZIG_PYTHON in the environment names the Python, TEGULA_MUSL_ROOT a folder with
# usr/include and usr/lib/cmake of the header-only packages: the system's own headers are those of another C library.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(zig "$ENV{TEGULA_ZIG_PYTHON}" -m ziglang)
set(CMAKE_C_COMPILER ${zig} cc -target x86_64-linux-musl)
set(CMAKE_CXX_COMPILER ${zig} c++ -target x86_64-linux-musl)
set(CMAKE_CXX_COMPILER_LAUNCHER "" CACHE STRING "")  # ccache would tell versions of Python apart, not of Zig
set(CMAKE_FIND_ROOT_PATH "$ENV{TEGULA_MUSL_ROOT}")
set(CMAKE_LIBRARY_ARCHITECTURE x86_64-linux-gnu)  # Debian's folder of CMake files
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static")

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
