// Tests the sources of shape ops: the element that each names, and the layouts that follow.
#include "ir/memory/source.hpp"

#include <functional>

#include "ir/core/builder.hpp"
#include "ir/memory/exchange.hpp"
#include "support/catch.hpp"

using namespace tegula;
using namespace tegula::ir;

namespace {

Type tile(Extents const& shape) { return Type::tile(Element::f32, shape); }

/// Holds ops, each on tiles of its own.
struct Ops {
  Module module;
  Builder builder{module.add_function("f", FunctionKind::device).body()};

  template <class OpStruct>
  Op const& add(OpStruct const& op, std::vector<Extents> const& operands, Extents const& result) {
    std::vector<Value*> values;
    for (Extents const& shape : operands)
      values.push_back(shape.empty() ? builder.constant(0.0, Type::scalar(Element::f32))
                                     : builder.constant(0.0, tile(shape)));
    return builder.op(op, values, {tile(result)});
  }
};

using Expected = std::function<Extents(Extents const&)>;

/// Returns the operand and the coordinates of the element that the source names; no coordinates: none has it.
std::pair<int, Extents> element_of(Op const& op, Extents const& at) {
  for (SourcePart const& part : source(op)) {
    Extents const& shape = op.operand(part.operand)->type().shape();
    std::int64_t found[max_rank] = {};
    coordinates(part, shape, op.result()->type().shape(), at.begin(), found);
    Extents result;
    bool inside = true;
    for (int axis = 0; axis < shape.size(); ++axis) {
      result.push_back(found[axis]);
      inside = inside && found[axis] >= 0 && found[axis] < shape[axis];
    }
    if (inside) return {part.operand, result};
  }
  return {-1, {}};
}

void check(Op const& op, Expected const& expected, int operand = 0) {
  INFO(op.info().mnemonic);
  Extents const& shape = op.result()->type().shape();
  for (std::int64_t i = 0; i < shape.product(); ++i) {
    Extents at = shape;
    std::int64_t rest = i;
    for (int axis = shape.size(); axis-- > 0; rest /= shape[axis]) at[axis] = rest % shape[axis];
    auto const [from, found] = element_of(op, at);
    if (operand >= 0) REQUIRE(from == operand);
    REQUIRE(found == expected(at));
  }
}

}  // namespace

TEST_CASE("the source of a shape op names the operand's element") {
  Ops ops;
  check(ops.add(SplatOp{}, {{}}, {2, 3}), [](Extents const&) { return Extents{}; });
  check(ops.add(BroadcastOp{}, {{4, 1}}, {4, 3}), [](Extents const& at) { return Extents{at[0], 0}; });
  check(ops.add(make_op<ExpandDimsOp>(Extents{0, 2}), {{4, 3}}, {1, 4, 1, 3}), [](Extents const& at) {
    return Extents{at[1], at[3]};
  });
  check(ops.add(make_op<SqueezeOp>(Extents{1}), {{4, 1, 3}}, {4, 3}), [](Extents const& at) {
    return Extents{at[0], 0, at[1]};
  });
  check(ops.add(make_op<TransOp>(Extents{2, 0, 1}), {{2, 3, 4}}, {4, 2, 3}), [](Extents const& at) {
    return Extents{at[1], at[2], at[0]};
  });
  check(ops.add(ReshapeOp{}, {{4, 6}}, {3, 8}), [](Extents const& at) {
    std::int64_t const linear = at[0] * 8 + at[1];
    return Extents{linear / 6, linear % 6};
  });
  check(ops.add(make_op<ExtractOp>(Extents{1, 2}), {{4, 6}}, {2, 3}), [](Extents const& at) {
    return Extents{at[0] + 1, at[1] + 2};
  });
  check(ops.add(make_op<ButterflyOp>(std::int64_t{1}, std::int64_t{2}), {{3, 8}}, {3, 8}), [](Extents const& at) {
    return Extents{at[0], at[1] ^ 2};
  });
  check(ops.add(make_op<FlipOp>(std::int64_t{1}), {{3, 5}}, {3, 5}), [](Extents const& at) {
    return Extents{at[0], 4 - at[1]};
  });
  check(
      ops.add(ResizeOp{}, {{2, 6}}, {4, 3}), [](Extents const& at) { return at[0] < 2 ? at : Extents{}; }, -1);
  Op const& joined = ops.add(make_op<ConcatenateOp>(std::int64_t{1}), {{3, 2}, {3, 4}}, {3, 6});
  check(
      joined,
      [](Extents const& at) {
        return Extents{at[0], at[1] < 2 ? at[1] : at[1] - 2};
      },
      -1);
  CHECK(element_of(joined, {0, 1}).first == 0);
  CHECK(element_of(joined, {0, 2}).first == 1);
  CHECK(source(*ops.builder.same(AddOp{}, {joined.result(), joined.result()})->defining_op()).empty());
}

