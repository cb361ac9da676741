// Makes random kernels as IR text, with their arguments, which differential and fuzz tests run on several executors.
//
// Kernels of kind `exact` hold only ops whose results every executor must agree on bit by bit. They have no sums of
// floats in an unstated order, no products of matrices, no visible bits of NaN. A zero of either sign from min or max
// becomes positive before its use. Those for GPUs have no functions, roots and quotients of which a GPU may compute
// other bits than the host (lib/doc/arithmetic.md). Kernels of kind `matrix` hold dots and sums in any order and
// compare within a bound.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "kernels/kernel_writer.hpp"

namespace tegula::test {

class KernelGenerator : KernelWriter {
 public:
  explicit KernelGenerator(std::uint64_t seed) : KernelWriter(seed) {}

  RandomKernel exact(bool for_gpus = false) {
    for_gpus_ = for_gpus;
    start(1 + pick(3));
    int const inputs = 1 + pick(3);
    for (int i = 0; i < inputs; ++i) load_input();
    for (int i = pick(3); i > 0; --i) scalar_input();
    int const steps = 3 + pick(18);
    for (int i = 0; i < steps; ++i) step(2);
    for (int i = 1 + pick(2); i > 0; --i) store_output(coerce(any(), Type::tile(any_element(), tile_)));
    return finish();
  }

  RandomKernel matrix() {
    kernel_ = {};
    signature_.clear(), body_.clear(), pool_.clear(), next_ = 0;
    Product const product = draw_product();
    product_grid(product);
    Entry const result = epilogue(product, product_loop(product));
    line("store " + product.c + ", " + result.name + ", %i, %j");
    kernel_.tolerance = tolerance(product.sum, result.type.element());
    return finish();
  }

 private:
  static constexpr std::int64_t max_elements = 1 << 13;  ///< of a tile

  Element any_element() { return static_cast<Element>(pick(element_count)); }
  Entry any() { return pool_[static_cast<std::size_t>(pick(static_cast<int>(pool_.size())))]; }
  Element float_element() {
    return one_of<Element>({Element::f16, Element::bf16, Element::f32, Element::f32, Element::f64});
  }

  std::vector<std::int64_t> extents(std::initializer_list<std::int64_t> list) { return list; }

  // ---- products
  struct Product {
    std::int64_t m = 0, n = 0, k = 0;               ///< of a tile
    std::int64_t rows = 0, columns = 0, depth = 0;  ///< of the tensors
    Element left = Element::f32, right = Element::f32, sum = Element::f32;
    bool swap_a = false, swap_b = false;  ///< the factor lies transposed in memory
    bool bias = false, row_sum = false;
    bool second = false;     ///< the loop carries the sum of all partial sums, too
    std::string a, b, c, d;  ///< tensors; d: the bias
    [[nodiscard]] Type acc() const { return Type::tile(sum, {m, n}); }
  };

  Product draw_product() {
    Product p;
    p.m = one_of({1, 4, 8, 16, 33, 64}), p.n = one_of({1, 3, 8, 16, 40, 64, 128}), p.k = one_of({1, 2, 8, 16, 31, 64});
    p.rows = 1 + pick(3 * static_cast<int>(p.m)), p.columns = 1 + pick(3 * static_cast<int>(p.n));
    p.depth = pick(4 * static_cast<int>(p.k) + 1);
    p.left = one_of<Element>({Element::f32, Element::f32, Element::f16, Element::bf16, Element::f64, Element::i8,
                              Element::e4m3, Element::e5m2});
    p.right = is_f8(p.left) ? one_of<Element>({Element::e4m3, Element::e5m2}) : p.left;
    p.sum = dot_accumulator(p.left);
    p.swap_a = pick(4) == 0, p.swap_b = pick(3) == 0;
    p.bias = pick(2) == 0, p.row_sum = pick(4) == 0, p.second = pick(4) == 0;
    p.a = tensor(p.left, p.swap_a ? extents({p.depth, p.rows}) : extents({p.rows, p.depth}), false);
    p.b = tensor(p.right, p.swap_b ? extents({p.columns, p.depth}) : extents({p.depth, p.columns}), false);
    if (p.bias) p.d = tensor(p.sum, extents({p.columns}), false);
    Element const stored = one_of<Element>({p.sum, p.sum, Element::bf16, Element::f16});
    p.c = tensor(stored, extents({p.rows, p.columns}), true);
    return p;
  }

