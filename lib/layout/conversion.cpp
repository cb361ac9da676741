#include "layout/conversion.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>

#include "layout/layout_detail.hpp"

namespace tegula::layout {
namespace {

using detail::Elimination;

constexpr int lane_count = 5;  // bits
constexpr std::uint64_t lane_mask = (1U << lane_count) - 1;

// Packs an index of a warp's values into one word: the lane in the low 5 bits, the register's bits above.
std::uint64_t lane_of(std::uint64_t index) { return index & lane_mask; }
std::uint64_t register_of(std::uint64_t index) { return index >> lane_count; }

/// Applies a linear map given by the images of the unit vectors.
std::uint64_t image(std::vector<std::uint64_t> const& columns, std::uint64_t index) {
  std::uint64_t result = 0;
  for (std::size_t bit = 0; bit < columns.size(); ++bit)
    if ((index >> bit & 1) != 0) result ^= columns[bit];
  return result;
}

/// Keeps a basis in echelon form; remembers the given vectors it came from.
class Span {
 public:
  /// False when the vector is in the span already.
  bool add(std::uint64_t vector) {
    std::uint64_t const rest = reduced(vector);
    if (rest == 0) return false;
    for (std::uint64_t& row : rows_)
      if ((row & std::bit_floor(rest)) != 0) row ^= rest;
    rows_.push_back(rest);
    return true;
  }
  [[nodiscard]] bool contains(std::uint64_t vector) const { return reduced(vector) == 0; }

