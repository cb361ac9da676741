// Random kernels of the kind that the cuda pipeline is for: products in loops with and without stages, loops in loops,
// branches, reductions, tiles that several ops use, transposed and converted operands, calls, ragged tensors, trip
// counts around the depth of rings. Values are whole numbers that every element holds exactly, so that executors must
// agree bit by bit; what exp2 or a division made is followed with a bound of its error instead.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "support/kernel_writer.hpp"

namespace tegula::fuzz {

class TileKernelGenerator : test::KernelWriter {
 public:
  explicit TileKernelGenerator(std::uint64_t seed) : KernelWriter(seed) {}

  test::RandomKernel make() {
    operand_ = one_of<Element>({Element::bf16, Element::bf16, Element::f16});
    m_ = one_of({16, 32, 64, 64, 64, 64, 128}), n_ = one_of({8, 16, 16, 32, 48, 64}), k_ = one_of({16, 16, 32, 64});
    stages_ = one_of({0, 1, 2, 2, 3, 4});
    if (chance(25)) add_function();
    header();
    Scope scope;
    for (int i = 1 + pick(2); i > 0; --i) keep(scope, load(scope, m_, n_, any_element()));
    statements(scope, 2 + pick(5));
    for (int i = 1 + pick(2); i > 0; --i) store(scope, any(scope));
    return finish();
  }

 private:
  /// A tile with the greatest magnitude of its elements and how far executors may be apart (0: not at all).
  struct Tile : Entry {
    double bound = 0;
    double error = 0;
  };
  struct Loop {
    std::string index;   ///< counts lower, lower + step, ...
    std::string number;  ///< counts 0, 1, ...
    std::int64_t trips = 0;
    std::string source;  ///< the tensor whose last axis says how often, in blocks of k; empty: none
  };
  struct Scope {
    std::vector<Tile> pool;
    std::vector<Loop> loops;
    [[nodiscard]] std::int64_t turns() const {
      std::int64_t product = 1;
      for (Loop const& loop : loops) product *= loop.trips;
      return product;
    }
  };
  struct Tensor {
    std::string name;
    Element element;
    int rank;
  };
  struct Function {
    std::string name;
    Type from, to;
    double bound;  ///< of its result, for arguments up to 8
  };
  static constexpr double small = 8;                  ///< what goes into products
  static constexpr std::int64_t most_work = 1 << 17;  ///< elements computed, before kernels get short

  // ---- numbers
  static double most(Element element) {
    return element == Element::bf16 ? 256 : element == Element::f16 ? 2048 : element == Element::i32 ? 1e9 : 0x1p22;
  }
  static double rounding(Element element, double bound) {
    return bound * (element == Element::bf16 ? 0x1p-7 : element == Element::f16 ? 0x1p-10 : 0x1p-21);
  }
  Element any_element() {
    return one_of<Element>({operand_, operand_, operand_, Element::f32, Element::f32, Element::i32});
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
    Tile const fitting = fit(a.error != 0 && element == Element::i32 ? number(1, a.type) : a, most(element));
    return tile(define("cast " + fitting.name, fitting.type.with_element(element)), fitting.bound, fitting.error);
  }
  /// The same with no element greater than `bound`: whole numbers modulo 8, others scaled.
  Tile fit(Tile const& a, double bound) {
    if (a.bound <= bound) return a;
    if (a.type.element() == Element::i32) return tile(binary("and", a, number(7, a.type)), 7);
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
    b = cast(b, a.type.element());
    if (a.type.element() == Element::i32 && a.error + b.error != 0) return a;
    double const limit = most(a.type.element());
    if (op == "mul") {
      a = fit(a, std::sqrt(limit)), b = fit(b, std::sqrt(limit));
      return tile(binary(op, a, b), a.bound * b.bound, a.error * b.bound + b.error * a.bound);
    }
    bool const chooses = op == "min" || op == "max";
    if (!chooses) a = fit(a, limit / 2), b = fit(b, limit / 2);
    return tile(binary(op, a, b), chooses ? std::max(a.bound, b.bound) : a.bound + b.bound, a.error + b.error);
  }
  Tile combined(Tile const& a, Tile const& b) {
    return elementwise(one_of<std::string>({"add", "sub", "mul", "min", "max"}), a, b);
  }

