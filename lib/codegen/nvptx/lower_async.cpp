// Lowers asynchronous copies: TMA boxes, linear bulk copies, cp.async, and the ops that complete them.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "codegen/nvptx/emitter.hpp"
#include "codegen/nvptx/global_address.hpp"
#include "codegen/nvptx/ptx/cp_async.hpp"
#include "codegen/nvptx/ptx/mbarrier.hpp"
#include "codegen/nvptx/ptx/tma.hpp"
#include "codegen/nvptx/ptx/warp.hpp"
#include "codegen/nvptx/shared_address.hpp"
#include "ir/memory/accesses.hpp"
#include "ir/text/text.hpp"
#include "layout/element_offsets.hpp"
#include "layout/shared_layouts.hpp"
#include "target/tma_copies.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen::nvptx {
namespace {

/// Lists the boxes of a tensor map that make up a view.
struct Boxes {
  int lead = 0;                             ///< axes of the map along which the view takes one element
  std::vector<Extents> origins;             ///< in the view
  std::vector<layout::ByteOffset> offsets;  ///< from the view's start
};

/// Returns the boxes of `map` in a view; refuses a copy that would write another order than the view's layout says.
Boxes boxes_of(ir::Op const& op, ir::Value const& map, ir::Type const& view) {
  ir::Op const* const map_op = ir::tensor_map_of(map);
  if (map_op == nullptr) refuse(op, ir::to_string(map) + " is made by neither tensor_map nor device_tensor_map");
  int const swizzle = swizzle_bytes(map_op->as<ir::TensorMapOp>().swizzle);
  int const size = bytes(view.element());
  Boxes result;
  result.lead = map.type().rank() - view.rank();
  Extents box, first;
  std::int64_t count = 1;
  for (int i = 0; i < view.rank(); ++i) {
    box.push_back(map.type().shape()[i + result.lead]);
    first.push_back(0);
    count *= view.shape()[i] / box[i];
  }
  std::string why;
  layout::ElementOffsets const* const places = layout::ElementOffsets::get(*view.layout(), why);
  if (places == nullptr) refuse(op, why);
  for (std::int64_t n = 0; n < count; ++n) {
    Extents origin = first;
    std::int64_t rest = n;
    for (int i = view.rank() - 1; i >= 0; --i) {
      std::int64_t const parts = view.shape()[i] / box[i];
      origin[i] = rest % parts * box[i];
      rest /= parts;
    }
    auto const errors = target::tma_copy_errors(box, swizzle, box, *view.layout(), size, {}, origin);
    if (!errors.empty()) refuse(op, errors[0].text());
    result.offsets.push_back(layout::swizzled_address(layout::in_bytes(places->at(origin), size), swizzle));
    result.origins.push_back(origin);
  }
  return result;
}

/// Returns the coordinates of one box as PTX takes them: i32, the innermost axis first.
Registers coordinates(Emitter& e, std::span<ir::Value* const> offsets, int lead, Extents const& origin) {
  Registers result;
  for (int axis = static_cast<int>(offsets.size()) - 1; axis >= 0; --axis) {
    llvm::Value* at = e.b.CreateTrunc(e.scalar(*offsets[static_cast<std::size_t>(axis)]), e.b.getInt32Ty());
    if (axis >= lead && origin[axis - lead] != 0) at = e.b.CreateAdd(at, e.i32(origin[axis - lead]));
    result.push_back(at);
  }
  return result;
}

llvm::Value* address_in(Emitter& e, ir::Value const& view, layout::ByteOffset offset) {
  return e.b.CreateAdd(e.scalar(view), e.i32(offset.count));
}

ptx::BulkReduce reduction(ir::Combine combine) {
  switch (combine) {
    case ir::Combine::sum:
      return ptx::BulkReduce::add;
    case ir::Combine::max:
      return ptx::BulkReduce::max;
    case ir::Combine::min:
      return ptx::BulkReduce::min;
    case ir::Combine::product:  // refused when the op is made
      break;
  }
  return ptx::BulkReduce::add;
}

/// Counts the bytes of a linear copy's view, which is dense.
llvm::Value* dense_bytes(Emitter& e, ir::Op const& op, ir::Type const& view) {
  if (view.layout() != layout::dense_layout(view.shape()))
    refuse(op, "a bulk copy moves adjacent bytes, but the view is " + view.layout()->text() + " of a tile of " +
                   layout::shape_text(view.layout()->shape()) + "; use a dense view of its whole rows, or TMA");
  return e.i32(view.elements() * bytes(view.element()));
}

}  // namespace

