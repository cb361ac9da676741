// Makes random kernels for the cuda pipeline. They hold
//
//   products     of every element of tensor cores, also of two in one kernel or product, with transposed, converted,
//                computed and shared operands
//   loops        with and without stages and distances, in loops, with products, other values or nothing carried, trip
//                counts around the depth of rings, counted by arguments, constants and extents
//   branches     on blocks, turns and arguments, with and without values, with work on one side or both
//   reductions   of every kind along both axes, softmax, masks by coordinates
//   functions    that stay or are inlined, call each other, loop, branch, and change a tensor of their caller's
//   memory       ragged, misaligned, strided tensors of rank 1 to 3, some backwards, some read and written; stores at
//                every place; offsets below 0 and far outside, constant and from arguments
//   aliases      functions that get one tensor twice
//
// One in seven has no products and no stages, so that its functions stay; as many have stages without products. Values
// are such that executors must agree bit by bit:
//
//   whole        numbers that every element holds exactly
//   wild         of all sizes, NaN and infinities, for ops that round in one way: elementwise ones, casts, min and max,
//                sums of order = pairwise. Before other ops they become whole numbers again
//   scaled       whole numbers times one power of two of any size, and NaN and infinities, for products: their sums
//                are exact in every order, as all terms of the kernel together are less than f32's 2^24 whole numbers
//
// Results of exp2 or a division are followed with a bound of their error instead.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/pipeline_case.hpp"
#include "fuzz/tile_writer.hpp"

namespace tegula::fuzz {

class TileKernelGenerator : TileWriter {
 public:
  /// A kernel whose loops have `stages` where they have any (0: as the kernel likes); see random_case for `trips`.
  TileKernelGenerator(std::uint64_t seed, std::int64_t stages, std::optional<Trips> trips)
      : TileWriter(seed), depth_(stages), trips_(trips) {}

  test::RandomKernel make() {
    int const kind = pick(14);
    products_ = kind >= 4;
    mixed_ = chance(15);
    operand_ = one_of<Element>({Element::bf16, Element::bf16, Element::bf16, Element::f16, Element::f16, Element::f32,
                                Element::i8, Element::e4m3, Element::e5m2});
    sum_ = products_ ? dot_accumulator(operand_) : Element::f32;
    m_ = one_of({16, 32, 64, 64, 64, 64, 64, 128, 192}), n_ = one_of({8, 16, 16, 32, 32, 48, 64, 96, 128});
    k_ = bytes(operand_) == 1 ? one_of({32, 32, 64, 128}) : one_of({16, 16, 32, 64, 64, 128});
    wild_ = chance(45);
    if (wild_ && chance(60)) scale();
    stages_ = kind < 2 ? 0 : kind < 4 ? one_of({1, 2, 3, 4}) : one_of({0, 1, 2, 2, 3, 4});
    grid_[0] = 1 + pick(2), grid_[1] = 1 + pick(2);
    for (int i = chance(30) || kind < 2 ? 1 + pick(3) : 0; i > 0; --i) add_function();
    header();
    Scope scope;
    for (int i = 1 + pick(2); i > 0; --i) keep(scope, load(scope, m_, n_, any_element(), drawn()));
    statements(scope, 2 + pick(5));
    for (int i = 1 + pick(2); i > 0; --i) store(scope, any(scope));
    return finish();
  }

 private:
  enum class Values : std::uint8_t { whole, wild, scaled };
  struct Tensor {
    std::string name;
    Element element;
    int rank;
    Values values;
  };
  struct Function {
    std::string name;
    std::vector<Type> from;
    Type to;
    double bound, error;  ///< of its result, for arguments up to 8
    bool changes;         ///< its last arguments are a tensor, which it reads and writes, and the row where it does
    bool reads;           ///< and behind them another tensor, read there too
    bool changes_both;    ///< and written
  };
  static constexpr double small = 8;                 ///< what goes into products
  static constexpr std::int64_t scaled_bound = 2;    ///< of scaled numbers and starts of their sums, in units
  static constexpr std::int64_t max_work = 1 << 17;  ///< elements computed, before kernels get short