 private:
  [[nodiscard]] std::uint64_t reduced(std::uint64_t vector) const {
    for (std::uint64_t row : rows_)
      if ((vector & std::bit_floor(row)) != 0) vector ^= row;
    return vector;
  }
  std::vector<std::uint64_t> rows_;
};

/// Returns the steps that XOR the register number with image(columns, lane): one per dimension of the image.
std::vector<ShufflePlan::Exchange> exchanges(std::vector<std::uint64_t> const& columns) {
  Elimination basis;
  std::vector<std::uint64_t> chosen;
  std::vector<ShufflePlan::Exchange> result;
  for (std::uint64_t column : columns)
    if (column != 0 && basis.add(column, static_cast<int>(chosen.size()))) {
      chosen.push_back(column);
      result.push_back({0, static_cast<std::uint32_t>(column)});
    }
  for (std::size_t bit = 0; bit < columns.size(); ++bit) {
    std::uint64_t const combination = columns[bit] != 0 ? basis.solve(columns[bit]) : 0;
    for (std::size_t i = 0; i < result.size(); ++i)
      if ((combination >> i & 1) != 0) result[i].lanes |= 1U << bit;
  }
  return result;
}

/// Holds both layouts as linear maps from an index of a warp's values to packed coordinates, digits of registers aside.
struct Columns {
  std::vector<std::uint64_t> from, to;  // lane bits, then register bits
};

std::optional<Columns> columns_of(Layout const& from, Layout const& to) {
  if (from.shape() != to.shape() || from.atom() != to.atom()) return std::nullopt;
  for (Dim dim : {Dim::warp, Dim::block})
    if (from.input(dim) != to.input(dim)) return std::nullopt;
  Columns columns;
  for (bool first : {true, false}) {
    Layout const& layout = first ? from : to;
    auto& result = first ? columns.from : columns.to;
    LayoutInput const& lane = layout.input(Dim::lane);
    if (lane.bases.size() != lane_count || !lane.digits.empty()) return std::nullopt;
    for (Extents const& basis : lane.bases) result.push_back(detail::pack(basis, layout.atom()));
    for (Extents const& basis : layout.input(Dim::reg).bases) result.push_back(detail::pack(basis, layout.atom()));
  }
  return columns;
}

/// Finds, for each index of the destination, an index of the source with the same element, as a linear map. It prefers
/// the own lane and registers to other lanes. Nothing when a warp does not hold an element that it needs.
std::optional<std::vector<std::uint64_t>> find_sources(Columns const& columns) {
  Elimination registers, all;
  Span of_registers, of_all;
  std::vector<std::uint64_t> order;  // register bits, then lane bits, as indices of the source
  for (std::size_t bit = lane_count; bit < columns.from.size(); ++bit) order.push_back(std::uint64_t{1} << bit);
  for (int bit = 0; bit < lane_count; ++bit) order.push_back(std::uint64_t{1} << bit);
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::uint64_t const column = image(columns.from, order[i]);
    all.add(column, static_cast<int>(i));
    of_all.add(column);
    if (i >= columns.from.size() - lane_count) continue;
    registers.add(column, static_cast<int>(i));
    of_registers.add(column);
  }
  std::vector<std::uint64_t> sources;
  for (std::size_t bit = 0; bit < columns.to.size(); ++bit) {
    std::uint64_t wanted = columns.to[bit], source = 0;
    bool const is_lane = bit < lane_count;
    if (is_lane && of_registers.contains(wanted ^ columns.from[bit])) {
      wanted ^= columns.from[bit];
      source = std::uint64_t{1} << bit;
    }
    bool const in_thread = of_registers.contains(wanted);
    if (!in_thread && !of_all.contains(wanted)) return std::nullopt;
    sources.push_back(source ^ image(order, (in_thread ? registers : all).solve(wanted)));
  }
  return sources;
}

/// Pairs lanes in each round, in which every lane sends one register and gets one. So the indices that a round delivers
/// must differ in their destination lane and, unless they are one value, in their source lane. They are a common
/// complement of two subspaces, which exists unless fewer lanes hold the values than need them.
struct Rounds {
  std::vector<std::uint64_t> indices;  // per lane bit: the index whose lane it is, in the round of register 0
};

/// Finds indices of the destination that span those whose source lies in lane 0: the kernel of "lane there", by
/// elimination over lane parts.
std::vector<std::uint64_t> indices_in_one_lane(std::vector<std::uint64_t> const& sources) {
  Elimination lanes;
  Span of_lanes;
  std::vector<std::uint64_t> pivots, inside;
  for (std::size_t bit = 0; bit < sources.size(); ++bit) {
    std::uint64_t const lane = lane_of(sources[bit]);
    std::uint64_t const unit = std::uint64_t{1} << bit;
    if (of_lanes.add(lane)) {
      lanes.add(lane, static_cast<int>(pivots.size()));
      pivots.push_back(unit);
    } else {
      inside.push_back(unit ^ (lane == 0 ? 0 : image(pivots, lanes.solve(lane))));
    }
  }
  return inside;
}

/// Finds a common complement of the indices of one thread and of those whose sources lie in one lane; nothing: there is
/// none.
std::optional<std::vector<std::uint64_t>> common_complement(std::vector<std::uint64_t> const& sources) {
  // All in the source's space: the span of the destination's registers, and that of one lane there.
  Span of_registers, of_lane;
  std::vector<std::uint64_t> register_side;  // preimages that span L(registers)
  for (std::size_t bit = lane_count; bit < sources.size(); ++bit)
    if (of_registers.add(sources[bit])) register_side.push_back(std::uint64_t{1} << bit);
  std::vector<std::uint64_t> const inside = indices_in_one_lane(sources);
  for (std::uint64_t index : inside) of_lane.add(image(sources, index));

  // P: registers' span beyond the common part; Q: one lane's span beyond it; then the vectors that neither reaches.
  Span common_and_p = of_lane, common_and_q = of_registers;
  std::vector<std::uint64_t> p, q, basis;
  for (std::uint64_t index : register_side)
    if (common_and_p.add(image(sources, index))) p.push_back(index);
  for (std::uint64_t index : inside)
    if (common_and_q.add(image(sources, index))) q.push_back(index);
  if (q.size() > p.size()) return std::nullopt;
  Span of_both = common_and_q;
  for (std::size_t i = 0; i < q.size(); ++i) basis.push_back(p[i] ^ q[i]);
  for (std::size_t bit = 0; bit < sources.size(); ++bit)  // lanes first, of which no register changes
    if (of_both.add(sources[bit])) basis.push_back(std::uint64_t{1} << bit);
  return basis;
}

/// Adds lanes that get the same value as another: the kernel of `sources`, beyond the registers.
void add_equal_lanes(std::vector<std::uint64_t>& basis, std::vector<std::uint64_t> const& sources) {
  std::size_t const bits = sources.size();
  Elimination images;
  Span of_images;
  std::vector<std::uint64_t> independent;
  Span lanes_used;
  for (std::uint64_t index : basis) lanes_used.add(lane_of(index));
  for (std::size_t n = 0; n < bits; ++n) {
    std::size_t const bit = n < bits - lane_count ? n + lane_count : n - (bits - lane_count);
    std::uint64_t const unit = std::uint64_t{1} << bit;
    if (of_images.add(sources[bit])) {
      images.add(sources[bit], static_cast<int>(independent.size()));
      independent.push_back(unit);
      continue;
    }
    std::uint64_t const same = unit ^ (sources[bit] == 0 ? 0 : image(independent, images.solve(sources[bit])));
    if (lane_of(same) != 0 && lanes_used.add(lane_of(same))) basis.push_back(same);
  }
}

std::optional<Rounds> find_rounds(std::vector<std::uint64_t> const& sources) {
  auto basis = common_complement(sources);
  if (!basis) return std::nullopt;
  add_equal_lanes(*basis, sources);
  // Solve for each lane bit.
  Elimination by_lane;
  Span reached;
  std::vector<std::uint64_t> used;
  for (std::uint64_t index : *basis) {
    if (!reached.add(lane_of(index))) return std::nullopt;
    by_lane.add(lane_of(index), static_cast<int>(used.size()));
    used.push_back(index);
  }
  if (used.size() != lane_count) return std::nullopt;
  Rounds rounds;
  for (int bit = 0; bit < lane_count; ++bit)
    rounds.indices.push_back(image(used, by_lane.solve(std::uint64_t{1} << bit)));
  return rounds;
}

/// Matches the registers of `from` whose repetitions lead to the same place as those of `to`. Returns, per repetition
/// of `to`, the first register.
std::optional<std::vector<std::int64_t>> match_repetitions(Layout const& from, Layout const& to) {
  std::int64_t const from_atom = std::int64_t{1} << from.input(Dim::reg).bases.size();
  std::int64_t const to_atom = std::int64_t{1} << to.input(Dim::reg).bases.size();
  auto const less = [](Extents const& a, Extents const& b) {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  };
  std::map<Extents, std::int64_t, decltype(less)> places(less);
  for (std::int64_t r = 0; r < from.registers(); r += from_atom) places.emplace(from.part(Dim::reg, r), r);
  std::vector<std::int64_t> result;
  for (std::int64_t r = 0; r < to.registers(); r += to_atom) {
    auto const found = places.find(to.part(Dim::reg, r));
    if (found == places.end()) return std::nullopt;
    result.push_back(found->second);
  }
  return result;
}

ShufflePlan plan_of(std::vector<std::uint64_t> const& sources, std::vector<std::int64_t> const& repetitions) {
  ShufflePlan plan;
  std::uint64_t const registers = std::uint64_t{1} << (sources.size() - lane_count);
  auto const rounds = find_rounds(sources);
  if (!rounds) {
    // Every lane reads all that any lane needs from where it reads, then picks: a lane does not send the same to all.
    std::vector<std::uint64_t> picks;
    for (int bit = 0; bit < lane_count; ++bit) {
      std::uint64_t const source = sources[static_cast<std::size_t>(bit)];
      plan.lane_bits[static_cast<std::size_t>(bit)] = static_cast<int>(lane_of(source));
      picks.push_back(register_of(source));
    }
    std::vector<std::uint64_t> differences;
    plan.after = exchanges(picks);
    for (std::size_t i = 0; i < plan.after.size(); ++i) {
      differences.push_back(plan.after[i].registers);
      plan.after[i].registers = 1U << i;
    }
    for (std::int64_t first : repetitions)
      for (std::uint64_t r = 0; r < registers; ++r) {
        std::uint64_t const source = image(sources, r << lane_count);
        plan.result.push_back(static_cast<int>(plan.shuffles.size()));
        for (std::uint64_t pick = 0; pick < std::uint64_t{1} << differences.size(); ++pick)
          plan.shuffles.push_back(
              {static_cast<int>(first + static_cast<std::int64_t>(register_of(source) ^ image(differences, pick))),
               static_cast<int>(lane_of(source))});
      }
    return plan;
  }
  // Gives lane l, in round r, destination register r ^ here(l), from the source index sources(r) ^ there(l).
  std::vector<std::uint64_t> here, there;
  for (std::uint64_t index : rounds->indices) {
    here.push_back(register_of(index));
    there.push_back(image(sources, index));
  }
  // The register that a lane sends is a linear function of the lane's number.
  Elimination senders;
  Span of_senders;
  std::vector<std::uint64_t> sent;
  for (std::uint64_t source : there)
    if (of_senders.add(lane_of(source))) {
      senders.add(lane_of(source), static_cast<int>(sent.size()));
      sent.push_back(register_of(source));
    }
  // Complete to all lanes: a lane without readers sends anything.
  std::size_t const known = sent.size();
  for (int bit = 0; bit < lane_count; ++bit)
    if (of_senders.add(std::uint64_t{1} << bit)) senders.add(std::uint64_t{1} << bit, static_cast<int>(known) + bit);
  auto const sends = [&](std::uint64_t lane) {
    std::uint64_t const combination = lane == 0 ? 0 : senders.solve(lane);
    return image(sent, combination & ((std::uint64_t{1} << known) - 1));
  };
  std::vector<std::uint64_t> sends_columns;
  for (int bit = 0; bit < lane_count; ++bit) {
    sends_columns.push_back(sends(std::uint64_t{1} << bit));
    plan.lane_bits[static_cast<std::size_t>(bit)] = static_cast<int>(lane_of(there[static_cast<std::size_t>(bit)]));
  }
  plan.before = exchanges(sends_columns);
  plan.after = exchanges(here);
  for (std::int64_t first : repetitions)
    for (std::uint64_t r = 0; r < registers; ++r) {
      std::uint64_t const source = image(sources, r << lane_count);
      std::uint64_t const reg = register_of(source) ^ sends(lane_of(source));
      plan.result.push_back(static_cast<int>(plan.shuffles.size()));
      plan.shuffles.push_back(
          {static_cast<int>(first + static_cast<std::int64_t>(reg)), static_cast<int>(lane_of(source))});
    }
  return plan;
}

/// Names a bit of one axis' coordinate.
struct AxisBit {
  int axis;
  int bit;
};

/// Returns the only bit that is set in a vector, if there is one.
std::optional<AxisBit> only_bit(Extents const& vector) {
  std::optional<AxisBit> result;
  for (int axis = 0; axis < vector.size(); ++axis) {
    if (vector[axis] == 0) continue;
    auto const bits = static_cast<std::uint64_t>(vector[axis]);
    if (result || !std::has_single_bit(bits)) return std::nullopt;
    result = {axis, std::countr_zero(bits)};
  }
  return result;
}

/// Returns the layout of the elements whose coordinate has a 0 in this bit, which one bit of the register's number says
/// alone. Null if another input says it too.
Layout const* without(Layout const& layout, int register_bit, AxisBit at) {
  std::vector<LayoutInput> inputs(layout.inputs().begin(), layout.inputs().end());
  std::int64_t const below = (std::int64_t{1} << at.bit) - 1;
  for (LayoutInput& input : inputs) {
    if (input.dim == Dim::reg) input.bases.erase(input.bases.begin() + register_bit);
    for (Extents& basis : input.bases) {
      std::int64_t& coordinate = basis[at.axis];
      if ((coordinate >> at.bit & 1) != 0) return nullptr;
      coordinate = (coordinate & below) | (coordinate >> 1 & ~below);
    }
    for (LayoutDigit& digit : input.digits) digit.stride[at.axis] /= 2;  // a multiple of the atom's extent
  }
  return Layout::try_get(std::move(inputs), layout.rank());
}

}  // namespace

