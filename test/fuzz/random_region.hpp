// Inserts random ops over the values of a region. Some ops are left out, so that results are comparable bit by bit.
// Minima and maxima of zeros of different sign may give either. So no op here tells zeros apart: floats are divided by
// constants alone, and there is no rsqrt and no bitcast of floats. Kernels that different executors run lack ops of
// floats that each of them may round in its own way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "fuzz/random_values.hpp"
#include "ir/core/builder.hpp"

namespace tegula::fuzz {

using ir::Type;
using ir::Value;

/// Holds values that may be used at one point, and inserts ops there.
class RandomRegion {
 public:
  ir::Builder builder;
  std::vector<Value*> values;
  std::vector<Value*> tensors;

  /// Begins with the arguments of a function's body.
  RandomRegion(RandomValues& draw, ir::Module const& module, ir::Block& block)
      : builder(block), draw_(draw), module_(module) {
    for (int i = 0; i < block.argument_count(); ++i)
      (block.argument(i)->type().is_tensor() ? tensors : values).push_back(block.argument(i));
  }
  /// Begins with the values around a block.
  RandomRegion(RandomRegion const& outer, ir::Block& block)
      : builder(block), values(outer.values), tensors(outer.tensors), draw_(outer.draw_), module_(outer.module_) {
    for (int i = 0; i < block.argument_count(); ++i) values.push_back(block.argument(i));
  }

  /// Returns a value of this type: an existing one, or a new constant, splat or iota.
  Value* of_type(Type const& type) {
    if (random().chance(75))
      if (Value* value = find([&](Value const& v) { return v.type() == type; })) return value;
    if (type.is_tile() && (type.element() == Element::i32 || type.element() == Element::i64) && random().chance(40))
      return keep(builder.op(ir::make_op<ir::IotaOp>(std::int64_t{random().below(type.rank())}), {}, {type}).result());
    if (draw_.anywhere && type.is_tile() && type.element() != Element::boolean && random().chance(80)) {
      Value* const other = find([&](Value const& v) {
        return v.type().is_tile() && v.type().shape() == type.shape() && v.type().element() != Element::boolean;
      });
      if (other != nullptr) return keep(builder.op(ir::CastOp{}, {other}, {type}).result());
    }
    if (type.is_tile() && random().chance(40))
      return keep(builder.op(ir::SplatOp{}, {of_type(Type::scalar(type.element()))}, {type}).result());
    return keep(builder.constant(draw_.constant(type.element()), type));
  }
  Type type(bool tiles_only = false) {
    return tiles_only || random().chance(75) ? Type::tile(draw_.element(), draw_.shape())
                                             : Type::scalar(draw_.element());
  }
  void launch_statements(bool one_block) {
    Value* const extent =
        tensors.empty() ? nullptr : keep(builder.op(ir::ExtentOp{}, {tensors[0]}, {Type::index()}).result());
    if (extent != nullptr && random().chance(50)) {
      Value* const bound = keep(builder.index(1000));
      builder.op(ir::make_op<ir::RequireOp>(Symbol("bound")),
                 {keep(builder
                           .op(ir::make_op<ir::CompareOp>(ir::Predicate::le), {extent, bound},
                               {Type::scalar(Element::boolean)})
                           .result())},
                 {});
    }
    builder.op(ir::GridOp{}, {keep(builder.index(one_block ? 1 : 1 + random().below(3)))}, {});
    keep(builder.op(ir::BlockIndexOp{}, {}, {Type::index()}).result());
  }

  void ops(int count, int depth) {
    for (int i = 0; i < count; ++i) one(depth);
  }

  /// Loads the first box of every tensor that is read, so that values are not known before the launch.
  void load_all() {
    Value* const zero = keep(builder.index(0));
    for (Value* tensor : tensors) {
      if (attributes(*tensor).direction == Direction::out) continue;
      Extents box = draw_.shape();
      while (box.size() != tensor->type().rank()) box = draw_.shape();
      Element const e = tensor->type().element();
      std::vector<Value*> operands = {tensor};
      operands.resize(1 + static_cast<std::size_t>(box.size()), zero);
      keep(builder.op(ir::make_op<ir::LoadOp>(ir::make_constant(e, 0.0)), operands, {Type::tile(e, box)}).result());
    }
  }

