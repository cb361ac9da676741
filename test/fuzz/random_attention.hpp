// Makes random kernels of attention's form: a product, masks, a softmax, and a second product on top of a scaled
// accumulator. The softmax carries its reference and sum. The form varies in all properties that passes look for:
// - the reference and its start,
// - the masks and their order,
// - the results of the loop,
// - further uses of its carried values.
//
// Sums may be kept in 16 bits. The factor may be used twice, or elsewhere than in scaling. Scales, also from an
// argument, may be large. Inputs may hold NaN and infinities. Executors may take other references and round elsewhere,
// so results have bounds of error instead of bits. With `exact` NaN and infinities stay where they are.
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

class AttentionGenerator : TileWriter {
 public:
  /// As TileKernelGenerator.
  AttentionGenerator(std::uint64_t seed, std::int64_t stages, std::optional<Trips> trips)
      : TileWriter(seed), depth_(stages), trips_(trips) {}

  test::RandomKernel make() {
    element_ = one_of<Element>({Element::bf16, Element::bf16, Element::f16});
    rows_ = one_of({64, 64, 64, 128}), columns_ = one_of({16, 32, 32, 64}), width_ = one_of({16, 32, 64});
    stages_ = one_of({0, 1, 2, 2, 3});
    special_ = chance(30);
    sum_ = chance(80) ? Element::f32 : one_of<Element>({Element::f16, Element::f16, Element::bf16});
    extra_ = chance(60) ? Extra::none : static_cast<Extra>(1 + pick(5));
    follows_ = chance(80);
    if (!follows_) sum_ = Element::f32, extra_ = Extra::none;  // weights have no bound then
    std::int64_t const depth = depth_ != 0 ? depth_ : std::max<std::int64_t>(stages_, 2);
    trips_now_ = trips_of(trips_.value_or(static_cast<Trips>(pick(trips_count))), depth);
    bool const is_long = depth > 2;  // then a small kernel, so that a run takes no longer
    if (is_long)
      rows_ = 64, columns_ = std::min<std::int64_t>(columns_, 32), width_ = std::min<std::int64_t>(width_, 32);
    heads_ = is_long ? 1 : 1 + pick(2);
    blocks_ = is_long ? 1 : 1 + pick(2);
    keys_ = trips_now_ * columns_ - (chance(50) ? 0 : pick(static_cast<int>(columns_)));
    keys_ = std::max<std::int64_t>(keys_, 0);
    header();
    loop();
    results();
    return finish();
  }

 private:
  using Entries = std::vector<Entry>;

  std::string tensor(Direction direction, std::int64_t rows, std::int64_t width, Element element, double tolerance) {
    test::RandomParameter parameter;
    parameter.is_tensor = true;
    parameter.written = direction != Direction::in;
    parameter.element = element;
    parameter.extents = {heads_, rows, width};
    parameter.bound = parameter.written ? 0 : 2;
    if (!parameter.written && special_) parameter.specials = one_of({0, 8192, 1024, 256});
    parameter.tolerance = tolerance;
    bool const aligned = width % (16 / bytes(element)) == 0 && chance(90);
    if (!aligned) parameter.gap = pick(5);
    std::string const word = direction == Direction::in ? "in " : "out ";
    return add_parameter(parameter, word + ir::to_string(Type::tensor(element, 3)),
                         aligned ? " {unit_inner, aligned_16}" : " {unit_inner}");
  }
  std::string argument(std::int64_t value) {
    test::RandomParameter parameter;
    parameter.element = Element::i64;
    parameter.scalar = ir::make_constant(Element::i64, value);
    return add_parameter(parameter, "i64");
  }

  std::string scale_argument() {
    test::RandomParameter parameter;
    parameter.element = Element::f32;
    parameter.scalar = ir::make_constant(Element::f32, 0.02 * (1 + pick(50)));
    return add_parameter(parameter, "f32");
  }

  [[nodiscard]] Type scores() const { return Type::tile(Element::f32, {rows_, columns_}); }
  [[nodiscard]] Type column() const { return Type::tile(Element::f32, {rows_, 1}); }
  [[nodiscard]] Type output() const { return Type::tile(Element::f32, {rows_, width_}); }
  Entry broadcast(Entry const& a, Type const& type) { return define("broadcast " + a.name, type); }
  Entry unary(std::string const& op, Entry const& a) { return define(op + " " + a.name, a.type); }
  Entry splat(std::string const& scalar, Type const& type) { return define("splat " + scalar, type); }

