#include "ir/infer/infer.hpp"

#include "ir/core/builder.hpp"
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
  CHECK(infer(make_op<ScanOp>(std::int64_t{1}, Combine::product), {a}).types == std::vector{a});
  CHECK(infer(make_op<ScanOp>(std::int64_t{2}), {a}).error ==
        infer(make_op<ReduceOp>(std::int64_t{2}), {a}).error.replace(0, 6, "scan"));
  CHECK(!infer(make_op<ScanOp>(), {tile(Element::boolean, {8})}).ok());
  Type const numbers = tile(Element::u32, {8, 16}), line = tile(Element::i32, {8}), halves = tile(Element::f16, {8});
  CHECK(infer(HistogramOp{}, {numbers}, {tile(Element::i32, {5})}).types == std::vector{tile(Element::i32, {5})});
  CHECK(infer(RanksOp{}, {tile(Element::u32, {100}), line}).types == std::vector{tile(Element::i32, {100})});
  CHECK(infer(TakeOp{}, {halves, tile(Element::i32, {2, 3})}).types == std::vector{tile(Element::f16, {2, 3})});
  CHECK(infer(PutOp{}, {halves, line}).types == std::vector{halves});
  CHECK(infer(make_op<TransOp>(Extents{1, 0}), {a}).types == std::vector{tile(Element::f32, {16, 8})});
  CHECK(infer(make_op<ExpandDimsOp>(Extents{0, 2}), {a}).types == std::vector{tile(Element::f32, {1, 8, 1, 16})});
  CHECK(infer(make_op<SqueezeOp>(Extents{1}), {tile(Element::f32, {8, 1})}).types ==
        std::vector{tile(Element::f32, {8})});
  CHECK(infer(make_op<ConcatenateOp>(std::int64_t{1}), {a, tile(Element::f32, {8, 3})}).types ==
        std::vector{tile(Element::f32, {8, 19})});
  CHECK(infer(ExtentOp{}, {Type::tensor(Element::f32, 2)}).types == std::vector{Type::index()});
  CHECK(infer(DotOp{}, {tile(Element::bf16, {8, 4}), tile(Element::bf16, {4, 16}), a}).types == std::vector{a});
}

TEST_CASE("infer: counts are of integers, and places are integers of one axis") {
  Type const line = tile(Element::i32, {8}), matrix = tile(Element::i32, {2, 4}), floats = tile(Element::f32, {8});
  CHECK(infer(HistogramOp{}, {line}).error == "histogram: the result's type must be stated");
  CHECK(infer(HistogramOp{}, {floats}, {line}).error == "histogram: tile is tile<8xf32> but must be of i32 or u32");
  CHECK(infer(HistogramOp{}, {line}, {floats}).error ==
        "histogram: the result is tile<8xf32> but must be a tile of i32 with 1 axis");
  CHECK(infer(RanksOp{}, {matrix, line}).error == "ranks: tile is tile<2x4xi32> but must have 1 axis");
  CHECK(infer(RanksOp{}, {line, tile(Element::u32, {8})}).error == "ranks: starts is tile<8xu32> but must be of i32");
  CHECK(infer(TakeOp{}, {matrix, line}).error == "take: tile is tile<2x4xi32> but must have 1 axis");
  CHECK(infer(TakeOp{}, {line, floats}).error == "take: places is tile<8xf32> but must be of i32");
  CHECK(infer(PutOp{}, {line, tile(Element::i32, {4})}).error == "put: tile is tile<8xi32> but places is tile<4xi32>");
}