  /// Stores at least once to every tensor that can be written.
  void stores() {
    for (Value* tensor : tensors)
      for (int i = attributes(*tensor).direction == Direction::in ? 0 : 4; i > 0; --i) store(tensor);
  }

 private:
  Random& random() const { return draw_.random; }
  Value* keep(Value* value) {
    values.push_back(value);
    return value;
  }

  template <class Test>
  Value* find(Test test) {
    std::vector<Value*> fitting;
    for (Value* value : values)
      if (test(*value)) fitting.push_back(value);
    if (fitting.empty()) return nullptr;
    // Recent values are used more, so that most computed values matter.
    auto const size = static_cast<int>(fitting.size());
    return random().chance(60) ? fitting[static_cast<std::size_t>(size - 1 - random().below(std::min(size, 3)))]
                               : random().pick(fitting);
  }

  /// Draws the type of an op's operands: numbers or booleans.
  Type computed_type() {
    Element const e = draw_.computed_element();
    return random().chance(75) ? Type::tile(e, draw_.shape()) : Type::scalar(e);
  }

  void one(int depth) {
    if (random().chance(20)) return integers();
    switch (random().below(20)) {
      case 0:
      case 1:
        return load();
      case 2:
        return shape_op();
      case 3:
        return reduce();
      case 4:
        return select();
      case 5:
        return compare();
      case 6:
        return random().chance(20) ? bitcast() : cast();
      case 7:
        return dot();
      case 8:
        return depth < 3 ? loop(depth) : unary();
      case 9:
        return depth < 3 ? branch(depth) : unary();
      case 10:
        return call();
      case 11:
        return store_somewhere();
      case 12:
        return unary();
      case 13:
      case 14:
        return again();
      default:
        return binary();
    }
  }

  /// Repeats an op of this block, which makes a common subexpression.
  void again() {
    std::vector<ir::Op const*> ops;
    for (ir::Op const& op : builder.block())
      if (op.block_count() == 0 && !op.is(ir::Family::launch)) ops.push_back(&op);
    if (ops.empty()) return;
    ir::ValueMap map;
    ir::Op const& source = *random().pick(ops);
    ir::Op& copy = builder.clone(source, map);
    if (copy.info().has(ir::commutative) && random().chance(50)) {
      copy.set_operand(0, source.operand(1));
      copy.set_operand(1, source.operand(0));
    }
    for (int i = 0; i < copy.result_count(); ++i) keep(copy.result(i));
  }

  void binary() {
    Type const of = computed_type();
    Element const e = of.element();
    Value* const a = of_type(of);
    Value* b = random().chance(40) ? keep(builder.constant(draw_.constant(e), of)) : of_type(of);
    if (e == Element::boolean) {
      static std::vector<ir::OpKind> const list = {ir::OpKind::AndOp, ir::OpKind::OrOp, ir::OpKind::XorOp};
      return make(random().pick(list), {a, b}, of);
    }
    static std::vector<ir::OpKind> const floats = {ir::OpKind::AddOp, ir::OpKind::SubOp, ir::OpKind::MulOp,
                                                   ir::OpKind::MinOp, ir::OpKind::MaxOp};
    static std::vector<ir::OpKind> const integers = {
        ir::OpKind::AddOp, ir::OpKind::AddOp, ir::OpKind::SubOp, ir::OpKind::MulOp, ir::OpKind::MulOp,
        ir::OpKind::DivOp, ir::OpKind::RemOp, ir::OpKind::MinOp, ir::OpKind::MaxOp, ir::OpKind::AndOp,
        ir::OpKind::OrOp,  ir::OpKind::XorOp, ir::OpKind::ShlOp, ir::OpKind::ShrOp, ir::OpKind::CeilDivOp};
    if (is_float(e) && random().chance(15)) {
      static std::vector<double> const divisors = {1, 2, 4, 0.5, 3, -8, 0.1};
      b = keep(builder.constant(random().pick(divisors), of));
      return make(ir::OpKind::DivOp, {a, b}, of);
    }
    ir::OpKind const kind = random().pick(is_float(e) ? floats : integers);
    bool const shifts = kind == ir::OpKind::ShlOp || kind == ir::OpKind::ShrOp;
    if (shifts && random().chance(60)) b = amounts(of);
    make(kind, {a, b}, of);
  }

