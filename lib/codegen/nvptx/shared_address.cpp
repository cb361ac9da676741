#include "codegen/nvptx/shared_address.hpp"

#include <fmt/format.h>

#include "ir/core/builder.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen::nvptx {
namespace {

using Part = layout::AccessMap::Part;

/// Returns the offset that the bits of an index contribute; none when other indices are not the sums of their bits.
std::optional<std::vector<Part>> bits_of(layout::AccessMap const& map, layout::Dim dim) {
  std::vector<Part> bits;
  for (int index = 1; index < map.size(dim); index *= 2) bits.push_back(map.of(dim, index));
  for (int index = 0; index < map.size(dim); ++index) {
    Part sum;
    for (std::size_t bit = 0; bit < bits.size(); ++bit) {
      if ((index >> bit & 1) == 0) continue;
      sum.low ^= bits[bit].low;
      sum.high += bits[bit].high;
    }
    if (sum.low != map.of(dim, index).low || sum.high != map.of(dim, index).high) return std::nullopt;
  }
  return bits;
}

}  // namespace

SharedAccess::SharedAccess(Emitter& e, ir::Op const& op, ir::Type const& view, llvm::Value* address,
                           layout::Layout const& tile, bool stores)
    : e_(e), address_(address), bytes_(bytes(view.element())) {
  if (tile.warps() > e.warps)
    refuse(op, fmt::format("the layout names {} warps, but {} execute it", tile.warps(), e.warps));
  std::string why;
  auto plan = target::shared_plan(tile, *view.layout(), view.element(), stores, why);
  if (!plan) refuse(op, why);
  layout::AccessMap const& map = plan->map;
  vectors_ = std::move(plan->vectors);
  if (view.is_shared() && e.target.has(stores ? Ability::stmatrix : Ability::ldmatrix))
    matrices_ = std::move(plan->matrices);
  auto const lane_bits = bits_of(map, layout::Dim::lane);
  if (!lane_bits) refuse(op, "lanes share the tile in a way that address arithmetic on bits does not reach");
  add_index(element_, e.lane, *lane_bits);
  add_warps(element_, map);
  if (!matrices_) return;
  add_index(row_, e.lane, {matrices_->lane_bits.begin(), matrices_->lane_bits.end()});
  add_warps(row_, map);
}

void SharedAccess::add_warps(ThreadPart& part, layout::AccessMap const& map) {
  if (auto const bits = bits_of(map, layout::Dim::warp)) return add_index(part, e_.warp, *bits);
  // Looks up each number: warp counts with factors such as 3 or 5 do not split into bits.
  llvm::Value *low = e_.i32(0), *high = e_.i32(0);
  for (int warp = 1; warp < map.warps(); ++warp) {
    Part const place = map.of(layout::Dim::warp, warp);
    llvm::Value* const here = e_.b.CreateICmpEQ(e_.warp, e_.i32(warp));
    low = e_.b.CreateSelect(here, e_.i32(place.low), low);
    high = e_.b.CreateSelect(here, e_.i32(place.high), high);
    part.low_bits |= place.low;
  }
  part.low = part.low == nullptr ? low : e_.b.CreateXor(part.low, low);
  part.high = part.high == nullptr ? high : e_.b.CreateAdd(part.high, high);
}

void SharedAccess::add_index(ThreadPart& part, llvm::Value* index, std::vector<Part> const& bits) {
  std::vector<std::int64_t> lows, highs;
  std::int64_t seen = 0;
  bool apart = true;
  for (Part const& bit : bits) {
    lows.push_back(bit.low);
    highs.push_back(bit.high);
    part.low_bits |= bit.low;
    apart &= (seen & bit.high) == 0;
    seen |= bit.high;
  }
  if (llvm::Value* const low = combine_bits(e_.b, index, lows))
    part.low = part.low == nullptr ? low : e_.b.CreateXor(part.low, low);
  llvm::Value* high = nullptr;
  if (apart) {
    high = combine_bits(e_.b, index, highs);
  } else {
    for (std::size_t i = 0; i < highs.size(); ++i) {
      llvm::Value* const bit = e_.b.CreateAnd(e_.b.CreateLShr(index, e_.i32(static_cast<std::int64_t>(i))), e_.i32(1));
      llvm::Value* const term = e_.b.CreateMul(bit, e_.i32(highs[i]));
      high = high == nullptr ? term : e_.b.CreateAdd(high, term);
    }
  }
  if (high != nullptr) part.high = part.high == nullptr ? high : e_.b.CreateAdd(part.high, high);
}

SharedAccess::Address SharedAccess::at(ThreadPart& thread, Part first) {
  // Bits that the thread may set too are joined by exclusive or; the others are added, in the instruction's constant.
  std::int64_t const joined = (thread.low_bits & first.low) == 0 ? 0 : first.low;
  llvm::Value*& base = thread.bases[joined];
  if (base == nullptr) {
    llvm::Value* offset = thread.low;
    if (joined != 0) offset = e_.b.CreateXor(offset, e_.i32(joined));
    if (thread.high != nullptr) offset = offset == nullptr ? thread.high : e_.b.CreateAdd(offset, thread.high);
    base = offset == nullptr
               ? address_
               : e_.b.CreateAdd(address_, e_.b.CreateZExt(e_.b.CreateMul(offset, e_.i32(bytes_)), address_->getType()));
  }
  return {base, (first.low - joined + first.high) * bytes_};
}

llvm::Value* SharedAccess::of(target::MatrixStep const& step) {
  Address const address = at(row_, step.first);
  return address.constant == 0 ? address.base : e_.b.CreateAdd(address.base, e_.i32(address.constant));
}

llvm::Value* box_offset(Emitter& e, ir::Op const& op, ir::Type const& source, Extents const& box,
                        std::span<ir::Value* const> offsets) {
  std::string why;
  layout::ElementOffsets const* const places = layout::ElementOffsets::get(*source.layout(), why);
  if (places == nullptr) refuse(op, why);
  int const drop = source.rank() - box.size();
  if (!places->movable(box, why)) refuse(op, why);
  llvm::Value* total = e.i32(0);
  for (int axis = 0; axis < source.rank(); ++axis) {
    ir::Value const& offset = *offsets[static_cast<std::size_t>(axis)];
    std::int64_t const step = axis < drop ? 1 : box[axis - drop];
    if (step == source.shape()[axis]) continue;  // all of the axis: it begins at 0
    if (auto const known = ir::constant_int(offset)) {
      Extents where;
      for (int i = 0; i < source.rank(); ++i) where.push_back(i == axis ? *known : 0);
      total = e.b.CreateAdd(total, e.i32(layout::in_bytes(places->at(where), bytes(source.element())).count));
      continue;
    }
    auto const stride = places->stride(axis, step);
    if (!stride)
      refuse(op, fmt::format("blocks of {} along axis {} are not evenly spaced in {}, so they need constant offsets",
                             step, axis, source.layout()->text()));
    llvm::Value* number = e.b.CreateTrunc(e.scalar(offset), e.b.getInt32Ty());
    std::int64_t scale = *stride * bytes(source.element());
    if (scale % step == 0)
      scale /= step;
    else
      number = e.b.CreateUDiv(number, e.i32(step));
    total = e.b.CreateAdd(total, e.b.CreateMul(number, e.i32(scale)));
  }
  return total;
}

}  // namespace tegula::codegen::nvptx