void lower(ir::TensorMapOp const&, ir::Op const&, Emitter&) {}  // a parameter of the kernel

void lower(ir::TmaLoadOp const& attributes, ir::Op const& op, Emitter& e) {
  ir::Value const &map = *op.in<ir::TmaLoadOp>("map"), &view = *op.in<ir::TmaLoadOp>("destination");
  Boxes const boxes = boxes_of(op, map, view.type());
  ptx::LoadOptions options;
  if (attributes.multicast != 0) options.multicast = e.b.getInt16(static_cast<std::uint16_t>(attributes.multicast));
  if (attributes.cache != ir::CachePolicy::normal)
    options.policy =
        ptx::cache_policy(e.b, attributes.cache == ir::CachePolicy::evict_first ? ptx::CachePolicy::evict_first
                                                                                : ptx::CachePolicy::evict_last);
  for (std::size_t i = 0; i < boxes.origins.size(); ++i)
    ptx::tma_load(e.b, address_in(e, view, boxes.offsets[i]), e.scalar(map),
                  coordinates(e, op.all<ir::TmaLoadOp>("offsets"), boxes.lead, boxes.origins[i]),
                  e.scalar(*op.in<ir::TmaLoadOp>("mbarrier")), options);
}

void lower(ir::TmaStoreOp const&, ir::Op const& op, Emitter& e) {
  ir::Value const &map = *op.in<ir::TmaStoreOp>("map"), &view = *op.in<ir::TmaStoreOp>("source");
  Boxes const boxes = boxes_of(op, map, view.type());
  for (std::size_t i = 0; i < boxes.origins.size(); ++i)
    ptx::tma_store(e.b, e.scalar(map), coordinates(e, op.all<ir::TmaStoreOp>("offsets"), boxes.lead, boxes.origins[i]),
                   address_in(e, view, boxes.offsets[i]));
}

void lower(ir::TmaReduceOp const& attributes, ir::Op const& op, Emitter& e) {
  ir::Value const &map = *op.in<ir::TmaReduceOp>("map"), &view = *op.in<ir::TmaReduceOp>("source");
  Boxes const boxes = boxes_of(op, map, view.type());
  for (std::size_t i = 0; i < boxes.origins.size(); ++i)
    ptx::tma_reduce(e.b, reduction(attributes.combine), e.scalar(map),
                    coordinates(e, op.all<ir::TmaReduceOp>("offsets"), boxes.lead, boxes.origins[i]),
                    address_in(e, view, boxes.offsets[i]));
}

void lower(ir::BulkLoadOp const&, ir::Op const& op, Emitter& e) {
  ir::Value const& view = *op.in<ir::BulkLoadOp>("destination");
  llvm::Value* const bytes = dense_bytes(e, op, view.type());
  ptx::bulk_load(e.b, e.scalar(view),
                 element_address(e, *op.in<ir::BulkLoadOp>("tensor"), op.all<ir::BulkLoadOp>("offsets")), bytes,
                 e.scalar(*op.in<ir::BulkLoadOp>("mbarrier")));
}

void lower(ir::BulkStoreOp const&, ir::Op const& op, Emitter& e) {
  ir::Value const& view = *op.in<ir::BulkStoreOp>("source");
  llvm::Value* const bytes = dense_bytes(e, op, view.type());
  ptx::bulk_store(e.b, element_address(e, *op.in<ir::BulkStoreOp>("tensor"), op.all<ir::BulkStoreOp>("offsets")),
                  e.scalar(view), bytes);
}

void lower(ir::BulkCommitOp const&, ir::Op const&, Emitter& e) { ptx::bulk_commit(e.b); }
void lower(ir::BulkWaitOp const& attributes, ir::Op const&, Emitter& e) {
  ptx::bulk_wait(e.b, static_cast<int>(attributes.pending), attributes.read);
}

void lower(ir::PrefetchTensorMapOp const&, ir::Op const& op, Emitter& e) {
  ptx::prefetch_tensor_map(e.b, e.scalar(*op.in<ir::PrefetchTensorMapOp>("map")));
}
void lower(ir::TmaPrefetchOp const&, ir::Op const& op, Emitter& e) {
  auto const offsets = op.all<ir::TmaPrefetchOp>("offsets");
  ptx::tma_prefetch(e.b, e.scalar(*op.in<ir::TmaPrefetchOp>("map")),
                    coordinates(e, offsets, static_cast<int>(offsets.size()), {}));
}

