#include "target/matrix_access.hpp"

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
    return fail("elements of " + std::to_string(element_bytes) + " bytes");
  if (map.lanes() != 32) return fail(std::to_string(map.lanes()) + " lanes");
  int const packed = 4 / element_bytes;
  if (map.registers() % packed != 0)
    return fail(std::to_string(map.registers()) + " registers do not fill registers of 32 bits");

  // Gives the byte within the 16-byte row that a part moves by; its high part must keep rows whole.
  std::int64_t const row = 16 / element_bytes;
  auto const within = [&](Part part) { return part.high % row == 0 ? part.low % row * element_bytes : -1; };
  for (int l = 0; l < 32; ++l) {
    // Finds the lanes that share a row, and the place of each in it.
    int const first = transposed ? l % 4 : l / 4 * 4;
    std::int64_t const wanted = transposed ? 2 * (l / 4) : 4 * (l % 4);
    if (within(map.of(layout::Dim::lane, first)) != 0)
      return fail("the row of lane " + std::to_string(first) + " does not begin at a multiple of 16 bytes");
    Part const start = map.of(layout::Dim::lane, first), found = map.of(layout::Dim::lane, l);
    if (!(found == join(start, {wanted / element_bytes, 0})))
      return fail("lane " + std::to_string(l) + " would reach " + std::to_string(wanted) + " bytes beyond lane " +
                  std::to_string(first) + ", its element lies " +
                  std::to_string((found.low + found.high - start.low - start.high) * element_bytes) + " bytes beyond");
  }
  for (int w = 0; w < map.warps(); ++w)
    if (within(map.of(layout::Dim::warp, w)) != 0)
      return fail("the rows of warp " + std::to_string(w) + " do not begin at a multiple of 16 bytes");

  std::vector<Unit> units;
  for (int r = 0; r < map.registers(); r += packed) {
    Unit unit{{}, map.of(layout::Dim::reg, r)};
    for (int i = 0; i < packed; ++i) {
      Part const part = map.of(layout::Dim::reg, r + i);
      if (within(part) != (transposed ? 0 : i * element_bytes) ||
          (!transposed && !(Part{part.low - i, part.high} == unit.first)))
        return fail("registers " + std::to_string(r) + " and " + std::to_string(r + i) +
                    " do not lie as one of 32 bits");
      unit.registers.push_back(r + i);
    }
    if (transposed && !(difference(map.of(layout::Dim::reg, r + 1), unit.first) ==
                        difference(map.of(layout::Dim::reg, 1), map.of(layout::Dim::reg, 0))))
      return fail("the rows of registers " + std::to_string(r) + " and " + std::to_string(r + 1) +
                  " are apart otherwise than those of registers 0 and 1");
    units.push_back(std::move(unit));
  }

  MatrixPlan plan;
  plan.transposed = transposed;
  if (transposed)
    plan.lane_bits = {difference(map.of(layout::Dim::reg, 1), map.of(layout::Dim::reg, 0)),
                      map.of(layout::Dim::lane, 1), map.of(layout::Dim::lane, 2), Part{}, Part{}};
  else
    plan.lane_bits = {map.of(layout::Dim::lane, 4), map.of(layout::Dim::lane, 8), map.of(layout::Dim::lane, 16), Part{},
                      Part{}};
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
