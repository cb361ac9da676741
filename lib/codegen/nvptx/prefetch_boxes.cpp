#include "codegen/nvptx/prefetch_boxes.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "codegen/nvptx/ptx/tma.hpp"
#include "ir/core/pipelines.hpp"

namespace tegula::codegen::nvptx {
namespace {

/// Smaller boxes are not worth the instructions.
constexpr std::int64_t min_bytes = 512;
constexpr std::size_t max_boxes = 8;

std::int64_t bytes_of_box(ir::Op const& load) {
  ir::Type const& type = load.result()->type();
  return type.is_tile() ? type.elements() * bytes(type.element()) : 0;
}

/// Lists the loads whose boxes are prefetched.
std::vector<ir::Op const*> loads_after(ir::Op const& wait) {
  std::set<ir::Op const*> before;
  bool waited = false;
  std::vector<ir::Op const*> result;
  for (ir::Op const& op : *wait.parent()) {
    waited = waited || &op == &wait;
    if (!waited) before.insert(&op);
    if (!waited || !op.is<ir::LoadOp>() || bytes_of_box(op) < min_bytes || result.size() == max_boxes) continue;
    ir::Value const& tensor = *op.in<ir::LoadOp>("tensor");
    bool const parameter = tensor.defining_op() == nullptr;
    auto const offsets = op.all<ir::LoadOp>("offsets");
    bool const known = std::all_of(offsets.begin(), offsets.end(), [&](ir::Value const* offset) {
      return offset->defining_op() == nullptr || before.count(offset->defining_op()) != 0;
    });
    if (parameter && known) result.push_back(&op);
  }
  return result;
}

/// Names a box of a tensor: an offset and an extent for each axis.
struct Box {
  ir::Value const& tensor;
  std::vector<ir::Value const*> offsets;
  Extents extents;

  [[nodiscard]] std::int64_t bytes_of_elements() const { return extents.product() * bytes(tensor.type().element()); }
};

/// Returns the box of a load: axes of the tensor ahead of the tile's have one element.
Box box_of(ir::Op const& load) {
  auto const offsets = load.all<ir::LoadOp>("offsets");
  Box box{*load.in<ir::LoadOp>("tensor"), {offsets.begin(), offsets.end()}, {}};
  Extents const& shape = load.result()->type().shape();
  for (int axis = static_cast<int>(offsets.size()); axis > shape.size(); --axis) box.extents.push_back(1);
  for (std::int64_t const extent : shape) box.extents.push_back(extent);
  return box;
}

/// Prefetches a box, by one thread.
void prefetch_box(Box const& box, llvm::Value* chosen, Emitter& e) {
  llvm::IRBuilder<>& b = e.b;
  TensorParts const& tensor = e.tensors.of(box.tensor);
  int const size = bytes(box.tensor.type().element());
  llvm::Value* first = tensor.address;
  llvm::Value* span = e.i64(size);  // from the first element to behind the last
  llvm::Value* inside = chosen;
  for (int axis = 0; axis < box.extents.size(); ++axis) {
    auto const at = static_cast<std::size_t>(axis);
    bool const unit = tensor.attributes.facts.unit_inner_stride && axis + 1 == box.extents.size();
    llvm::Value* const stride = unit ? e.i64(size) : b.CreateMul(tensor.strides[at], e.i64(size));
    llvm::Value* const offset = e.scalar(*box.offsets[at]);
    first = b.CreateAdd(first, b.CreateMul(offset, stride));
    inside = b.CreateAnd(inside, b.CreateICmpULT(offset, tensor.extents[at]));
    if (box.extents[axis] == 1) continue;
    llvm::Value* const left = b.CreateSub(b.CreateSub(tensor.extents[at], offset), e.i64(1));
    llvm::Value* const last =
        e.intrinsic(llvm::Intrinsic::smin, {left, e.i64(box.extents[axis] - 1)}, {b.getInt64Ty()});
    span = b.CreateAdd(span, b.CreateMul(last, stride));
  }
  inside = b.CreateAnd(inside, b.CreateICmpSGT(span, e.i64(0)));
  inside = b.CreateAnd(inside, b.CreateICmpSLE(span, e.i64(4 * box.bytes_of_elements())));
  llvm::Value* const start = b.CreateAnd(first, e.i64(-16));  // ranges are whole units of 16 bytes
  llvm::Value* const end = b.CreateAnd(b.CreateAdd(b.CreateAdd(first, span), e.i64(15)), e.i64(-16));
  ptx::bulk_prefetch(b, start, b.CreateTrunc(b.CreateSub(end, start), b.getInt32Ty()), inside);
}

}  // namespace

void prefetch_boxes(ir::Op const& wait, Emitter& e) {
  if (wait.parent()->parent_op() != nullptr || ir::has_products_or_copies(*wait.function())) return;  // copies prefetch
  std::vector<ir::Op const*> const loads = loads_after(wait);
  for (std::size_t i = 0; i < loads.size(); ++i) {  // each by a warp of its own, as far as there are
    int const warp = static_cast<int>(i) % e.warps;
    prefetch_box(box_of(*loads[i]), e.b.CreateICmpEQ(e.thread(), e.i32(e.target.lanes * warp)), e);
  }
}

void lower(ir::PrefetchOp const& attributes, ir::Op const& op, Emitter& e) {
  auto const offsets = op.all<ir::PrefetchOp>("offsets");
  prefetch_box({*op.in<ir::PrefetchOp>("tensor"), {offsets.begin(), offsets.end()}, attributes.box},
               e.b.CreateICmpEQ(e.thread(), e.i32(0)), e);
}

}  // namespace tegula::codegen::nvptx
