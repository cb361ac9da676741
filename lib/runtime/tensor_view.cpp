#include "tegula/runtime/tensor_view.hpp"

#include <fmt/format.h>

#include "target/tma_strides.hpp"
#include "tegula/support/error.hpp"

namespace tegula::detail {

bool tma_copies(void const* address, int element_bytes, int rank, std::int64_t const* extents,
                std::int64_t const* strides) {
  bool const adjacent = extents[rank - 1] <= 1 || strides[rank - 1] == 1;
  return adjacent && !target::tma_obstacle(address, element_bytes, rank, extents, strides);
}

void check_element_size(char const* word, int stated, int of_type) {
  if (stated == of_type) return;
  throw UserError(fmt::format(
      "{}: elements of {} bytes are stated, but the view's type has {}; name the type of the elements in {}<T>", word,
      stated, of_type, word));
}

}  // namespace tegula::detail