  // ---- choices
  Element any_element() {
    return one_of<Element>({operand_, operand_, operand_, Element::f32, Element::f32, Element::i32});
  }
  Values drawn() { return wild_ && chance(35) ? Values::wild : Values::whole; }
  /// Numbers of products in this kernel are such times 2^exponent_: what the elements hold, and f32 their sums.
  void scale() {
    scaled_ = products_ && is_float(operand_);
    if (!scaled_) return;
    bool const wide = operand_ == Element::bf16 || operand_ == Element::f32;
    int const low = wide && !mixed_   ? -74
                    : is_f8(operand_) ? -9
                                      : -24,
              high = wide && !mixed_   ? 52
                     : is_f8(operand_) ? 6
                                       : 13;
    exponent_ = low + pick(high - low + 1);
  }
  /// Gives a tile of the pool that can get this shape, or a new one.
  Tile partner(Scope& scope, Extents const& shape) {
    for (int tries = 0; tries < 4; ++tries) {
      Tile const a = any(scope);
      if (broadcasts(a.type, shape)) return broadcast(a, shape);
      if (broadcasts(a.type, {shape[1], shape[0]}) && chance(60)) return broadcast(trans(a), shape);
    }
    return chance(60) ? load(scope, shape[0], shape[1], any_element())
                      : number(pick(7) - 3, Type::tile(Element::f32, shape));
  }

