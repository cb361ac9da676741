// Lowers loads and stores of tiles. Predicates clip a box to the tensor, never branches around single accesses, so that
// all accesses of a tile are in flight together. Where several elements may be accessed at once, one test for the whole
// block chooses between whole vectors (predicated as wholes) and single elements.
#include <algorithm>
#include <map>
#include <vector>

#include <llvm/IR/Intrinsics.h>

#include "codegen/nvptx/emitter.hpp"
#include "codegen/nvptx/global_address.hpp"
#include "codegen/nvptx/inline_ptx.hpp"
#include "codegen/nvptx/pack_words.hpp"
#include "ir/memory/accesses.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/loop.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen::nvptx {
namespace {

/// Finds the part of a tensor that an op accesses, seen from one thread.
class Box {
 public:
  /// `accessed`: the extents of the part that is accessed; empty: all. `nonnegative`: axes of the tensor on which the
  /// box never begins before element 0.
  Box(Emitter& e, TensorParts const& tensor, ir::Type const& tile, std::span<ir::Value* const> offsets,
      Extents const& accessed, Extents const& nonnegative)
      : e_(e), b_(e.b), tensor_(tensor), layout_(*tile.layout()), bytes_(bytes(tile.element())) {
    int const rank = tile.rank();
    lead_ = static_cast<int>(offsets.size()) - rank;
    llvm::Value* inside = nullptr;
    base_ = tensor.address;
    for (int axis = 0; axis < static_cast<int>(offsets.size()); ++axis) {
      llvm::Value* const offset = e.scalar(*offsets[static_cast<std::size_t>(axis)]);
      base_ = b_.CreateAdd(base_, b_.CreateMul(offset, byte_stride(axis)));
      std::int64_t const tile_extent = axis < lead_ ? 1 : (accessed.empty() ? tile.shape() : accessed)[axis - lead_];
      bool const clipped = axis >= lead_ && tile_extent < tile.shape()[axis - lead_];
      llvm::Value* const extent = tensor.extents[static_cast<std::size_t>(axis)];
      if (tile_extent == 1 && !clipped) {
        llvm::Value* const in = b_.CreateICmpULT(offset, extent);  // a negative offset is large
        inside = inside == nullptr ? in : b_.CreateAnd(inside, in);
        continue;
      }
      // The coordinates start .. end - 1 of the tile lie inside.
      bool const from_start = std::find(nonnegative.begin(), nonnegative.end(), axis) != nonnegative.end();
      llvm::Value* const start = from_start ? nullptr : clamp(b_.CreateNeg(offset), tile_extent);
      windows_.push_back({axis - lead_, start, clamp(b_.CreateSub(extent, offset), tile_extent), nullptr, nullptr});
      last_offset_ = offset;
      last_extent_ = extent;
      last_tile_extent_ = tile_extent;
    }
    if (inside != nullptr && !windows_.empty())
      windows_[0].end = b_.CreateSelect(inside, windows_[0].end, e.i32(0));
    else
      inside_ = inside;
    for (Window& window : windows_) {
      llvm::Value* thread = e.coordinates.of(layout_)[static_cast<std::size_t>(window.axis)].thread;
      if (thread == nullptr) thread = e.i32(0);
      window.past_end = b_.CreateSub(thread, window.end);
      if (window.start != nullptr) window.past_start = b_.CreateSub(thread, window.start);
    }
    // Adds the part of the address that all registers share.
    for (int axis = 0; axis < rank; ++axis) {
      AxisCoordinate const& part = e.coordinates.of(layout_)[static_cast<std::size_t>(axis)];
      bool disjoint = true;
      for (int r = 0; r < layout_.registers(); ++r)
        disjoint &= (part.thread_bits & layout_.part(layout::Dim::reg, r)[axis]) == 0;
      shared_part_.push_back(disjoint);
      if (disjoint && part.thread != nullptr)
        base_ =
            b_.CreateAdd(base_, b_.CreateMul(b_.CreateZExt(part.thread, b_.getInt64Ty()), byte_stride(axis + lead_)));
    }
  }