  void header() {
    queries_ = std::max<std::int64_t>(blocks_ * rows_ - (chance(50) ? 0 : pick(static_cast<int>(rows_))), 1);
    line("%zero = constant {value = 0 : i64} : i64");
    line("%one = constant {value = 1 : i64} : i64");
    line("%heads = constant {value = " + text(heads_) + " : i64} : i64");
    line("%blocks = constant {value = " + text(blocks_) + " : i64} : i64");
    line(chance(50) ? "grid %blocks, %heads" : "grid %blocks, %heads, %one");
    line("%b0 = block_index : i64");
    line("%head = block_index {axis = 1} : i64");
    q_ = tensor(Direction::in, queries_, width_, element_, 0);
    k_ = tensor(Direction::in, keys_, width_, element_, 0);
    v_ = tensor(Direction::in, keys_, width_, element_, 0);
    row_ = times("%b0", rows_);
    Type const tile = Type::tile(element_, {rows_, width_});
    query_ = define("load " + q_ + ", %head, " + row_ + ", %zero", tile);
    length_ = chance(70) ? define("extent " + k_ + " {axis = 1}", Type::index()).name : argument(keys_);
    std::string const block = index(columns_);
    upper_ = scalar("ceil_div", length_, block);
    causal_ = chance(35);
    // Blocks behind the last row's own column are all masked.
    if (causal_ && chance(50))
      upper_ = scalar("min", upper_, scalar("ceil_div", scalar("add", row_, index(rows_)), block));
    masks_tail_ = keys_ % std::max<std::int64_t>(columns_, 1) != 0 || chance(50);
    window_ = chance(15) ? 1 + pick(static_cast<int>(columns_)) : 0;
  }

  /// Scores where `at < limit` of two tiles of coordinates, else -inf.
  Entry masked(Entry const& s, Entry const& at, std::string const& predicate, Entry const& limit) {
    Entry const inside = binary("compare", at, limit, " {predicate = " + predicate + "}");
    Type const mask = scores().with_element(Element::boolean);
    Entry const all = inside.type.shape() == mask.shape() ? inside : define("broadcast " + inside.name, mask);
    Entry const outside = define("constant {value = " + std::string(finite_ ? "-1e30" : "-inf") + " : f32}", scores());
    return define("select " + all.name + ", " + s.name + ", " + outside.name, scores());
  }
  Entry scored(std::string const& from) {
    Type const keys = Type::tile(element_, {columns_, width_});
    Entry const k = define("load " + k_ + ", %head, " + from + ", %zero", keys);
    Entry const turned = define("trans " + k.name + " {permutation = [1, 0]}", keys.with_shape({width_, columns_}));
    Entry s = define("dot " + query_.name + ", " + turned.name + ", " + constant(0, scores()).name, scores());
    if (chance(15))
      s = binary("mul", s, splat(scale_argument(), scores()));
    else
      s = binary("mul", s, constant(chance(70) ? std::exp2(-pick(4) - 1) : 0.01 * (1 + pick(100)), scores()));
    Type const places = Type::tile(Element::i64, {1, columns_});
    Entry const column_at = binary("add", define("iota {axis = 1}", places), splat(from, places));
    bool const tail_first = chance(50);
    for (int i = 0; i < 2; ++i) {
      if (masks_tail_ && (i == 0) == tail_first) s = masked(s, column_at, "lt", splat(length_, places));
      if (causal_ && (i == 0) != tail_first) {
        Type const lines = Type::tile(Element::i64, {rows_, 1}), both = Type::tile(Element::i64, {rows_, columns_});
        Entry const row_at = binary("add", define("iota {axis = 0}", lines), splat(row_, lines));
        Entry const to = define("broadcast " + column_at.name, both), own = define("broadcast " + row_at.name, both);
        s = masked(s, to, "le", own);
      }
    }
    if (window_ != 0)
      s = masked(s, column_at, "ge", splat(index(window_ - 1), places));  // the first columns are dropped
    return s;
  }