TEST_CASE("infer: results that operands leave open must be stated") {
  Type const row = tile(Element::f32, {1, 16});
  CHECK(infer(BroadcastOp{}, {row}).error == "broadcast: the result's type must be stated");
  CHECK(infer(BroadcastOp{}, {row}, {tile(Element::f32, {8, 16})}).ok());
  CHECK(infer(ReshapeOp{}, {row}, {tile(Element::f32, {4, 2, 2})}).ok());
  CHECK(infer(ReshapeOp{}, {row}, {tile(Element::f32, {4, 2})}).error ==
        "reshape: tile is tile<1x16xf32> but the result is tile<4x2xf32>: the elements are not the same");
  CHECK(infer(make_op<ExtractOp>(Extents{0, 12}), {row}, {tile(Element::f32, {1, 4})}).ok());
  CHECK(infer(make_op<ExtractOp>(Extents{0, 13}), {row}, {tile(Element::f32, {1, 4})}).error ==
        "extract: the result is tile<1x4xf32> at [0, 13], not a box of tile<1x16xf32>");
  CHECK(infer(make_op<ExtractOp>(Extents{0, 0}, true), {row}, {tile(Element::f32, {1, 1})}).ok());
  CHECK(infer(make_op<ExtractOp>(Extents{0, 0}, true), {row}, {tile(Element::f32, {1, 4})}).error ==
        "extract: the result is tile<1x4xf32> at [0, 0]; with `uniform`, each axis must be whole, or of "
        "extent 1 at offset 0");
  CHECK(infer(ResizeOp{}, {row}, {tile(Element::f32, {1, 20})}).ok());
  CHECK(infer(ResizeOp{}, {row}, {tile(Element::f32, {20})}).error ==
        "resize: tile is tile<1x16xf32> but the result is tile<20xf32>: extents alone may differ");
  CHECK(infer(make_op<ButterflyOp>(std::int64_t{1}, std::int64_t{8}), {row}).types == std::vector{row});
  CHECK(infer(make_op<ButterflyOp>(std::int64_t{1}, std::int64_t{16}), {row}).error ==
        "butterfly: tile is tile<1x16xf32>, of which axis 1 does not consist of pairs of 16 elements; the stride is a "
        "power of two");
  CHECK(infer(make_op<FlipOp>(std::int64_t{1}), {row}).types == std::vector{row});
  CHECK(!infer(make_op<FlipOp>(std::int64_t{2}), {row}).ok());
  CHECK(infer(ItemOp{}, {tile(Element::e4m3, {1, 1})}).types == std::vector{Type::scalar(Element::e4m3)});
  CHECK(infer(ItemOp{}, {row}).error == "item: tile is tile<1x16xf32> but must have one element");
  CHECK(infer(ItemAtOp{}, {row, Type::index(), Type::index()}).types == std::vector{Type::scalar(Element::f32)});
  CHECK(infer(ItemAtOp{}, {row, Type::index()}).error == "item_at: 1 place, but tile is tile<1x16xf32> with 2 axes");
  CHECK(infer(ItemAtOp{}, {row, Type::index(), Type::scalar(Element::i32)}).error ==
        "item_at: places[1] is i32 but must be i64");
  CHECK(infer(make_op<ConcatenateOp>(std::int64_t{0}), {row, tile(Element::f32, {1, 8})}).error ==
        "concatenate: lhs is tile<1x16xf32> and rhs is tile<1x8xf32>: they may differ along axis 0 alone");
  CHECK(infer(CastOp{}, {row}, {tile(Element::f16, {1, 16})}).types == std::vector{tile(Element::f16, {1, 16})});
  CHECK(infer(CastOp{}, {row}, {tile(Element::f16, {16})}).error ==
        "cast: operand is tile<1x16xf32> but the result is tile<16xf16>");
}

TEST_CASE("infer: products have the accumulator of their elements") {
  auto const product = [](DotOp const& op, Element a, Element b, Element sum) {
    return infer(op, {tile(a, {8, 4}), tile(b, {4, 16}), tile(sum, {8, 16})});
  };
  DotOp const tf32 = make_op<DotOp>(DotPrecision::tf32);
  CHECK(product({}, Element::i8, Element::i8, Element::i32).ok());
  CHECK(product({}, Element::e4m3, Element::e5m2, Element::f32).ok());
  CHECK(product({}, Element::f64, Element::f64, Element::f64).ok());
  CHECK(product(tf32, Element::f32, Element::f32, Element::f32).ok());
  CHECK(product({}, Element::i8, Element::i8, Element::f32).error ==
        "dot: accumulator is 8x16xf32 but must be 8x16xi32 (lhs 8x4xi8, rhs 4x16xi8)");
  CHECK(product({}, Element::i32, Element::i32, Element::i32).error ==
        "dot: no product of i32 tiles (lhs 8x4xi32, rhs 4x16xi32)");
  CHECK(product({}, Element::e4m3, Element::f16, Element::f32).error ==
        "dot: lhs holds e4m3 but rhs holds f16 (lhs 8x4xe4m3, rhs 4x16xf16)");
  CHECK(product(tf32, Element::bf16, Element::bf16, Element::f32).error ==
        "dot: precisions tf32 and tf32x3 are for f32, not for bf16 (lhs 8x4xbf16, rhs 4x16xbf16)");
}

