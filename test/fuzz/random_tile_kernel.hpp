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
//                every place; boxes that blocks and iterations add to; offsets below 0 and far outside, constant and from
//                arguments
//   aliases      functions that get one tensor twice
//   slices       of tensors that are loaded, by bounds that the kernel computes
//
// One in seven has no products and no stages, so that its functions stay. As many have stages without products. Values
// are such that executors must agree bit by bit:
//
//   whole        numbers that every element holds exactly
//   wild         of all sizes, NaN and infinities, for ops that round in one way: elementwise ones, casts, min and max,
//                sums of order = pairwise. Before other ops they become whole numbers again
//   scaled       whole numbers times one power of two of any size, and NaN and infinities, for products. Their sums
//                are exact in every order: all terms of the kernel together are less than f32's 2^24 whole numbers
//
// Results of exp2 or a division are followed with a bound of their error instead.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/random_tile_products.hpp"

namespace tegula::fuzz {

class TileKernelGenerator : TileProducts {
 public:
  /// A kernel whose loops have `stages` where they have any (0: as the kernel likes); see random_case for `trips`.
  TileKernelGenerator(std::uint64_t seed, std::int64_t stages, std::optional<Trips> trips)
      : TileProducts(seed), depth_(stages), trips_(trips) {}

  test::RandomKernel make() {
    int const kind = pick(14);
    products_ = kind >= 4;
    mixed_ = chance(15);
    operand_ = one_of<Element>({Element::bf16, Element::bf16, Element::bf16, Element::f16, Element::f16, Element::f32,
                                Element::i8, Element::u8, Element::e4m3, Element::e5m2});
    sum_ = products_ ? dot_accumulator(operand_) : Element::f32;
    m_ = one_of({16, 32, 64, 64, 64, 64, 64, 128, 192}), n_ = one_of({8, 16, 16, 32, 32, 48, 64, 96, 128});
    k_ = bytes(operand_) == 1 ? one_of({32, 32, 64, 128}) : one_of({16, 16, 32, 64, 64, 128});
    wild_ = chance(45);
    if (wild_ && chance(60)) scale();
    if (kind < 2 && chance(30)) n_ = one_of({17, 33, 100, 131, 200});  // which pad-tiles pads
    if (products_ && chance(15))                                       // which pad-tiles pads too
      m_ = one_of({1, 3, 8, 24, 40, 100}), n_ = one_of({1, 5, 8, 24, 40, 100}), k_ = one_of({4, 5, 20, 24, 48, 64});
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
  struct Function {
    std::string name;
    std::vector<Type> from;
    Type to;
    double bound, error;  ///< of its result, for arguments up to 8
    bool changes;         ///< its last arguments are a tensor, which it reads and writes, and the row where it does
    bool reads;           ///< and behind them another tensor, read there too
    bool changes_both;    ///< and written
  };
  static constexpr std::int64_t max_work = 1 << 17;  ///< elements computed, before kernels get short

  // ---- control
  void statements(Scope& scope, int count) {
    for (int i = 0; i < count && work_ < max_work + function_work_; ++i) statement(scope);
  }
  void statement(Scope& scope) {
    using G = TileKernelGenerator;
    static constexpr void (G::*drawn_from[])(Scope&) = {
        &G::any_load,       &G::any_load,       &G::any_product,    &G::any_product,
        &G::elementwise_op, &G::elementwise_op, &G::elementwise_op, &G::along_axis,
        &G::masked,         &G::rearrangement,  &G::call,           &G::change_of_memory,
        &G::branch,         &G::loop_or_branch, &G::loop_or_branch, &G::loop_or_branch};
    (this->*drawn_from[pick(static_cast<int>(std::size(drawn_from)))])(scope);
  }
  void any_load(Scope& scope) {
    std::int64_t const rows = one_of({m_, m_, k_}), columns = one_of({n_, k_, k_});
    keep(scope, load(scope, rows, columns, any_element(), drawn()));
  }
  void any_product(Scope& scope) {
    keep(scope, dot(scope, start(scope, Type::tile(sum_, product_shape()), products_)));
  }
  void elementwise_op(Scope& scope) {
    Tile const a = any(scope);
    keep(scope, combined(a, partner(scope, a.type.shape())));
  }
  /// Scans a tile, or reduces it along one axis or both.
  void along_axis(Scope& scope) {
    Tile const a = any(scope);
    if (chance(25)) return void(keep(scope, scan(a, pick(2))));
    Tile const r = reduce(a, pick(2), one_of<std::string>({"sum", "sum", "max", "min"}));
    keep(scope, chance(60) ? broadcast(r, a.type.shape()) : chance(30) ? reduce(r, pick(2), "sum") : r);
  }
  void rearrangement(Scope& scope) {
    if (chance(25)) return regroup(scope);
    if (chance(40)) return soft(scope);
    keep(scope, chance(50) ? trans(any(scope)) : load_row(n_));
  }
  void change_of_memory(Scope& scope) {
    if (!functions_of_.empty() && chance(40)) return call(scope);
    if (chance(20)) return update(scope);
    if (chance(60)) return store(scope, any(scope));
    read_and_write(scope);
  }
  void loop_or_branch(Scope& scope) {
    if (scope.loops.size() < 2 && turns_ < 12)
      loop(scope);
    else
      branch(scope);
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
  /// Exchanges two parts of a tile along an axis, or neighbours, or sees it in the transposed shape.
  void regroup(Scope& scope) {
    Tile const a = any(scope);
    Extents const& shape = a.type.shape();
    int const axis = pick(2);
    std::int64_t const extent = shape[axis];
    if (chance(35)) return trade(scope, a, axis);
    if (extent == 1 || chance(30))
      return void(
          keep(scope, tile(define("reshape " + a.name, a.type.with_shape({shape[1], shape[0]})), a.bound, a.error)));
    std::int64_t const at = extent % 2 == 0 && chance(60) ? extent / 2 : 1 + pick(static_cast<int>(extent) - 1);
    auto const part = [&](std::int64_t first, std::int64_t count) {
      std::string const offsets = axis == 0 ? "[" + text(first) + ", 0]" : "[0, " + text(first) + "]";
      return define("extract " + a.name + " {offsets = " + offsets + "}",
                    a.type.with_shape(axis == 0 ? Extents{count, shape[1]} : Extents{shape[0], count}));
    };
    Entry const low = part(0, at), high = part(at, extent - at);
    keep(scope, tile(define("concatenate " + high.name + ", " + low.name + " {axis = " + text(axis) + "}", a.type),
                     a.bound, a.error));
  }
  /// Exchanges neighbours of a tile, some in a longer one, returns its elements in the opposite order, or takes the
  /// maximum of all by butterflies.
  void trade(Scope& scope, Tile const& a, int axis) {
    std::int64_t const extent = a.type.shape()[axis];
    auto const neighbours = [&](Entry const& x, std::int64_t stride) {
      return define("butterfly " + x.name + " {axis = " + text(axis) + ", stride = " + text(stride) + "}", x.type);
    };
    if ((extent & (extent - 1)) == 0 && !a.wild() && chance(50)) {
      // Zeros of one sign: then the order of the arguments of max does not matter.
      Tile const computed_with = cast(a, computed(a.type.element()));
      Entry all = binary("add", computed_with, number(0, computed_with.type));
      for (std::int64_t stride = 1; stride < extent; stride *= 2) {
        Entry const other = neighbours(all, stride);
        all = binary("max", all, other);
      }
      Extents one = all.type.shape();
      one[axis] = 1;
      Entry const first =
          define("extract " + all.name + " {offsets = [0, 0], uniform = true}", all.type.with_shape(one));
      return void(keep(scope, broadcast(tile(first, a.bound, computed_with.error), all.type.shape())));
    }
    if (extent % 2 != 0 || chance(70))
      return void(
          keep(scope, tile(define("flip " + a.name + " {axis = " + text(axis) + "}", a.type), a.bound, a.error)));
    std::int64_t stride = 1;
    while (extent % (4 * stride) == 0 && chance(70)) stride *= 2;
    Extents longer = a.type.shape();
    longer[axis] = 2 * extent;
    bool const in_longer = chance(60);
    Entry const from = in_longer ? define("resize " + a.name, a.type.with_shape(longer)) : Entry(a);
    Entry const traded = neighbours(from, stride);
    keep(scope, tile(in_longer ? define("resize " + traded.name, a.type) : traded, a.bound, a.error));
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
    Function result;
    result.name = "f" + text(static_cast<std::int64_t>(functions_of_.size()));
    for (int i = 0; i < 1 + pick(2); ++i) {
      Extents const shape = chance(70) ? Extents{m_, n_} : chance(50) ? Extents{m_, 1} : Extents{k_, n_};
      result.from.push_back(Type::tile(one_of<Element>({Element::f32, Element::f32, operand_, Element::i32}), shape));
      std::string const name = "%x" + text(i);
      signature += (i == 0 ? "" : ", ") + name + ": " + ir::to_string(result.from.back());
      keep(inside, {{name, result.from.back()}, small, 0});
    }
    result.changes = chance(40);
    if (result.changes) {
      signature += ", %t: inout " + ir::to_string(Type::tensor(Element::f32, 2)) + ", %row: i64";
      change(inside, "%t", "%row");
    }
    result.reads = result.changes && chance(65);
    result.changes_both = result.reads && chance(40);
    if (result.reads) {
      Type const type = Type::tile(Element::f32, {m_, n_});
      signature +=
          ", %u: " + std::string(result.changes_both ? "inout " : "in ") + ir::to_string(Type::tensor(Element::f32, 2));
      keep(inside, tile(define("load %u, %row, %zero", type), small));
      if (result.changes_both) {
        change(inside, "%u", "%row");
        keep(inside, tile(define("load %t, %row, %zero", type), small));
      }
    }
    statements(inside, 1 + pick(4));
    Tile const last = any(inside);
    Tile const y = combined(last, partner(inside, last.type.shape()));
    line("return " + y.name);
    std::swap(body, body_);
    result.to = y.type, result.bound = y.bound, result.error = y.error;
    functions_ += "function @" + result.name + "(" + signature + ") -> (" + ir::to_string(y.type) + ")" +
                  one_of<std::string>({"", " noinline", " noinline", " inline"}) + " {\n" + body + "}\n";
    functions_of_.push_back(result);
    inside_function_ = false;
    function_work_ = work_;
  }

  /// Returns an element of a tile of whole numbers, at a constant place or one that follows from the block; empty:
  /// there is none.
  std::string item(Scope const& scope) {
    Tile const a = any(scope);
    if (a.error != 0 || a.wild()) return "";
    Tile const whole = cast(a, Element::i32);
    std::string places;
    for (std::int64_t const extent : whole.type.shape())
      places += ", " + (chance(60) ? index(pick(static_cast<int>(extent))) : scalar("rem", "%block", index(extent)));
    return define("cast " + define("item_at " + whole.name + places, Type::scalar(Element::i32)).name, Type::index())
        .name;
  }
  std::string condition(Scope const& scope) {
    std::string left = one_of<std::string>({"%b0", "%block", "%flag"});
    if (chance(20))
      if (std::string const element = item(scope); !element.empty()) left = element;
    if (!scope.loops.empty() && chance(70)) {
      left = scope.loops.back().number;
      if (chance(40)) left = scalar("rem", left, index(2));
    }
    std::string const limit = index(pick(3));
    std::string const predicate = one_of<std::string>({"eq", "ne", "lt", "ge"});
    return define("compare " + left + ", " + limit + " {predicate = " + predicate + "}", Type::scalar(Element::boolean))
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
    std::vector<Tile> result = works ? std::vector<Tile>() : others;
    if (works) {
      Scope inside = scope;
      statements(inside, 1 + pick(3));
      if (others.empty()) store(inside, any(inside));
      for (Tile const& other : others) {
        Tile value = partner(inside, other.type.shape());
        if (other.type.element() == Element::i32 && value.error != 0) value = number(1, other.type);
        result.push_back(cast(value, other.type.element()));
      }
    }
    std::string yields;
    for (Tile const& value : result) yields += (yields.empty() ? " " : ", ") + value.name;
    line("yield" + yields);
    return result;
  }

  struct Carried {
    std::string argument, result;
    Tile start;
    bool product;  ///< only a product touches it
  };
  void loop(Scope& scope) {
    std::string const n = text(next_++);
    std::int64_t const step = chance(85) ? 1 : 2, trips = draw_trips();
    Loop own{"%i" + n, "%i" + n, trips, {}, operand_};
    auto const [lower, upper] = draw_bounds(scope, own, step);
    std::vector<Carried> const carried = draw_carried(scope, n);
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
    end_loop(scope, inside, carried, trips);
    turns_ = before;
  }
  std::int64_t draw_trips() {
    std::int64_t const stages = depth_ != 0 ? depth_ : std::max<std::int64_t>(stages_, 2);
    std::int64_t trips = trips_of(static_cast<Trips>(pick(trips_count)), stages);
    if (trips_) trips = trips_of(*trips_, stages);
    return turns_ > 1 ? std::min<std::int64_t>(trips, 3) : trips;
  }
  /// Returns the first index and the one behind the last; of some loops a tensor's extent or a tile says how often.
  std::pair<std::string, std::string> draw_bounds(Scope const& scope, Loop& own, std::int64_t step) {
    std::string lower = "%zero", upper;
    if (chance(40) && step == 1 && !inside_function_) {
      upper = blocks_of_tensor(own);
    } else {
      std::int64_t const first = chance(80) ? 0 : pick(5) - 2;
      std::int64_t const less = pick(static_cast<int>(own.trips == 0 ? 2 : step));
      std::int64_t const last = own.trips == 0 && chance(20) ? -pick(1000) - 3 : first + own.trips * step - less;
      if (first != 0) lower = index(first);
      upper = chance(60) && !inside_function_ ? argument(last) : index(last);
    }
    if (chance(12))  // as often as a tile says, or less
      if (std::string const turns = item(scope); !turns.empty())
        upper = scalar("min", upper, scalar("add", lower, scalar("and", turns, index(3))));
    return {lower, upper};
  }
  /// Makes the loop's tensor, and counts its blocks of k.
  std::string blocks_of_tensor(Loop& own) {
    std::int64_t const missing = pick(static_cast<int>(k_));
    Values const values = scaled_ ? Values::scaled : Values::whole;
    own.source =
        tensor(operand_, {near(2 * m_), own.trips == 0 ? 0 : own.trips * k_ - missing}, Direction::in, 2, values);
    std::string const extent = define("extent " + own.source + " {axis = 1}", Type::index()).name;
    return scalar("ceil_div", extent, index(k_));
  }
  std::vector<Carried> draw_carried(Scope& scope, std::string const& n) {
    std::vector<Carried> carried;
    for (int i = pick(3) + (chance(80) ? 1 : 0); i > 0; --i) {
      bool const product = chance(65);
      Extents const shape = product || chance(60) ? product_shape() : Extents{m_, 1};
      Tile const init = start(scope, Type::tile(product ? sum_ : Element::f32, shape), product && products_);
      if (init.error != 0) continue;
      std::string const number = n + "_" + text(i);
      carried.push_back({"%a" + number, "%r" + number, init, product});
    }
    return carried;
  }
  /// Yields the next values, and keeps the results in the scope around.
  void end_loop(Scope& scope, Scope& inside, std::vector<Carried> const& carried, std::int64_t trips) {
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
  std::string loop_attributes() {
    if (stages_ == 0 || inside_function_) return "";
    std::string const distance =
        stages_ > 1 && chance(25) ? ", distance = " + text(1 + pick(static_cast<int>(stages_) - 1)) : "";
    return " {stages = " + text(stages_) + distance + "}";
  }

  // ---- header
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

  Element sum_ = Element::f32;  ///< in which products are summed up
  std::int64_t stages_ = 0;
  std::int64_t depth_;  ///< that the options ask for
  std::optional<Trips> trips_;
  std::int64_t function_work_ = 0;  ///< spent on functions' bodies
  std::vector<Function> functions_of_;
};

}  // namespace tegula::fuzz