  // ---- memory
  std::string tensor(Element element, std::vector<std::int64_t> const& extents, Direction direction, double bound,
                     Values values = Values::whole) {
    test::RandomParameter parameter;
    parameter.any = values == Values::wild;
    if (values == Values::scaled) parameter.exponent = exponent_;
    if (values != Values::whole) parameter.specials = one_of({0, 0, 4096, 512, 64});
    parameter.is_tensor = true;
    parameter.written = direction != Direction::in;
    parameter.element = element;
    parameter.extents = extents;
    parameter.bound = static_cast<std::int64_t>(bound);
    std::int64_t const unit = 16 / bytes(element), last = extents.back();
    bool const aligned = chance(80);
    parameter.gap = aligned ? (last + unit - 1) / unit * unit - last : pick(5);
    parameter.inner = aligned || chance(80) ? 1 : 2;
    if (!aligned && chance(20)) {
      auto const axes = static_cast<int>(extents.size());
      parameter.reversed = 1 + pick((1 << axes) - 1);
      if ((parameter.reversed >> (axes - 1) & 1) != 0 && parameter.inner == 1) parameter.inner = 2;
    }
    std::string const facts = aligned ? " {unit_inner, aligned_16}" : parameter.inner == 1 ? " {unit_inner}" : "";
    std::string const word = direction == Direction::in ? "in " : direction == Direction::out ? "out " : "inout ";
    return add_parameter(parameter, word + ir::to_string(Type::tensor(element, static_cast<int>(extents.size()))),
                         facts);
  }
  /// Draws a number near `wanted`: a multiple, ragged, or less.
  std::int64_t near(std::int64_t wanted) {
    return std::max<std::int64_t>(
        chance(40) ? wanted : wanted - pick(static_cast<int>(std::min<std::int64_t>(wanted, 20))), 1);
  }
  /// Gives an offset for a box of this extent: of the block, of an iteration, or fixed.
  std::string offset(Scope const& scope, std::int64_t extent) {
    if (!scope.loops.empty() && chance(50)) {
      Loop const& loop = scope.loops[static_cast<std::size_t>(pick(static_cast<int>(scope.loops.size())))];
      return times(chance(70) ? loop.index : loop.number, extent);
    }
    if (chance(60)) return times(one_of<std::string>({"%b0", "%b1", "%block"}), extent);
    if (chance(8)) return chance(50) ? far() : argument(-pick(static_cast<int>(2 * extent)) - 1);
    return index(chance(70) ? 0 : pick(3) * extent / 2 - 8);
  }
  /// Gives an offset beyond 31, 32 or more bits, or the smallest such offset.
  std::string far() {
    std::int64_t const one = 1, bit = one << one_of({31, 32, 32, 33, 40, 60});
    std::int64_t const value = (chance(50) ? bit : -bit) + one_of({-1, 0, 0, 0, 1, 8});
    return chance(70) ? argument(value) : index(value);
  }
  /// Gives an offset of a store, moved so that places stay apart but some lie outside.
  std::string moved(std::string const& offset, std::int64_t extent) {
    if (!chance(7)) return offset;
    std::int64_t const by = -1 - pick(static_cast<int>(extent));
    std::string const least = chance(25) ? far() : chance(50) ? argument(by) : index(by);
    return scalar("add", offset, least);
  }
  /// Draws whole numbers for products, scaled where the kernel's are.
  Tile load_operand(Scope const& scope, std::int64_t rows, std::int64_t columns, Element element) {
    bool const scaled = scaled_ && !inside_function_ && is_float(element);
    return load(scope, rows, columns, element, scaled ? Values::scaled : Values::whole);
  }
  Tile load(Scope const& scope, std::int64_t rows, std::int64_t columns, Element element,
            Values values = Values::whole) {
    if (inside_function_) return number(pick(7) - 3, Type::tile(element, {rows, columns}));
    int const rank = chance(12) && rows > 1 ? 3 : 2;
    std::string source;
    std::vector<std::string> offsets;
    Loop const* const loop = scope.loops.empty() ? nullptr : &scope.loops.back();
    Values const sources = scaled_ && is_float(operand_) ? Values::scaled : Values::whole;  // of loops
    if (loop != nullptr && !loop->source.empty() && columns == k_ && element == loop->element && values == sources &&
        chance(80)) {
      source = loop->source;
      offsets = {times(one_of<std::string>({"%b0", "%b1"}), rows), times(loop->index, columns)};
    } else {
      for (Tensor const& known : tensors_)
        if (source.empty() && known.element == element && known.rank == rank && known.values == values && chance(25))
          source = known.name;
      if (source.empty()) {
        std::vector<std::int64_t> extents = {near(rows * (1 + pick(3))), near(columns * (1 + pick(3)))};
        if (rank == 3) extents.insert(extents.begin(), 1 + pick(3));
        source = tensor(element, extents, Direction::in, 2, values);
        tensors_.push_back({source, element, rank, values});
      }
      if (rank == 3) offsets.push_back(offset(scope, 1));
      offsets.push_back(offset(scope, rows)), offsets.push_back(offset(scope, columns));
    }
    std::string op = "load " + source;
    for (std::string const& at : offsets) op += ", " + at;
    bool const pads = values != Values::scaled && chance(5);
    if (pads) op += " {pad = " + ir::to_string(ir::make_constant(element, 3.0)) + "}";
    return tile(define(op, Type::tile(element, {rows, columns})), values != Values::whole ? any_size : pads ? 3 : 2);
  }
  /// Loads one row of a vector, as a tile of rank 2.
  Tile load_row(std::int64_t columns) {
    if (inside_function_) return number(pick(7) - 3, Type::tile(Element::f32, {1, columns}));
    std::string const source = tensor(Element::f32, {near(2 * columns)}, Direction::in, 2);
    Entry const row = define("load " + source + ", " + times("%b0", columns), Type::tile(Element::f32, {columns}));
    return tile(define("expand_dims " + row.name + " {axes = [0]}", Type::tile(Element::f32, {1, columns})), 2);
  }
  /// Stores to a tensor of its own, at a place of this block and iteration alone.
  void store(Scope const& scope, Tile value) {
    if (inside_function_) return;
    Element const element = one_of<Element>({Element::f32, operand_, value.type.element()});
    value = cast(value, element);
    Extents const& shape = value.type.shape();
    std::string row = "%block";
    for (Loop const& loop : scope.loops)
      row = scalar("add", times(row, std::max<std::int64_t>(loop.trips, 1)), loop.number);
    std::int64_t const blocks = grid_[0] * grid_[1] * std::max<std::int64_t>(scope.turns(), 1);
    bool const as_product = scope.loops.empty() && chance(50), as_pages = !as_product && chance(15);
    std::vector<std::int64_t> const extents =
        as_product ? std::vector<std::int64_t>{near(grid_[1] * shape[0]), near(grid_[0] * shape[1])}
        : as_pages ? std::vector<std::int64_t>{blocks, near(shape[0]), near(shape[1])}
                   : std::vector<std::int64_t>{near(blocks * shape[0]), near(shape[1])};
    std::string const target = tensor(element, extents, Direction::out, 0);
    kernel_.parameters.back().tolerance = value.error;
    std::string const first =
        as_pages ? row + ", " + moved("%zero", shape[0]) : moved(times(as_product ? "%b1" : row, shape[0]), shape[0]);
    std::string const second = moved(as_product ? times("%b0", shape[1]) : "%zero", shape[1]);
    line("store " + target + ", " + value.name + ", " + first + ", " + second);
  }
  /// Makes a tensor that the kernel reads and writes at this block's place, and reads again.
  void read_and_write(Scope& scope) {
    if (inside_function_) return;
    change(scope, state(), times("%block", m_));
  }
  std::string state() {
    if (state_.empty()) state_ = tensor(Element::f32, {near(grid_[0] * grid_[1] * m_), near(n_)}, Direction::inout, 2);
    return state_;
  }
  void change(Scope& scope, std::string const& tensor, std::string const& row) {
    Type const type = Type::tile(Element::f32, {m_, n_});
    std::string const at = row + ", %zero";
    if (chance(60)) keep(scope, tile(define("load " + tensor + ", " + at, type), small));
    Tile value = partner(scope, {m_, n_});
    if (value.error != 0) return;
    value = fit(cast(value, Element::f32), small);
    line("store " + tensor + ", " + value.name + ", " + at);
    if (chance(60)) keep(scope, tile(define("load " + tensor + ", " + at, type), small));
  }