TEST_CASE("infer: elements of 8 bits and integers of 16 are moved and cast, not computed with") {
  for (Element element : {Element::i8, Element::u8, Element::i16, Element::u16, Element::e4m3, Element::e5m2}) {
    INFO(name(element));
    Type const a = tile(element, {8, 16}), mask = tile(Element::boolean, {8, 16});
    std::string const remedy = "; this element is stored and moved, not computed with: cast it first";
    std::string const found = "lhs is tile<8x16x" + std::string(name(element)) + "> but takes ";
    CHECK(infer(AddOp{}, {a, a}).error == "add: " + found + "numbers" + remedy);
    CHECK(infer(AndOp{}, {a, a}).error == "and: " + found + "integers and booleans" + remedy);
    CHECK(infer(CompareOp{}, {a, a}).error == "compare: " + found + "numbers and booleans" + remedy);
    CHECK_FALSE(infer(NegOp{}, {a}).ok());
    CHECK_FALSE(infer(ExpOp{}, {a}).ok());
    CHECK_FALSE(infer(FmaOp{}, {a, a, a}).ok());
    CHECK_FALSE(infer(make_op<ReduceOp>(std::int64_t{1}), {a}).ok());
    CHECK_FALSE(infer(IotaOp{}, {}, {a}).ok());
    CHECK(infer(SelectOp{}, {mask, a, a}).types == std::vector{a});
    CHECK(infer(CastOp{}, {a}, {tile(Element::f32, {8, 16})}).ok());
    CHECK(infer(BitcastOp{}, {a}, {tile(bits(element) == 8 ? Element::i8 : Element::f16, {8, 16})}).ok());
    CHECK(infer(make_op<TransOp>(Extents{1, 0}), {a}).types == std::vector{tile(element, {16, 8})});
  }
  CHECK(infer(CastOp{}, {tile(Element::f32, {8})}, {tile(Element::boolean, {8})}).error ==
        "cast: no conversion to boolean; compare with 0");
}

TEST_CASE("infer: the first mistake is reported with its types") {
  Type const a = tile(Element::f32, {8, 16}), b = tile(Element::f32, {16, 8});
  CHECK(infer(AddOp{}, {a, b}).error == "add: lhs is tile<8x16xf32> but rhs is tile<16x8xf32>");
  CHECK(infer(SelectOp{}, {a, a, a}).error == "select: condition is tile<8x16xf32> but must be tile<8x16xbool>");
  CHECK(infer(AddOp{}, {a}).error == "add: 1 operand but takes 2");
  CHECK(infer(make_op<BlockIndexOp>(std::int64_t{3}), {}).error == "block_index: axis is 3, not 0 to 2");
  CHECK(infer(make_op<GridExtentOp>(std::int64_t{2}), {}).types == std::vector{Type::index()});
  CHECK(infer(make_op<GridExtentOp>(std::int64_t{-1}), {}).error == "grid_extent: axis is -1, not 0 to 2");
  CHECK(infer(MultiprocessorsOp{}, {}).types == std::vector{Type::index()});
  CHECK(infer(AddOp{}, {a, b}).types.empty());
  CHECK(infer(FmaOp{}, {a, a, a}).types == std::vector{a});
  CHECK(infer(FmaOp{}, {a, b, a}).error == "fma: lhs is tile<8x16xf32> but rhs is tile<16x8xf32>");
  Type const narrow = tile(Element::bf16, {8});
  CHECK(infer(FmaOp{}, {narrow, narrow, narrow}).error == "fma: lhs is tile<8xbf16> but takes f32 and f64");
  CHECK(infer(make_op<DivOp>(std::int64_t{22}), {a, a}).error == "div: relaxed arithmetic must name its licence");
  auto const short_quotient = make_op<DivOp>(std::int64_t{22}, false, Licence::kept_16_bits);
  CHECK(infer(short_quotient, {a, a}).types == std::vector{a});
  CHECK(infer(short_quotient, {narrow, narrow}).error == "div: lhs is tile<8xbf16> but relaxed arithmetic is of f32");
  CHECK(infer(make_op<Exp2Op>(std::int64_t{0}, true), {a}).error == "exp2: relaxed arithmetic must name its licence");
}

TEST_CASE("infer: marks of a ring agree with the region's role") {
  auto const error_of = [](Role role, std::int64_t ring, std::int64_t stages, std::int64_t lag) {
    ElectOp op;
    op.role = role, op.ring = ring, op.stages = stages, op.lag = lag;
    return infer(op, {}).error;
  };
  CHECK(error_of(Role::producer, 1, 3, 0).empty());
  CHECK(error_of(Role::consumer, 1, 0, 1).empty());
  CHECK(error_of(Role::none, 2, 0, 0) == "elect: ring is 2 but role is none; state role = producer or role = consumer");
  CHECK(error_of(Role::consumer, 1, 3, 0) ==
        "elect: stages is 3 but the region fills no ring; state ring and role = producer");
  CHECK(error_of(Role::producer, 1, 3, 1) ==
        "elect: lag is 1 but the region releases no ring; state ring and role = consumer");
  CHECK(error_of(Role::producer, 0, 3, 0) ==
        "elect: stages is 3 but the region fills no ring; state ring and role = producer");
}

TEST_CASE("op records: ops that rearrange compute nothing") {
  std::vector<std::string_view> found;
  for (int kind = 0; kind < op_kind_count; ++kind) {
    OpInfo const& info = op_info(static_cast<OpKind>(kind));
    if (!info.has(rearranges)) continue;
    found.push_back(info.mnemonic);
    CHECK_FALSE(info.family == Family::elementwise);
  }
  CHECK(found == std::vector<std::string_view>{"splat", "broadcast", "expand_dims", "squeeze", "trans", "reshape",
                                               "concatenate", "extract", "convert_layout"});
}
