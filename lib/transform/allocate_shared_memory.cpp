#include "transform/allocate_shared_memory.hpp"

#include <algorithm>

#include "ir/exchange.hpp"
#include "ir/walk.hpp"

namespace tegula::transform {
namespace {

constexpr std::int64_t alignment = 16;
/// Places are taken one after the other up to this many bytes (or the greatest one), then from the start again.
constexpr std::int64_t small_total = 8192;

std::int64_t aligned(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

}  // namespace

PassResult allocate_shared_memory(ir::Function& function, AnalysisCache&, PassContext&) {
  std::int64_t greatest = 0;
  ir::walk_pre_order(function, [&](ir::Op& op) {
    if (ir::scratch_attribute(op) != nullptr) greatest = std::max(greatest, aligned(ir::scratch_bytes(op)));
    return ir::Walk::advance;
  });
  std::int64_t const end = std::max(small_total, greatest);
  std::int64_t next = 0;
  bool changed = false;
  ir::walk_pre_order(function, [&](ir::Op& op) {
    std::int64_t* const scratch = ir::scratch_attribute(op);
    if (scratch == nullptr) return ir::Walk::advance;
    std::int64_t const size = aligned(ir::scratch_bytes(op));
    std::int64_t place = -1;
    if (size > 0) {
      if (next + size > end) next = 0;
      place = next;
      next += size;
    }
    changed = changed || *scratch != place;
    *scratch = place;
    return ir::Walk::advance;
  });
  return result_of(changed);
}

}  // namespace tegula::transform