  /// Tests once, the same in all threads, that a border never cuts an aligned group of `count` elements along the last
  /// axis.
  llvm::Value* groups_whole(std::int64_t count) {
    llvm::Value* const divides = b_.CreateICmpEQ(b_.CreateAnd(last_extent_, e_.i64(count - 1)), e_.i64(0));
    llvm::Value* const from_start = b_.CreateICmpSGE(last_offset_, e_.i64(0));
    llvm::Value* const to_end = b_.CreateICmpSLE(last_offset_, b_.CreateSub(last_extent_, e_.i64(last_tile_extent_)));
    return b_.CreateOr(divides, b_.CreateAnd(from_start, to_end));
  }

  /// Tells whether the element of a register lies inside; null: always.
  llvm::Value* predicate(int reg) {
    llvm::Value* result = inside_;
    auto const also = [&](llvm::Value* in) { result = result == nullptr ? in : b_.CreateAnd(result, in); };
    for (Window const& window : windows_) {
      if (shared_part_[static_cast<std::size_t>(window.axis)]) {
        // thread + constant < end, with the constant on the other side: one comparison without an additional register.
        llvm::Value* const constant = e_.i32(-layout_.part(layout::Dim::reg, reg)[window.axis]);
        also(b_.CreateICmpSLT(window.past_end, constant));
        if (window.start != nullptr) also(b_.CreateICmpSGE(window.past_start, constant));
      } else {
        llvm::Value* const at = e_.coordinates.of_register(layout_, window.axis, reg);
        also(b_.CreateICmpSLT(at, window.end));
        if (window.start != nullptr) also(b_.CreateICmpSGE(at, window.start));
      }
    }
    return result;
  }

  /// Holds the address of a register's element: a computed part and a constant.
  struct Address {
    llvm::Value* base;
    std::int64_t constant;
  };
  Address address(int reg) {
    Extents const part = layout_.part(layout::Dim::reg, reg);
    llvm::Value* base = base_;
    std::int64_t constant = 0;
    for (int axis = 0; axis < layout_.rank(); ++axis) {
      if (!shared_part_[static_cast<std::size_t>(axis)]) {
        llvm::Value* const at = b_.CreateZExt(e_.coordinates.of_register(layout_, axis, reg), b_.getInt64Ty());
        base = b_.CreateAdd(base, b_.CreateMul(at, byte_stride(axis + lead_)));
      } else if (unit(axis + lead_)) {
        constant += part[axis] * bytes_;
      } else if (part[axis] != 0) {
        base = b_.CreateAdd(base, b_.CreateMul(e_.i64(part[axis]), byte_stride(axis + lead_)));
      }
    }
    return {base, constant};
  }

 private:
  struct Window {
    int axis;
    llvm::Value* start;  ///< null: 0
    llvm::Value* end;
    llvm::Value* past_start;  ///< the thread's part of the coordinate minus start, and minus end
    llvm::Value* past_end;
  };

