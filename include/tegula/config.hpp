// States the library's version.
#pragma once

#define TEGULA_VERSION_MAJOR 0
#define TEGULA_VERSION_MINOR 1
#define TEGULA_VERSION_PATCH 0
#define TEGULA_VERSION "0.1.0"
