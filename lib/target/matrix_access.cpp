#include "target/matrix_access.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tegula::target {
namespace {

using Part = layout::AccessMap::Part;

bool operator==(Part a, Part b) { return a.low == b.low && a.high == b.high; }
Part join(Part a, Part b) { return {a.low ^ b.low, a.high + b.high}; }
Part difference(Part a, Part b) { return {a.low ^ b.low, a.high - b.high}; }

/// Holds the elements that one 32-bit register packs, and the place of the first.
struct Unit {
  std::vector<int> registers;
  Part first;
};

/// Finds the bits of the matrix number, if all groups of `count` units differ alike.
bool uniform(std::vector<Unit> const& units, std::size_t count, std::array<Part, 5>& lane_bits) {
  if (units.size() % count != 0) return false;
  Part const one = count > 1 ? difference(units[1].first, units[0].first) : Part{};
  Part const two = count > 2 ? difference(units[2].first, units[0].first) : Part{};
  for (std::size_t u = 0; u < units.size(); ++u) {
    Part expected = units[u / count * count].first;
    if ((u % count & 1) != 0) expected = join(expected, one);
    if ((u % count & 2) != 0) expected = join(expected, two);
    if (!(units[u].first == expected)) return false;
  }
  lane_bits[3] = one;
  lane_bits[4] = two;
  return true;
}

/// Asks an access map, in the terms of one form of the instructions, for its rows of 16 bytes and its registers.
class RowsOfMap {
 public:
  RowsOfMap(layout::AccessMap const& map, int element_bytes, bool transposed)
      : map_(map), element_bytes_(element_bytes), transposed_(transposed), row_(16 / element_bytes) {}

  /// Says why lanes or warps do not reach the places in rows that the instructions give them; empty: they do.
  [[nodiscard]] std::string lanes_finding() const {
    for (int l = 0; l < 32; ++l) {
      // Finds the lanes that share a row, and the place of each in it.
      int const first = transposed_ ? l % 4 : l / 4 * 4;
      std::int64_t const wanted = transposed_ ? 2 * (l / 4) : 4 * (l % 4);
      Part const start = map_.of(layout::Dim::lane, first), found = map_.of(layout::Dim::lane, l);
      if (within(start) != 0) return fmt::format("the row of lane {} does not begin at a multiple of 16 bytes", first);
      if (!(found == join(start, {wanted / element_bytes_, 0})))
        return fmt::format("lane {} would reach {} bytes beyond lane {}, its element lies {} bytes beyond", l, wanted,
                           first, (found.low + found.high - start.low - start.high) * element_bytes_);
    }
    for (int w = 0; w < map_.warps(); ++w)
      if (within(map_.of(layout::Dim::warp, w)) != 0)
        return fmt::format("the rows of warp {} do not begin at a multiple of 16 bytes", w);
    return {};
  }
  /// Joins registers to units of 32 bits; returns the reason why they do not lie so, empty: they do.
  std::string join_registers(std::vector<Unit>& units) const {
    int const packed = 4 / element_bytes_;
    for (int r = 0; r < map_.registers(); r += packed) {
      Unit unit{{}, map_.of(layout::Dim::reg, r)};
      for (int i = 0; i < packed; ++i) {
        if (!in_unit(unit, r + i, i)) return fmt::format("registers {} and {} do not lie as one of 32 bits", r, r + i);
        unit.registers.push_back(r + i);
      }
      if (transposed_ && !(difference(map_.of(layout::Dim::reg, r + 1), unit.first) == next_row()))
        return fmt::format("the rows of registers {} and {} are apart otherwise than those of registers 0 and 1", r,
                           r + 1);
      units.push_back(std::move(unit));
    }
    return {};
  }
  /// Returns what the bits of a lane's number add to the place of its row; the bits of the matrix are not known yet.
  [[nodiscard]] std::array<Part, 5> lane_bits() const {
    auto const of_lane = [&](int lane) { return map_.of(layout::Dim::lane, lane); };
    if (transposed_) return {next_row(), of_lane(1), of_lane(2), Part{}, Part{}};
    return {of_lane(4), of_lane(8), of_lane(16), Part{}, Part{}};
  }