  // ---- products
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
        return cast(fit(combined(a, number(pick(4) - 1, a.type)), small), operand_);
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
  Tile dot(Scope& scope, Tile const& sum) {
    if (!products_) return advance(scope, sum);
    Element const other = operand_ == Element::bf16   ? Element::f16
                          : operand_ == Element::f16  ? Element::bf16
                          : operand_ == Element::e4m3 ? Element::e5m2
                          : operand_ == Element::e5m2 ? Element::e4m3
                                                      : operand_;
    if (mixed_ && chance(50)) operand_ = other;
    Extents const& shape = sum.type.shape();
    std::int64_t const depth = 32 / bytes(operand_);
    bool const scaled = scaled_ && !inside_function_;
    Tile again;
    bool const shared = chance(25) && taken_before(scope, shape[1], depth, again);
    std::int64_t const inner =
        shared ? again.type.shape()[0] : one_of({k_, k_, k_, n_ % depth == 0 ? n_ : k_, m_ % depth == 0 ? m_ : k_});
    bool const own = scaled || chance(85);
    Tile a = cast(own ? operand(scope, shape[0], inner) : partner(scope, {shape[0], inner}), operand_);
    if (!scaled) a = fit(a, small);
    if (mixed_ && is_f8(operand_) && !shared) operand_ = other;
    Tile const b = shared ? again : operand(scope, inner, shape[1]);
    scope.operands.push_back(b);
    if (chance(40)) keep(scope, chance(50) ? a : b);
    auto const count = static_cast<double>(inner);
    work_ += shape[0] * shape[1] * inner / 8 * turns_;
    if (scaled && !holds_terms(inner * turns_)) return sum;
    std::string const precision = operand_ == Element::f32 ? " {precision = tf32}" : "";
    // A number that is not whole loses bits on its way into a product of tf32.
    if (a.wild() || b.wild() || sum.wild())  // exact all the same
      return tile(define("dot " + a.name + ", " + b.name + ", " + sum.name + precision, sum.type), any_size);
    double const cut = operand_ == Element::f32 && a.error + b.error != 0 ? count * a.bound * b.bound * 0x1p-8 : 0;
    return tile(define("dot " + a.name + ", " + b.name + ", " + sum.name + precision, sum.type),
                sum.bound + count * a.bound * b.bound,
                sum.error + cut + count * (a.error * b.bound + b.error * a.bound));
  }
  /// Counts terms of scaled products and the number that each sum begins with, in units of the least: false where f32
  /// may not hold all partial sums of the kernel's terms in every order.
  bool holds_terms(std::int64_t terms) {
    std::int64_t const most = units_ + terms * scaled_bound * scaled_bound + scaled_bound;
    if (most > std::int64_t{1} << 24) return false;
    units_ = most;
    return true;
  }
  Extents product_shape() { return chance(75) ? Extents{m_, n_} : chance(50) ? Extents{m_, k_} : Extents{m_, m_}; }
  Tile start(Scope& scope, Type const& type, bool product = false) {
    if (chance(65)) return number(0, type);
    if (product && scaled_ && !inside_function_)
      return {number((pick(5) - 2) * std::exp2(2.0 * static_cast<double>(exponent_)), type), any_size, 0};
    return chance(50) ? fit(cast(partner(scope, type.shape()), type.element()), small) : number(pick(5) - 2, type);
  }

