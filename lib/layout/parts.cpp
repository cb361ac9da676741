#include "layout/parts.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace tegula::layout {

Layout const* folded(Layout const& layout, int axis) {
  auto const moves = [&](Extents const& vector) { return vector[axis] != 0; };
  for (Extents const& base : layout.input(Dim::warp).bases)
    if (moves(base)) return nullptr;
  for (Dim const dim : {Dim::lane, Dim::warp})
    for (LayoutDigit const& digit : layout.input(dim).digits)
      if (moves(digit.stride)) return nullptr;
  Extents place;  // of a lane bit along the axis
  for (int i = 0; i < layout.rank(); ++i) place.push_back(i == axis ? 1 : 0);
  std::vector<int> moving;
  auto const& lanes = layout.input(Dim::lane).bases;
  for (std::size_t bit = 0; bit < lanes.size(); ++bit) {
    if (!moves(lanes[bit])) continue;
    for (int i = 0; i < layout.rank(); ++i)
      if (i != axis && lanes[bit][i] != 0) return nullptr;
    moving.push_back(static_cast<int>(bit));
  }
  std::vector<LayoutInput> inputs(layout.collapsed(axis)->inputs().begin(), layout.collapsed(axis)->inputs().end());
  for (LayoutInput& input : inputs) {
    if (input.dim != Dim::lane) continue;
    for (int const bit : moving) {
      input.bases[static_cast<std::size_t>(bit)] = place;
      place[axis] *= 2;
    }
  }
  return Layout::get(std::move(inputs), layout.rank());
}

Layout const* part_of(Layout const& whole, Extents const& shape, Extents const& offsets) {
  // Pieces of which both tiles and the offset are multiples; bits cut no odd ones.
  Extents piece = shape;
  for (int axis = 0; axis < shape.size(); ++axis) {
    piece[axis] = std::gcd(std::gcd(shape[axis], offsets[axis]), whole.shape()[axis]);
    if (piece[axis] % whole.atom()[axis] != 0) piece[axis] &= -piece[axis];
  }
  std::vector<LayoutInput> inputs(whole.inputs().begin(), whole.inputs().end());
  for (LayoutInput& input : inputs) {
    if (input.dim != Dim::reg) continue;
    std::erase_if(input.bases, [&](Extents const& base) {
      for (int axis = 0; axis < piece.size(); ++axis)
        if (base[axis] >= piece[axis]) return true;
      return false;
    });
    for (LayoutDigit& digit : input.digits)
      for (int axis = 0; axis < piece.size(); ++axis)
        if (std::int64_t const stride = digit.stride[axis]; stride != 0 && stride * digit.count > piece[axis])
          digit.count = std::max<std::int64_t>(piece[axis] / stride, 1);
  }
  Layout const* part = Layout::try_get(std::move(inputs), shape.size());
  if (part == nullptr || part->shape() != piece) return nullptr;
  for (int axis = 0; axis < shape.size(); ++axis) part = part->repeated(axis, shape[axis] / piece[axis]);
  return registers_of_part(whole, *part, offsets).empty() ? nullptr : part;
}

Layout const* layout_of_parts(Layout const& layout, Extents const& tile, Extents const& part, int axis) {
  Layout const* result = nullptr;
  Extents at = part;
  for (std::int64_t& offset : at) offset = 0;
  for (; at[axis] < tile[axis]; at[axis] += part[axis]) {
    Layout const* const one = part_of(layout, part, at);
    if (one == nullptr || (result != nullptr && one != result)) return nullptr;
    result = one;
  }
  return result;
}

std::vector<int> registers_of_part(Layout const& whole, Layout const& part, Extents const& offsets) {
  if (whole.lanes() != part.lanes() || whole.warps() != part.warps()) return {};
  std::map<std::vector<std::int64_t>, int> place;  // of an element of lane 0 of warp 0
  for (int r = whole.registers() - 1; r >= 0; --r) {
    Extents const at = whole.part(Dim::reg, r);
    place[{at.begin(), at.end()}] = r;
  }
  std::vector<int> result;
  for (int r = 0; r < part.registers(); ++r) {
    Extents const at = part.part(Dim::reg, r);
    std::vector<std::int64_t> wanted;
    for (int axis = 0; axis < at.size(); ++axis) wanted.push_back(at[axis] + offsets[axis]);
    auto const found = place.find(wanted);
    if (found == place.end()) return {};
    result.push_back(found->second);
  }
  // The same registers serve every thread when lanes and warps move alike and apart from the registers' coordinates.
  for (Dim const dim : {Dim::lane, Dim::warp})
    for (std::int64_t i = 0; i < part.size(dim); ++i) {
      if (whole.part(dim, i) != part.part(dim, i)) return {};
      for (int r = 0; r < part.registers(); ++r) {
        Extents at = part.join(part.part(Dim::reg, r), part.part(dim, i));
        for (int axis = 0; axis < at.size(); ++axis) at[axis] += offsets[axis];
        if (whole.join(whole.part(Dim::reg, result[static_cast<std::size_t>(r)]), whole.part(dim, i)) != at) return {};
      }
    }
  return result;
}

}  // namespace tegula::layout