  /// Returns edges of shift amounts; of half of them a part is not known before the launch.
  Value* amounts(Type const& of) {
    Value* const edge = keep(builder.constant(draw_.edge(of.element()), of));
    if (random().chance(40)) return random().chance(50) ? edge : of_type(of);  // LLVM knows masked ones too well
    Value* const low = keep(builder.constant(ir::make_constant(of.element(), std::int64_t{random().below(8)}), of));
    make(ir::OpKind::AndOp, {of_type(of), low}, of);
    make(random().chance(50) ? ir::OpKind::AddOp : ir::OpKind::XorOp, {values.back(), edge}, of);
    return values.back();
  }

  /// Makes one or two ops of integers at edges: shifts, pairs of unary ops, pairs of binary ops with constants,
  /// comparisons with constants.
  void integers() {
    using K = ir::OpKind;
    static std::vector<Element> const list = {Element::i32, Element::u32, Element::i64, Element::u64};
    static std::vector<K> const unary = {K::NegOp, K::AbsOp, K::NotOp},
                                binary = {K::AddOp, K::SubOp, K::MulOp, K::DivOp, K::RemOp, K::MinOp,    K::MaxOp,
                                          K::AndOp, K::OrOp,  K::XorOp, K::ShlOp, K::ShrOp, K::CeilDivOp};
    Type const of = type().with_element(random().pick(list));
    auto const edge = [&] { return keep(builder.constant(draw_.edge(of.element()), of)); };
    Value* const x = of_type(of);
    switch (random().below(4)) {
      case 0:
        return make(random().chance(50) ? K::ShlOp : K::ShrOp, {x, amounts(of)}, of);
      case 1:
        make(random().pick(unary), {x}, of);
        return make(random().pick(unary), {values.back()}, of);
      case 2: {
        K const kind = random().pick(binary);
        make(kind, {x, edge()}, of);
        Value* const first = values.back();
        return make(random().chance(70) ? kind : random().pick(binary), {first, edge()}, of);
      }
      default: {
        auto const op = ir::make_op<ir::CompareOp>(static_cast<ir::Predicate>(random().below(6)));
        Value* const other = random().chance(20) ? x : edge();
        keep(builder.op(op, {x, other}, {of.with_element(Element::boolean)}).result());
      }
    }
  }

  void unary() {
    Type const of = computed_type();
    Value* const a = of_type(of);
    Element const e = of.element();
    if (e == Element::boolean) return make(ir::OpKind::NotOp, {a}, of);
    static std::vector<ir::OpKind> const floats = {ir::OpKind::NegOp,   ir::OpKind::AbsOp,  ir::OpKind::RoundOp,
                                                   ir::OpKind::FloorOp, ir::OpKind::SqrtOp, ir::OpKind::ExpOp,
                                                   ir::OpKind::Exp2Op};
    static std::vector<ir::OpKind> const integers = {ir::OpKind::NegOp, ir::OpKind::AbsOp, ir::OpKind::NotOp};
    ir::OpKind const kind = random().pick(is_float(e) ? floats : integers);
    bool const expanded = kind == ir::OpKind::ExpOp || kind == ir::OpKind::Exp2Op;
    make(draw_.anywhere && expanded ? ir::OpKind::NegOp : kind, {a}, of);
  }

  void make(ir::OpKind kind, std::vector<Value*> const& operands, Type const& result) {
    keep(builder.create(kind, nullptr, operands, {&result, 1}).result());
  }

  void select() {
    Type const of = type();
    Value* const condition = of_type(of.with_element(Element::boolean));
    Value* const a = of_type(of);
    Value* const b = of_type(of);
    if ((of.element() == Element::f32 || of.element() == Element::f64) && random().chance(30))
      return make(ir::OpKind::FmaOp, {a, b, of_type(of)}, of);
    make(ir::OpKind::SelectOp, {condition, a, b}, of);
  }

  void compare() {
    Type const of = computed_type();
    Value* const a = of_type(of);
    Value* const b = of_type(of);
    int const predicates = of.element() == Element::boolean ? 2 : 6;
    auto const op = ir::make_op<ir::CompareOp>(static_cast<ir::Predicate>(random().below(predicates)));
    keep(builder.op(op, {a, b}, {of.with_element(Element::boolean)}).result());
  }