// Gives chunk c of the view's row-major order to thread c % threads.
void lower(ir::CpAsyncOp const& attributes, ir::Op const& op, Emitter& e) {
  llvm::IRBuilder<>& b = e.b;
  ir::Value const &tensor = *op.in<ir::CpAsyncOp>("tensor"), &view = *op.in<ir::CpAsyncOp>("destination");
  ir::Type const& type = view.type();
  TensorParts const& parts = e.tensors.of(tensor);
  auto const offsets = op.all<ir::CpAsyncOp>("offsets");
  int const size = bytes(type.element()), lead = static_cast<int>(offsets.size()) - type.rank();
  std::int64_t const chunks = type.elements() / attributes.vector;
  if (!parts.attributes.facts.unit_inner_stride)
    refuse(op, "cp_async copies chunks of adjacent elements, but the tensor's inner stride is not known to be 1");

  bool const whole = parts.attributes.multiple_of % attributes.vector == 0;
  // Maps the number of a chunk to the place of its first element in the view: rows of chunks.
  Extents rows = type.shape();
  rows[rows.size() - 1] /= attributes.vector;
  layout::Layout const* const places = type.layout()->inverse();
  if (places == nullptr) refuse(op, "the shared layout " + type.layout()->text() + " has no inverse");
  // The places of several chunks are not kept from one iteration of a loop to the next: these are many registers.
  llvm::Value* const thread = chunks > e.threads() ? ptx::copied_here(b, e.thread()) : e.thread();
  for (std::int64_t done = 0; done < chunks; done += e.threads()) {
    llvm::Value* const chunk = b.CreateAdd(thread, e.i32(done), "", true, true);
    llvm::BasicBlock* rest = nullptr;
    if (done + e.threads() > chunks) {
      llvm::BasicBlock* const here = e.block("chunk");
      rest = e.block("chunks.end");
      b.CreateCondBr(b.CreateICmpULT(chunk, e.i32(chunks)), here, rest);
      b.SetInsertPoint(here);
    }
    llvm::Value *left = chunk, *inside = nullptr, *index = e.i64(0), *place = nullptr, *behind = nullptr;
    for (int axis = static_cast<int>(offsets.size()) - 1; axis >= 0; --axis) {
      llvm::Value* at = nullptr;  // in the view, in elements
      if (axis >= lead) {
        std::int64_t const extent = rows[axis - lead];
        at = axis == lead ? left : b.CreateURem(left, e.i32(extent));
        left = axis == lead ? left : b.CreateUDiv(left, e.i32(extent));
        if (axis + 1 == static_cast<int>(offsets.size())) at = b.CreateMul(at, e.i32(attributes.vector));
        place = join_parts(e.b, *places, 0, place, index_part(e.b, *places, layout::axis_dim(axis - lead), 0, at));
      }
      llvm::Value* coordinate = b.CreateSExt(e.scalar(*offsets[static_cast<std::size_t>(axis)]), b.getInt64Ty());
      if (at != nullptr) coordinate = b.CreateAdd(coordinate, b.CreateZExt(at, b.getInt64Ty()));
      llvm::Value* const in = b.CreateICmpULT(coordinate, parts.extents[static_cast<std::size_t>(axis)]);
      inside = inside == nullptr ? in : b.CreateAnd(inside, in);
      bool const unit = axis + 1 == static_cast<int>(offsets.size());
      if (unit) behind = b.CreateSub(parts.extents[static_cast<std::size_t>(axis)], coordinate);
      index = b.CreateAdd(index,
                          unit ? coordinate : b.CreateMul(coordinate, parts.strides[static_cast<std::size_t>(axis)]));
    }
    int const chunk_bytes = static_cast<int>(attributes.vector) * size;
    llvm::Value* const from = b.CreateAdd(parts.address, b.CreateMul(index, e.i64(size)));
    llvm::Value* const offset = place == nullptr ? e.i32(0) : b.CreateMul(place, e.i32(size));
    // Bytes outside are not read, and filled with zeros. A chunk that begins inside may end outside.
    llvm::Value* valid = e.i32(chunk_bytes);
    if (!whole) {
      llvm::Value* const some = b.CreateICmpULT(behind, e.i64(attributes.vector));
      valid = b.CreateSelect(some, b.CreateTrunc(b.CreateMul(behind, e.i64(size)), b.getInt32Ty()), valid);
    }
    ptx::cp_async(b, b.CreateAdd(e.scalar(view), offset), from, chunk_bytes, b.CreateSelect(inside, valid, e.i32(0)));
    if (rest != nullptr) {
      b.CreateBr(rest);
      b.SetInsertPoint(rest);
    }
  }
}

