// Provides tiles for generators of tile kernels. They know the max magnitude of their elements and the max difference
// of executors. So values stay whole numbers that every element holds exactly, wherever possible.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/kernel_writer.hpp"

namespace tegula::fuzz {

class TileWriter : protected test::KernelWriter {
 protected:
  using KernelWriter::KernelWriter;

  /// Describes a tile with the max magnitude of its elements and the max difference of executors (0: none). A bound of
  /// infinity: elements of any size, NaN and infinities, computed only by ops whose results no executor may choose.
  struct Tile : Entry {
    double bound = 0;
    double error = 0;
    [[nodiscard]] bool wild() const { return std::isinf(bound); }
  };
  static constexpr double any_size = std::numeric_limits<double>::infinity();
  struct Loop {
    std::string index;   ///< counts lower, lower + step, ...
    std::string number;  ///< counts 0, 1, ...
    std::int64_t trips = 0;
    std::string source;               ///< the tensor whose last axis says how often, in blocks of k; empty: none
    Element element = Element::bf16;  ///< of that tensor
  };
  struct Scope {
    std::vector<Tile> pool;
    std::vector<Loop> loops;
    std::vector<Tile> operands;  ///< of products
    [[nodiscard]] std::int64_t turns() const {
      std::int64_t product = 1;
      for (Loop const& loop : loops) product *= loop.trips;
      return product;
    }
  };

  // ---- numbers
  /// Up to which all whole numbers are elements.
  static double max(Element element) {
    if (is_integer(element)) return std::min(static_cast<double>(max_integer(element)), 1e9);
    return element == Element::f32 ? 0x1p22 : std::ldexp(1, info(element).mantissa + 1);
  }
  static double rounding(Element element, double bound) {
    return bound * (element == Element::f32 ? 0x1p-21 : std::ldexp(1, -info(element).mantissa));
  }
  /// Returns the element in which arithmetic on tiles of this one is done.
  static Element computed(Element element) {
    return is_arithmetic(element) ? element : is_integer(element) ? Element::i32 : Element::f32;
  }
  Tile tile(Entry const& entry, double bound, double error = 0) {
    work_ += entry.type.elements() * turns_;
    return {entry, bound, error == 0 ? 0 : error + rounding(entry.type.element(), bound)};
  }
  Tile number(double value, Type const& type) { return tile(constant(value, type), std::fabs(value)); }
  static Tile& keep(Scope& scope, Tile const& value) {
    scope.pool.push_back(value);
    return scope.pool.back();
  }
  Tile any(Scope const& scope) {
    int const size = static_cast<int>(scope.pool.size());
    return scope.pool[static_cast<std::size_t>(chance(50) ? size - 1 - pick(std::min(size, 3)) : pick(size))];
  }

  Tile cast(Tile const& a, Element element) {
    if (a.type.element() == element) return a;
    if (a.wild()) return tile(define("cast " + a.name, a.type.with_element(element)), any_size);
    Tile const fitting = fit(a.error != 0 && is_integer(element) ? number(1, a.type) : a, max(element));
    return tile(define("cast " + fitting.name, fitting.type.with_element(element)), fitting.bound, fitting.error);
  }
  /// Returns the same with no element greater than `bound`: whole numbers modulo 8, others scaled.
  Tile fit(Tile const& a, double bound) {
    if (a.bound <= bound) return a;
    if (a.type.element() == Element::i32) return tile(binary("and", a, number(7, a.type)), 7);
    if (a.wild() && a.type.element() == Element::f32)
      return cast(fit(cast(a, Element::i32), bound), Element::f32);  // NaN becomes 0
    if (a.type.element() != Element::f32) return cast(fit(cast(a, Element::f32), bound), a.type.element());
    if (a.error != 0) {
      double const factor = std::exp2(std::floor(std::log2(bound / a.bound)));
      return tile(binary("mul", a, number(factor, a.type)), a.bound * factor, a.error * factor);
    }
    Entry const eighths = binary("mul", a, number(0.125, a.type));
    Entry const whole = define("floor " + eighths.name, a.type);
    return tile(binary("sub", a, binary("mul", whole, number(8, a.type))), 7);
  }
  Tile elementwise(std::string const& op, Tile a, Tile b) {
    a = cast(a, computed(a.type.element()));
    b = cast(b, a.type.element());
    if (a.type.element() == Element::i32 && a.error + b.error != 0) return a;
    bool const chooses = op == "min" || op == "max";
    if (a.wild() || b.wild()) {
      if (a.error + b.error == 0) return sure_zero(tile(binary(op, a, b), any_size), chooses);
      a = fit(a, 8), b = fit(b, 8);
    }
    double const limit = max(a.type.element());
    if (op == "mul") {
      a = fit(a, std::sqrt(limit)), b = fit(b, std::sqrt(limit));
      return tile(binary(op, a, b), a.bound * b.bound, a.error * b.bound + b.error * a.bound);
    }
    if (!chooses) a = fit(a, limit / 2), b = fit(b, limit / 2);
    return tile(binary(op, a, b), chooses ? std::max(a.bound, b.bound) : a.bound + b.bound, a.error + b.error);
  }
  /// Returns +0 where an op may give a zero of either sign.
  Tile sure_zero(Tile const& a, bool chooses = true) {
    if (!chooses || !a.wild() || !is_float(a.type.element())) return a;
    return tile(binary("add", a, number(0, a.type)), any_size);
  }
  Tile combined(Tile const& a, Tile const& b) {
    return elementwise(one_of<std::string>({"add", "sub", "mul", "min", "max"}), a, b);
  }

