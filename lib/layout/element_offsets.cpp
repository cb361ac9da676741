#include "layout/element_offsets.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>

#include "support/locks.hpp"

namespace tegula::layout {

ElementOffsets const* ElementOffsets::get(Layout const& memory, std::string& why) {
  static constinit support::Lock mutex;
  static constinit support::Lasting<std::map<Layout const*, std::unique_ptr<ElementOffsets>>> tables;
  auto& known = tables.get();
  {
    std::scoped_lock const lock(mutex);
    if (auto const found = known.find(&memory); found != known.end()) return found->second.get();
  }
  for (LayoutInput const& in : memory.inputs())
    if (in.dim != Dim::offset) {
      why = "layout: a tile in shared memory is a map from offset, not from " + std::string(name(in.dim));
      return nullptr;
    }
  Layout const* inverse = memory.surjective() && memory.injective() ? memory.inverse() : nullptr;
  if (inverse == nullptr) {
    why = "layout: a tile in shared memory has exactly one offset per element, unlike " + memory.text();
    return nullptr;
  }
  auto table = std::make_unique<ElementOffsets>();
  table->shape_ = memory.shape();
  if (inverse->rank() > 0) table->atom_ = inverse->atom()[0];
  for (int axis = 0; axis < memory.rank(); ++axis) {
    auto& parts = table->axes_.emplace_back();
    for (std::int64_t i = 0; i < memory.shape()[axis]; ++i) {
      std::int64_t const offset = inverse->rank() > 0 ? inverse->part(axis_dim(axis), i)[0] : 0;
      std::int64_t const low = offset % table->atom_;
      parts.push_back({low, offset - low});
    }
  }
  std::scoped_lock const lock(mutex);
  return known.emplace(&memory, std::move(table)).first->second.get();
}

std::optional<std::int64_t> ElementOffsets::stride(int axis, std::int64_t step) const {
  std::int64_t const extent = shape_[axis];
  if (step >= extent) return 0;
  auto const offset = [&](std::int64_t i) { return part(axis, i).low + part(axis, i).high; };
  std::int64_t const result = offset(step);
  for (std::int64_t i = 0; i * step < extent; ++i)
    if (offset(i * step) != i * result) return std::nullopt;
  return result;
}

bool ElementOffsets::movable(Extents const& view, std::string& why) const {
  // Adds offsets over the axes where axes do not share an offset bit. Where they do, XOR must not combine a bit twice:
  // bits that origins set are apart from bits that elements of the view set.
  std::int64_t of_axes = 0, of_origins = 0, of_elements = 0;
  bool sums = true;
  int const missing = rank() - view.size();
  for (int axis = 0; axis < rank(); ++axis) {
    std::int64_t of_axis = 0;
    for (std::int64_t x = 0; x < shape_[axis]; ++x) of_axis |= part(axis, x).low;
    sums &= (of_axes & of_axis) == 0;
    of_axes |= of_axis;
  }
  for (int axis = 0; axis < rank(); ++axis) {
    std::int64_t const extent = axis < missing ? 1 : view[axis - missing];
    for (std::int64_t x = 0; x < extent; ++x) of_elements |= part(axis, x).low;
    for (std::int64_t origin = 0; origin < shape_[axis]; origin += extent) {
      of_origins |= part(axis, origin).low;
      for (std::int64_t x = 0; x < extent && origin + x < shape_[axis]; ++x) {
        Part const whole = part(axis, origin + x), first = part(axis, origin), rest = part(axis, x);
        bool const apart = sums ? whole.low + whole.high == first.low + rest.low + first.high + rest.high
                                : whole.low == (first.low ^ rest.low) && whole.high == first.high + rest.high;
        if (apart) continue;
        why = fmt::format("view: parts of {} along axis {} of {} do not lie alike in memory", extent, axis,
                          shape_text(shape_));
        return false;
      }
    }
  }
  if (sums || (of_origins & of_elements) == 0) return true;
  why = "view: " + shape_text(view) + " of " + shape_text(shape_) +
        " cuts through the swizzle pattern, so parts of it do not lie alike in memory";
  return false;
}

bool fits(Extents const& view, Layout const& memory, std::string& why) {
  int const missing = memory.rank() - view.size();
  bool inside = missing >= 0;
  for (int a = 0; inside && a < view.size(); ++a) inside = view[a] >= 1 && view[a] <= memory.shape()[a + missing];
  if (!inside) why = "view: " + shape_text(view) + " is not a part of a tile of " + shape_text(memory.shape());
  return inside;
}

std::string shape_text(Extents const& shape) {
  std::string text;
  for (int i = 0; i < shape.size(); ++i) text += fmt::format("{}{}", i > 0 ? "x" : "", shape[i]);
  return text;
}

}  // namespace tegula::layout