  void cast() {
    Type const from = type();
    Element to = draw_.element();
    if (to == Element::boolean) to = Element::i64;
    Value* const a = of_type(from);
    make(ir::OpKind::CastOp, {a}, from.with_element(to));
  }

  /// Reads signed integers as unsigned ones of the same width, or back.
  void bitcast() {
    static std::vector<Element> const list = {Element::i8,  Element::u8,  Element::i16, Element::u16,
                                              Element::i32, Element::u32, Element::i64, Element::u64};
    auto const at = static_cast<std::size_t>(random().below(static_cast<int>(list.size())));
    Element const from = list[at], to = list[at ^ 1];
    Type const of = type().with_element(from);
    make(ir::OpKind::BitcastOp, {of_type(of)}, of.with_element(to));
  }

  void shape_op() {
    Value* const x = find([](Value const& v) { return v.type().is_tile(); });
    if (x == nullptr) return;
    int const axis = random().below(x->type().rank());
    using R = RandomRegion;
    static constexpr void (R::*ops[])(Value*, int) = {&R::transpose, &R::expand,      &R::squeeze, &R::reshape,
                                                      &R::extract,   &R::concatenate, &R::move,    &R::broadcast};
    (this->*ops[random().below(static_cast<int>(std::size(ops)))])(x, axis);
  }
  /// Keeps the result of an op of one tile.
  template <class Op>
  void shaped(Op const& op, Value* x, Extents const& shape) {
    keep(builder.op(op, {x}, {x->type().with_shape(shape)}).result());
  }
  void transpose(Value* x, int axis) {
    Extents const& shape = x->type().shape();
    ir::TransOp op;
    for (int i = 0; i < shape.size(); ++i) op.permutation.push_back((i + axis) % shape.size());
    Extents to;
    for (std::int64_t const from : op.permutation) to.push_back(shape[static_cast<int>(from)]);
    shaped(op, x, to);
  }
  void expand(Value* x, int axis) {
    Extents shape = x->type().shape();
    if (shape.size() > 3) return;
    shape.insert(axis, 1);
    shaped(ir::make_op<ir::ExpandDimsOp>(Extents{axis}), x, shape);
  }
  void squeeze(Value* x, int axis) {
    Extents shape = x->type().shape();
    if (shape.size() < 2 || shape[axis] != 1) return;
    shape.erase(axis);
    shaped(ir::make_op<ir::SqueezeOp>(Extents{axis}), x, shape);
  }
  /// Takes an axis apart, or joins it with the next one.
  void reshape(Value* x, int axis) {
    Extents shape = x->type().shape();
    if (axis + 1 < shape.size()) {
      shape[axis] *= shape[axis + 1];
      shape.erase(axis + 1);
    } else if (shape[axis] % 2 == 0 && shape.size() < 4) {
      shape[axis] /= 2;
      shape.insert(axis + random().below(2), 2);
    } else {
      return;
    }
    shaped(ir::ReshapeOp{}, x, shape);
  }
  void extract(Value* x, int /*axis*/) {
    Extents shape = x->type().shape();
    ir::ExtractOp op;
    for (std::int64_t& extent : shape) {
      std::int64_t const whole = extent;
      if (extent > 1 && random().chance(60))
        extent = random().chance(50) ? extent / 2 : 1 + random().below(static_cast<int>(extent));
      op.offsets.push_back(random().below(static_cast<int>(whole - extent + 1)));
    }
    shaped(op, x, shape);
  }
  void concatenate(Value* x, int axis) {
    Value* const other = random().chance(50) ? x : of_type(x->type());
    if (2 * x->type().elements() > 4096) return;
    Extents shape = x->type().shape();
    shape[axis] *= 2;
    auto const op = ir::make_op<ir::ConcatenateOp>(std::int64_t{axis});
    keep(builder.op(op, {x, other}, {x->type().with_shape(shape)}).result());
  }
  /// Cuts a tile, turns it round, or exchanges neighbours.
  void move(Value* x, int axis) {
    Extents shape = x->type().shape();
    if (random().chance(30) && shape[axis] > 1) {
      shape[axis] -= random().below(static_cast<int>(shape[axis]));
      return shaped(ir::ResizeOp{}, x, shape);
    }
    if (shape[axis] % 2 != 0 || random().chance(30))
      return shaped(ir::make_op<ir::FlipOp>(std::int64_t{axis}), x, shape);
    int const stride = shape[axis] % 4 == 0 && random().chance(60) ? 2 : 1;
    shaped(ir::make_op<ir::ButterflyOp>(std::int64_t{axis}, stride), x, shape);
  }
  void broadcast(Value* x, int /*axis*/) {
    Extents shape = x->type().shape();
    for (std::int64_t& extent : shape)
      if (extent == 1 && random().chance(70)) extent = random().chance(50) ? 4 : 8;
    shaped(ir::BroadcastOp{}, x, shape);
  }

