// Implements the Layout class: canonical form, interning, evaluation and queries of one layout.
#include "layout/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <memory>

#include "layout/layout_detail.hpp"
#include "support/locks.hpp"
#include "tegula/support/error.hpp"

namespace tegula::layout {
using detail::Elimination;
using detail::pack;
using detail::single_component;
using detail::zeros;
namespace {

constexpr int max_bits = 30;                                // per input
constexpr std::int64_t max_extent = std::int64_t{1} << 40;  // per output

std::string error_with_sizes(std::vector<LayoutInput> const& inputs, int rank) {
  int bits = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    LayoutInput const& input = inputs[i];
    std::string const subject(name(input.dim));
    if (i > 0 && inputs[i - 1].dim == input.dim) return "layout: input " + subject + " is given twice";
    if (input.bases.size() > max_bits) return "layout: input " + subject + " has more than 30 bits";
    bits += static_cast<int>(input.bases.size());
    for (Extents const& basis : input.bases) {
      if (basis.size() != rank)
        return fmt::format("layout: a basis vector of {} has {} components, not {}", subject, basis.size(), rank);
      for (std::int64_t value : basis)
        if (value < 0 || value >= max_extent) return "layout: a basis vector of " + subject + " is out of range";
    }
    std::int64_t size = std::int64_t{1} << input.bases.size();
    for (LayoutDigit const& digit : input.digits) {
      if (digit.stride.size() != rank)
        return fmt::format("layout: a stride of {} has {} components, not {}", subject, digit.stride.size(), rank);
      if (digit.count < 1 || digit.count >= (std::int64_t{1} << max_bits) / size)
        return "layout: input " + subject + " is too large";
      size *= digit.count;
      if (detail::has_several_components(digit.stride))
        return "layout: a stride of " + subject + " moves along two outputs";
      for (std::int64_t value : digit.stride)
        if (value < 0 || value >= max_extent) return "layout: a stride of " + subject + " is out of range";
    }
  }
  return bits > 62 ? "layout: more than 62 bits in all" : "";
}

Extents atom_of(std::vector<LayoutInput> const& inputs, int rank) {
  Extents used = zeros(rank);
  for (LayoutInput const& input : inputs)
    for (Extents const& basis : input.bases)
      for (int o = 0; o < rank; ++o) used[o] |= basis[o];
  for (int o = 0; o < rank; ++o)
    used[o] = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(used[o]) + 1));
  return used;
}

/// Turns digits into bits where that does not change the map, joins digits, drops digits of count 1.
void canonicalize(std::vector<LayoutInput>& inputs, int rank) {
  for (bool changed = true; changed;) {
    changed = false;
    for (LayoutInput& input : inputs) {
      std::erase_if(input.digits, [](LayoutDigit const& digit) { return digit.count == 1; });
      for (std::size_t i = 0; i + 1 < input.digits.size();) {
        LayoutDigit& low = input.digits[i];
        LayoutDigit const& high = input.digits[i + 1];
        bool joins = true;
        for (int o = 0; o < rank; ++o) joins &= high.stride[o] == low.stride[o] * low.count;
        if (joins) {
          low.count *= high.count;
          input.digits.erase(input.digits.begin() + static_cast<std::ptrdiff_t>(i) + 1);
          changed = true;
        } else {
          ++i;
        }
      }
      if (input.digits.empty() || input.digits.front().count % 2 != 0 || input.bases.size() >= max_bits) continue;
      LayoutDigit& first = input.digits.front();
      int const output = single_component(first.stride);
      if (output >= 0 && first.stride[output] != atom_of(inputs, rank)[output]) continue;
      input.bases.push_back(first.stride);
      first.count /= 2;
      for (int o = 0; o < rank; ++o) first.stride[o] *= 2;
      changed = true;
    }
  }
  std::erase_if(inputs, [](LayoutInput const& input) { return input.bases.empty() && input.digits.empty(); });
}

/// Returns the extents when the digits tile every output, else a message.
std::string find_shape(std::vector<LayoutInput> const& inputs, Extents const& atom, Extents& shape) {
  shape = atom;
  for (int o = 0; o < atom.size(); ++o) {
    std::map<std::int64_t, std::int64_t> counts;
    for (LayoutInput const& input : inputs)
      for (LayoutDigit const& digit : input.digits)
        if (digit.stride[o] != 0 && !counts.emplace(digit.stride[o], digit.count).second)
          return fmt::format("layout: two repetitions with stride {} along output {}", digit.stride[o], o);
    for (auto const& [stride, count] : counts) {
      if (stride != shape[o])
        return fmt::format("layout: a repetition has stride {} along output {}, not {}", stride, o, shape[o]);
      if (count >= max_extent / shape[o]) return fmt::format("layout: output {} is too large", o);
      shape[o] *= count;
    }
  }
  std::int64_t total = 1;
  for (std::int64_t extent : shape) {
    if (extent >= max_extent / total) return "layout: the tile is too large";
    total *= extent;
  }
  return {};
}