/// Finds rows of a tensor at indices. An index of 32 bits takes one register, and its comparison no other.
class RowStarts {
 public:
  RowStarts(Emitter& e, TensorParts const& tensor, std::span<ir::Value* const> indices)
      : e_(e), tensor_(tensor), indices_(indices) {}

  struct Start {
    llvm::Value* inside = nullptr;
    llvm::Value* element = nullptr;  ///< i64
  };
  /// Returns the start of the row of a chunk. `anew`: its address is not kept from one iteration of a loop to the next.
  Start of(std::size_t chunk, bool anew) {
    llvm::IRBuilder<>& b = e_.b;
    Start start{nullptr, e_.i64(0)};
    for (std::size_t axis = 0; axis < indices_.size(); ++axis) {
      Registers const& all = e_.get(*indices_[axis]);
      llvm::Value* index = all[all.size() == 1 ? 0 : chunk];
      bool const narrow = index->getType() == b.getInt32Ty();
      if (anew && narrow) index = ptx::copied_here(b, index);
      llvm::Value* const wide = b.CreateSExt(index, b.getInt64Ty());
      // A negative index is large.
      llvm::Value* const in =
          narrow ? b.CreateICmpULT(index, narrow_extent(axis)) : b.CreateICmpULT(wide, tensor_.extents[axis]);
      start.inside = start.inside == nullptr ? in : b.CreateAnd(start.inside, in);
      start.element = b.CreateAdd(start.element, b.CreateMul(wide, tensor_.strides[axis]));
    }
    return start;
  }

 private:
  llvm::Value* narrow_extent(std::size_t axis) {
    llvm::IRBuilder<>& b = e_.b;
    llvm::Value* const most = e_.i64(std::int64_t{1} << 31);
    llvm::Value* const extent = tensor_.extents[axis];
    return b.CreateTrunc(b.CreateSelect(b.CreateICmpULT(extent, most), extent, most), b.getInt32Ty());
  }

  Emitter& e_;
  TensorParts const& tensor_;
  std::span<ir::Value* const> indices_;
};