int WordConversion::register_of(int word, int element, std::vector<int> const& bits) {
  std::vector<int> order(bits);  // of insertion, lowest first
  std::sort(order.begin(), order.end());
  for (int bit : order) word = (word & ((1 << bit) - 1)) | (word >> bit << (bit + 1));
  for (std::size_t i = 0; i < bits.size(); ++i) word |= (element >> i & 1) << bits[i];
  return word;
}

WordConversion words_of(Layout const& from, Layout const& to, int most) {
  WordConversion result{&from, &to, {}, {}};
  if (from.shape() != to.shape()) return result;
  // Numbers of the bits that are left, as they were.
  std::vector<int> from_left, to_left;
  for (std::size_t i = 0; i < from.input(Dim::reg).bases.size(); ++i) from_left.push_back(static_cast<int>(i));
  for (std::size_t i = 0; i < to.input(Dim::reg).bases.size(); ++i) to_left.push_back(static_cast<int>(i));
  for (std::size_t i = 0; i < from_left.size() && static_cast<int>(result.from_bits.size()) < most;) {
    auto const& from_bases = result.from->input(Dim::reg).bases;
    auto const& to_bases = result.to->input(Dim::reg).bases;
    auto const same = std::find(to_bases.begin(), to_bases.end(), from_bases[i]);
    std::optional<AxisBit> const at = only_bit(from_bases[i]);
    auto const j = same - to_bases.begin();
    Layout const* const less_from =
        at && same != to_bases.end() ? without(*result.from, static_cast<int>(i), *at) : nullptr;
    Layout const* const less_to = less_from != nullptr ? without(*result.to, static_cast<int>(j), *at) : nullptr;
    if (less_to == nullptr) {
      ++i;
      continue;
    }
    result.from_bits.push_back(from_left[i]);
    result.to_bits.push_back(to_left[static_cast<std::size_t>(j)]);
    from_left.erase(from_left.begin() + static_cast<std::ptrdiff_t>(i));
    to_left.erase(to_left.begin() + j);
    result.from = less_from;
    result.to = less_to;
  }
  return result;
}

