// Makes random verified kernels with their arguments. A seed gives the same kernel on every machine and compiler.
//
// All elements are drawn; integers often have the edges of their range, and of the range of shift amounts.
//
// Some ops are left out, so that results are comparable bit by bit. Minima and maxima of zeros of different sign may
// give either. So no op here tells zeros apart: floats are divided by constants alone, and there is no rsqrt and no
// bitcast of floats. Kernels that different executors run lack ops of floats that each of them may round in its own
// way.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "ir/core/builder.hpp"
#include "ir/infer/infer.hpp"
#include "sim/interpreter.hpp"
#include "support/random.hpp"

namespace tegula::fuzz {

using test::Random;

/// Holds the memory of one tensor argument.
struct Memory {
  Element element = Element::f32;
  Extents extents;
  std::vector<std::byte> bytes;
};

/// Returns the arguments of a run over memory; parameters without memory take the scalar of their place.
inline sim::Arguments arguments_over(std::vector<Memory>& memories, std::vector<ir::Constant> const& scalars) {
  sim::Arguments result;
  for (std::size_t i = 0; i < memories.size(); ++i) {
    if (memories[i].bytes.empty())
      result.emplace_back(scalars[i]);
    else
      result.emplace_back(sim::dense(memories[i].bytes.data(), memories[i].element, memories[i].extents));
  }
  return result;
}

/// Selects the ops of a random kernel and what it stores.
enum class Draw : std::uint8_t {
  anything,
  probes,           ///< one block; every integer of the outermost block is stored to a tensor of its own
  probes_anywhere,  ///< the same, with ops alone of which all executors give the same bits
};

class RandomKernel {
 public:
  ir::Module module;
  std::vector<Memory> memories;       ///< per parameter; empty for scalars
  std::vector<ir::Constant> scalars;  ///< per parameter; unused for tensors
  /// Pairs an integer value of the outermost block with the out parameter that holds it after a run of one block.
  struct Probe {
    ir::Value* value;
    int parameter;
  };
  std::vector<Probe> probes;

  explicit RandomKernel(std::uint64_t seed, Draw draw = Draw::anything)
      : random_(seed), anywhere_(draw == Draw::probes_anywhere) {
    bool const with_probes = draw != Draw::anything;
    int const functions = random_.below(3);
    for (int i = 0; i < functions; ++i) device_function(i);
    ir::Function& kernel = module.add_function("k", ir::FunctionKind::kernel);
    parameters(kernel, with_probes);
    Region region(*this, kernel.body());
    region.launch_statements(with_probes);
    if (with_probes) region.load_all();
    region.ops(12 + random_.below(25), 0);
    region.stores();
    if (with_probes) add_probes(kernel, region);
    region.builder.op(ir::ReturnOp{}, std::vector<ir::Value*>{}, {});
  }

 private:
  using Value = ir::Value;
  using Type = ir::Type;

  static std::vector<Extents> const& shapes() {
    static std::vector<Extents> const list = {{8},    {1},    {4, 8},    {4, 1},    {1, 8},
                                              {8, 4}, {8, 8}, {2, 4, 8}, {1, 4, 8}, {3, 5}};
    return list;
  }
  Extents shape() {
    static std::vector<Extents> const few = {{8}, {8}, {8}, {4, 8}, {4, 8}, {4, 1}};  // so that values meet
    return random_.pick(anywhere_ ? few : shapes());
  }
  Element element() {
    static std::vector<Element> const integers = {Element::i32, Element::u32, Element::i64, Element::u64};
    if (anywhere_ && random_.chance(60)) return random_.pick(integers);
    if (random_.chance(40)) return static_cast<Element>(random_.below(element_count));
    static std::vector<Element> const list = {Element::f32, Element::f32, Element::i32, Element::u32,
                                              Element::i64, Element::i64, Element::u64, Element::f16};
    return random_.pick(list);
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
                                 high + random_.below(70),
                                 high - 1,
                                 3 * high + 5,
                                 min_integer(of),
                                 max_integer(of),
                                 min_integer(of) + 1,
                                 max_integer(of) - 1,
                                 std::numeric_limits<std::int64_t>::min()};
    auto const drawn = [&](auto const& list) { return list[random_.below(static_cast<int>(std::size(list)))]; };
    return ir::make_constant(of, random_.chance(60) ? drawn(any_amount) : drawn(wide));
  }

