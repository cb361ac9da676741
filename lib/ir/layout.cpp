#include "ir/layout.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <memory>
#include <mutex>

#include "tegula/support/error.hpp"

namespace tegula::ir {
namespace {

constexpr int max_bits = 30;                                // per input
constexpr std::int64_t max_extent = std::int64_t{1} << 40;  // per output

Extents zeros(int rank) {
  Extents result;
  for (int i = 0; i < rank; ++i) result.push_back(0);
  return result;
}

/// Position of the only component that is not 0; -1: all 0; -2: several.
int single_component(Extents const& vector) {
  int found = -1;
  for (int i = 0; i < vector.size(); ++i) {
    if (vector[i] == 0) continue;
    if (found >= 0) return -2;
    found = i;
  }
  return found;
}

std::int64_t power_of_two_part(std::int64_t value) { return value & -value; }

/// An F2 vector of at most 64 bits: the coordinates of one basis vector, end to end.
std::uint64_t pack(Extents const& vector, Extents const& atom) {
  std::uint64_t result = 0;
  int shift = 0;
  for (int i = 0; i < vector.size(); ++i) {
    result |= static_cast<std::uint64_t>(vector[i]) << shift;
    shift += std::countr_zero(static_cast<std::uint64_t>(atom[i]));
  }
  return result;
}

/// Gaussian elimination that remembers how each reduced row was made of columns.
class Elimination {
 public:
  /// True when the column is independent of those before.
  bool add(std::uint64_t column, int index) {
    std::uint64_t made_of = std::uint64_t{1} << index;
    for (Row const& row : rows_) {
      if (((column >> row.pivot) & 1) == 0) continue;
      column ^= row.value;
      made_of ^= row.made_of;
    }
    if (column == 0) return false;
    int const pivot = std::countr_zero(column);
    for (Row& row : rows_) {
      if (((row.value >> pivot) & 1) == 0) continue;
      row.value ^= column;
      row.made_of ^= made_of;
    }
    rows_.push_back({column, made_of, pivot});
    return true;
  }
  [[nodiscard]] int rank() const { return static_cast<int>(rows_.size()); }
  /// Which columns sum to `target`; it must be in their span.
  [[nodiscard]] std::uint64_t solve(std::uint64_t target) const {
    std::uint64_t result = 0;
    for (Row const& row : rows_)
      if (((target >> row.pivot) & 1) != 0) result ^= row.made_of;
    return result;
  }

