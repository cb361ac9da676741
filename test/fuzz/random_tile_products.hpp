// Writes products of random tile kernels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "fuzz/random_tile_memory.hpp"

namespace tegula::fuzz {

/// Makes products of operands from everywhere: loaded, transposed, converted, computed, shared by two products.
class TileProducts : protected TileMemory {
 protected:
  using TileMemory::TileMemory;
  static constexpr std::int64_t scaled_bound = 2;  ///< of scaled numbers and starts of their sums, in units

  /// A small tile of the products' element.
  Tile operand(Scope& scope, std::int64_t rows, std::int64_t columns) {
    Extents const shape = {rows, columns};
    bool const scaled = scaled_ && !inside_function_;
    switch (pick(scaled ? 8 : 10)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return load_operand(scope, rows, columns, operand_);
      case 4:
      case 5:
      case 6:
        return trans(load_operand(scope, columns, rows, operand_));
      case 7: {
        if (scaled && is_f8(operand_)) return load_operand(scope, rows, columns, operand_);  // infinities saturate
        Element const other = scaled ? Element::f32 : one_of<Element>({Element::f32, Element::i32, operand_});
        return cast(load_operand(scope, rows, columns, other), operand_);
      }
      case 8: {
        Tile const a = load(scope, rows, columns, operand_);
        if (chance(50)) return cast(fit(combined(a, number(pick(4) - 1, a.type)), small), operand_);
        // Scales, zero points and biases: narrow tiles beside the operand.
        bool const of_columns = chance(60);
        Tile const line = load(scope, of_columns ? 1 : rows, of_columns ? columns : 1, any_element());
        return cast(fit(combined(a, broadcast(line, a.type.shape())), small), operand_);
      }
      default:
        return fit(cast(partner(scope, shape), operand_), small);
    }
  }
  /// Gives a right operand that a product of this scope has read before, as it was or transposed, where its shape fits.
  bool taken_before(Scope const& scope, std::int64_t columns, std::int64_t depth, Tile& b) {
    for (Tile const& one : scope.operands) {
      Extents const& shape = one.type.shape();
      bool const straight = shape[1] == columns && shape[0] % depth == 0;
      bool const turned = shape[0] == columns && shape[1] % depth == 0;
      if (one.type.element() != operand_ || (!straight && !turned) || !chance(60)) continue;
      b = straight && (!turned || chance(50)) ? one : trans(one);
      return true;
    }
    return false;
  }
  /// Returns the element that tensor cores multiply with this one, if there is another.
  static Element mixed_with(Element element) {
    static constexpr std::pair<Element, Element> pairs[] = {
        {Element::bf16, Element::f16}, {Element::e4m3, Element::e5m2}, {Element::i8, Element::u8}};
    for (auto const& [one, other] : pairs) {
      if (element == one) return other;
      if (element == other) return one;
    }
    return element;
  }
  Tile dot(Scope& scope, Tile const& sum) {
    if (!products_) return advance(scope, sum);
    Factors const f = draw_factors(scope, sum.type.shape());
    scope.operands.push_back(f.right);
    if (chance(40)) keep(scope, chance(50) ? f.left : f.right);
    work_ += sum.type.elements() * f.inner / 8 * turns_;
    if (scaled_ && !inside_function_ && !holds_terms(f.inner * turns_)) return sum;
    return product_of(f, sum);
  }
  struct Factors {
    Tile left, right;
    std::int64_t inner;  ///< K
  };
  Factors draw_factors(Scope& scope, Extents const& shape) {
    Element const other = mixed_with(operand_);
    if (mixed_ && chance(50)) operand_ = other;
    std::int64_t const depth = 32 / bytes(operand_);
    bool const scaled = scaled_ && !inside_function_;
    Tile again;
    bool const shared = chance(25) && taken_before(scope, shape[1], depth, again);
    std::int64_t const inner =
        shared ? again.type.shape()[0] : one_of({k_, k_, k_, n_ % depth == 0 ? n_ : k_, m_ % depth == 0 ? m_ : k_});
    bool const own = scaled || chance(85);
    Tile a = cast(own ? operand(scope, shape[0], inner) : partner(scope, {shape[0], inner}), operand_);
    if (!scaled) a = fit(a, small);
    if (mixed_ && bytes(operand_) == 1 && !shared) operand_ = other;
    return {a, shared ? again : operand(scope, inner, shape[1]), inner};
  }
  /// Adds a product to `sum`, with the bounds that follow.
  Tile product_of(Factors const& f, Tile const& sum) {
    auto const& [a, b, inner] = f;
    auto const count = static_cast<double>(inner);
    std::string const precision = operand_ == Element::f32 ? " {precision = tf32}" : "";
    Entry const product = define("dot " + a.name + ", " + b.name + ", " + sum.name + precision, sum.type);
    if (a.wild() || b.wild() || sum.wild()) return tile(product, any_size);  // exact all the same
    // A number that is not whole loses bits on its way into a product of tf32.
    double const cut = operand_ == Element::f32 && a.error + b.error != 0 ? count * a.bound * b.bound * 0x1p-8 : 0;
    return tile(product, sum.bound + count * a.bound * b.bound,
                sum.error + cut + count * (a.error * b.bound + b.error * a.bound));
  }
  /// Counts terms of scaled products and the number that each sum begins with, in units of the least. False where f32
  /// may not hold all partial sums of the kernel's terms in every order.
  bool holds_terms(std::int64_t terms) {
    std::int64_t const max = units_ + terms * scaled_bound * scaled_bound + scaled_bound;
    if (max > std::int64_t{1} << 24) return false;
    units_ = max;
    return true;
  }
  Extents product_shape() { return chance(75) ? Extents{m_, n_} : chance(50) ? Extents{m_, k_} : Extents{m_, m_}; }
  Tile start(Scope& scope, Type const& type, bool product = false) {
    if (chance(65)) return number(0, type);
    if (product && scaled_ && !inside_function_)
      return {number((pick(5) - 2) * std::exp2(2.0 * static_cast<double>(exponent_)), type), any_size, 0};
    return chance(50) ? fit(cast(partner(scope, type.shape()), type.element()), small) : number(pick(5) - 2, type);
  }
  /// Makes the next value of a carried value that others use too: exact, and at most 64.
  Tile advance(Scope& scope, Tile const& old) {
    Tile const other = partner(scope, old.type.shape());
    if (other.error != 0) return old;
    return fit(combined(old, other), 64);
  }

  std::int64_t units_ = 0;  ///< of 4^exponent_, that all terms of scaled products come to at most
};

}  // namespace tegula::fuzz