  void loop() {
    finite_ = window_ != 0 || chance(25);  // rows without a column have a reference then
    has_more_ = extra_ == Extra::adds_factor || extra_ == Extra::adds_weights || extra_ == Extra::scales_other;
    begin_loop();
    std::string const from = times("%i", columns_);
    Entry const s = scored(from), m0{"%m0", column()};
    Carried next{{"%l0", sums()}, {"%o0", output()}, {"%x0", column()}};
    Entry const max = define("reduce " + s.name + " {axis = 1, combine = max}", column());
    Entry const m1 = !follows_ ? constant(16, column()) : chance(50) ? binary("max", m0, max) : binary("max", max, m0);
    Entry const p = unary("exp2", binary("sub", s, broadcast(m1, scores())));
    Entry const sum = define("reduce " + p.name + " {axis = 1}", column());
    if (follows_) rescale(next, m0, m1);
    if (extra_ == Extra::adds_weights) next.x = binary("add", next.x, sum);
    if (extra_ == Extra::stores_weights && trips_now_ > 0) {
      std::string const to = tensor(Direction::out, queries_, columns_ * trips_now_, Element::f32, 0x1p-8);
      line("store " + to + ", " + p.name + ", %head, " + row_ + ", " + from);
    }
    next.l = chance(50) ? binary("add", next.l, narrow(sum)) : binary("add", narrow(sum), next.l);
    next.o = add_values(next.o, p, from);
    line("yield " + m1.name + ", " + next.l.name + ", " + next.o.name + (has_more_ ? ", " + next.x.name : ""));
    line("}");
  }
  void begin_loop() {
    std::string const low = finite_ ? "-1e30" : "-inf";
    Entry const m = define("constant {value = " + low + " : f32}", column()), l = constant(0, sums()),
                o = constant(0, output()), x = constant(0, column());
    std::string const other = has_more_ ? ", %x0 = " + x.name : "";
    std::string const depth = stages_ > 0 ? " {stages = " + text(stages_) + "}" : "";
    line("%m, %l, %o" + std::string(has_more_ ? ", %x" : "") + " = for %i = %zero to " + upper_ +
         " step %one carry (%m0 = " + m.name + ", %l0 = " + l.name + ", %o0 = " + o.name + other + ")" + depth + " : " +
         ir::to_string(column()) + ", " + ir::to_string(sums()) + ", " + ir::to_string(output()) +
         (has_more_ ? ", " + ir::to_string(column()) : "") + " {");
  }
  /// Holds what an iteration hands on besides the reference: sums of weights, sums of values, and one of `Extra`.
  struct Carried {
    Entry l, o, x;
  };
  /// Scales what is carried by the factor from the old reference to the new one.
  void rescale(Carried& next, Entry const& m0, Entry const& m1) {
    Entry const a = unary("exp2", binary("sub", m0, m1));
    next.l = binary("mul", next.l, narrow(extra_ == Extra::scales_twice ? binary("mul", a, a) : a));
    if (extra_ == Extra::adds_factor) next.x = binary("add", next.x, a);
    if (extra_ == Extra::scales_other) next.x = binary("add", binary("mul", next.x, a), constant(1, column()));
    Entry const factor = chance(80) ? a : unary("exp2", binary("sub", m0, m1));
    next.o = binary("mul", next.o, broadcast(factor, output()));
  }
  /// Adds the product of weights and values.
  Entry add_values(Entry const& o, Entry const& p, std::string const& from) {
    Type const values = Type::tile(element_, {columns_, width_});
    Entry const small = define("cast " + p.name, p.type.with_element(element_));
    // Now and then the keys are the values, as in latent attention.
    Entry const v = define("load " + (chance(15) ? k_ : v_) + ", %head, " + from + ", %zero", values);
    return define("dot " + small.name + ", " + v.name + ", " + o.name, output());
  }
  [[nodiscard]] Type sums() const { return column().with_element(sum_); }
  Entry narrow(Entry const& value) { return sum_ == Element::f32 ? value : define("cast " + value.name, sums()); }

  void results() {
    Entry const m{"%m", column()}, o{"%o", output()};
    Entry l{"%l", column().with_element(sum_)};
    if (sum_ != Element::f32) l = define("cast " + l.name, column());
    // Weights of 8 bits or so times values up to 2; sums of 8 bits, rounded in every iteration.
    double const close = extra_ == Extra::scales_twice ? 4 : sum_ == Element::bf16 ? 0x1p-1 : 0x1p-5;
    if (has_more_) write({"%x", column()}, 0x1p-8 * static_cast<double>(std::max<std::int64_t>(trips_now_, 1)));
    Entry const quotient = chance(70) ? binary("div", o, broadcast(l, output()))
                                      : binary("mul", o, broadcast(binary("div", constant(1, column()), l), output()));
    write(quotient, close);
    if (chance(15)) write(m, 0x1p-12);  // then no reference may lag
    if (chance(15)) write(unary("log2", l), sum_ == Element::bf16 ? 0x1p-1 : 0x1p-5, true);
  }
  /// Stores the logarithm of the sum with its reference, as a backward pass needs it.
  void write(Entry value, double tolerance, bool logarithm = false) {
    if (logarithm) value = binary("add", value, {"%m", column()});
    Element const element = value.type.shape()[1] == 1 || chance(50) ? Element::f32 : element_;
    std::int64_t const width = value.type.shape()[1];
    if (value.type.element() != element) value = define("cast " + value.name, value.type.with_element(element));
    std::string const target = tensor(Direction::out, queries_, width, element, tolerance);
    line("store " + target + ", " + value.name + ", %head, " + row_ + ", %zero");
  }

  /// Selects other uses of factors and weights.
  enum class Extra : std::uint8_t { none, adds_factor, scales_other, scales_twice, adds_weights, stores_weights };
  Extra extra_ = Extra::none;
  bool special_ = false, has_more_ = false;
  Element element_ = Element::bf16, sum_ = Element::f32;
  std::int64_t rows_ = 64, columns_ = 32, width_ = 32, stages_ = 0, heads_ = 1, blocks_ = 1, queries_ = 64, keys_ = 64,
               window_ = 0;
  std::int64_t depth_;
  std::optional<Trips> trips_;
  std::int64_t trips_now_ = 0;
  bool follows_ = true, causal_ = false, masks_tail_ = true, finite_ = false;
  std::string q_, k_, v_, row_, length_, upper_;
  Entry query_;
};

}  // namespace tegula::fuzz