  // ---- control
  void statements(Scope& scope, int count) {
    for (int i = 0; i < count && work_ < max_work + function_work_; ++i) statement(scope);
  }
  void statement(Scope& scope) {
    std::size_t const depth = scope.loops.size();
    switch (pick(16)) {
      case 0:
      case 1: {
        std::int64_t const rows = one_of({m_, m_, k_}), columns = one_of({n_, k_, k_});
        return void(keep(scope, load(scope, rows, columns, any_element(), drawn())));
      }
      case 2:
      case 3:
        return void(keep(scope, dot(scope, start(scope, Type::tile(sum_, product_shape()), products_))));
      case 4:
      case 5:
      case 6: {
        Tile const a = any(scope);
        return void(keep(scope, combined(a, partner(scope, a.type.shape()))));
      }
      case 7: {
        Tile const a = any(scope);
        Tile const r = reduce(a, pick(2), one_of<std::string>({"sum", "sum", "max", "min"}));
        keep(scope, chance(60) ? broadcast(r, a.type.shape()) : chance(30) ? reduce(r, pick(2), "sum") : r);
        return;
      }
      case 8:
        return masked(scope);
      case 9:
        return chance(40) ? soft(scope) : void(keep(scope, chance(50) ? trans(any(scope)) : load_row(n_)));
      case 10:
        return call(scope);
      case 11:
        if (!functions_of_.empty() && chance(40)) return call(scope);
        return chance(60) ? store(scope, any(scope)) : read_and_write(scope);
      case 12:
        return branch(scope);
      default:
        return depth < 2 && turns_ < 12 ? loop(scope) : branch(scope);
    }
  }

  /// Chooses elements by their places.
  void masked(Scope& scope) {
    Tile const a = any(scope);
    Tile const b = cast(partner(scope, a.type.shape()), a.type.element());
    if (a.type.element() == Element::i32 && b.error != 0) return;
    int const axis = pick(2);
    Extents line_shape = {1, 1};
    line_shape[axis] = a.type.shape()[axis];
    Type const row = Type::tile(Element::i64, line_shape);
    Entry const at = define("iota {axis = " + text(axis) + "}", row);
    Entry const limit = define("splat " + (scope.loops.empty() ? "%block" : scope.loops.back().index), row);
    Entry const far = binary("mul", limit, constant(pick(9), row));
    Entry const inside = binary("compare", at, far, one_of<std::string>({" {predicate = lt}", " {predicate = ge}"}));
    Type const mask = a.type.with_element(Element::boolean);
    Entry const all = line_shape == a.type.shape() ? inside : define("broadcast " + inside.name, mask);
    keep(scope, tile(define("select " + all.name + ", " + a.name + ", " + b.name, a.type), std::max(a.bound, b.bound),
                     std::max(a.error, b.error)));
  }
  /// Makes the softmax of rows, or a part of it: no longer whole numbers.
  void soft(Scope& scope) {
    Tile const a = fit(cast(any(scope), Element::f32), 16);
    Tile const below = elementwise("sub", a, broadcast(reduce(a, 1, "max"), a.type.shape()));
    Tile const e = tile(define("exp2 " + below.name, below.type), 1, below.error + 0x1p-20);
    if (chance(50)) return void(keep(scope, e));
    Tile const sum = reduce(e, 1, "sum");
    keep(scope, tile(binary("div", e, broadcast(sum, e.type.shape())), 1, e.error + sum.error));
  }
  void call(Scope& scope) {
    if (functions_of_.empty()) return;
    Function const f = functions_of_[static_cast<std::size_t>(pick(static_cast<int>(functions_of_.size())))];
    if (f.changes && inside_function_) return;
    std::string arguments;
    for (Type const& type : f.from) {
      Tile a = partner(scope, type.shape());
      if (a.error != 0) return;
      a = fit(cast(a, type.element()), small);
      arguments += (arguments.empty() ? "" : ", ") + a.name;
    }
    if (f.changes) {
      std::string const changed = state();
      arguments += ", " + changed + ", " + times("%block", m_);
    }
    if (f.reads) {
      Direction const direction = f.changes_both ? Direction::inout : Direction::in;
      if (chance(60))
        arguments += ", " + state();
      else
        arguments += ", " + tensor(Element::f32, {near(grid_[0] * grid_[1] * m_), near(n_)}, direction, 2);
    }
    work_ += 4 * m_ * n_ * turns_;
    keep(scope, tile(define("call " + arguments + " {callee = @" + f.name + "}", f.to), f.bound, f.error));
  }
  /// Makes a function of one or two tiles. It may call those before it.
  void add_function() {
    std::string body, signature;
    std::swap(body, body_);
    inside_function_ = true;
    constants();
    Scope inside;
    Function made;
    made.name = "f" + text(static_cast<std::int64_t>(functions_of_.size()));
    for (int i = 0; i < 1 + pick(2); ++i) {
      Extents const shape = chance(70) ? Extents{m_, n_} : chance(50) ? Extents{m_, 1} : Extents{k_, n_};
      made.from.push_back(Type::tile(one_of<Element>({Element::f32, Element::f32, operand_, Element::i32}), shape));
      std::string const name = "%x" + text(i);
      signature += (i == 0 ? "" : ", ") + name + ": " + ir::to_string(made.from.back());
      keep(inside, {{name, made.from.back()}, small, 0});
    }
    made.changes = chance(40);
    if (made.changes) {
      signature += ", %t: inout " + ir::to_string(Type::tensor(Element::f32, 2)) + ", %row: i64";
      change(inside, "%t", "%row");
    }
    made.reads = made.changes && chance(65);
    made.changes_both = made.reads && chance(40);
    if (made.reads) {
      Type const type = Type::tile(Element::f32, {m_, n_});
      signature +=
          ", %u: " + std::string(made.changes_both ? "inout " : "in ") + ir::to_string(Type::tensor(Element::f32, 2));
      keep(inside, tile(define("load %u, %row, %zero", type), small));
      if (made.changes_both) {
        change(inside, "%u", "%row");
        keep(inside, tile(define("load %t, %row, %zero", type), small));
      }
    }
    statements(inside, 1 + pick(4));
    Tile const last = any(inside);
    Tile const y = combined(last, partner(inside, last.type.shape()));
    line("return " + y.name);
    std::swap(body, body_);
    made.to = y.type, made.bound = y.bound, made.error = y.error;
    functions_ += "function @" + made.name + "(" + signature + ") -> (" + ir::to_string(y.type) + ")" +
                  one_of<std::string>({"", " noinline", " noinline", " inline"}) + " {\n" + body + "}\n";
    functions_of_.push_back(made);
    inside_function_ = false;
    function_work_ = work_;
  }

