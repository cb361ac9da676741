#include "tegula/runtime/tensor_view.hpp"

#include "target/tma_strides.hpp"

namespace tegula::detail {

bool tma_copies(void const* address, int element_bytes, int rank, std::int64_t const* extents,
                std::int64_t const* strides) {
  bool const adjacent = extents[rank - 1] <= 1 || strides[rank - 1] == 1;
  return adjacent && !target::tma_obstacle(address, element_bytes, rank, extents, strides);
}

}  // namespace tegula::detail