  /// Writes the grid over C and the place %i, %j of a block's tile.
  void product_grid(Product const& p) {
    line("%zero = constant {value = 0 : i64} : i64"), line("%one = constant {value = 1 : i64} : i64");
    line("%m = constant {value = " + text(p.m) + " : i64} : i64"),
        line("%n = constant {value = " + text(p.n) + " : i64} : i64");
    line("%k = constant {value = " + text(p.k) + " : i64} : i64");
    line("%rows = extent " + p.c + " : i64"), line("%columns = extent " + p.c + " {axis = 1} : i64");
    line("%depth = extent " + p.a + (p.swap_a ? "" : " {axis = 1}") + " : i64");
    line("%g0 = ceil_div %rows, %m : i64"), line("%g1 = ceil_div %columns, %n : i64"),
        line("%trips = ceil_div %depth, %k : i64");
    line("grid %g0, %g1");
    line("%b0 = block_index : i64"), line("%b1 = block_index {axis = 1} : i64");
    line("%i = mul %b0, %m : i64"), line("%j = mul %b1, %n : i64");
  }

  /// Loads a factor at a place, and transposes it if it lies transposed in memory.
  void load_factor(std::string const& name, std::string const& source, bool swapped, std::string const& first,
                   std::string const& last, Type const& type) {
    if (!swapped)
      return line("%" + name + " = load " + source + ", " + first + ", " + last + " : " + ir::to_string(type));
    Type const stored = type.with_shape({type.shape()[1], type.shape()[0]});
    line("%" + name + "_t = load " + source + ", " + last + ", " + first + " : " + ir::to_string(stored));
    line("%" + name + " = trans %" + name + "_t {permutation = [1, 0]} : " + ir::to_string(type));
  }

  /// Sums up products along K.
  Entry product_loop(Product const& p) {
    Type const acc = p.acc();
    std::string const first = pick(3) != 0 ? "0" : is_float(p.sum) ? "0.5" : "5";
    line("%init = constant {value = " + first + " : " + std::string(name(p.sum)) + "} : " + ir::to_string(acc));
    std::string const more = p.second ? ", %other = %init" : "";
    line(std::string(p.second ? "%acc, %rest" : "%acc") + " = for %t = %zero to %trips step %one carry (%sum = %init" +
         more + ") : " + ir::to_string(acc) + (p.second ? ", " + ir::to_string(acc) : "") + " {");
    line("%x = mul %t, %k : i64");
    load_factor("a", p.a, p.swap_a, "%i", "%x", Type::tile(p.left, {p.m, p.k}));
    load_factor("b", p.b, p.swap_b, "%x", "%j", Type::tile(p.right, {p.k, p.n}));
    line("%next = dot %a, %b, %sum : " + ir::to_string(acc));
    if (p.second)
      line("%scaled = add %other, %next : " + ir::to_string(acc)), line("yield %next, %scaled");
    else
      line("yield %next");
    line("}");
    pool_ = {{"%acc", acc}};
    return p.second ? binary("add", {"%acc", acc}, {"%rest", acc}) : pool_[0];
  }

  /// Adds bias and sums of rows, and converts to the element of C.
  Entry epilogue(Product const& p, Entry result) {
    Type const acc = p.acc();
    if (p.bias) {
      Type const row = Type::tile(p.sum, {p.n});
      line("%d = load " + p.d + ", %j : " + ir::to_string(row));
      line("%d2 = expand_dims %d {axes = [0]} : " + ir::to_string(Type::tile(p.sum, {1, p.n})));
      line("%d3 = broadcast %d2 : " + ir::to_string(acc));
      result = binary("add", result, {"%d3", acc});
    }
    if (p.row_sum) {
      Entry const total = define("reduce " + result.name + " {axis = 1}", Type::tile(p.sum, {p.m, 1}));
      result = binary("add", result, define("broadcast " + total.name, acc));
    }
    Element const out = kernel_.parameters.back().element;
    return out == p.sum ? result : define("cast " + result.name, acc.with_element(out));
  }

  static double tolerance(Element sum, Element out) {
    if (sum == Element::i32) return 0;
    if (out == Element::bf16) return 0x1p-6;
    if (out == Element::f16) return 0x1p-9;
    return sum == Element::f64 ? 1e-12 : 2e-5;
  }