  bool unit(int axis) const {
    return tensor_.attributes.facts.unit_inner_stride && axis + 1 == static_cast<int>(tensor_.strides.size());
  }
  llvm::Value* byte_stride(int axis) {
    if (unit(axis)) return e_.i64(bytes_);
    return b_.CreateMul(tensor_.strides[static_cast<std::size_t>(axis)], e_.i64(bytes_));
  }
  /// Clamps an i64 to 0 .. most, as i32.
  llvm::Value* clamp(llvm::Value* value, std::int64_t max) {
    llvm::Type* const type = b_.getInt64Ty();
    llvm::Value* const low = e_.intrinsic(llvm::Intrinsic::smax, {value, e_.i64(0)}, {type});
    return b_.CreateTrunc(e_.intrinsic(llvm::Intrinsic::smin, {low, e_.i64(max)}, {type}), b_.getInt32Ty());
  }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  TensorParts const& tensor_;
  layout::Layout const& layout_;
  int bytes_;
  int lead_ = 0;
  llvm::Value* base_ = nullptr;
  llvm::Value* inside_ = nullptr;
  std::vector<Window> windows_;
  std::vector<bool> shared_part_;
  llvm::Value* last_offset_ = nullptr;
  llvm::Value* last_extent_ = nullptr;
  std::int64_t last_tile_extent_ = 1;
};

/// Returns the elements of one access that the op and the layout allow, at most 16 bytes.
int access_width(std::int64_t vector, ir::Type const& tile) {
  if (vector < 2 || tile.rank() == 0) return 1;
  return static_cast<int>(
      std::min<std::int64_t>({vector, tile.layout()->contiguous(tile.rank() - 1), 16 / bytes(tile.element())}));
}

/// Emits `access(width)` once, or once per kind of access after the block's one test; registers are joined by phis.
template <class Access>
Registers by_width(Emitter& e, Box& box, int width, bool whole_groups, Access const& access) {
  if (width == 1 || whole_groups) return access(width);
  llvm::IRBuilder<>& b = e.b;
  llvm::BasicBlock *const whole = e.block("whole"), *const single = e.block("single"), *const join = e.block("join");
  b.CreateCondBr(box.groups_whole(width), whole, single);
  b.SetInsertPoint(whole);
  Registers const from_whole = access(width);
  llvm::BasicBlock* const whole_end = b.GetInsertBlock();
  b.CreateBr(join);
  b.SetInsertPoint(single);
  Registers const from_single = access(1);
  llvm::BasicBlock* const single_end = b.GetInsertBlock();
  b.CreateBr(join);
  b.SetInsertPoint(join);
  Registers result;
  for (std::size_t i = 0; i < from_whole.size(); ++i) {
    llvm::PHINode* const phi = b.CreatePHI(from_whole[i]->getType(), 2);
    phi->addIncoming(from_whole[i], whole_end);
    phi->addIncoming(from_single[i], single_end);
    result.push_back(phi);
  }
  return result;
}

/// Tells whether a scalar only becomes elements of tiles, also by arithmetic and from one iteration of a loop to the
/// next: no branch, bound or address depends on it.
bool only_fills_tiles(ir::Value const& scalar) {
  constexpr std::size_t bound = 32;  // of values that are looked at
  std::vector<ir::Value const*> values = {&scalar};
  auto const follow = [&](ir::Value const& value) {
    if (std::find(values.begin(), values.end(), &value) == values.end()) values.push_back(&value);
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values.size() > bound) return false;
    for (ir::Use const& use : values[i]->uses()) {
      ir::Op const& user = *use.user;
      if (user.is<ir::SplatOp>()) continue;
      ir::Op const* const loop = user.is<ir::YieldOp>() ? user.parent_op() : &user;
      int const carry = loop != nullptr && loop->is<ir::ForOp>() ? ir::Loop(*loop).carry_of(use) : -1;
      if (carry >= 0) {
        follow(*ir::Loop(*loop).carried(carry));
        follow(*ir::Loop(*loop).result(carry));
      } else if (user.is(ir::Family::elementwise) && user.result()->type().is_scalar() && !user.is<ir::CompareOp>()) {
        follow(*user.result());
      } else {
        return false;
      }
    }
  }
  return true;
}

/// Loads one element in every thread.
void load_scalar(ir::LoadOp const& attributes, ir::Op const& op, Emitter& e) {
  Element const element = op.result()->type().element();
  ir::Value const& source = *op.in<ir::LoadOp>("tensor");
  TensorParts const& tensor = e.tensors.of(source);
  auto const offsets = op.all<ir::LoadOp>("offsets");
  llvm::Value* inside = nullptr;
  for (std::size_t axis = 0; axis < offsets.size(); ++axis) {
    llvm::Value* const in = e.b.CreateICmpULT(e.scalar(*offsets[axis]), tensor.extents[axis]);
    inside = inside == nullptr ? in : e.b.CreateAnd(inside, in);
  }
  Words const words = words_for(element, 1);
  llvm::Value* const pad = e.constant(attributes.pad);
  Registers result;
  for (llvm::Value* word :
       load_vector(e.b, tensor.constant ? "global.nc" : "global", inside, element_address(e, source, offsets), 0,
                   {pack_word(e, element, words, &pad)}, words.bits))
    unpack_word(e, element, words, word, result);
  // Shuffled, so that ptxas knows that whole warps take the branches that depend on it. A shuffle waits for the load.
  // Lanes might see different numbers of memory that is written.
  bool const constant = op.function()->is_kernel() && ir::parameter_of(source).direction == Direction::in;
  bool const alone = e.elected || (constant && only_fills_tiles(*op.result()));
  if (!alone) result[0] = e.shuffle_from(result[0], element, e.i32(0));
  e.set(*op.result(), std::move(result));
}

}  // namespace

