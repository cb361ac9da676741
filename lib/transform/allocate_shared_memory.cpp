#include "transform/allocate_shared_memory.hpp"

#include <algorithm>

#include "ir/exchange.hpp"
#include "ir/walk.hpp"

namespace tegula::transform {
namespace {

constexpr std::int64_t alignment = 16;
/// Places are taken one after the other up to this many bytes (or the greatest one), then from the start again.
constexpr std::int64_t small_total = 8192;

std::int64_t aligned(std::int64_t bytes, std::int64_t to = alignment) { return (bytes + to - 1) / to * to; }

/// Buffers without an offset are placed one after the other behind those that have one. Returns the end of all.
std::int64_t place_buffers(ir::Function& function, bool& changed) {
  std::int64_t end = 0;
  std::vector<ir::Op*> open;
  for (ir::Op& op : function.body()) {
    if (!op.is<ir::SharedAllocOp>()) continue;
    std::int64_t const offset = op.as<ir::SharedAllocOp>().offset;
    if (offset < 0)
      open.push_back(&op);
    else
      end = std::max(end, offset + ir::buffer_bytes(op.result()->type()));
  }
  for (ir::Op* op : open) {
    auto& alloc = op->as<ir::SharedAllocOp>();
    alloc.offset = aligned(end, alloc.align);
    end = alloc.offset + ir::buffer_bytes(op->result()->type());
    changed = true;
  }
  return aligned(end);
}

}  // namespace

PassResult allocate_shared_memory(ir::Function& function, AnalysisCache&, PassContext&) {
  std::int64_t greatest = 0;
  ir::walk_pre_order(function, [&](ir::Op& op) {
    if (ir::scratch_attribute(op) != nullptr) greatest = std::max(greatest, aligned(ir::scratch_bytes(op)));
    return ir::Walk::advance;
  });
  bool changed = false;
  std::int64_t const begin = place_buffers(function, changed);
  std::int64_t const end = begin + std::max(small_total, greatest);
  std::int64_t next = begin;
  ir::walk_pre_order(function, [&](ir::Op& op) {
    std::int64_t* const scratch = ir::scratch_attribute(op);
    if (scratch == nullptr) return ir::Walk::advance;
    std::int64_t const size = aligned(ir::scratch_bytes(op));
    std::int64_t place = -1;
    if (size > 0) {
      if (next + size > end) next = begin;
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