  // ---- parameters
  std::string tensor(Element element, std::vector<std::int64_t> const& shape, bool written) {
    RandomParameter parameter;
    parameter.is_tensor = true;
    parameter.written = written;
    parameter.element = element;
    parameter.extents = shape;
    parameter.gap = pick(3) == 0 ? pick(7) : 0;
    parameter.inner = pick(5) == 0 ? 2 + pick(2) : 1;
    return add_parameter(
        std::move(parameter),
        (written ? "out " : "in ") + ir::to_string(Type::tensor(element, static_cast<int>(shape.size()))));
  }

  void start(int rank) {
    kernel_ = {};
    signature_.clear(), body_.clear(), pool_.clear(), offsets_.clear(), next_ = 0;
    tile_ = {};
    std::vector<std::int64_t> const choices = rank == 1 ? std::vector<std::int64_t>{1, 3, 8, 31, 64, 100, 256}
                                                        : std::vector<std::int64_t>{1, 2, 3, 5, 8, 16, 17, 33};
    for (int i = 0; i < rank; ++i) tile_.push_back(one_of(choices));
    // Each thread holds all elements of a tile of odd extents, so large ones would take minutes in the simulator.
    while (tile_.product() > max_elements) *std::max_element(tile_.begin(), tile_.end()) /= 2;
    output_.clear();
    for (int i = 0; i < rank; ++i) output_.push_back(1 + pick(static_cast<int>(3 * tile_[i])));
    line("%zero = constant {value = 0 : i64} : i64");
    std::string grid;
    for (int i = 0; i < rank; ++i) {
      std::string const n = fmt::to_string(i);
      line(fmt::format("%e{} = constant {{value = {} : i64}} : i64", n, tile_[i]));
      line(fmt::format("%c{} = constant {{value = {} : i64}} : i64", n,
                       (output_[static_cast<std::size_t>(i)] + tile_[i] - 1) / tile_[i]));
      grid += (i == 0 ? "%c" : ", %c") + n;
    }
    line("grid " + grid);
    for (int i = 0; i < rank; ++i) {
      std::string const n = fmt::to_string(i);
      line("%b" + n + " = block_index {axis = " + n + "} : i64");
      line("%o" + n + " = mul %b" + n + ", %e" + n + " : i64");
      offsets_.push_back("%o" + n);
    }
  }

  /// A tensor near the output's extents, loaded at this block's offsets, sometimes shifted, sometimes with a pad of its
  /// own.
  void load_input() {
    Element const element = any_element();
    std::vector<std::int64_t> shape = output_;
    for (std::int64_t& extent : shape)
      extent = std::max<std::int64_t>(pick(8) == 0 ? 0 : 1, extent + (pick(3) == 0 ? pick(9) - 4 : 0));
    std::string op = "load " + tensor(element, shape, false);
    for (std::string const& offset : offsets_) {
      if (pick(5) != 0) {
        op += ", " + offset;
        continue;
      }
      std::string const name = fmt::format("%s{}", next_++);
      std::int64_t const near = pick(9) - 4, one = 1;
      std::int64_t const far = pick(6) == 0 ? (pick(2) == 0 ? one : -one) << one_of({31, 32, 40, 60}) : 0;
      line(fmt::format("{}c = constant {{value = {} : i64}} : i64", name, near + far));
      line(name + " = add " + offset + ", " + name + "c : i64");
      op += ", " + name;
    }
    if (element != Element::boolean && pick(2) == 0)
      op += " {pad = " + ir::to_string(ir::make_constant(element, static_cast<double>(pick(9) - 4))) + "}";
    pool_.push_back(define(op, Type::tile(element, tile_)));
  }

  void scalar_input() {
    Element const element = any_element();
    RandomParameter parameter;
    parameter.element = element;
    constexpr double inf = std::numeric_limits<double>::infinity();
    std::int64_t const one = 1;
    if (element == Element::boolean || pick(3) != 0)
      parameter.scalar = ir::make_constant(element, static_cast<double>(pick(65) - 32) / (is_float(element) ? 8 : 1));
    else if (is_float(element))
      parameter.scalar =
          ir::make_constant(element, one_of<double>({inf, -inf, inf - inf, -0.0, 0x1p-140, 3e38, 0x1p31}));
    else
      parameter.scalar = ir::make_constant(element, one_of({-1, one << 31, -(one << 31), one << 32, (one << 62) + 1}));
    std::string const name = add_parameter(parameter, std::string(tegula::name(element)));
    pool_.push_back(define("splat " + name, Type::tile(element, tile_)));
  }

