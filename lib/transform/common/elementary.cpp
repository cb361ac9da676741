#include "transform/common/elementary.hpp"

#include <algorithm>
#include <iterator>

namespace tegula::transform {
namespace {

constexpr ir::OpKind expanded[] = {
#define TEGULA_EXPANDED(op, ...) ir::OpKind::op,
#define TEGULA_EXPANDED_2 TEGULA_EXPANDED
#include "tegula/math/elementary.def"
};

}  // namespace

bool is_expanded(ir::OpKind kind) {
  return std::find(std::begin(expanded), std::end(expanded), kind) != std::end(expanded);
}

}  // namespace tegula::transform