  /// Makes a scalar of an element of a tile, at a place that may be outside.
  void item() {
    Value* const x = find([](Value const& v) { return v.type().is_tile(); });
    if (x == nullptr) return;
    Type const scalar = Type::scalar(x->type().element());
    if (x->type().elements() == 1 && random().chance(50)) {
      keep(builder.op(ir::ItemOp{}, {x}, {scalar}).result());
      return;
    }
    std::vector<Value*> operands = {x};
    for (std::int64_t const extent : x->type().shape())
      operands.push_back(random().chance(40) ? of_type(Type::index())
                                             : keep(builder.index(random().below(static_cast<int>(extent) + 1) -
                                                                  (random().chance(10) ? 1 : 0))));
    keep(builder.op(ir::ItemAtOp{}, operands, {scalar}).result());
  }

  /// Returns integers, of which many are small.
  Value* small_numbers(Type const& type) {
    Value* const any = of_type(type);
    if (random().chance(30)) return any;
    Value* const mask = keep(builder.constant(ir::make_constant(type.element(), std::int64_t{7}), type));
    return keep(builder.same(ir::AndOp{}, {any, mask}));
  }

  /// Counts elements, ranks them, or takes them from places and puts them there.
  void places() {
    static std::vector<std::int64_t> const extents = {1, 4, 8, 12};
    Element const integer = random().chance(50) ? Element::i32 : Element::u32;
    Type const bins = Type::tile(Element::i32, {random().pick(extents)});
    Extents const line = {random().pick(extents)};
    switch (random().below(4)) {
      case 0:
        keep(builder.op(ir::HistogramOp{}, {small_numbers(Type::tile(integer, draw_.shape()))}, {bins}).result());
        return;
      case 1:
        keep(builder
                 .op(ir::RanksOp{}, {small_numbers(Type::tile(integer, line)), of_type(bins)},
                     {Type::tile(Element::i32, line)})
                 .result());
        return;
      case 2: {
        Type const from = Type::tile(draw_.element(), line), to = Type::tile(from.element(), draw_.shape());
        Value* const at = small_numbers(to.with_element(Element::i32));
        keep(builder.op(ir::TakeOp{}, {of_type(from), at}, {to}).result());
        return;
      }
      default: {
        // Each place once: numbers with a bit flipped, of an extent that is a multiple of two.
        Type const tile = Type::tile(draw_.element(), {8}), numbers = tile.with_element(Element::i32);
        Value* const own = keep(builder.op(ir::make_op<ir::IotaOp>(std::int64_t{0}), {}, {numbers}).result());
        Value* const flip =
            keep(builder.constant(ir::make_constant(Element::i32, std::int64_t{random().below(8)}), numbers));
        Value* const at = keep(builder.same(ir::XorOp{}, {own, flip}));
        keep(builder.op(ir::PutOp{}, {of_type(tile), at}, {tile}).result());
        return;
      }
    }
  }