  // ---- ops
  /// `entry` with another element and, where extents of 1 allow it, another shape; else a constant.
  Entry coerce(Entry const& entry, Type const& type) {
    Entry result = entry;
    bool fits = entry.type.rank() == type.rank();
    for (int i = 0; fits && i < type.rank(); ++i)
      fits = entry.type.shape()[i] == type.shape()[i] || entry.type.shape()[i] == 1;
    if (!fits) return constant(pick(7) - 3, type);
    if (result.type.element() != type.element()) {
      Type const wanted = result.type.with_element(type.element());
      if (type.element() == Element::boolean) {
        result = numeric(result);
        result = binary("compare", result, constant(0, result.type), " {predicate = ne}");
      } else {
        result = define("cast " + result.name, wanted);
      }
    }
    if (result.type.shape() == type.shape()) return result;
    return define("broadcast " + result.name, type);
  }
  /// A value of a's type.
  Entry partner(Entry const& a) { return coerce(any(), a.type); }
  Entry numeric(Entry const& a) {
    return is_arithmetic(a.type.element())
               ? a
               : coerce(a, a.type.with_element(one_of<Element>({Element::i32, Element::f32})));
  }
  Entry floating(Entry const& a) {
    Element const element = a.type.element();
    return is_float(element) && is_arithmetic(element) ? a : coerce(a, a.type.with_element(float_element()));
  }
  Entry integral(Entry const& a) {
    Element const element = a.type.element();
    return is_integer(element) && is_arithmetic(element)
               ? a
               : coerce(a,
                        a.type.with_element(one_of<Element>({Element::i32, Element::u32, Element::i64, Element::u64})));
  }
  /// An edge of the amounts by which a's element is shifted, alone or added to another value.
  Entry amount(Entry const& a) {
    std::int64_t const width = bits(a.type.element()), high = std::int64_t{1} << 32;
    std::int64_t const number = one_of({0, 1, width - 1, width, width + 1, -1, high / 2, high, high + 5, 3 * high + 1});
    Entry const edge =
        define("constant {value = " + ir::to_string(ir::make_constant(a.type.element(), number)) + "}", a.type);
    return pick(2) == 0 ? edge : binary("add", edge, partner(a));
  }
  std::string function() {
    if (for_gpus_) return one_of<std::string>({"exp2", "round", "floor", "ceil", "trunc"});
    return one_of<std::string>(
        {"exp", "exp2", "log", "log2", "sqrt", "rsqrt", "round", "floor", "expm1", "log1p", "atan"});
  }
  /// A zero of either sign becomes +0.
  Entry plus_zero(Entry const& a) { return is_float(a.type.element()) ? binary("add", a, constant(0, a.type)) : a; }

