// Exports the kernel of client.cpp.
#include <tegula/exporter/exporter.hpp>

#include "kernels.hpp"

static tegula::exported const entry("scaled_sum", tegula::test::scaled_sum);