  /// Reduces, scans, counts, or takes an element.
  void reduce() {
    if (random().chance(30)) return item();
    if (random().chance(20)) return places();
    bool const anywhere = draw_.anywhere;
    Value* const x = find([&](Value const& v) {
      Element const e = v.type().element();
      return v.type().is_tile() && is_arithmetic(e) && !(anywhere && is_float(e));
    });
    if (x == nullptr) return;
    Extents shape = x->type().shape();
    int const axis = random().below(shape.size());
    auto const combine = static_cast<ir::Combine>(random().below(4));
    if (random().chance(30)) {
      auto const scan = ir::make_op<ir::ScanOp>(std::int64_t{axis}, combine, random().chance(50), random().chance(50));
      keep(builder.op(scan, {x}, {x->type()}).result());
      return;
    }
    shape[axis] = 1;
    auto const op = ir::make_op<ir::ReduceOp>(std::int64_t{axis}, combine, static_cast<ir::Order>(random().below(2)));
    keep(builder.op(op, {x}, {x->type().with_shape(shape)}).result());
  }

  void dot() {
    bool const anywhere = draw_.anywhere;
    Value* const a = find([&](Value const& v) {
      Element const e = v.type().element();
      return v.type().is_tile() && v.type().rank() == 2 && is_multiplied(e) && !anywhere;
    });
    if (a == nullptr) return;
    Element const e = a->type().element();
    static std::vector<Element> const bytes = {Element::i8, Element::u8}, f8 = {Element::e4m3, Element::e5m2};
    Element const right = is_i8_or_u8(e) ? random().pick(bytes) : is_f8(e) ? random().pick(f8) : e;
    Value* const b = of_type(Type::tile(right, {a->type().shape()[1], 8}));
    Value* const acc = of_type(Type::tile(dot_accumulator(e), {a->type().shape()[0], 8}));
    make(ir::OpKind::DotOp, {a, b, acc}, acc->type());
  }

  ir::ParameterAttributes const& attributes(Value const& tensor) const {
    ir::Function const& function = *tensor.owner_block()->parent_function();
    return function.parameter_attributes()[static_cast<std::size_t>(tensor.index())];
  }

  std::vector<Value*> offsets(Value const& tensor) {
    std::vector<Value*> result;
    for (int i = 0; i < tensor.type().rank(); ++i) result.push_back(of_type(Type::index()));
    return result;
  }

  /// Loads a box or one element, or gathers.
  void load() {
    std::vector<Value*> readable;
    for (Value* tensor : tensors)
      if (attributes(*tensor).direction != Direction::out) readable.push_back(tensor);
    if (readable.empty()) return;
    Value* const tensor = random().pick(readable);
    Extents box = draw_.shape();
    Element const e = tensor->type().element();
    ir::Constant const pad = random().chance(60) ? ir::make_constant(e, 0.0) : draw_.constant(e);
    std::vector<Value*> operands = {tensor};
    if (random().chance(20)) {
      for (int axis = 0; axis < tensor->type().rank(); ++axis)
        operands.push_back(random().chance(30)   ? of_type(Type::index())
                           : random().chance(50) ? of_type(Type::tile(Element::i64, box))
                                                 : of_type(Type::tile(Element::i32, box)));
      keep(builder.op(ir::make_op<ir::GatherOp>(pad), operands, {Type::tile(e, box)}).result());
      return;
    }
    for (Value* offset : offsets(*tensor)) operands.push_back(offset);
    if (box.size() > tensor->type().rank()) box = {8};
    Type const result = random().chance(20) ? Type::scalar(e) : Type::tile(e, box);
    keep(builder.op(ir::make_op<ir::LoadOp>(pad), operands, {result}).result());
  }

  void store(Value* tensor) {
    Extents box = draw_.shape();
    if (box.size() > tensor->type().rank()) box = {8};
    Value* const tile = of_type(Type::tile(tensor->type().element(), box));
    std::vector<Value*> operands = {tensor, tile};
    for (Value* offset : offsets(*tensor)) operands.push_back(offset);
    builder.op(ir::StoreOp{}, operands, {});
  }

  void store_somewhere() {
    std::vector<Value*> writable;
    for (Value* tensor : tensors)
      if (attributes(*tensor).direction != Direction::in) writable.push_back(tensor);
    if (writable.empty()) return;
    Value* const tensor = random().pick(writable);
    if (random().chance(25))
      change(tensor);
    else
      store(tensor);
  }