  void step(int depth) {
    using G = KernelGenerator;
    static constexpr void (G::*ops[])() = {&G::arithmetic,
                                           &G::arithmetic,
                                           &G::arithmetic,
                                           &G::arithmetic,
                                           &G::extreme,
                                           &G::whole,
                                           &G::whole,
                                           &G::whole_up,
                                           &G::comparison,
                                           &G::comparison,
                                           &G::choice,
                                           &G::function_of_floats,
                                           &G::function_of_floats,
                                           &G::sign,
                                           &G::conversion,
                                           &G::along_axis,
                                           &G::along_axis,
                                           &G::places};
    int const drawn = pick(20);
    if (drawn < static_cast<int>(std::size(ops))) return (this->*ops[drawn])();
    bool const loops = drawn == static_cast<int>(std::size(ops));
    if (loops && depth > 0) loop(depth - 1);
    if (loops) return;
    if (depth == 0 || pick(2) == 0)
      pick(2) == 0 ? reshape() : regroup();
    else
      branch(depth - 1);
  }
  void arithmetic() {
    Entry const a = numeric(any());
    auto const op = one_of<std::string>({"add", "sub", "mul", "div"});
    bool const quotient = op == "div" && for_gpus_ && is_float(a.type.element());
    pool_.push_back(binary(quotient ? "mul" : op, a, partner(a)));
  }
  void extreme() {
    Entry const a = numeric(any());
    pool_.push_back(plus_zero(binary(one_of<std::string>({"min", "max"}), a, partner(a))));
  }
  void whole() {
    Entry const a = integral(any());
    std::string const op = one_of<std::string>({"rem", "and", "or", "xor", "shl", "shr", "div"});
    pool_.push_back(binary(op, a, op[0] == 's' && pick(2) == 0 ? amount(a) : partner(a)));
  }
  void whole_up() {
    Entry const a = integral(any());
    Entry const low = binary("and", a, constant(0xFFFF, a.type));
    pool_.push_back(binary("ceil_div", low, partner(a)));
  }
  void comparison() {
    Entry const found = any();
    bool const ordered = found.type.element() != Element::boolean;
    Entry const a = ordered ? numeric(found) : found;
    std::string const predicate =
        ordered ? one_of<std::string>({"eq", "ne", "lt", "le", "gt", "ge"}) : one_of<std::string>({"eq", "ne"});
    pool_.push_back(binary("compare", a, partner(a), " {predicate = " + predicate + "}"));
  }
  void choice() {
    Entry const a = any();
    Entry const b = partner(a);
    Entry const condition = coerce(any(), a.type.with_element(Element::boolean));
    pool_.push_back(define("select " + condition.name + ", " + a.name + ", " + b.name, a.type));
  }
  void function_of_floats() {
    Entry const a = floating(any());
    pool_.push_back(define(function() + " " + a.name, a.type));
  }
  void sign() {
    Entry const a = numeric(any());
    pool_.push_back(define(one_of<std::string>({"neg", "abs"}) + " " + a.name, a.type));
  }
  void conversion() {
    Entry const a = any();
    pool_.push_back(coerce(a, a.type.with_element(any_element())));
  }
  void places() {
    Element const element = one_of<Element>({Element::i32, Element::i64});
    pool_.push_back(define(fmt::format("iota {{axis = {}}}", pick(tile_.size())), Type::tile(element, tile_)));
  }
  /// Scans or reduces, in an order that every executor follows.
  void along_axis() {
    Entry const a = numeric(any());
    int const axis = pick(a.type.rank());
    if (pick(3) == 0)
      scan(a, axis);
    else
      reduce(a, axis);
  }
  void scan(Entry const& a, int axis) {  // in sequence on the host and in the simulator
    std::string const join = one_of<std::string>({"sum", "max", "min", "product"});
    std::string_view const exclusive = pick(2) == 0 ? ", exclusive = true" : "";
    std::string_view const reverse = pick(2) == 0 ? ", reverse = true" : "";
    Entry const scanned =
        define(fmt::format("scan {} {{axis = {}, combine = {}{}{}}}", a.name, axis, join, exclusive, reverse), a.type);
    pool_.push_back(join == "sum" || join == "product" ? scanned : plus_zero(scanned));
  }
  void reduce(Entry const& a, int axis) {
    Extents shape = a.type.shape();
    shape[axis] = 1;
    std::string const combine = one_of<std::string>({"sum", "max", "min"});
    bool const pairwise = (is_float(a.type.element()) && combine == "sum") || pick(2) == 0;
    Entry const r = define(fmt::format("reduce {} {{axis = {}, combine = {}{}", a.name, axis, combine,
                                       pairwise ? ", order = pairwise}" : "}"),
                           a.type.with_shape(shape));
    pool_.push_back(combine == "sum" ? r : plus_zero(r));
    if (pick(2) == 0) pool_.push_back(coerce(pool_.back(), a.type));
  }

  /// There and back through another shape.
  void reshape() {
    Entry const a = any();
    int const rank = a.type.rank();
    if (rank >= 2) {
      Extents shape = a.type.shape();
      std::swap(shape[0], shape[1]);
      std::string const permutation = rank == 2 ? "[1, 0]" : "[1, 0, 2]";
      Entry const t = define("trans " + a.name + " {permutation = " + permutation + "}", a.type.with_shape(shape));
      Entry const u =
          is_float(t.type.element()) && is_arithmetic(t.type.element()) ? binary("mul", t, constant(2, t.type)) : t;
      pool_.push_back(define("trans " + u.name + " {permutation = " + permutation + "}", a.type));
    } else {
      Extents shape = a.type.shape();
      int const at = pick(rank + 1);
      shape.insert(at, 1);
      std::string const axes = fmt::format("{{axes = [{}]}}", at);
      Entry const e = define("expand_dims " + a.name + " " + axes, a.type.with_shape(shape));
      pool_.push_back(define("squeeze " + e.name + " " + axes, a.type));
    }
  }