void lower(ir::LoadOp const& attributes, ir::Op const& op, Emitter& e) {
  ir::Type const& type = op.result()->type();
  if (type.is_scalar()) return load_scalar(attributes, op, e);
  Element const element = type.element();
  TensorParts const& tensor = e.tensors.of(*op.in<ir::LoadOp>("tensor"));
  Box box(e, tensor, type, op.all<ir::LoadOp>("offsets"), attributes.part, attributes.nonnegative);
  llvm::Value* const pad = e.constant(attributes.pad);
  std::string const space = tensor.constant ? "global.nc" : "global";
  int const widest = access_width(attributes.vector, type);

  // Whole vectors and single elements meet in words, as whole vectors come.
  Words const joined = words_for(element, widest);
  auto const access = [&](int width) {
    Words const words = words_for(element, width);
    Registers result, single;
    std::vector<llvm::Value*> const pads(static_cast<std::size_t>(width), pad);
    for (int reg = 0; reg < type.layout()->registers(); reg += width) {
      Registers otherwise;
      for (int at = 0; at < width; at += words.elements)
        otherwise.push_back(pack_word(e, element, words, &pads[static_cast<std::size_t>(at)]));
      Box::Address const address = box.address(reg);
      for (llvm::Value* word :
           load_vector(e.b, space, box.predicate(reg), address.base, address.constant, otherwise, words.bits)) {
        if (words.elements == joined.elements) {
          result.push_back(word);
          continue;
        }
        unpack_word(e, element, words, word, single);
        if (static_cast<int>(single.size()) < joined.elements) continue;
        result.push_back(pack_word(e, element, joined, single.data()));
        single.clear();
      }
    }
    return result;
  };
  Registers result;
  for (llvm::Value* word : by_width(e, box, widest, ir::multiple_of_extent(*op.in("tensor"), -1) % widest == 0, access))
    unpack_word(e, element, joined, word, result);
  e.set(*op.result(), std::move(result));
}

void lower(ir::StoreOp const& attributes, ir::Op const& op, Emitter& e) {
  ir::Type const& type = op.in<ir::StoreOp>("tile")->type();
  Element const element = type.element();
  TensorParts const& tensor = e.tensors.of(*op.in<ir::StoreOp>("tensor"));
  Box box(e, tensor, type, op.all<ir::StoreOp>("offsets"), attributes.part, attributes.nonnegative);
  Registers const& values = e.get(*op.in<ir::StoreOp>("tile"));
  llvm::Value* const owner = e.coordinates.owns(*type.layout());
  std::uint32_t const copies = type.layout()->free_bits(layout::Dim::reg);
  int const widest = access_width(attributes.vector, type);

  auto const access = [&](int width) {
    Words const words = words_for(element, width);
    for (int reg = 0; reg < type.layout()->registers(); reg += width) {
      if ((static_cast<std::uint32_t>(reg) & copies) != 0) continue;
      Registers packed;
      for (int at = 0; at < width; at += words.elements)
        packed.push_back(pack_word(e, element, words, &values[static_cast<std::size_t>(reg + at)]));
      Box::Address const address = box.address(reg);
      llvm::Value* predicate = box.predicate(reg);
      if (owner != nullptr) predicate = predicate == nullptr ? owner : e.b.CreateAnd(owner, predicate);
      store_vector(e.b, "global", predicate, address.base, address.constant, packed, words.bits);
    }
    return Registers();
  };
  by_width(e, box, widest, ir::multiple_of_extent(*op.in("tensor"), -1) % widest == 0, access);
}

}  // namespace tegula::codegen::nvptx