std::vector<Dim> axes(int rank) {
  std::vector<Dim> result;
  for (int i = 0; i < rank; ++i) result.push_back(axis_dim(i));
  return result;
}

}  // namespace

std::int64_t LayoutInput::size() const {
  std::int64_t result = std::int64_t{1} << bases.size();
  for (LayoutDigit const& digit : digits) result *= digit.count;
  return result;
}

Layout const* Layout::intern(std::vector<LayoutInput> inputs, std::vector<Dim> outputs, std::string* error) {
  auto const fail = [&](std::string text) -> Layout const* {
    if (error != nullptr) *error = std::move(text);
    return nullptr;
  };
  int const rank = static_cast<int>(outputs.size());
  if (rank > max_rank) return fail("layout: more than 8 outputs");
  std::sort(inputs.begin(), inputs.end(), [](LayoutInput const& a, LayoutInput const& b) { return a.dim < b.dim; });
  if (std::string text = error_with_sizes(inputs, rank); !text.empty()) return fail(std::move(text));
  canonicalize(inputs, rank);
  Extents const atom = atom_of(inputs, rank);
  Extents shape;
  if (std::string text = find_shape(inputs, atom, shape); !text.empty()) return fail(std::move(text));

  static constinit support::Lock mutex;
  static constinit support::Lasting<std::map<std::string, std::unique_ptr<Layout>, std::less<>>> layouts;
  auto& table = layouts.get();
  std::string text = make_text(inputs, outputs);
  std::scoped_lock const lock(mutex);
  if (auto const found = table.find(text); found != table.end()) return found->second.get();
  std::unique_ptr<Layout> layout(new Layout);
  layout->inputs_ = std::move(inputs);
  layout->outputs_ = std::move(outputs);
  layout->atom_ = atom;
  layout->shape_ = shape;
  layout->text_ = text;
  layout->find_free_bits();
  return table.emplace(std::move(text), std::move(layout)).first->second.get();
}

Layout const* Layout::get(std::vector<LayoutInput> inputs, std::vector<Dim> outputs) {
  std::string error;
  Layout const* result = intern(std::move(inputs), std::move(outputs), &error);
  if (result == nullptr) throw InternalError(error);
  return result;
}

Layout const* Layout::get(std::vector<LayoutInput> inputs, int rank) { return get(std::move(inputs), axes(rank)); }

Layout const* Layout::try_get(std::vector<LayoutInput> inputs, int rank) {
  return intern(std::move(inputs), axes(rank), nullptr);
}

void Layout::find_free_bits() {
  Elimination elimination;
  int index = 0;
  for (LayoutInput const& input : inputs_) {
    std::uint32_t mask = 0;
    for (std::size_t bit = 0; bit < input.bases.size(); ++bit)
      if (!elimination.add(pack(input.bases[bit], atom_), index++)) mask |= 1U << bit;
    free_bits_.push_back(mask);
  }
  int wanted = 0;
  for (std::int64_t extent : atom_) wanted += std::countr_zero(static_cast<std::uint64_t>(extent));
  surjective_ = elimination.rank() == wanted;
}

LayoutInput const& Layout::input(Dim dim) const {
  static constinit support::Lasting<std::array<LayoutInput, dim_count>> all;
  std::array<LayoutInput, dim_count> const& none = all.get([] {
    auto result = std::make_unique<std::array<LayoutInput, dim_count>>();
    for (int i = 0; i < dim_count; ++i) (*result)[static_cast<std::size_t>(i)].dim = static_cast<Dim>(i);
    return result;
  });
  for (LayoutInput const& input : inputs_)
    if (input.dim == dim) return input;
  return none[static_cast<std::size_t>(dim)];
}

