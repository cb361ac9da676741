#include "ir/infer.hpp"

#include "ir/builder.hpp"
#include "support/catch.hpp"

using namespace tegula;
using namespace tegula::ir;

namespace {
Type tile(Element element, Extents const& shape) { return Type::tile(element, shape); }
}  // namespace

TEST_CASE("infer: results follow from operands and attributes") {
  Type const a = tile(Element::f32, {8, 16});
  CHECK(infer(AddOp{}, {a, a}).types == std::vector{a});
  CHECK(infer(CompareOp{}, {a, a}).types == std::vector{tile(Element::boolean, {8, 16})});
  CHECK(infer(make_op<ReduceOp>(std::int64_t{1}), {a}).types == std::vector{tile(Element::f32, {8, 1})});
  CHECK(infer(make_op<TransOp>(Extents{1, 0}), {a}).types == std::vector{tile(Element::f32, {16, 8})});
  CHECK(infer(make_op<ExpandDimsOp>(Extents{0, 2}), {a}).types == std::vector{tile(Element::f32, {1, 8, 1, 16})});
  CHECK(infer(make_op<SqueezeOp>(Extents{1}), {tile(Element::f32, {8, 1})}).types ==
        std::vector{tile(Element::f32, {8})});
  CHECK(infer(ExtentOp{}, {Type::tensor(Element::f32, 2)}).types == std::vector{Type::index()});
  CHECK(infer(DotOp{}, {tile(Element::bf16, {8, 4}), tile(Element::bf16, {4, 16}), a}).types == std::vector{a});
}

TEST_CASE("infer: results that operands leave open must be stated") {
  Type const row = tile(Element::f32, {1, 16});
  CHECK(infer(BroadcastOp{}, {row}).error == "broadcast: the result's type must be stated");
  CHECK(infer(BroadcastOp{}, {row}, {tile(Element::f32, {8, 16})}).ok());
  CHECK(infer(CastOp{}, {row}, {tile(Element::f16, {1, 16})}).types == std::vector{tile(Element::f16, {1, 16})});
  CHECK(infer(CastOp{}, {row}, {tile(Element::f16, {16})}).error ==
        "cast: operand is tile<1x16xf32> but the result is tile<16xf16>");
}

TEST_CASE("infer: the first mistake is told with the types in it") {
  Type const a = tile(Element::f32, {8, 16}), b = tile(Element::f32, {16, 8});
  CHECK(infer(AddOp{}, {a, b}).error == "add: lhs is tile<8x16xf32> but rhs is tile<16x8xf32>");
  CHECK(infer(SelectOp{}, {a, a, a}).error == "select: condition is tile<8x16xf32> but must be tile<8x16xbool>");
  CHECK(infer(AddOp{}, {a}).error == "add: 1 operand but takes 2");
  CHECK(infer(make_op<BlockIndexOp>(std::int64_t{3}), {}).error == "block_index: axis 3 of 3 axes");
  CHECK(infer(make_op<GridExtentOp>(std::int64_t{2}), {}).types == std::vector{Type::index()});
  CHECK(infer(make_op<GridExtentOp>(std::int64_t{-1}), {}).error == "grid_extent: axis -1 of 3 axes");
  CHECK(infer(MultiprocessorsOp{}, {}).types == std::vector{Type::index()});
  CHECK(infer(AddOp{}, {a, b}).types.empty());
  CHECK(infer(FmaOp{}, {a, a, a}).types == std::vector{a});
  CHECK(infer(FmaOp{}, {a, b, a}).error == "fma: lhs is tile<8x16xf32> but rhs is tile<16x8xf32>");
  Type const narrow = tile(Element::bf16, {8});
  CHECK(infer(FmaOp{}, {narrow, narrow, narrow}).error == "fma: lhs is tile<8xbf16> but takes f32 and f64");
}