 private:
  /// Returns the byte within the 16-byte row that a part moves by; its high part must keep rows whole.
  [[nodiscard]] std::int64_t within(Part part) const {
    return part.high % row_ == 0 ? part.low % row_ * element_bytes_ : -1;
  }
  [[nodiscard]] Part next_row() const { return difference(map_.of(layout::Dim::reg, 1), map_.of(layout::Dim::reg, 0)); }
  /// Tells whether a register is the unit's one of that number.
  [[nodiscard]] bool in_unit(Unit const& unit, int reg, int number) const {
    Part const part = map_.of(layout::Dim::reg, reg);
    if (transposed_) return within(part) == 0;
    return within(part) == number * element_bytes_ && Part{part.low - number, part.high} == unit.first;
  }

  layout::AccessMap const& map_;
  int element_bytes_;
  bool transposed_;
  std::int64_t row_;  ///< elements of 16 bytes
};

}  // namespace

std::int64_t MatrixPlan::row(MatrixStep const& step, int lane, Part warp) const {
  Part sum = join(step.first, warp);
  for (std::size_t bit = 0; bit < lane_bits.size(); ++bit)
    if ((lane >> bit & 1) != 0) sum = join(sum, lane_bits[bit]);
  return sum.low + sum.high;
}

std::optional<MatrixPlan> matrix_plan(layout::AccessMap const& map, int element_bytes, bool transposed,
                                      std::string& why) {
  auto const fail = [&](std::string const& text) -> std::optional<MatrixPlan> {
    why = std::string(transposed ? "matrix access .trans: " : "matrix access: ") + text;
    return std::nullopt;
  };
  if (transposed ? element_bytes != 2 : element_bytes != 1 && element_bytes != 2 && element_bytes != 4)
    return fail(fmt::format("elements of {} bytes", element_bytes));
  if (map.lanes() != 32) return fail(fmt::format("{} lanes", map.lanes()));
  int const packed = 4 / element_bytes;
  if (map.registers() % packed != 0)
    return fail(fmt::format("{} registers do not fill registers of 32 bits", map.registers()));

  RowsOfMap const rows(map, element_bytes, transposed);
  if (std::string const found = rows.lanes_finding(); !found.empty()) return fail(found);
  std::vector<Unit> units;
  if (std::string const found = rows.join_registers(units); !found.empty()) return fail(found);

  MatrixPlan plan;
  plan.transposed = transposed;
  plan.lane_bits = rows.lane_bits();
  for (int count : {4, 2, 1})
    if (uniform(units, static_cast<std::size_t>(count), plan.lane_bits)) {
      plan.matrices = count;
      break;
    }
  for (std::size_t u = 0; u < units.size(); u += static_cast<std::size_t>(plan.matrices)) {
    MatrixStep step;
    step.first = units[u].first;
    for (int j = 0; j < plan.matrices; ++j) step.registers.push_back(units[u + static_cast<std::size_t>(j)].registers);
    plan.steps.push_back(std::move(step));
  }
  return plan;
}

layout::BankCost bank_cost(layout::AccessMap const& map, MatrixPlan const& plan, int element_bytes) {
  layout::BankCost max;
  for (int w = 0; w < map.warps(); ++w) {
    layout::BankCost sum;
    for (MatrixStep const& step : plan.steps) {
      std::vector<std::int64_t> addresses;
      for (int l = 0; l < 8 * plan.matrices; ++l)
        addresses.push_back(plan.row(step, l, map.of(layout::Dim::warp, w)) * element_bytes);
      layout::BankCost const one = layout::bank_cost(addresses, 16);
      sum.wavefronts += one.wavefronts;
      sum.min += one.min;
    }
    if (sum.wavefronts > max.wavefronts) max = sum;
  }
  return max;
}

std::optional<SharedPlan> shared_plan(layout::Layout const& registers, layout::Layout const& memory, Element element,
                                      bool stores, std::string& why) {
  constexpr int widest = 16;
  int const size = bytes(element);
  auto map = layout::AccessMap::get(registers, memory, why);
  if (!map) return std::nullopt;
  layout::VectorPlan vectors = layout::vector_plan(*map, size, widest);
  SharedPlan plan{*std::move(map), std::move(vectors), std::nullopt};
  bool const copies = !plan.vectors.copies.empty() || (stores && !registers.injective());
  if (copies || plan.vectors.width * size >= widest || element == Element::boolean) return plan;
  std::string reason;
  plan.matrices = matrix_plan(plan.map, size, false, reason);
  if (!plan.matrices) plan.matrices = matrix_plan(plan.map, size, true, reason);
  return plan;
}

layout::BankCost bank_cost(SharedPlan const& plan, int element_bytes) {
  return plan.matrices ? bank_cost(plan.map, *plan.matrices, element_bytes)
                       : bank_cost(plan.map, plan.vectors, element_bytes);
}

}  // namespace tegula::target
