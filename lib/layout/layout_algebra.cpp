// Makes layouts from layouts: composition, inverse, division, product, slices, transposition.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "layout/layout.hpp"
#include "layout/layout_detail.hpp"
#include "tegula/support/error.hpp"

namespace tegula::layout {
using detail::Elimination;
using detail::pack;
using detail::single_component;
using detail::zeros;

Layout const* Layout::after(Layout const& first) const {
  for (LayoutInput const& in : inputs_)
    if (std::find(first.outputs_.begin(), first.outputs_.end(), in.dim) == first.outputs_.end()) return nullptr;
  for (int o = 0; o < first.rank(); ++o)
    if (first.shape_[o] > size(first.outputs_[static_cast<std::size_t>(o)])) return nullptr;

  std::vector<LayoutInput> result;
  for (LayoutInput const& in : first.inputs_) {
    LayoutInput next{in.dim, {}, {}};
    for (Extents const& basis : in.bases) {
      Extents sum = zeros(rank());
      bool linear = next.digits.empty();
      for (int o = 0; o < first.rank() && linear; ++o) {
        Dim const dim = first.outputs_[static_cast<std::size_t>(o)];
        linear = basis[o] < std::int64_t{1} << input(dim).bases.size();
        if (linear) sum = join(sum, part(dim, basis[o]));
      }
      if (linear)
        next.bases.push_back(sum);
      else if (!pass_digit(first, {2, basis}, next.digits))
        return nullptr;
    }
    for (LayoutDigit const& digit : in.digits)
      if (!pass_digit(first, digit, next.digits)) return nullptr;
    result.push_back(std::move(next));
  }
  return intern(std::move(result), outputs_, nullptr);
}

/// Follows a digit of `first` through this layout: to whole digits, or a part of one, of the input it moves along; else
/// along the line that this input is.
bool Layout::pass_digit(Layout const& first, LayoutDigit const& digit, std::vector<LayoutDigit>& result) const {
  std::size_t const before = result.size();
  if (pass_through_digits(first, digit, result)) return true;
  result.resize(before);
  int const o = single_component(digit.stride);
  auto const step = o < 0 ? std::nullopt : step_of(input(first.outputs_[static_cast<std::size_t>(o)]));
  if (!step) return false;
  Extents stride = *step;
  for (int k = 0; k < rank(); ++k) stride[k] *= digit.stride[o];
  result.push_back({digit.count, stride});
  return true;
}

/// Returns where an input moves with each step, if with every step by as much along one axis.
std::optional<Extents> Layout::step_of(LayoutInput const& input) const {
  std::optional<Extents> step;
  std::int64_t position = 1;
  auto const goes_on = [&](Extents const& stride) {
    if (!step) step = stride;
    bool alike = single_component(*step) >= 0;
    for (int k = 0; k < rank(); ++k) alike = alike && stride[k] == (*step)[k] * position;
    return alike;
  };
  for (Extents const& basis : input.bases) {
    if (!goes_on(basis)) return std::nullopt;
    position *= 2;
  }
  for (LayoutDigit const& digit : input.digits) {
    if (!goes_on(digit.stride)) return std::nullopt;
    position *= digit.count;
  }
  return step;
}

bool Layout::pass_through_digits(Layout const& first, LayoutDigit const& digit,
                                 std::vector<LayoutDigit>& result) const {
  if (detail::has_several_components(digit.stride)) return false;
  int const o = single_component(digit.stride);
  if (o < 0) {
    result.push_back({digit.count, zeros(rank())});
    return true;
  }
  LayoutInput const& through = input(first.outputs_[static_cast<std::size_t>(o)]);
  std::int64_t at = digit.stride[o];  // where the rest of the digit begins, and its size
  std::int64_t left = digit.count;
  std::int64_t position = 1;
  for (Extents const& basis : through.bases) {
    if (left > 1 && at == position) {
      if (left % 2 != 0) return false;
      result.push_back({2, basis});
      left /= 2;
      at *= 2;
    }
    position *= 2;
  }
  for (LayoutDigit const& step : through.digits) {
    std::int64_t const end = position * step.count;
    if (left > 1 && at < end) {
      if (at % position != 0) return false;
      std::int64_t const within = at / position;
      std::int64_t const taken = within * left <= step.count ? left : step.count / within;
      if (left % taken != 0 || (taken != left && within * taken != step.count)) return false;
      Extents stride = step.stride;
      for (int k = 0; k < rank(); ++k) stride[k] *= within;
      result.push_back({taken, stride});
      left /= taken;
      at *= taken;
    }
    position = end;
  }
  return left == 1;
}

Layout const* Layout::inverse() const {
  if (!surjective_) return nullptr;
  int const count = static_cast<int>(inputs_.size());
  if (count > max_rank) return nullptr;
  Elimination elimination;
  std::vector<std::pair<int, int>> columns;  // input, bit
  for (int i = 0; i < count; ++i) {
    auto const& bases = inputs_[static_cast<std::size_t>(i)].bases;
    for (int bit = 0; bit < static_cast<int>(bases.size()); ++bit) {
      elimination.add(pack(bases[static_cast<std::size_t>(bit)], atom_), static_cast<int>(columns.size()));
      columns.emplace_back(i, bit);
    }
  }
  std::vector<LayoutInput> result;
  std::vector<Dim> outputs;
  for (LayoutInput const& in : inputs_) outputs.push_back(in.dim);
  int shift = 0;
  for (int o = 0; o < rank(); ++o) {
    LayoutInput next{outputs_[static_cast<std::size_t>(o)], {}, {}};
    for (int bit = 0; std::int64_t{1} << bit < atom_[o]; ++bit) {
      std::uint64_t const chosen = elimination.solve(std::uint64_t{1} << shift++);
      Extents vector = zeros(count);
      for (std::size_t c = 0; c < columns.size(); ++c)
        if (((chosen >> c) & 1) != 0) vector[columns[c].first] |= std::int64_t{1} << columns[c].second;
      next.bases.push_back(vector);
    }
    std::map<std::int64_t, LayoutDigit> digits;
    for (int i = 0; i < count; ++i) {
      LayoutInput const& in = inputs_[static_cast<std::size_t>(i)];
      std::int64_t position = std::int64_t{1} << in.bases.size();
      for (LayoutDigit const& digit : in.digits) {
        if (digit.stride[o] != 0) {
          LayoutDigit back{digit.count, zeros(count)};
          back.stride[i] = position;
          digits.emplace(digit.stride[o], back);
        }
        position *= digit.count;
      }
    }
    for (auto const& [stride, digit] : digits) next.digits.push_back(digit);
    result.push_back(std::move(next));
  }
  return intern(std::move(result), std::move(outputs), nullptr);
}

Layout const* Layout::divided_by(Layout const& small) const {
  if (outputs_ != small.outputs_) return nullptr;
  for (LayoutInput const& in : small.inputs_) {
    auto const& bases = input(in.dim).bases;
    if (!in.digits.empty() || in.bases.size() > bases.size() ||
        !std::equal(in.bases.begin(), in.bases.end(), bases.begin()))
      return nullptr;
  }
  std::vector<LayoutInput> result;
  for (LayoutInput const& in : inputs_) {
    LayoutInput next{in.dim, {}, in.digits};
    for (std::size_t bit = small.input(in.dim).bases.size(); bit < in.bases.size(); ++bit) {
      Extents basis = in.bases[bit];
      for (int o = 0; o < rank(); ++o) {
        if (basis[o] % small.atom_[o] != 0) return nullptr;
        basis[o] /= small.atom_[o];
      }
      next.bases.push_back(basis);
    }
    for (LayoutDigit& digit : next.digits)
      for (int o = 0; o < rank(); ++o) digit.stride[o] /= small.atom_[o];
    result.push_back(std::move(next));
  }
  return intern(std::move(result), outputs_, nullptr);
}

Layout const* Layout::times(Layout const& large) const {
  if (outputs_ != large.outputs_) return nullptr;
  std::vector<LayoutInput> result(inputs_);
  for (LayoutInput in : large.inputs_) {
    for (Extents& basis : in.bases)
      for (int o = 0; o < rank(); ++o) basis[o] *= shape_[o];
    for (LayoutDigit& digit : in.digits)
      for (int o = 0; o < rank(); ++o) digit.stride[o] *= shape_[o];
    auto found =
        std::find_if(result.begin(), result.end(), [&](LayoutInput const& have) { return have.dim == in.dim; });
    if (found == result.end()) found = result.insert(result.end(), LayoutInput{in.dim, {}, {}});
    if (shape_ != atom_ || !found->digits.empty()) {
      // Above digits everything is a digit.
      for (Extents const& basis : in.bases) {
        if (detail::has_several_components(basis)) return nullptr;
        found->digits.push_back({2, basis});
      }
    } else {
      found->bases.insert(found->bases.end(), in.bases.begin(), in.bases.end());
    }
    found->digits.insert(found->digits.end(), in.digits.begin(), in.digits.end());
  }
  return intern(std::move(result), outputs_, nullptr);
}

Layout const* Layout::reshaped(Extents const& shape) const {
  auto const row_major = [](Extents const& of) {
    Extents order;
    for (int axis = of.size(); axis-- > 0;) order.push_back(axis);
    return dense(of, order);
  };
  Layout const* const offsets = row_major(shape_)->inverse();
  Layout const* const linear = offsets == nullptr ? nullptr : offsets->after(*this);
  Layout const* const result = linear == nullptr ? nullptr : row_major(shape)->after(*linear);
  return result != nullptr && result->shape_ == shape ? result : nullptr;
}

Layout const* Layout::repeated(int axis, std::int64_t count) const {
  std::vector<LayoutInput> result(inputs_);
  auto registers = std::find_if(result.begin(), result.end(), [](LayoutInput const& in) { return in.dim == Dim::reg; });
  if (registers == result.end()) registers = result.insert(result.begin(), LayoutInput{Dim::reg, {}, {}});
  LayoutDigit copies{count, zeros(rank())};
  copies.stride[axis] = shape_[axis];
  // The last axis comes first, and its low bits before its high ones.
  auto const behind = [&](Extents const& a, Extents const& b) {
    for (int i = 0; i < rank(); ++i)
      if (a[i] != b[i]) return a[i] > b[i];
    return false;
  };
  for (auto place = registers->bases.begin(); shape_ == atom_ && copies.count % 2 == 0; ++place) {
    while (place != registers->bases.end() && !behind(*place, copies.stride)) ++place;
    place = registers->bases.insert(place, copies.stride);
    copies.count /= 2;
    copies.stride[axis] *= 2;
  }
  registers->digits.push_back(copies);
  return get(std::move(result), outputs_);
}

Layout const* Layout::without_register_copies() const {
  std::uint32_t const copies = free_bits(Dim::reg);
  std::vector<LayoutInput> result(inputs_);
  for (LayoutInput& in : result) {
    if (in.dim != Dim::reg) continue;
    for (std::size_t bit = in.bases.size(); bit-- > 0;)
      if (((copies >> bit) & 1) != 0) in.bases.erase(in.bases.begin() + static_cast<std::ptrdiff_t>(bit));
    std::erase_if(in.digits, [](LayoutDigit const& digit) { return single_component(digit.stride) < 0; });
  }
  return get(std::move(result), outputs_);
}

Layout const* Layout::collapsed(int axis) const {
  std::vector<LayoutInput> result(inputs_);
  for (LayoutInput& in : result) {
    for (Extents& basis : in.bases) basis[axis] = 0;
    for (LayoutDigit& digit : in.digits) digit.stride[axis] = 0;
  }
  return get(std::move(result), outputs_)->without_register_copies();
}

Layout const* Layout::sliced(int axis) const { return collapsed(axis)->squeezed(axis); }

Layout const* Layout::squeezed(int axis) const {
  if (shape_[axis] != 1) throw InternalError(fmt::format("layout: squeezing an axis of extent {}", shape_[axis]));
  std::vector<LayoutInput> result(inputs_);
  for (LayoutInput& in : result) {
    for (Extents& basis : in.bases) basis.erase(axis);
    for (LayoutDigit& digit : in.digits) digit.stride.erase(axis);
  }
  return get(std::move(result), rank() - 1);
}

Layout const* Layout::expanded(int axis) const {
  std::vector<LayoutInput> result(inputs_);
  for (LayoutInput& in : result) {
    for (Extents& basis : in.bases) basis.insert(axis, 0);
    for (LayoutDigit& digit : in.digits) digit.stride.insert(axis, 0);
  }
  return get(std::move(result), rank() + 1);
}

Layout const* Layout::transposed(Extents const& permutation) const {
  auto const permuted = [&](Extents const& vector) {
    Extents result;
    for (std::int64_t from : permutation) result.push_back(vector[static_cast<int>(from)]);
    return result;
  };
  std::vector<LayoutInput> result(inputs_);
  for (LayoutInput& in : result) {
    for (Extents& basis : in.bases) basis = permuted(basis);
    for (LayoutDigit& digit : in.digits) digit.stride = permuted(digit.stride);
  }
  return get(std::move(result), rank());
}

}  // namespace tegula::layout