 private:
  struct Row {
    std::uint64_t value;
    std::uint64_t made_of;
    int pivot;
  };
  std::vector<Row> rows_;
};

std::string trouble_with_sizes(std::vector<LayoutInput> const& inputs, int rank) {
  int bits = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    LayoutInput const& input = inputs[i];
    std::string const who(name(input.dim));
    if (i > 0 && inputs[i - 1].dim == input.dim) return "layout: input " + who + " is given twice";
    if (input.bases.size() > max_bits) return "layout: input " + who + " has more than 30 bits";
    bits += static_cast<int>(input.bases.size());
    for (Extents const& basis : input.bases) {
      if (basis.size() != rank)
        return "layout: a basis vector of " + who + " has " + std::to_string(basis.size()) + " components, not " +
               std::to_string(rank);
      for (std::int64_t value : basis)
        if (value < 0 || value >= max_extent) return "layout: a basis vector of " + who + " is out of range";
    }
    std::int64_t size = std::int64_t{1} << input.bases.size();
    for (LayoutDigit const& digit : input.digits) {
      if (digit.stride.size() != rank)
        return "layout: a stride of " + who + " has " + std::to_string(digit.stride.size()) + " components, not " +
               std::to_string(rank);
      if (digit.count < 1 || digit.count >= (std::int64_t{1} << max_bits) / size)
        return "layout: input " + who + " is too large";
      size *= digit.count;
      if (single_component(digit.stride) == -2) return "layout: a stride of " + who + " moves along two outputs";
      for (std::int64_t value : digit.stride)
        if (value < 0 || value >= max_extent) return "layout: a stride of " + who + " is out of range";
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

/// Makes bits of digits where that changes nothing, joins digits, drops digits of count 1.
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

/// Extents when the digits tile every output, else a message.
std::string find_shape(std::vector<LayoutInput> const& inputs, Extents const& atom, Extents& shape) {
  shape = atom;
  for (int o = 0; o < atom.size(); ++o) {
    std::map<std::int64_t, std::int64_t> counts;
    for (LayoutInput const& input : inputs)
      for (LayoutDigit const& digit : input.digits)
        if (digit.stride[o] != 0 && !counts.emplace(digit.stride[o], digit.count).second)
          return "layout: two repetitions with stride " + std::to_string(digit.stride[o]) + " along output " +
                 std::to_string(o);
    for (auto const& [stride, count] : counts) {
      if (stride != shape[o])
        return "layout: a repetition has stride " + std::to_string(stride) + " along output " + std::to_string(o) +
               ", not " + std::to_string(shape[o]);
      if (count >= max_extent / shape[o]) return "layout: output " + std::to_string(o) + " is too large";
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
  if (std::string text = trouble_with_sizes(inputs, rank); !text.empty()) return fail(std::move(text));
  canonicalize(inputs, rank);
  Extents const atom = atom_of(inputs, rank);
  Extents shape;
  if (std::string text = find_shape(inputs, atom, shape); !text.empty()) return fail(std::move(text));

  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Layout>, std::less<>> table;
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
  static auto const none = [] {
    std::array<LayoutInput, dim_count> result;
    for (int i = 0; i < dim_count; ++i) result[static_cast<std::size_t>(i)].dim = static_cast<Dim>(i);
    return result;
  }();
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

/// What a digit of `first` becomes after this layout: whole digits, or a part of one, of the input it moves along.
bool Layout::pass_digit(Layout const& first, LayoutDigit const& digit, std::vector<LayoutDigit>& result) const {
  int const o = single_component(digit.stride);
  if (o == -2) return false;
  if (o == -1) {
    result.push_back({digit.count, zeros(rank())});
    return true;
  }
  LayoutInput const& through = input(first.outputs_[static_cast<std::size_t>(o)]);
  std::int64_t at = digit.stride[o];  // where the rest of the digit begins, and how much of it is left
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
        if (single_component(basis) == -2) return nullptr;
        found->digits.push_back({2, basis});
      }
    } else {
      found->bases.insert(found->bases.end(), in.bases.begin(), in.bases.end());
    }
    found->digits.insert(found->digits.end(), in.digits.begin(), in.digits.end());
  }
  return intern(std::move(result), outputs_, nullptr);
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
  if (shape_[axis] != 1) throw InternalError("layout: squeezing an axis of extent " + std::to_string(shape_[axis]));
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

Layout const* Layout::blocked(Extents const& shape, Extents const& size_per_thread, Extents const& lanes,
                              Extents const& warps, Extents const& order) {
  int const rank = shape.size();
  Extents covered;
  for (int a = 0; a < rank; ++a) covered.push_back(1);
  auto const place = [&](std::vector<Extents>& bases, int axis, std::int64_t count) {
    for (; count > 1; count /= 2) {
      Extents basis = zeros(rank);
      if (covered[axis] < power_of_two_part(shape[axis])) {
        basis[axis] = covered[axis];
        covered[axis] *= 2;
      }
      bases.push_back(basis);
    }
  };
  LayoutInput reg{Dim::reg, {}, {}}, lane{Dim::lane, {}, {}}, warp{Dim::warp, {}, {}};
  for (std::int64_t a : order) place(reg.bases, static_cast<int>(a), size_per_thread[static_cast<int>(a)]);
  for (std::int64_t a : order) place(lane.bases, static_cast<int>(a), lanes[static_cast<int>(a)]);
  for (std::int64_t a : order) place(warp.bases, static_cast<int>(a), warps[static_cast<int>(a)]);
  for (std::int64_t a : order) {
    int const axis = static_cast<int>(a);
    place(reg.bases, axis, power_of_two_part(shape[axis]) / covered[axis]);
  }
  for (std::int64_t a : order) {
    Extents stride = zeros(rank);
    int const axis = static_cast<int>(a);
    stride[axis] = covered[axis];
    reg.digits.push_back({shape[axis] / covered[axis], stride});
  }
  return get({reg, lane, warp}, rank);
}

Layout const* Layout::blocked(Extents const& shape, Extents const& size_per_thread, int warps, Extents const& order) {
  Extents lanes, warps_along;
  for (int a = 0; a < shape.size(); ++a) {
    lanes.push_back(1);
    warps_along.push_back(1);
  }
  std::int64_t left_lanes = 32, left_warps = warps;
  for (std::int64_t a : order) {
    int const axis = static_cast<int>(a);
    std::int64_t room = power_of_two_part(shape[axis]) / size_per_thread[axis];
    lanes[axis] = std::min(room, left_lanes);
    left_lanes /= lanes[axis];
    room /= lanes[axis];
    warps_along[axis] = std::min(room, left_warps);
    left_warps /= warps_along[axis];
  }
  Layout const* layout = nullptr;
  if (shape.size() > 0) {
    int const last = static_cast<int>(order.back());
    lanes[last] *= left_lanes;
    warps_along[last] *= left_warps;
    layout = blocked(shape, size_per_thread, lanes, warps_along, order);
  } else {
    LayoutInput lane{Dim::lane, std::vector<Extents>(5), {}}, warp{Dim::warp, {}, {}};
    for (; left_warps > 1; left_warps /= 2) warp.bases.emplace_back();
    layout = get({lane, warp}, 0);
  }
  return layout;
}

Layout const* Layout::dense(Extents const& shape, Extents const& order) {
  LayoutInput offset{Dim::offset, {}, {}};
  for (std::int64_t a : order) {
    Extents stride = zeros(shape.size());
    stride[static_cast<int>(a)] = 1;
    offset.digits.push_back({shape[static_cast<int>(a)], stride});
  }
  return get({offset}, shape.size());
}

}  // namespace tegula::ir