TEST_CASE("index tables name the same elements as coordinates") {
  Ops ops;
  Op const& op = ops.add(make_op<FlipOp>(std::int64_t{0}), {{3, 5}}, {3, 5});
  SourceTables const tables = source_tables(source(op).parts[0], {3, 5}, {3, 5});
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 5; ++j)
      CHECK(tables.first + tables.tables[0][i] + tables.tables[1][j] == static_cast<std::int64_t>((2 - i) * 5 + j));
  CHECK_FALSE(tables.in_order);
  Op const& expanded = ops.add(make_op<ExpandDimsOp>(Extents{1}), {{3, 5}}, {3, 1, 5});
  CHECK(source_tables(source(expanded).parts[0], {3, 5}, {3, 1, 5}).in_order);
  Op const& resized = ops.add(ResizeOp{}, {{3}}, {4});
  CHECK(source_tables(source(resized).parts[0], {3}, {4}).tables[0][3] < 0);
}

TEST_CASE("layouts follow a source forward and back, where threads keep their elements") {
  Ops ops;
  layout::Layout const* const held = layout::Layout::blocked({16, 32}, {1, 4}, 2, {1, 0});
  Op const& trans = ops.add(make_op<TransOp>(Extents{1, 0}), {{16, 32}}, {32, 16});
  CHECK(result_layout(trans, held) == held->transposed({1, 0}));
  CHECK(operand_layout(trans, held->transposed({1, 0})) == held);
  CHECK(relabels_tile(trans));
  CHECK_FALSE(keeps_axis_order(trans));
  Op const& expanded = ops.add(make_op<ExpandDimsOp>(Extents{1}), {{16, 32}}, {16, 1, 32});
  CHECK(result_layout(expanded, held) == held->expanded(1));
  CHECK(operand_layout(expanded, held->expanded(1)) == held);
  CHECK(keeps_axis_order(expanded));
  CHECK_FALSE(repeats(expanded));
  Op const& reshaped = ops.add(ReshapeOp{}, {{16, 32}}, {8, 64});
  CHECK(result_layout(reshaped, held) == held->reshaped({8, 64}));
  CHECK_FALSE(relabels(reshaped));
  Op const& wide = ops.add(BroadcastOp{}, {{16, 1}}, {16, 32});
  CHECK(operand_layout(wide, held) == held->collapsed(1));
  CHECK(result_layout(wide, held->collapsed(1)) == nullptr);
  CHECK(repeats(wide));
  Op const& joined = ops.add(make_op<ConcatenateOp>(std::int64_t{0}), {{16, 32}, {16, 32}}, {32, 32});
  CHECK(result_layout(joined, held) == held->repeated(0, 2));
  CHECK(joins_equal_parts(joined));
  Op const& box = ops.add(make_op<ExtractOp>(Extents{16, 0}), {{32, 32}}, {16, 32});
  CHECK(operand_layout(box, held) == held->repeated(0, 2));
  CHECK(result_layout(box, held->repeated(0, 2)) == held);
  CHECK(takes_box(box));
  Op const& flipped = ops.add(make_op<FlipOp>(std::int64_t{0}), {{16, 32}}, {16, 32});
  CHECK(result_layout(flipped, held) == nullptr);
  CHECK(operand_layout(flipped, held) == nullptr);
  Op const& resized = ops.add(ResizeOp{}, {{16, 32}}, {32, 32});
  CHECK(result_layout(resized, held) == nullptr);
}

TEST_CASE("a thread that holds whole lines flips them in its registers") {
  Module module;
  Builder builder(module.add_function("f", FunctionKind::device).body());
  layout::Layout const* const held = layout::Layout::blocked({32, 4}, {1, 4}, 1, {1, 0});
  Type const type = tile({32, 4}).with_layout(held);
  Value* const x = builder.constant(0.0, type);
  Op const& columns = *builder.value(make_op<FlipOp>(std::int64_t{1}), {x}, type)->defining_op();
  CHECK(kept_registers(columns) == std::vector<int>{3, 2, 1, 0});
  CHECK(scratch_bytes(columns) == 0);
  Op const& rows = *builder.value(make_op<FlipOp>(std::int64_t{0}), {x}, type)->defining_op();
  CHECK(kept_registers(rows).empty());
  CHECK(scratch_bytes(rows) > 0);
  CHECK(scratch_tiles(rows).read.strides[0] == -scratch_tiles(rows).written.strides[0]);
}