  std::string condition(Scope const& scope) {
    std::string what = one_of<std::string>({"%b0", "%block", "%flag"});
    if (!scope.loops.empty() && chance(70)) {
      what = scope.loops.back().number;
      if (chance(40)) what = scalar("rem", what, index(2));
    }
    std::string const limit = index(pick(3));
    std::string const predicate = one_of<std::string>({"eq", "ne", "lt", "ge"});
    return define("compare " + what + ", " + limit + " {predicate = " + predicate + "}", Type::scalar(Element::boolean))
        .name;
  }
  /// Makes a loop with a step of 0 or less, which never begins.
  void dead_loop(Scope const& scope) {
    std::string const n = text(next_++), limit = index(-1);
    line("%q" + n + " = compare %flag, " + limit + " {predicate = lt} : bool");
    line("if %q" + n + " {");
    std::string const step =
        inside_function_ || chance(50) ? scalar("sub", "%one", index(1 + pick(2))) : argument(-pick(2));
    line("for %i" + n + " = %zero to %two step " + step + " {");
    Scope inside = scope;
    inside.loops.push_back({"%i" + n, "%i" + n, 1, {}, operand_});
    store(inside, any(inside));
    line("yield");
    line("}");
    line("yield");
    line("} else {");
    line("yield");
    line("}");
  }
  void branch(Scope& scope) {
    if (chance(5)) return dead_loop(scope);
    std::string const test = condition(scope);
    std::vector<Tile> others;
    for (int i = chance(75) ? 1 + pick(2) : 0; i > 0; --i) others.push_back(any(scope));
    bool const both = chance(40);
    std::string const n = text(next_++);
    std::string results, types;
    for (std::size_t i = 0; i < others.size(); ++i) {
      results += (i == 0 ? "%r" : ", %r") + n + "_" + text(static_cast<std::int64_t>(i));
      types += (i == 0 ? "" : ", ") + ir::to_string(others[i].type);
    }
    line((others.empty() ? "" : results + " = ") + "if " + test + (others.empty() ? "" : " : " + types) + " {");
    std::vector<Tile> const first = side(scope, others, true);
    line("} else {");
    std::vector<Tile> const second = side(scope, others, both);
    line("}");
    for (std::size_t i = 0; i < others.size(); ++i)
      keep(scope, {{"%r" + n + "_" + text(static_cast<std::int64_t>(i)), others[i].type},
                   std::max(first[i].bound, second[i].bound),
                   std::max(first[i].error, second[i].error)});
  }
  /// Makes one side of a branch: values like the others, or just those.
  std::vector<Tile> side(Scope const& scope, std::vector<Tile> const& others, bool works) {
    std::vector<Tile> made = works ? std::vector<Tile>() : others;
    if (works) {
      Scope inside = scope;
      statements(inside, 1 + pick(3));
      if (others.empty()) store(inside, any(inside));
      for (Tile const& other : others) {
        Tile value = partner(inside, other.type.shape());
        if (other.type.element() == Element::i32 && value.error != 0) value = number(1, other.type);
        made.push_back(cast(value, other.type.element()));
      }
    }
    std::string yields;
    for (Tile const& value : made) yields += (yields.empty() ? " " : ", ") + value.name;
    line("yield" + yields);
    return made;
  }