  // ---- shapes
  Tile trans(Tile const& a) {
    Extents const swapped = {a.type.shape()[1], a.type.shape()[0]};
    return tile(define("trans " + a.name + " {permutation = [1, 0]}", a.type.with_shape(swapped)), a.bound, a.error);
  }
  Tile reduce(Tile const& of, int axis, std::string const& combine) {
    Tile const a = cast(of, computed(of.type.element()));
    Extents shape = a.type.shape();
    auto const count = static_cast<double>(shape[axis]);
    shape[axis] = 1;
    bool const rounds = a.wild() && is_float(a.type.element());
    Tile const from = combine == "sum" && !rounds ? fit(a, max(a.type.element()) / count) : a;
    double const times = combine == "sum" ? count : 1;
    std::string const order = chance(15) || (rounds && combine == "sum") ? ", order = pairwise" : "";
    Tile const result =
        tile(define("reduce " + from.name + " {axis = " + text(axis) + ", combine = " + combine + order + "}",
                    from.type.with_shape(shape)),
             times * from.bound, times * from.error);
    return sure_zero(result, combine != "sum");
  }
  /// Scans so that any order gives the same: sums of whole numbers that stay in range, or extremes.
  Tile scan(Tile const& of, int axis) {
    Tile const a = cast(of, computed(of.type.element()));
    bool const rounds = is_float(a.type.element()) && (a.wild() || a.error != 0);
    std::string const combine = rounds ? one_of<std::string>({"max", "min"}) : one_of<std::string>({"sum", "max"});
    auto const count = static_cast<double>(a.type.shape()[axis]);
    Tile const from = combine == "sum" ? fit(a, max(a.type.element()) / count) : a;
    std::string const start = combine == "sum" && chance(50) ? ", exclusive = true" : "";
    Tile const result = tile(define("scan " + from.name + " {axis = " + text(axis) + ", combine = " + combine + start +
                                        (chance(50) ? ", reverse = true}" : "}"),
                                    from.type),
                             combine == "sum" ? count * from.bound : from.bound, from.error);
    return sure_zero(result, combine != "sum");
  }
  Tile broadcast(Tile const& a, Extents const& shape) {
    if (a.type.shape() == shape) return a;
    return tile(define("broadcast " + a.name, a.type.with_shape(shape)), a.bound, a.error);
  }
  static bool broadcasts(Type const& from, Extents const& to) {
    for (int i = 0; i < to.size(); ++i)
      if (from.shape()[i] != to[i] && from.shape()[i] != 1) return false;
    return true;
  }
  // ---- indices
  std::string index(std::int64_t value) {
    return define("constant {value = " + text(value) + " : i64}", Type::index()).name;
  }
  std::string scalar(std::string const& op, std::string const& a, std::string const& b) {
    return define(op + " " + a + ", " + b, Type::index()).name;
  }
  std::string times(std::string const& a, std::int64_t b) { return scalar("mul", a, index(b)); }

  std::int64_t turns_ = 1;  ///< of the loops around
  std::int64_t work_ = 0;   ///< elements computed
};

}  // namespace tegula::fuzz
