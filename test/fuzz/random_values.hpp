// Draws what random IR is made of: shapes, elements and constants. Integers often have the edges of their range, and of
// the range of shift amounts.
#pragma once

#include <cstdint>
#include <iterator>
#include <limits>
#include <vector>

#include "ir/core/builder.hpp"
#include "support/random.hpp"

namespace tegula::fuzz {

using test::Random;

/// Draws shapes, elements and constants. `anywhere`: of kernels that give the same bits on every executor.
class RandomValues {
 public:
  RandomValues(std::uint64_t seed, bool on_all) : random(seed), anywhere(on_all) {}

  static std::vector<Extents> const& shapes() {
    static std::vector<Extents> const list = {{8},    {1},    {4, 8},    {4, 1},    {1, 8},
                                              {8, 4}, {8, 8}, {2, 4, 8}, {1, 4, 8}, {3, 5}};
    return list;
  }
  [[nodiscard]] Extents shape() {
    static std::vector<Extents> const few = {{8}, {8}, {8}, {4, 8}, {4, 8}, {4, 1}};  // so that values meet
    return random.pick(anywhere ? few : shapes());
  }
  Element element() {
    static std::vector<Element> const integers = {Element::i32, Element::u32, Element::i64, Element::u64};
    if (anywhere && random.chance(60)) return random.pick(integers);
    if (random.chance(40)) return static_cast<Element>(random.below(element_count));
    static std::vector<Element> const list = {Element::f32, Element::f32, Element::i32, Element::u32,
                                              Element::i64, Element::i64, Element::u64, Element::f16};
    return random.pick(list);
  }
  /// Draws an element that arithmetic takes, or booleans.
  Element computed_element() {
    for (;;)
      if (Element const e = element(); is_arithmetic(e) || e == Element::boolean) return e;
  }

  /// Draws an edge of an integer's range, or of the amounts by which some integer is shifted.
  ir::Constant edge(Element of) {
    std::int64_t const width = bits(of), high = std::int64_t{1} << 32;
    std::int64_t const any_amount[] = {0, 1, width - 1, width, width + 1, 31, 32, 33, 63, 64, 65, -1, -width};
    std::int64_t const wide[] = {std::int64_t{1} << 31,
                                 high,
                                 high + random.below(70),
                                 high - 1,
                                 3 * high + 5,
                                 min_integer(of),
                                 max_integer(of),
                                 min_integer(of) + 1,
                                 max_integer(of) - 1,
                                 std::numeric_limits<std::int64_t>::min()};
    auto const drawn = [&](auto const& list) { return list[random.below(static_cast<int>(std::size(list)))]; };
    return ir::make_constant(of, random.chance(60) ? drawn(any_amount) : drawn(wide));
  }

  /// Draws a constant; half of the time one that identities are about.
  ir::Constant constant(Element of) {
    static std::vector<double> const neutral = {0, 0, 1, 1, -1};
    if (of == Element::boolean) return {of, static_cast<std::uint64_t>(random.below(2))};
    if (is_integer(of)) {
      if (random.chance(25)) return edge(of);
      static std::vector<std::int64_t> const list = {0, 0, 0, 1, 1,  1,  2,  2,  3,  4,  5,  7,
                                                     8, 0, 1, 1, -1, 16, 24, -1, -2, -8, 100};
      return ir::make_constant(of, random.pick(list));
    }
    if (random.chance(50)) return ir::make_constant(of, random.pick(neutral));
    static std::vector<double> const list = {0, -0.0, 1, 1, -1, 2, 0.5, 0.25, 3, -7.5, 1e-3, 100, 1e30};
    return ir::make_constant(of, random.pick(list));
  }

  Random random;
  bool const anywhere;
};

}  // namespace tegula::fuzz
