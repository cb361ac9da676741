// States how the gradients of columns are split: kernels and module agree by it.
#pragma once

namespace operators {

inline constexpr int rows_per_part = 256;  // rows that one block sums for a gradient of columns

}  // namespace operators