Extents Layout::part(Dim dim, std::int64_t index) const {
  LayoutInput const& in = input(dim);
  Extents result = zeros(rank());
  for (Extents const& basis : in.bases) {
    if ((index & 1) != 0)
      for (int o = 0; o < rank(); ++o) result[o] ^= basis[o];
    index >>= 1;
  }
  for (LayoutDigit const& digit : in.digits) {
    for (int o = 0; o < rank(); ++o) result[o] += index % digit.count * digit.stride[o];
    index /= digit.count;
  }
  return result;
}

Extents Layout::join(Extents const& a, Extents const& b) const {
  Extents result;
  for (int o = 0; o < rank(); ++o) {
    std::int64_t const low = atom_[o] - 1;
    result.push_back(((a[o] ^ b[o]) & low) + (a[o] & ~low) + (b[o] & ~low));
  }
  return result;
}

Extents Layout::at(std::int64_t reg, std::int64_t lane, std::int64_t warp, std::int64_t block) const {
  return join(join(part(Dim::reg, reg), part(Dim::lane, lane)), join(part(Dim::warp, warp), part(Dim::block, block)));
}

Extents Layout::apply(std::span<std::int64_t const> indices) const {
  Extents result = zeros(rank());
  for (std::size_t i = 0; i < inputs_.size(); ++i) result = join(result, part(inputs_[i].dim, indices[i]));
  return result;
}

bool Layout::surjective() const { return surjective_; }

bool Layout::injective() const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (free_bits_[i] != 0) return false;
    for (LayoutDigit const& digit : inputs_[i].digits)
      if (single_component(digit.stride) < 0) return false;
  }
  return true;
}

std::uint32_t Layout::free_bits(Dim dim) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i].dim == dim) return free_bits_[i];
  return 0;
}

bool Layout::owner(std::int64_t reg, std::int64_t lane, std::int64_t warp) const {
  auto const owns = [&](Dim dim, std::int64_t index) {
    if ((index & free_bits(dim)) != 0) return false;
    LayoutInput const& in = input(dim);
    index >>= in.bases.size();
    for (LayoutDigit const& digit : in.digits) {
      if (single_component(digit.stride) < 0 && index % digit.count != 0) return false;
      index /= digit.count;
    }
    return true;
  };
  return owns(Dim::reg, reg) && owns(Dim::lane, lane) && owns(Dim::warp, warp);
}

int Layout::contiguous(int axis) const {
  std::vector<Extents> const& bases = input(Dim::reg).bases;
  std::size_t bits = 0;
  while (bits < bases.size() && single_component(bases[bits]) == axis && bases[bits][axis] == std::int64_t{1} << bits)
    ++bits;
  for (LayoutInput const& in : inputs_)
    for (std::size_t bit = 0; bit < in.bases.size(); ++bit)
      while (bits > 0 && (in.dim != Dim::reg || bit >= bits) &&
             (in.bases[bit][axis] & ((std::int64_t{1} << bits) - 1)) != 0)
        --bits;
  return 1 << bits;
}

std::optional<ReductionPlan> Layout::reduction(int axis) const {
  ReductionPlan plan;
  for (Dim dim : {Dim::lane, Dim::warp, Dim::block}) {
    LayoutInput const& in = input(dim);
    for (std::size_t bit = 0; bit < in.bases.size(); ++bit) {
      if (in.bases[bit][axis] == 0) continue;
      if (dim == Dim::block || single_component(in.bases[bit]) != axis || ((free_bits(dim) >> bit) & 1) != 0)
        return std::nullopt;
      (dim == Dim::lane ? plan.lane_mask : plan.warp_mask) |= 1U << bit;
    }
    for (LayoutDigit const& digit : in.digits) {
      if (digit.stride[axis] == 0) continue;
      if (dim != Dim::warp) return std::nullopt;
      plan.warp_digits *= digit.count;
    }
  }
  return plan;
}

std::vector<int> Layout::registers_from(Layout const& source) const {
  if (outputs_ != source.outputs_ || shape_ != source.shape_ || atom_ != source.atom_) return {};
  for (Dim dim : {Dim::lane, Dim::warp, Dim::block})
    if (input(dim) != source.input(dim)) return {};
  auto const less = [](Extents const& a, Extents const& b) {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  };
  std::map<Extents, int, decltype(less)> holder(less);
  for (int r = 0; r < source.registers(); ++r) holder.emplace(source.part(Dim::reg, r), r);
  std::vector<int> result;
  for (int r = 0; r < registers(); ++r) {
    auto const found = holder.find(part(Dim::reg, r));
    if (found == holder.end()) return {};
    result.push_back(found->second);
  }
  return result;
}

}  // namespace tegula::layout
