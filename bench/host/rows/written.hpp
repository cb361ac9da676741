// Declares the parts of the list of written kernels.
#pragma once

#include "host/rows/rows.hpp"

namespace tegula::bench {

/// Returns those on pictures, points and places: histogram, convolutions, Fourier, all pairs, permuted rows.
std::vector<Row> written_grids();

}  // namespace tegula::bench