int ShufflePlan::source_lane(Shuffle const& shuffle, int lane) const {
  int from = shuffle.lane;
  for (std::size_t bit = 0; bit < lane_bits.size(); ++bit)
    if ((lane >> bit & 1) != 0) from ^= lane_bits[bit];
  return from;
}

bool ShufflePlan::reads_own_lane(Shuffle const& shuffle) const {
  return shuffle.lane == 0 && lane_bits == std::array<int, 5>{1, 2, 4, 8, 16};
}

int ShufflePlan::instructions() const {
  return static_cast<int>(std::count_if(shuffles.begin(), shuffles.end(),
                                        [&](Shuffle const& shuffle) { return !reads_own_lane(shuffle); }));
}

Conversion conversion(Layout const& from, Layout const& to) {
  Conversion result;
  result.moves = to.registers_from(from);
  if (!result.moves.empty()) {
    bool same = from.registers() == to.registers();
    for (std::size_t r = 0; r < result.moves.size(); ++r) same &= result.moves[r] == static_cast<int>(r);
    result.kind = same ? ConversionKind::none : ConversionKind::moves;
    return result;
  }
  auto const columns = columns_of(from, to);
  if (!columns) return result;
  auto const repetitions = match_repetitions(from, to);
  if (!repetitions) return result;
  auto const sources = find_sources(*columns);
  if (!sources) return result;
  result.kind = ConversionKind::shuffles;
  result.shuffle = plan_of(*sources, *repetitions);
  return result;
}

}  // namespace tegula::layout