  /// Exchanges the two parts of a tile along an axis, or sees it in another shape for an op.
  void regroup() {
    Entry const a = any();
    Extents const& shape = a.type.shape();
    int const axis = pick(a.type.rank());
    std::int64_t const extent = shape[axis];
    if (extent == 1 || pick(3) == 0) {
      Type const flat = a.type.with_shape({shape.product()});
      Entry const e = define("reshape " + a.name, flat);
      Entry const u =
          is_float(flat.element()) && is_arithmetic(flat.element()) ? binary("mul", e, constant(2, flat)) : e;
      pool_.push_back(define("reshape " + u.name, a.type));
      return;
    }
    std::int64_t const at = extent % 2 == 0 && pick(2) == 0 ? extent / 2 : 1 + pick(static_cast<int>(extent) - 1);
    auto const part = [&](std::int64_t first, std::int64_t count) {
      Extents offsets, of = shape;
      for (int i = 0; i < shape.size(); ++i) offsets.push_back(i == axis ? first : 0);
      of[axis] = count;
      return define("extract " + a.name + " {offsets = " + list(offsets) + "}", a.type.with_shape(of));
    };
    Entry const low = part(0, at), high = part(at, extent - at);
    pool_.push_back(define(fmt::format("concatenate {}, {} {{axis = {}}}", high.name, low.name, axis), a.type));
  }
  static std::string list(Extents const& values) {
    std::string result;
    for (std::int64_t const value : values) result += fmt::format("{}{}", result.empty() ? "[" : ", ", value);
    return result + "]";
  }

  /// Runs `steps` random steps in a block of its own; values made there stay there.
  template <class Make>
  Entry inside(int depth, Type const& type, Make&& make) {
    auto const outside = pool_;
    make();
    for (int i = 1 + pick(3); i > 0; --i) step(depth);
    Entry const result = coerce(pool_.back(), type);
    pool_ = outside;
    return result;
  }

  void loop(int depth) {
    Entry const init = numeric(any());
    std::string const n = fmt::to_string(next_++);
    line(fmt::format("%lo{} = constant {{value = {} : i64}} : i64", n, pick(5) - 2));
    line(fmt::format("%hi{} = constant {{value = {} : i64}} : i64", n, pick(7) - 1));
    line(fmt::format("%st{} = constant {{value = {} : i64}} : i64", n, 1 + pick(3)));
    line("%r" + n + " = for %i" + n + " = %lo" + n + " to %hi" + n + " step %st" + n + " carry (%a" + n + " = " +
         init.name + ") : " + ir::to_string(init.type) + " {");
    Entry const next = inside(depth, init.type, [&] {
      Entry const index = define("splat %i" + n, Type::tile(Element::i64, init.type.shape()));
      Entry const carried{"%a" + n, init.type};
      pool_.push_back(carried);
      pool_.push_back(binary("add", carried, coerce(index, init.type)));
    });
    line("yield " + next.name);
    line("}");
    pool_.push_back({"%r" + n, init.type});
  }

  void branch(int depth) {
    Entry const a = any();
    std::string const n = fmt::to_string(next_++);
    line(fmt::format("%k{} = constant {{value = {} : i64}} : i64", n, pick(3)));
    line("%q" + n + " = compare %b0, %k" + n + " {predicate = " + one_of<std::string>({"eq", "lt", "ge"}) + "} : bool");
    line("%r" + n + " = if %q" + n + " : " + ir::to_string(a.type) + " {");
    line("yield " + inside(depth, a.type, [&] { pool_.push_back(a); }).name);
    line("} else {");
    line("yield " + a.name);
    line("}");
    pool_.push_back({"%r" + n, a.type});
  }

  void store_output(Entry const& value) {
    std::string op = "store " + tensor(value.type.element(), output_, true) + ", " + value.name;
    for (std::string const& offset : offsets_) op += ", " + offset;
    line(op);
  }

  std::vector<Entry> pool_;
  std::vector<std::string> offsets_;
  std::vector<std::int64_t> output_;
  Extents tile_;
  bool for_gpus_ = false;
};

}  // namespace tegula::test