  struct Carried {
    std::string argument, result;
    Tile start;
    bool product;  ///< only a product touches it
  };
  void loop(Scope& scope) {
    std::string const n = text(next_++);
    std::int64_t const s = depth_ != 0 ? depth_ : std::max<std::int64_t>(stages_, 2), step = chance(85) ? 1 : 2;
    std::int64_t trips = trips_of(static_cast<Trips>(pick(trips_count)), s);
    if (trips_) trips = trips_of(*trips_, s);
    if (turns_ > 1) trips = std::min<std::int64_t>(trips, 3);
    Loop own{"%i" + n, "%i" + n, trips, {}, operand_};
    std::string lower = "%zero", upper;
    if (chance(40) && step == 1 && !inside_function_) {  // as often as the tensor has blocks of k
      std::int64_t const missing = pick(static_cast<int>(k_));
      Values const values = scaled_ ? Values::scaled : Values::whole;
      own.source = tensor(operand_, {near(2 * m_), trips == 0 ? 0 : trips * k_ - missing}, Direction::in, 2, values);
      std::string const extent = define("extent " + own.source + " {axis = 1}", Type::index()).name;
      upper = scalar("ceil_div", extent, index(k_));
    } else {
      std::int64_t const first = chance(80) ? 0 : pick(5) - 2;
      std::int64_t const less = pick(static_cast<int>(trips == 0 ? 2 : step));
      std::int64_t const last = trips == 0 && chance(20) ? -pick(1000) - 3 : first + trips * step - less;
      if (first != 0) lower = index(first);
      upper = chance(60) && !inside_function_ ? argument(last) : index(last);
    }
    // Chooses the carried values.
    std::vector<Carried> carried;
    for (int i = pick(3) + (chance(80) ? 1 : 0); i > 0; --i) {
      bool const product = chance(65);
      Extents const shape = product || chance(60) ? product_shape() : Extents{m_, 1};
      Tile const init = start(scope, Type::tile(product ? sum_ : Element::f32, shape), product && products_);
      if (init.error != 0) continue;
      std::string const number = n + "_" + text(i);
      carried.push_back({"%a" + number, "%r" + number, init, product});
    }
    std::string results, inits, types;
    for (Carried const& one : carried) {
      std::string const separator = results.empty() ? "" : ", ";
      results += separator + one.result;
      inits += separator + one.argument + " = " + one.start.name;
      types += separator + ir::to_string(one.start.type);
    }
    std::string const depth = chance(85) ? loop_attributes() : "";
    line((carried.empty() ? "" : results + " = ") + "for %i" + n + " = " + lower + " to " + upper + " step " +
         count_of_steps(step) + (carried.empty() ? "" : " carry (" + inits + ")") + depth +
         (carried.empty() ? "" : " : " + types) + " {");
    Scope inside = scope;
    std::int64_t const before = turns_;
    turns_ *= std::max<std::int64_t>(trips, 1);
    if (lower != "%zero" || step != 1) {
      std::string const distance = scalar("sub", own.index, lower);
      own.number = scalar("div", distance, index(step));
    }
    inside.loops.push_back(own);
    for (Carried const& one : carried)
      if (!one.product || !products_) keep(inside, {{one.argument, one.start.type}, 64, 0});
    statements(inside, 1 + pick(3));
    std::string yields;
    for (Carried const& one : carried) {
      Tile const old{{one.argument, one.start.type}, 64, 0};
      Tile const next = one.product && products_ ? accumulate(inside, one, trips) : advance(inside, old);
      yields += (yields.empty() ? "" : ", ") + next.name;
      keep(scope, {{one.result, next.type}, std::max(next.bound, one.start.bound), next.error});
    }
    if (carried.empty()) store(inside, any(inside));
    line("yield" + (yields.empty() ? "" : " " + yields));
    line("}");
    turns_ = before;
  }
  /// Makes the next value of an accumulator, with the bounds of the last one; sometimes through a loop of its own.
  Tile accumulate(Scope& scope, Carried const& one, std::int64_t trips) {
    Tile const sum{{one.argument, one.start.type}, 0, 0};
    Tile next = chance(20) && turns_ < 12 ? inner_product(scope, sum) : dot(scope, sum);
    if (chance(15)) next = dot(scope, next);
    auto const times = static_cast<double>(std::max<std::int64_t>(trips, 1));
    return {next, next.wild() ? any_size : one.start.bound + times * next.bound, times * next.error};
  }
  /// Makes products on top of `sum` in a loop of their own.
  Tile inner_product(Scope& scope, Tile const& sum) {
    std::string const n = text(next_++), type = ir::to_string(sum.type);
    std::int64_t const trips = pick(4), before = turns_;
    std::string const last = index(trips), depth = loop_attributes();
    line("%r" + n + " = for %i" + n + " = %zero to " + last + " step %one carry (%a" + n + " = " + sum.name + ")" +
         depth + " : " + type + " {");
    Scope inside = scope;
    turns_ *= std::max<std::int64_t>(trips, 1);
    inside.loops.push_back({"%i" + n, "%i" + n, trips, {}, operand_});
    Tile const next = dot(inside, {{"%a" + n, sum.type}, 0, 0});
    line("yield " + next.name);
    line("}");
    turns_ = before;
    auto const times = static_cast<double>(trips);
    return {{"%r" + n, sum.type}, next.wild() ? any_size : sum.bound + times * next.bound, times * next.error};
  }
  /// Makes the next value of a carried value that others use too: exact, and at most 64.
  Tile advance(Scope& scope, Tile const& old) {
    Tile const other = partner(scope, old.type.shape());
    if (other.error != 0) return old;
    return fit(combined(old, other), 64);
  }
  std::string loop_attributes() {
    if (stages_ == 0 || inside_function_) return "";
    std::string const distance =
        stages_ > 1 && chance(25) ? ", distance = " + text(1 + pick(static_cast<int>(stages_) - 1)) : "";
    return " {stages = " + text(stages_) + distance + "}";
  }