  /// Draws a constant; half of the time one that identities are about.
  ir::Constant constant(Element of) {
    static std::vector<double> const neutral = {0, 0, 1, 1, -1};
    if (of == Element::boolean) return {of, static_cast<std::uint64_t>(random_.below(2))};
    if (is_integer(of)) {
      if (random_.chance(25)) return edge(of);
      static std::vector<std::int64_t> const list = {0, 0, 0, 1, 1,  1,  2,  2,  3,  4,  5,  7,
                                                     8, 0, 1, 1, -1, 16, 24, -1, -2, -8, 100};
      return ir::make_constant(of, random_.pick(list));
    }
    if (random_.chance(50)) return ir::make_constant(of, random_.pick(neutral));
    static std::vector<double> const list = {0, -0.0, 1, 1, -1, 2, 0.5, 0.25, 3, -7.5, 1e-3, 100, 1e30};
    return ir::make_constant(of, random_.pick(list));
  }

  /// Holds values that may be used at one point, and inserts ops there.
  struct Region {
    RandomKernel& parent;
    ir::Builder builder;
    std::vector<Value*> values;
    std::vector<Value*> tensors;

    Region(RandomKernel& kernel, ir::Block& block) : parent(kernel), builder(block) {
      for (int i = 0; i < block.argument_count(); ++i)
        (block.argument(i)->type().is_tensor() ? tensors : values).push_back(block.argument(i));
    }
    Region(Region const& outer, ir::Block& block)
        : parent(outer.parent), builder(block), values(outer.values), tensors(outer.tensors) {
      for (int i = 0; i < block.argument_count(); ++i) values.push_back(block.argument(i));
    }

    Random& random() const { return parent.random_; }
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