// Each owner of a chunk copies it.
void lower(ir::CpAsyncGatherOp const& attributes, ir::Op const& op, Emitter& e) {
  llvm::IRBuilder<>& b = e.b;
  ir::Value const &tensor = *op.in<ir::CpAsyncGatherOp>("tensor"), &view = *op.in<ir::CpAsyncGatherOp>("destination");
  TensorParts const& parts = e.tensors.of(tensor);
  auto const indices = op.all<ir::CpAsyncGatherOp>("indices");
  layout::Layout const* chunks = nullptr;
  for (ir::Value const* index : indices)
    if (chunks == nullptr && index->type().is_tile()) chunks = index->type().layout();
  if (!parts.attributes.facts.unit_inner_stride)
    refuse(op, "cp_async_gather copies adjacent elements, but the tensor's inner stride is not known to be 1");
  int const size = bytes(view.type().element());
  layout::LayoutInput adjacent{layout::Dim::reg, {}, {}};
  for (std::int64_t step = 1; step < attributes.vector; step *= 2) adjacent.bases.push_back({0, step});
  layout::Layout const* const elements = layout::Layout::get({adjacent}, 2)->times(*chunks);
  if (elements == nullptr) refuse(op, "chunks in the layout " + chunks->text() + " are not adjacent elements");
  SharedAccess access(e, op, view.type(), e.scalar(view), *elements, true);

  llvm::Value* copies = e.coordinates.owns(*chunks);
  if (chunks->warps() < e.warps) {
    llvm::Value* const named = b.CreateICmpULT(e.warp, e.i32(chunks->warps()));
    copies = copies == nullptr ? named : b.CreateAnd(copies, named);
  }
  llvm::BasicBlock* end = nullptr;
  if (copies != nullptr) {
    llvm::BasicBlock* const here = e.block("rows");
    end = e.block("rows.end");
    b.CreateCondBr(copies, here, end);
    b.SetInsertPoint(here);
  }
  auto const last = indices.size() - 1;
  llvm::Value* const start = b.CreateSExt(e.scalar(*indices[last]), b.getInt64Ty());
  bool const whole = ir::multiple_of_extent(*op.in("tensor"), -1) % attributes.vector == 0;
  int const chunk_bytes = static_cast<int>(attributes.vector) * size;
  RowStarts starts(e, parts, indices.first(last));
  constexpr std::size_t max_kept = 8;  // addresses, of two registers each
  bool const anew = access.vectors().accesses.size() > max_kept;
  for (layout::VectorAccess const& vector : access.vectors().accesses) {
    auto const first = static_cast<std::size_t>(vector.registers.front());
    if (static_cast<std::int64_t>(vector.registers.size()) != attributes.vector)
      refuse(op, fmt::format("a chunk is not {} adjacent bytes of {}", chunk_bytes, ir::to_string(view)));
    std::size_t const chunk = first / static_cast<std::size_t>(attributes.vector);
    RowStarts::Start const row = starts.of(chunk, anew);
    llvm::Value* const place =
        b.CreateMul(e.coordinates.of_register(*chunks, 1, static_cast<int>(chunk)), e.i32(attributes.vector));
    llvm::Value* const column = b.CreateAdd(start, b.CreateZExt(place, b.getInt64Ty()));
    // A chunk that begins inside ends there, too, or zeros follow.
    llvm::Value* const begins = b.CreateICmpULT(column, parts.extents[last]);
    llvm::Value* valid = e.i32(chunk_bytes);
    if (!whole) {
      llvm::Value* const left = b.CreateMul(b.CreateSub(parts.extents[last], column), e.i64(size));
      llvm::Value* const some = b.CreateICmpULT(left, e.i64(chunk_bytes));
      valid = b.CreateSelect(some, b.CreateTrunc(left, b.getInt32Ty()), valid);
    }
    valid = b.CreateSelect(b.CreateAnd(row.inside, begins), valid, e.i32(0));
    llvm::Value* const from = b.CreateAdd(b.CreateAdd(parts.address, b.CreateMul(row.element, e.i64(size))),
                                          b.CreateMul(column, e.i64(size)));
    SharedAccess::Address const to = access.of(vector);
    ptx::cp_async(b, to.constant == 0 ? to.base : b.CreateAdd(to.base, e.i32(to.constant)), from, chunk_bytes, valid);
  }
  if (end == nullptr) return;
  b.CreateBr(end);
  b.SetInsertPoint(end);
}

void lower(ir::CpAsyncCommitOp const&, ir::Op const&, Emitter& e) { ptx::cp_async_commit(e.b); }
void lower(ir::CpAsyncWaitOp const& attributes, ir::Op const&, Emitter& e) {
  ptx::cp_async_wait(e.b, static_cast<int>(attributes.pending));
}
void lower(ir::CpAsyncArriveOp const& attributes, ir::Op const& op, Emitter& e) {
  ptx::cp_async_mbarrier_arrive(e.b, e.scalar(*op.in<ir::CpAsyncArriveOp>("mbarrier")), attributes.counted);
}

// Updates one element of global memory, relaxed, at device scope.
void lower(ir::AtomicOp const& attributes, ir::Op const& op, Emitter& e) {
  Element const element = op.result()->type().element();
  std::string const width = fmt::to_string(bytes(element) * 8);
  std::string type = (element == Element::f32 ? "f" : "u") + width;
  char const* name = "add";
  switch (attributes.kind) {
    case ir::AtomicKind::add:
      break;
    case ir::AtomicKind::min:
    case ir::AtomicKind::max:
      name = attributes.kind == ir::AtomicKind::min ? "min" : "max";
      type = "s" + width;
      break;
    case ir::AtomicKind::exchange:
      name = "exch";
      type = "b" + width;
      break;
    case ir::AtomicKind::increment:
      if (element != Element::i32) refuse(op, "PTX increments 32-bit integers only; count in i32, or add 1");
      name = "inc";
      break;
  }
  ptx::Assembly assembly(e.b);
  std::string text = std::string("atom.relaxed.gpu.global.") + name + "." + type + " " + assembly.out(e.type(element));
  llvm::Value* const address = element_address(e, *op.in<ir::AtomicOp>("tensor"), op.all<ir::AtomicOp>("offsets"));
  text += ", [" + assembly.in(address) + "], ";
  e.set(*op.result(),
        {assembly.call(text + assembly.in(e.scalar(*op.in<ir::AtomicOp>("value"))) + ";", AsmEffect::convergent)[0]});
}

}  // namespace tegula::codegen::nvptx