  // ---- header
  std::string argument(std::int64_t value) {
    test::RandomParameter parameter;
    parameter.element = Element::i64;
    parameter.scalar = ir::make_constant(Element::i64, value);
    return add_parameter(parameter, "i64");
  }
  /// Writes a constant where names are not in scope yet.
  std::string index_before(std::int64_t step) { return step == 1 ? "%one" : "%two"; }
  std::string count_of_steps(std::int64_t step) {
    return chance(15) && !inside_function_ ? argument(step) : index_before(step);
  }
  void constants() {
    line("%zero = constant {value = 0 : i64} : i64");
    line("%one = constant {value = 1 : i64} : i64");
    line("%two = constant {value = 2 : i64} : i64");
    line("%b0 = block_index : i64");
    line("%b1 = block_index {axis = 1} : i64");
    line("%g0 = constant {value = " + text(grid_[0]) + " : i64} : i64");
    line("%above = mul %b1, %g0 : i64");
    line("%block = add %above, %b0 : i64");
    if (inside_function_) line("%flag = add %b0, %one : i64");
  }
  void header() {
    constants();
    line("%g1 = constant {value = " + text(grid_[1]) + " : i64} : i64");
    line("grid %g0, %g1");
    line("%flag = add " + argument(pick(3)) + ", %zero : i64");
  }

  Element operand_ = Element::bf16, sum_ = Element::f32;  ///< of products, and what they are summed up in
  std::int64_t m_ = 64, n_ = 16, k_ = 16, stages_ = 0;
  std::int64_t depth_;  ///< that the options ask for
  std::optional<Trips> trips_;
  bool products_ = true, mixed_ = false;
  bool wild_ = false, scaled_ = false;
  std::int64_t exponent_ = 0;  ///< of scaled numbers
  std::int64_t units_ = 0;     ///< of 4^exponent_, that all terms of scaled products come to at most
  std::int64_t grid_[2] = {1, 1};
  bool inside_function_ = false;
  std::int64_t function_work_ = 0;  ///< spent on functions' bodies
  std::vector<Tensor> tensors_;
  std::string state_;  ///< the tensor that is read and written
  std::vector<Function> functions_of_;
};

}  // namespace tegula::fuzz