    /// Returns a value of this type: an existing one, or a new constant, splat or iota.
    Value* of_type(Type const& type) {
      if (random().chance(75))
        if (Value* value = find([&](Value const& v) { return v.type() == type; })) return value;
      if (type.is_tile() && (type.element() == Element::i32 || type.element() == Element::i64) && random().chance(40))
        return keep(
            builder.op(ir::make_op<ir::IotaOp>(std::int64_t{random().below(type.rank())}), {}, {type}).result());
      if (parent.anywhere_ && type.is_tile() && type.element() != Element::boolean && random().chance(80)) {
        Value* const other = find([&](Value const& v) {
          return v.type().is_tile() && v.type().shape() == type.shape() && v.type().element() != Element::boolean;
        });
        if (other != nullptr) return keep(builder.op(ir::CastOp{}, {other}, {type}).result());
      }
      if (type.is_tile() && random().chance(40))
        return keep(builder.op(ir::SplatOp{}, {of_type(Type::scalar(type.element()))}, {type}).result());
      return keep(builder.constant(parent.constant(type.element()), type));
    }
    Type type(bool tiles_only = false) {
      return tiles_only || random().chance(75) ? Type::tile(parent.element(), parent.shape())
                                               : Type::scalar(parent.element());
    }
    /// Draws the type of an op's operands: numbers or booleans.
    Type computed_type() {
      Element const e = parent.computed_element();
      return random().chance(75) ? Type::tile(e, parent.shape()) : Type::scalar(e);
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
      Value* b = random().chance(40) ? keep(builder.constant(parent.constant(e), of)) : of_type(of);
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
      Value* const edge = keep(builder.constant(parent.edge(of.element()), of));
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
      auto const edge = [&] { return keep(builder.constant(parent.edge(of.element()), of)); };
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
      make(parent.anywhere_ && expanded ? ir::OpKind::NegOp : kind, {a}, of);
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
      Element to = parent.element();
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
      Extents shape = x->type().shape();
      int const axis = random().below(shape.size());
      switch (random().below(8)) {
        case 0: {
          ir::TransOp op;
          for (int i = 0; i < shape.size(); ++i) op.permutation.push_back((i + axis) % shape.size());
          Extents to;
          for (std::int64_t const from : op.permutation) to.push_back(shape[static_cast<int>(from)]);
          keep(builder.op(op, {x}, {x->type().with_shape(to)}).result());
          return;
        }
        case 1: {
          if (shape.size() > 3) return;
          shape.insert(axis, 1);
          keep(builder.op(ir::make_op<ir::ExpandDimsOp>(Extents{axis}), {x}, {x->type().with_shape(shape)}).result());
          return;
        }
        case 2: {
          if (shape.size() < 2 || shape[axis] != 1) return;
          shape.erase(axis);
          keep(builder.op(ir::make_op<ir::SqueezeOp>(Extents{axis}), {x}, {x->type().with_shape(shape)}).result());
          return;
        }
        case 3: {  // takes an axis apart, or joins it with the next one
          if (axis + 1 < shape.size()) {
            shape[axis] *= shape[axis + 1];
            shape.erase(axis + 1);
          } else if (shape[axis] % 2 == 0 && shape.size() < 4) {
            shape[axis] /= 2;
            shape.insert(axis + random().below(2), 2);
          } else {
            return;
          }
          keep(builder.op(ir::ReshapeOp{}, {x}, {x->type().with_shape(shape)}).result());
          return;
        }
        case 4: {
          ir::ExtractOp op;
          for (std::int64_t& extent : shape) {
            std::int64_t const whole = extent;
            if (extent > 1 && random().chance(60))
              extent = random().chance(50) ? extent / 2 : 1 + random().below(static_cast<int>(extent));
            op.offsets.push_back(random().below(static_cast<int>(whole - extent + 1)));
          }
          keep(builder.op(op, {x}, {x->type().with_shape(shape)}).result());
          return;
        }
        case 5: {
          Value* const other = random().chance(50) ? x : of_type(x->type());
          if (2 * x->type().elements() > 4096) return;
          shape[axis] *= 2;
          keep(builder.op(ir::make_op<ir::ConcatenateOp>(std::int64_t{axis}), {x, other}, {x->type().with_shape(shape)})
                   .result());
          return;
        }
        case 6: {
          if (random().chance(30) && shape[axis] > 1) {
            shape[axis] -= random().below(static_cast<int>(shape[axis]));
            keep(builder.op(ir::ResizeOp{}, {x}, {x->type().with_shape(shape)}).result());
            return;
          }
          if (shape[axis] % 2 != 0 || random().chance(30)) {
            keep(builder.op(ir::make_op<ir::FlipOp>(std::int64_t{axis}), {x}, {x->type()}).result());
            return;
          }
          auto const op =
              ir::make_op<ir::ButterflyOp>(std::int64_t{axis}, shape[axis] % 4 == 0 && random().chance(60) ? 2 : 1);
          keep(builder.op(op, {x}, {x->type()}).result());
          return;
        }
        default: {
          for (std::int64_t& extent : shape)
            if (extent == 1 && random().chance(70)) extent = random().chance(50) ? 4 : 8;
          keep(builder.op(ir::BroadcastOp{}, {x}, {x->type().with_shape(shape)}).result());
          return;
        }
      }
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

    /// Reduces, scans, or takes an element.
    void reduce() {
      if (random().chance(30)) return item();
      bool const anywhere = parent.anywhere_;
      Value* const x = find([&](Value const& v) {
        Element const e = v.type().element();
        return v.type().is_tile() && is_arithmetic(e) && !(anywhere && is_float(e));
      });
      if (x == nullptr) return;
      Extents shape = x->type().shape();
      int const axis = random().below(shape.size());
      auto const combine = static_cast<ir::Combine>(random().below(4));
      if (random().chance(30)) {
        auto const scan =
            ir::make_op<ir::ScanOp>(std::int64_t{axis}, combine, random().chance(50), random().chance(50));
        keep(builder.op(scan, {x}, {x->type()}).result());
        return;
      }
      shape[axis] = 1;
      auto const op = ir::make_op<ir::ReduceOp>(std::int64_t{axis}, combine, static_cast<ir::Order>(random().below(2)));
      keep(builder.op(op, {x}, {x->type().with_shape(shape)}).result());
    }

    void dot() {
      bool const anywhere = parent.anywhere_;
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
      Extents box = parent.shape();
      Element const e = tensor->type().element();
      ir::Constant const pad = random().chance(60) ? ir::make_constant(e, 0.0) : parent.constant(e);
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

    /// Loads the first box of every tensor that is read, so that values are not known before the launch.
    void load_all() {
      Value* const zero = keep(builder.index(0));
      for (Value* tensor : tensors) {
        if (attributes(*tensor).direction == Direction::out) continue;
        Extents box = parent.shape();
        while (box.size() != tensor->type().rank()) box = parent.shape();
        Element const e = tensor->type().element();
        std::vector<Value*> operands = {tensor};
        operands.resize(1 + static_cast<std::size_t>(box.size()), zero);
        keep(builder.op(ir::make_op<ir::LoadOp>(ir::make_constant(e, 0.0)), operands, {Type::tile(e, box)}).result());
      }
    }

    void store(Value* tensor) {
      Extents box = parent.shape();
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
      Extents const box = parent.shape();
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

    /// Stores at least once to every tensor that can be written.
    void stores() {
      for (Value* tensor : tensors)
        for (int i = attributes(*tensor).direction == Direction::in ? 0 : 4; i > 0; --i) store(tensor);
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
      Region inner(*this, body);
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
        Region inner(*this, op.add_block());
        inner.ops(random().below(5), depth + 1);
        std::vector<Value*> given;
        for (Type const& of : types) given.push_back(inner.of_type(of));
        inner.builder.op(ir::YieldOp{}, given, {});
      }
      for (int i = 0; i < op.result_count(); ++i) keep(op.result(i));
    }

    void call() {
      std::vector<ir::Function*> callees;
      for (auto const& function : parent.module.functions())
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
  };

  void device_function(int number) {
    ir::Function& function = module.add_function(fmt::format("f{}", number), ir::FunctionKind::device);
    if (random_.chance(40)) function.inlining = random_.chance(50) ? ir::Inline::no : ir::Inline::yes;
    for (int i = random_.below(3); i >= 0; --i)
      function.add_parameter(random_.chance(60) ? Type::tile(element(), shape()) : Type::scalar(element()), {},
                             random_.chance(50) ? "p" : "");
    if (random_.chance(40)) function.add_parameter(Type::tensor(Element::f32, 2), {Direction::inout, 1, {}}, "t");
    Region region(*this, function.body());
    region.ops(2 + random_.below(8), 1);
    std::vector<Value*> results;
    for (int i = random_.below(3); i > 0; --i) {
      function.results.push_back(region.type());
      results.push_back(region.of_type(function.results.back()));
    }
    region.builder.op(ir::ReturnOp{}, results, {});
  }

  void parameters(ir::Function& kernel, bool inout_free) {
    static std::vector<std::int64_t> const multiples = {1, 1, 4, 8};
    int const count = (anywhere_ ? 4 : 2) + random_.below(4);
    for (int i = 0; i < count; ++i) {
      bool const is_input = anywhere_ && i < 4;  // of integers that are not known before the launch
      if (!is_input && random_.chance(30)) {
        Element const e = element();
        kernel.add_parameter(Type::scalar(e), {}, random_.chance(50) ? "s" : "");
        memories.emplace_back();
        scalars.push_back(constant(e));
        continue;
      }
      static std::vector<Element> const inputs = {Element::i32, Element::u32, Element::i64, Element::u64};
      Element const e = is_input ? inputs[static_cast<std::size_t>(i)] : random_.chance(40) ? Element::f32 : element();
      int const rank = is_input ? 1 + i % 2 : random_.chance(50) ? 2 : 1 + random_.below(anywhere_ ? 2 : 3);
      ir::ParameterAttributes attributes;
      attributes.direction = inout_free ? Direction::in : static_cast<Direction>(random_.below(3));
      attributes.multiple_of = random_.pick(multiples);
      Memory memory{e, {}, {}};
      for (int a = 0; a < rank; ++a)
        memory.extents.push_back(attributes.multiple_of * (1 + random_.below(attributes.multiple_of == 1 ? 12 : 2)));
      fill(memory);
      kernel.add_parameter(Type::tensor(e, rank), attributes, random_.chance(50) ? "t" : "");
      memories.push_back(std::move(memory));
      scalars.emplace_back();
    }
    if (!inout_free) {
      kernel.add_parameter(Type::tensor(Element::f32, 2), {Direction::inout, 1, {}}, "io");
      Memory memory{Element::f32, {9, 11}, {}};
      fill(memory);
      memories.push_back(std::move(memory));
      scalars.emplace_back();
    }
  }

  /// Draws small values, so that sums stay finite and comparisons go both ways; of integers some edges too.
  void fill(Memory& memory) {
    std::int64_t const count = memory.extents.product();
    int const width = bytes(memory.element);
    memory.bytes.resize(static_cast<std::size_t>(count * width));
    for (std::int64_t i = 0; i < count; ++i) {
      ir::Constant const value =
          memory.element == Element::boolean
              ? ir::Constant{Element::boolean, static_cast<std::uint64_t>(random_.below(2))}
          : is_integer(memory.element)
              ? (random_.chance(25) ? edge(memory.element)
                                    : ir::make_constant(memory.element, std::int64_t{random_.below(64)} - 24))
              : ir::make_constant(memory.element, (random_.below(64) - 24) / 8.0);
      for (int b = 0; b < width; ++b)
        memory.bytes[static_cast<std::size_t>(i * width + b)] = static_cast<std::byte>(value.bits >> (8 * b));
    }
  }

  void add_probes(ir::Function& kernel, Region& region) {
    std::vector<Value*> const values = region.values;
    for (Value* value : values) {
      Type const& type = value->type();
      if (!is_integer(type.element()) && type.element() != Element::boolean) continue;
      Extents const shape = type.is_tile() ? type.shape() : Extents{1};
      Value* const tensor =
          kernel.add_parameter(Type::tensor(type.element(), shape.size()), {Direction::out, 1, {}}, "probe");
      Value* const tile = type.is_tile()
                              ? value
                              : region.builder.op(ir::SplatOp{}, {value}, {Type::tile(type.element(), shape)}).result();
      std::vector<Value*> operands = {tensor, tile};
      for (int i = 0; i < shape.size(); ++i) operands.push_back(region.builder.index(0));
      region.builder.op(ir::StoreOp{}, operands, {});
      memories.push_back({type.element(), shape,
                          std::vector<std::byte>(static_cast<std::size_t>(shape.product() * bytes(type.element())))});
      scalars.emplace_back();
      probes.push_back({value, kernel.parameter_count() - 1});
    }
  }

  Random random_;
  bool anywhere_;
};

/// Returns the element at a row-major position.
inline ir::Constant element_at(Memory const& memory, std::int64_t position) {
  int const width = bytes(memory.element);
  std::uint64_t value = 0;
  for (int b = 0; b < width; ++b)
    value |= static_cast<std::uint64_t>(memory.bytes[static_cast<std::size_t>(position * width + b)]) << (8 * b);
  if (is_integer(memory.element)) return ir::make_constant(memory.element, static_cast<std::int64_t>(value));
  return {memory.element, value};
}

}  // namespace tegula::fuzz