  // ---- shapes
  Tile trans(Tile const& a) {
    Extents const swapped = {a.type.shape()[1], a.type.shape()[0]};
    return tile(define("trans " + a.name + " {permutation = [1, 0]}", a.type.with_shape(swapped)), a.bound, a.error);
  }
  Tile reduce(Tile const& a, int axis, std::string const& combine) {
    Extents shape = a.type.shape();
    auto const count = static_cast<double>(shape[axis]);
    shape[axis] = 1;
    Tile const from = combine == "sum" ? fit(a, most(a.type.element()) / count) : a;
    double const times = combine == "sum" ? count : 1;
    return tile(define("reduce " + from.name + " {axis = " + text(axis) + ", combine = " + combine + "}",
                       from.type.with_shape(shape)),
                times * from.bound, times * from.error);
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
  /// A tile of the pool that can get this shape, or a new one.
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
  std::string index(std::int64_t value) {
    return define("constant {value = " + text(value) + " : i64}", Type::index()).name;
  }
  std::string scalar(std::string const& op, std::string const& a, std::string const& b) {
    return define(op + " " + a + ", " + b, Type::index()).name;
  }
  std::string times(std::string const& a, std::int64_t b) { return scalar("mul", a, index(b)); }

  std::string tensor(Element element, std::vector<std::int64_t> const& extents, Direction direction, double bound) {
    test::RandomParameter parameter;
    parameter.is_tensor = true;
    parameter.written = direction != Direction::in;
    parameter.element = element;
    parameter.extents = extents;
    parameter.bound = static_cast<std::int64_t>(bound);
    std::int64_t const unit = 16 / bytes(element), last = extents.back();
    bool const aligned = chance(80);
    parameter.gap = aligned ? (last + unit - 1) / unit * unit - last : pick(5);
    parameter.inner = aligned || chance(80) ? 1 : 2;
    std::string const facts = aligned ? " {unit_inner, aligned_16}" : parameter.inner == 1 ? " {unit_inner}" : "";
    std::string const word = direction == Direction::in ? "in " : direction == Direction::out ? "out " : "inout ";
    return add_parameter(parameter, word + ir::to_string(Type::tensor(element, static_cast<int>(extents.size()))),
                         facts);
  }
  /// Near `wanted`: a multiple, ragged, or less.
  std::int64_t near(std::int64_t wanted) {
    return std::max<std::int64_t>(
        chance(40) ? wanted : wanted - pick(static_cast<int>(std::min<std::int64_t>(wanted, 20))), 1);
  }
  /// An offset for a box of this extent: of the block, of a turn, or fixed.
  std::string offset(Scope const& scope, std::int64_t extent) {
    if (!scope.loops.empty() && chance(50)) {
      Loop const& loop = scope.loops[static_cast<std::size_t>(pick(static_cast<int>(scope.loops.size())))];
      return times(chance(70) ? loop.index : loop.number, extent);
    }
    if (chance(60)) return times(one_of<std::string>({"%b0", "%b1", "%block"}), extent);
    return index(chance(70) ? 0 : pick(3) * extent / 2 - 8);
  }
  Tile load(Scope const& scope, std::int64_t rows, std::int64_t columns, Element element) {
    int const rank = chance(12) && rows > 1 ? 3 : 2;
    std::string source;
    std::vector<std::string> offsets;
    Loop const* const loop = scope.loops.empty() ? nullptr : &scope.loops.back();
    if (loop != nullptr && !loop->source.empty() && columns == k_ && element == operand_ && chance(80)) {
      source = loop->source;
      offsets = {times(one_of<std::string>({"%b0", "%b1"}), rows), times(loop->index, columns)};
    } else {
      for (Tensor const& known : tensors_)
        if (source.empty() && known.element == element && known.rank == rank && chance(25)) source = known.name;
      if (source.empty()) {
        std::vector<std::int64_t> extents = {near(rows * (1 + pick(3))), near(columns * (1 + pick(3)))};
        if (rank == 3) extents.insert(extents.begin(), 1 + pick(3));
        source = tensor(element, extents, Direction::in, 2);
        tensors_.push_back({source, element, rank});
      }
      if (rank == 3) offsets.push_back(offset(scope, 1));
      offsets.push_back(offset(scope, rows)), offsets.push_back(offset(scope, columns));
    }
    std::string op = "load " + source;
    for (std::string const& at : offsets) op += ", " + at;
    bool const pads = chance(5);
    if (pads) op += " {pad = " + ir::to_string(ir::make_constant(element, 3.0)) + "}";
    return tile(define(op, Type::tile(element, {rows, columns})), pads ? 3 : 2);
  }
  /// One row of a vector, as a tile of rank 2.
  Tile load_row(std::int64_t columns) {
    std::string const source = tensor(Element::f32, {near(2 * columns)}, Direction::in, 2);
    Entry const row = define("load " + source + ", " + times("%b0", columns), Type::tile(Element::f32, {columns}));
    return tile(define("expand_dims " + row.name + " {axes = [0]}", Type::tile(Element::f32, {1, columns})), 2);
  }
  /// To a tensor of its own, at a place of this block and turn alone.
  void store(Scope const& scope, Tile value) {
    Element const element = one_of<Element>({Element::f32, operand_, value.type.element()});
    value = cast(value, element);
    Extents const& shape = value.type.shape();
    std::string row = "%block";
    for (Loop const& loop : scope.loops)
      row = scalar("add", times(row, std::max<std::int64_t>(loop.trips, 1)), loop.number);
    std::int64_t const blocks = grid_[0] * grid_[1] * std::max<std::int64_t>(scope.turns(), 1);
    bool const as_product = scope.loops.empty() && chance(50);
    std::vector<std::int64_t> const extents =
        as_product ? std::vector<std::int64_t>{near(grid_[1] * shape[0]), near(grid_[0] * shape[1])}
                   : std::vector<std::int64_t>{near(blocks * shape[0]), near(shape[1])};
    std::string const target = tensor(element, extents, Direction::out, 0);
    kernel_.parameters.back().tolerance = value.error;
    std::string const first = times(as_product ? "%b1" : row, shape[0]);
    std::string const second = as_product ? times("%b0", shape[1]) : "%zero";
    line("store " + target + ", " + value.name + ", " + first + ", " + second);
  }
  /// A tensor that the kernel reads and writes at this block's place, and reads again.
  void read_and_write(Scope& scope) {
    if (state_.name.empty())
      state_ = {tensor(Element::f32, {near(grid_[0] * grid_[1] * m_), near(n_)}, Direction::inout, 2), Element::f32, 2};
    Type const type = Type::tile(Element::f32, {m_, n_});
    std::string const at = times("%block", m_) + ", %zero";
    if (chance(60)) keep(scope, tile(define("load " + state_.name + ", " + at, type), small));
    Tile value = partner(scope, {m_, n_});
    if (value.error != 0) return;
    value = fit(cast(value, Element::f32), small);
    line("store " + state_.name + ", " + value.name + ", " + at);
    if (chance(60)) keep(scope, tile(define("load " + state_.name + ", " + at, type), small));
  }

  // ---- products
  /// A small tile of the products' element.
  Tile operand(Scope& scope, std::int64_t rows, std::int64_t columns) {
    Extents const shape = {rows, columns};
    switch (pick(10)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return load(scope, rows, columns, operand_);
      case 4:
      case 5:
      case 6:
        return trans(load(scope, columns, rows, operand_));
      case 7:
        return cast(load(scope, rows, columns, one_of<Element>({Element::f32, Element::i32, operand_})), operand_);
      case 8: {
        Tile const a = load(scope, rows, columns, operand_);
        return fit(combined(a, number(pick(4) - 1, a.type)), small);
      }
      default:
        return fit(cast(partner(scope, shape), operand_), small);
    }
  }
  Tile dot(Scope& scope, Tile const& sum) {
    Extents const& shape = sum.type.shape();
    std::int64_t const inner = one_of({k_, k_, k_, n_ % 16 == 0 ? n_ : k_, m_});
    Tile const a =
        fit(cast(chance(85) ? operand(scope, shape[0], inner) : partner(scope, {shape[0], inner}), operand_), small);
    Tile const b = operand(scope, inner, shape[1]);
    if (chance(40)) keep(scope, chance(50) ? a : b);
    auto const count = static_cast<double>(inner);
    work_ += shape[0] * shape[1] * inner / 8 * turns_;
    return tile(define("dot " + a.name + ", " + b.name + ", " + sum.name, sum.type),
                sum.bound + count * a.bound * b.bound, sum.error + count * (a.error * b.bound + b.error * a.bound));
  }
  Extents product_shape() { return chance(75) ? Extents{m_, n_} : chance(50) ? Extents{m_, k_} : Extents{m_, m_}; }
  Tile start(Scope& scope, Type const& type) {
    if (chance(65)) return number(0, type);
    return chance(50) ? fit(cast(partner(scope, type.shape()), type.element()), small) : number(pick(5) - 2, type);
  }

  // ---- control
  void statements(Scope& scope, int count) {
    for (int i = 0; i < count && work_ < most_work; ++i) statement(scope);
  }
  void statement(Scope& scope) {
    std::size_t const depth = scope.loops.size();
    switch (pick(16)) {
      case 0:
      case 1: {
        std::int64_t const rows = one_of({m_, m_, k_}), columns = one_of({n_, k_, k_});
        return void(keep(scope, load(scope, rows, columns, any_element())));
      }
      case 2:
      case 3:
        return void(keep(scope, dot(scope, start(scope, Type::tile(Element::f32, product_shape())))));
      case 4:
      case 5:
      case 6: {
        Tile const a = any(scope);
        return void(keep(scope, combined(a, partner(scope, a.type.shape()))));
      }
      case 7: {
        Tile const a = any(scope);
        int const axis = pick(2);
        Tile const r = reduce(a, axis, one_of<std::string>({"sum", "max", "min"}));
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
        return chance(60) ? store(scope, any(scope)) : read_and_write(scope);
      case 12:
        return branch(scope);
      default:
        return depth < 2 && turns_ < 12 ? loop(scope) : branch(scope);
    }
  }

  /// Elements chosen by where they stand.
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
  /// The softmax of rows, or a part of it: no longer whole numbers.
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
    Function const& f = functions_of_[static_cast<std::size_t>(pick(static_cast<int>(functions_of_.size())))];
    Tile a = partner(scope, f.from.shape());
    if (a.error != 0) return;
    a = fit(cast(a, f.from.element()), small);
    keep(scope, tile(define("call " + a.name + " {callee = @" + f.name + "}", f.to), f.bound));
  }
  void add_function() {
    std::string body;
    std::swap(body, body_);
    Scope inside;
    Type const from = Type::tile(Element::f32, {m_, n_});
    std::string const name = "f" + text(static_cast<std::int64_t>(functions_of_.size()));
    keep(inside, {{"%x", from}, small, 0});
    Tile const x = inside.pool[0];
    keep(inside, broadcast(reduce(x, pick(2), "max"), x.type.shape()));
    Tile const y = combined(x, any(inside));
    line("return " + y.name);
    std::swap(body, body_);
    functions_ += "function @" + name + "(%x: " + ir::to_string(from) + ") -> (" + ir::to_string(y.type) + ")" +
                  one_of<std::string>({"", " noinline", " inline"}) + " {\n" + body + "}\n";
    functions_of_.push_back({name, from, y.type, y.bound});
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
  void branch(Scope& scope) {
    std::string const test = condition(scope);
    Tile other = any(scope);
    std::string const result = "%r" + text(next_++);
    std::string const type = ir::to_string(other.type);
    bool const gives = chance(75);
    if (gives)
      line(result + " = if " + test + " : " + type + " {");
    else
      line("if " + test + " {");
    Scope inside = scope;
    statements(inside, 1 + pick(3));
    if (!gives) {
      store(inside, any(inside));
      line("yield");
      line(chance(50) ? "} else {" : "} else {");
      line("yield");
      line("}");
      return;
    }
    Tile made = partner(inside, other.type.shape());
    if (other.type.element() == Element::i32 && made.error != 0) made = number(1, other.type);
    made = cast(made, other.type.element());
    line("yield " + made.name);
    line("} else {");
    line("yield " + other.name);
    line("}");
    keep(scope, {{result, other.type}, std::max(made.bound, other.bound), std::max(made.error, other.error)});
  }

  struct Carried {
    std::string argument, result;
    Tile start;
    bool product;  ///< only a product touches it
  };
  void loop(Scope& scope) {
    std::string const n = text(next_++);
    std::int64_t const s = std::max<std::int64_t>(stages_, 2), step = chance(85) ? 1 : 2;
    std::int64_t trips = one_of({0, 1, s - 1, s, s + 1, 2 * s + 1, 3});
    if (turns_ > 1) trips = std::min<std::int64_t>(trips, 3);
    Loop own{"%i" + n, "%i" + n, trips, {}};
    std::string lower = "%zero", upper;
    if (chance(40) && step == 1) {  // as often as the tensor has blocks of k
      own.source =
          tensor(operand_, {near(2 * m_), trips == 0 ? 0 : trips * k_ - pick(static_cast<int>(k_))}, Direction::in, 2);
      std::string const extent = define("extent " + own.source + " {axis = 1}", Type::index()).name;
      upper = scalar("ceil_div", extent, index(k_));
    } else {
      std::int64_t const first = chance(80) ? 0 : pick(5) - 2;
      std::int64_t const last = first + trips * step - (trips == 0 ? pick(2) : pick(static_cast<int>(step)));
      if (first != 0) lower = index(first);
      upper = chance(60) ? argument(last) : index(last);
    }
    // What is carried.
    std::vector<Carried> carried;
    for (int i = pick(3) + (chance(80) ? 1 : 0); i > 0; --i) {
      bool const product = chance(65);
      Extents const shape = product || chance(60) ? product_shape() : Extents{m_, 1};
      Tile const init = start(scope, Type::tile(Element::f32, shape));
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
    std::string const depth = stages_ > 0 && chance(85) ? " {stages = " + text(stages_) + "}" : "";
    line((carried.empty() ? "" : results + " = ") + "for %i" + n + " = " + lower + " to " + upper + " step " +
         index_before(step) + (carried.empty() ? "" : " carry (" + inits + ")") + depth +
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
      if (!one.product) keep(inside, {{one.argument, one.start.type}, 64, 0});
    statements(inside, 1 + pick(3));
    std::string yields;
    for (Carried const& one : carried) {
      Tile const next = one.product ? accumulate(inside, one, trips) : advance(inside, one);
      yields += (yields.empty() ? "" : ", ") + next.name;
      keep(scope, {{one.result, next.type}, std::max(next.bound, one.start.bound), next.error});
    }
    if (carried.empty()) store(inside, any(inside));
    line("yield" + (yields.empty() ? "" : " " + yields));
    line("}");
    turns_ = before;
  }
  /// The next value of an accumulator, with the bounds of the last one; sometimes through a loop of its own.
  Tile accumulate(Scope& scope, Carried const& one, std::int64_t trips) {
    Tile const sum{{one.argument, one.start.type}, 0, 0};
    Tile next = chance(20) && turns_ < 12 ? inner_product(scope, sum) : dot(scope, sum);
    if (chance(15)) next = dot(scope, next);
    auto const times = static_cast<double>(std::max<std::int64_t>(trips, 1));
    return {next, one.start.bound + times * next.bound, times * next.error};
  }
  /// Products on top of `sum` in a loop of their own.
  Tile inner_product(Scope& scope, Tile const& sum) {
    std::string const n = text(next_++), type = ir::to_string(sum.type);
    std::int64_t const trips = pick(4), before = turns_;
    std::string const last = index(trips), depth = stages_ > 0 ? " {stages = " + text(stages_) + "}" : "";
    line("%r" + n + " = for %i" + n + " = %zero to " + last + " step %one carry (%a" + n + " = " + sum.name + ")" +
         depth + " : " + type + " {");
    Scope inside = scope;
    turns_ *= std::max<std::int64_t>(trips, 1);
    inside.loops.push_back({"%i" + n, "%i" + n, trips, {}});
    Tile const next = dot(inside, {{"%a" + n, sum.type}, 0, 0});
    line("yield " + next.name);
    line("}");
    turns_ = before;
    auto const times = static_cast<double>(trips);
    return {{"%r" + n, sum.type}, sum.bound + times * next.bound, times * next.error};
  }
  /// The next value of something carried that others use too: exact, and no greater than 64.
  Tile advance(Scope& scope, Carried const& one) {
    Tile const old{{one.argument, one.start.type}, 64, 0};
    Tile const other = partner(scope, old.type.shape());
    if (other.error != 0) return old;
    return fit(combined(old, other), 64);
  }

  // ---- header
  std::string argument(std::int64_t value) {
    test::RandomParameter parameter;
    parameter.element = Element::i64;
    parameter.scalar = ir::make_constant(Element::i64, value);
    return add_parameter(parameter, "i64");
  }
  /// A constant that stands where names are not in scope yet.
  std::string index_before(std::int64_t step) { return step == 1 ? "%one" : "%two"; }
  void header() {
    grid_[0] = 1 + pick(2), grid_[1] = 1 + pick(2);
    line("%zero = constant {value = 0 : i64} : i64");
    line("%one = constant {value = 1 : i64} : i64");
    line("%two = constant {value = 2 : i64} : i64");
    line("%g0 = constant {value = " + text(grid_[0]) + " : i64} : i64");
    line("%g1 = constant {value = " + text(grid_[1]) + " : i64} : i64");
    line("grid %g0, %g1");
    line("%b0 = block_index : i64");
    line("%b1 = block_index {axis = 1} : i64");
    line("%above = mul %b1, %g0 : i64");
    line("%block = add %above, %b0 : i64");
    line("%flag = add " + argument(pick(3)) + ", %zero : i64");
  }

  Element operand_ = Element::bf16;
  std::int64_t m_ = 64, n_ = 16, k_ = 16, stages_ = 0;
  std::int64_t grid_[2] = {1, 1};
  std::int64_t turns_ = 1, work_ = 0;
  std::vector<Tensor> tensors_;
  Tensor state_;
  std::vector<Function> functions_of_;
};

}  // namespace tegula::fuzz