  /// Scatters to a tensor, or changes it by an atomic of any order and scope.
  void change(Value* tensor) {
    Element const e = tensor->type().element();
    bool const number = is_arithmetic(e), both = attributes(*tensor).direction == Direction::inout;
    Extents const box = draw_.shape();
    std::vector<Value*> operands = {tensor, of_type(Type::tile(e, box))};
    for (int axis = 0; axis < tensor->type().rank(); ++axis)
      operands.push_back(random().chance(30) ? of_type(Type::index()) : of_type(Type::tile(Element::i32, box)));
    if (!both || !number || random().chance(30)) {
      builder.op(ir::ScatterOp{}, operands, {});
      return;
    }
    int const kinds = !is_integer(e) ? 3 : 6;
    ir::AtomicUpdateOp op;
    op.combine = static_cast<ir::AtomicCombine>(random().below(kinds));
    op.order = static_cast<ir::MemoryOrder>(random().below(4));
    op.scope = static_cast<ir::AtomicScope>(random().below(3));
    keep(builder.op(op, operands, {operands[1]->type()}).result());
  }

  void loop(int depth) {
    static std::vector<std::int64_t> const bounds = {-1, 0, 1, 2, 3, 5};
    Value* const lower = builder.index(random().pick(bounds));
    Value* upper = builder.index(random().pick(bounds));
    if (random().chance(50)) {
      Value* const unknown = of_type(Type::index());
      upper = keep(builder.same(ir::MinOp{}, {unknown, keep(builder.index(4))}));
    }
    Value* const step = builder.index(1 + random().below(3));
    std::vector<Value*> operands = {lower, upper, step};
    std::vector<Type> types;
    for (int i = random().below(4); i > 0; --i) {
      types.push_back(type());
      operands.push_back(of_type(types.back()));
    }
    ir::Op& op = builder.op(ir::make_op<ir::ForOp>(std::int64_t{random().below(4)}), operands, types);
    ir::Block& body = op.add_block();
    body.add_argument(Type::index());
    for (Type const& carried : types) body.add_argument(carried);
    RandomRegion inner(*this, body);
    inner.ops(2 + random().below(6), depth + 1);
    std::vector<Value*> next;
    for (std::size_t i = 0; i < types.size(); ++i)
      next.push_back(random().chance(15)   ? body.argument(static_cast<int>(i) + 1)
                     : random().chance(10) ? operands[i + 3]
                                           : inner.of_type(types[i]));
    inner.builder.op(ir::YieldOp{}, next, {});
    for (int i = 0; i < op.result_count(); ++i) keep(op.result(i));
  }

  void branch(int depth) {
    Value* const condition = of_type(Type::scalar(Element::boolean));
    std::vector<Type> types;
    for (int i = random().below(3); i > 0; --i) types.push_back(type());
    ir::Op& op = builder.op(ir::IfOp{}, std::vector<Value*>{condition}, types);
    for (int b = 0; b < 2; ++b) {
      RandomRegion inner(*this, op.add_block());
      inner.ops(random().below(5), depth + 1);
      std::vector<Value*> given;
      for (Type const& of : types) given.push_back(inner.of_type(of));
      inner.builder.op(ir::YieldOp{}, given, {});
    }
    for (int i = 0; i < op.result_count(); ++i) keep(op.result(i));
  }

  void call() {
    std::vector<ir::Function*> callees;
    for (auto const& function : module_.functions())
      if (!function->is_kernel() && function->body().terminator() != nullptr) callees.push_back(function.get());
    if (callees.empty()) return;
    ir::Function const& callee = *random().pick(callees);
    std::vector<Value*> operands;
    for (int i = 0; i < callee.parameter_count(); ++i) {
      Type const& wanted = callee.parameter(i)->type();
      if (!wanted.is_tensor()) {
        operands.push_back(of_type(wanted));
        continue;
      }
      std::vector<Value*> fitting;
      for (Value* tensor : tensors)
        if (tensor->type() == wanted && attributes(*tensor).direction == Direction::inout) fitting.push_back(tensor);
      if (fitting.empty()) return;
      operands.push_back(random().pick(fitting));
    }
    ir::Op& op = builder.op(ir::make_op<ir::CallOp>(Symbol(callee.name())), operands, callee.results);
    for (int i = 0; i < op.result_count(); ++i) keep(op.result(i));
  }

  RandomValues& draw_;
  ir::Module const& module_;
};

}  // namespace tegula::fuzz
