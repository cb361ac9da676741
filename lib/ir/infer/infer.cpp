#include "ir/infer/infer_rule.hpp"

#include <fmt/format.h>

#include <bit>
#include <set>

#include "ir/core/builder.hpp"
#include "ir/core/visit_op.hpp"
#include "ir/infer/layout_rules.hpp"
#include "tegula/support/error.hpp"

namespace tegula::ir {

std::string short_text(Type const& type) {
  std::string text;
  for (std::int64_t const extent : type.shape()) text += fmt::format("{}x", extent < 0 ? "?" : fmt::to_string(extent));
  return text + std::string(name(type.element()));
}

std::string list_text(Extents const& values) {
  std::string text = "[";
  for (std::int64_t const value : values) text += fmt::format("{}{}", text.size() > 1 ? ", " : "", value);
  return text + "]";
}

static bool is_integral(Element element) { return element == Element::boolean || is_whole(element); }
static bool is_real(Element element) { return is_float(element) && is_arithmetic(element); }

void computable(Rule& rule, OperandOf place) {
  Type const& type = rule.operand(place);
  rule.require(type.is_tile() || type.is_scalar(),
               rule.says(place) + (type.is_pending() ? "; wait for it first" : "; load it first"));
}

static void elementwise_rule(Rule& rule, int from, bool (*accepts)(Element), char const* elements) {
  for (int i = from; i < static_cast<int>(rule.operands.size()); ++i) {
    computable(rule, i);
    Element const element = rule.operand(i).element();
    bool const narrow = !is_arithmetic(element) && element != Element::boolean;
    rule.require(accepts(rule.operand(i).element()),
                 rule.says(i) + " but takes " + elements +
                     (narrow ? "; this element is stored and moved, not computed with: cast it first" : ""));
    rule.require(rule.operand(i) == rule.operand(from), rule.says(from) + " but " + rule.says(i));
  }
}

static void same_as_operands(Rule& rule, bool (*accepts)(Element), char const* elements) {
  elementwise_rule(rule, 0, accepts, elements);
  rule.result(rule.operands.front());
}

static bool any_element(Element) { return true; }

/// Types an op whose struct names the elements that it takes.
static void same_as_operands(Rule& rule, Takes takes) {
  switch (takes) {
    case Takes::numbers:
      return same_as_operands(rule, is_arithmetic, "numbers");
    case Takes::integers:
      return same_as_operands(rule, is_whole, "integers");
    case Takes::logical:
      return same_as_operands(rule, is_integral, "integers and booleans");
    case Takes::floats:
      return same_as_operands(rule, is_real, "floats");
    case Takes::by_rule:
      throw InternalError(std::string(rule.info.mnemonic) + ": infer.cpp has no rule of its own for it");
  }
}

/// True for ops that may have fewer bits than their element.
template <class OpStruct>
constexpr bool is_relaxable = requires(OpStruct op) {
  op.bits;
  op.licence;
};

/// Checks that relaxed arithmetic is of f32 and names its licence.
template <class OpStruct>
static void relaxed(Rule& rule, OpStruct const& op) {
  bool is_relaxed = op.bits != 0;
  if constexpr (requires { op.flush; }) is_relaxed = is_relaxed || op.flush;
  if constexpr (requires { op.normal; }) is_relaxed = is_relaxed || op.normal;
  if (!is_relaxed || rule.failed) return;
  rule.require(rule.operand(0).element() == Element::f32, rule.says(0) + " but relaxed arithmetic is of f32");
  rule.require(op.licence != Licence::none, "relaxed arithmetic must name its licence");
}

// Arithmetic.
void apply(Rule& rule, CompareOp const& op) {
  elementwise_rule(
      rule, 0, [](Element element) { return element == Element::boolean || is_arithmetic(element); },
      "numbers and booleans");
  bool const ordering = op.predicate != Predicate::eq && op.predicate != Predicate::ne;
  rule.require(!ordering || is_arithmetic(rule.operand("lhs").element()), "booleans have eq and ne only");
  rule.result(rule.operand("lhs").with_element(Element::boolean));
}

void apply(Rule& rule, SelectOp const&) {
  elementwise_rule(rule, rule.position("lhs"), any_element, "");
  Type const wanted = rule.operand("lhs").with_element(Element::boolean);
  rule.require(rule.operand("condition") == wanted, rule.says("condition") + " but must be " + to_string(wanted));
  rule.result(rule.operand("lhs"));
}

void apply(Rule& rule, FmaOp const&) {
  same_as_operands(
      rule, [](Element element) { return element == Element::f32 || element == Element::f64; }, "f32 and f64");
}

void apply(Rule& rule, RandomBitsOp const&) {
  for (char const* const name : {"seed", "place"}) computable(rule, name);
  if (!rule.require(rule.stated.size() == 1, "the result's type must be stated")) return;
  auto const has_words = [](Element element) { return element == Element::i32 || element == Element::i64; };
  Type const &place = rule.operand("place"), &seed = rule.operand("seed");
  Type const wanted = place.with_element(Element::i64);
  rule.require(has_words(place.element()), rule.says("place") + " but must be of i32 or i64");
  rule.require(seed == wanted, rule.says("seed") + " but must be " + to_string(wanted));
  Type const result = place.with_element(rule.stated[0].element());
  rule.require(has_words(result.element()) && rule.stated[0] == result,
               fmt::format("the result is {} but must be {}, or that of i64", to_string(rule.stated[0]),
                           to_string(place.with_element(Element::i32))));
  rule.result(result);
}

static void converted(Rule& rule) {
  computable(rule, "operand");
  if (!rule.require(rule.stated.size() == 1, "the result's type must be stated")) return;
  Type const wanted = rule.operand("operand").with_element(rule.stated[0].element());
  rule.require(rule.stated[0] == wanted, rule.says("operand") + " but the result is " + to_string(rule.stated[0]));
  rule.result(wanted);
}
void apply(Rule& rule, CastOp const&) {
  converted(rule);
  rule.require(rule.failed || rule.stated[0].element() != Element::boolean, "no conversion to boolean; compare with 0");
}
void apply(Rule& rule, BitcastOp const&) {
  converted(rule);
  if (rule.failed) return;
  Element const from = rule.operand("operand").element();
  Element const to = rule.stated[0].element();
  rule.require(bits(from) == bits(to) && from != Element::boolean,
               fmt::format("{} has {} bits but {} has {}", name(from), bits(from), name(to), bits(to)));
}

void apply(Rule& rule, ConstantOp const& op) {
  if (!rule.require(rule.stated.size() == 1, "the result's type must be stated")) return;
  Type const& type = rule.stated[0];
  rule.require(type.is_scalar() || type.is_tile(), "a constant is a scalar or a tile, not " + to_string(type));
  rule.require(op.value.element == type.element(),
               "value is " + to_string(op.value) + " but the result is " + to_string(type));
  rule.result(type);
}

// Shapes.
void apply(Rule& rule, SplatOp const&) {
  if (!rule.stated_tile()) return;
  rule.require(rule.operand("scalar") == Type::scalar(rule.stated[0].element()),
               rule.says("scalar") + " but the result is " + to_string(rule.stated[0]));
  rule.result(rule.stated[0]);
}

void apply(Rule& rule, IotaOp const& op) {
  if (!rule.stated_tile()) return;
  rule.axis_in(op.axis, rule.stated[0].rank());
  rule.require(is_counting(rule.stated[0].element()),
               "the result is " + to_string(rule.stated[0]) + " but must hold i32 or i64");
  rule.result(rule.stated[0]);
}

void apply(Rule& rule, TableOp const& op) {
  if (!rule.stated_tile()) return;
  Type const& type = rule.stated[0];
  rule.require(type.element() != Element::boolean, "the result is " + to_string(type) + " but a table has no booleans");
  std::string_view const digits = op.data.view();
  auto const wanted = static_cast<std::size_t>(type.elements() * bytes(type.element()) * 2);
  rule.require(digits.size() == wanted,
               fmt::format("data has {} digits but {} needs {}", digits.size(), to_string(type), wanted));
  rule.require(digits.find_first_not_of("0123456789abcdef") == std::string_view::npos,
               "data has other characters than the digits 0 to 9 and a to f");
  rule.result(type);
}

void apply(Rule& rule, BroadcastOp const&) {
  if (!rule.tile_operand("tile") || !rule.stated_tile()) return;
  Type const& from = rule.operand("tile");
  Type const& to = rule.stated[0];
  rule.require(from.element() == to.element() && from.rank() == to.rank(),
               rule.says("tile") + " but the result is " + to_string(to));
  for (int i = 0; !rule.failed && i < from.rank(); ++i)
    rule.require(
        from.shape()[i] == to.shape()[i] || from.shape()[i] == 1,
        fmt::format("dim {} is {} and cannot become {}; only extent 1 broadcasts", i, from.shape()[i], to.shape()[i]));
  rule.result(to);
}

/// Requires axes in ascending order, within 0..rank-1.
static bool ascending(Rule& rule, Extents const& axes, int rank) {
  std::int64_t last = -1;
  for (std::int64_t const axis : axes) {
    if (!rule.require(axis > last && axis < rank,
                      fmt::format("axes {} are not ascending axes of {}", list_text(axes), rank)))
      return false;
    last = axis;
  }
  return true;
}

void apply(Rule& rule, ExpandDimsOp const& op) {
  if (!rule.tile_operand("tile")) return;
  Extents shape = rule.operand("tile").shape();
  if (!rule.require(shape.size() + op.axes.size() <= max_rank, fmt::format("more than {} axes", max_rank))) return;
  if (!ascending(rule, op.axes, shape.size() + op.axes.size())) return;
  for (std::int64_t const axis : op.axes) shape.insert(static_cast<int>(axis), 1);
  rule.result(rule.operand("tile").with_shape(shape));
}

void apply(Rule& rule, SqueezeOp const& op) {
  if (!rule.tile_operand("tile") || !ascending(rule, op.axes, rule.operand("tile").rank())) return;
  Extents shape;
  int next = 0;
  for (int i = 0; i < rule.operand("tile").rank(); ++i) {
    std::int64_t const extent = rule.operand("tile").shape()[i];
    if (next < op.axes.size() && op.axes[next] == i) {
      ++next;
      rule.require(extent == 1, fmt::format("dim {} is {}, not 1 ({})", i, extent, short_text(rule.operand("tile"))));
    } else {
      shape.push_back(extent);
    }
  }
  rule.require(!shape.empty(), "no axis would be left of " + short_text(rule.operand("tile")));
  rule.result(rule.operand("tile").with_shape(shape));
}

void apply(Rule& rule, TransOp const& op) {
  if (!rule.tile_operand("tile")) return;
  Type const& from = rule.operand("tile");
  if (!rule.permutation_of(op.permutation, from)) return;
  Extents shape;
  for (std::int64_t const axis : op.permutation) shape.push_back(from.shape()[static_cast<int>(axis)]);
  rule.result(from.with_shape(shape));
}

void apply(Rule& rule, ReshapeOp const&) {
  if (!rule.tile_operand("tile") || !rule.stated_tile()) return;
  Type const& from = rule.operand("tile");
  Type const& to = rule.stated[0];
  rule.require(from.element() == to.element() && from.elements() == to.elements(),
               rule.says("tile") + " but the result is " + to_string(to) + ": the elements are not the same");
  rule.result(to);
}

void apply(Rule& rule, ConcatenateOp const& op) {
  if (!rule.tile_operand("lhs") || !rule.tile_operand("rhs")) return;
  Type const& a = rule.operand("lhs");
  Type const& b = rule.operand("rhs");
  if (!rule.axis_in(op.axis, a.rank())) return;
  auto const axis = static_cast<int>(op.axis);
  Extents shape = a.shape();
  bool fits = a.element() == b.element() && a.rank() == b.rank();
  for (int i = 0; fits && i < a.rank(); ++i) fits = i == axis || a.shape()[i] == b.shape()[i];
  if (!rule.require(fits, fmt::format("{} and {}: they may differ along axis {} alone", rule.says("lhs"),
                                      rule.says("rhs"), axis)))
    return;
  shape[axis] += b.shape()[axis];
  if (rule.require(shape.product() <= max_tile_elements, "the result has more than 16777216 elements"))
    rule.result(Type::tile(a.element(), shape));
}

void apply(Rule& rule, ExtractOp const& op) {
  if (!rule.tile_operand("tile") || !rule.stated_tile()) return;
  Type const& from = rule.operand("tile");
  Type const& to = rule.stated[0];
  bool inside = from.element() == to.element() && from.rank() == to.rank() && op.offsets.size() == from.rank();
  for (int i = 0; inside && i < from.rank(); ++i)
    inside = op.offsets[i] >= 0 && op.offsets[i] + to.shape()[i] <= from.shape()[i];
  if (!rule.require(inside, "the result is " + to_string(to) + " at " + list_text(op.offsets) + ", not a box of " +
                                to_string(from)))
    return;
  bool cut = true;
  for (int i = 0; i < from.rank(); ++i)
    cut = cut && (to.shape()[i] == from.shape()[i] || (to.shape()[i] == 1 && op.offsets[i] == 0));
  rule.require(cut || !op.uniform, "the result is " + to_string(to) + " at " + list_text(op.offsets) +
                                       "; with `uniform`, each axis must be whole, or of extent 1 at offset 0");
  rule.result(to);
}

void apply(Rule& rule, ResizeOp const&) {
  if (!rule.tile_operand("tile") || !rule.stated_tile()) return;
  Type const &from = rule.operand("tile"), &to = rule.stated[0];
  rule.require(from.element() == to.element() && from.rank() == to.rank(),
               rule.says("tile") + " but the result is " + to_string(to) + ": extents alone may differ");
  rule.result(to);
}

void apply(Rule& rule, ButterflyOp const& op) {
  if (!rule.tile_operand("tile") || !rule.axis_in(op.axis, rule.operand("tile").rank())) return;
  Type const& tile = rule.operand("tile");
  rule.require(
      std::has_single_bit(static_cast<std::uint64_t>(op.stride)) &&
          tile.shape()[static_cast<int>(op.axis)] % (2 * op.stride) == 0,
      fmt::format("{}, of which axis {} does not consist of pairs of {} elements; the stride is a power of two",
                  rule.says("tile"), op.axis, op.stride));
  rule.result(tile);
}

void apply(Rule& rule, FlipOp const& op) {
  if (rule.tile_operand("tile") && rule.axis_in(op.axis, rule.operand("tile").rank()))
    rule.result(rule.operand("tile"));
}

void apply(Rule& rule, ConvertLayoutOp const&) {
  if (!rule.tile_operand("tile") || !rule.stated_tile()) return;
  rule.require(rule.stated[0].with_layout(nullptr) == rule.operand("tile").with_layout(nullptr),
               rule.says("tile") + " but the result is " + to_string(rule.stated[0]));
  rule.require(rule.stated[0].layout() != nullptr || rule.operand("tile").layout() != nullptr,
               "one of the tiles needs a layout");
  rule.result(rule.stated[0]);
}

void apply(Rule& rule, ItemOp const&) {
  if (!rule.tile_operand("tile")) return;
  rule.require(rule.operand("tile").elements() == 1, rule.says("tile") + " but must have one element");
  rule.result(Type::scalar(rule.operand("tile").element()));
}

void apply(Rule& rule, ItemAtOp const&) {
  if (!rule.tile_operand("tile")) return;
  Type const& tile = rule.operand("tile");
  auto const given = static_cast<int>(rule.all("places").size());
  rule.require(given == tile.rank(), fmt::format("{} {}, but {} with {} {}", given, given == 1 ? "place" : "places",
                                                 rule.says("tile"), tile.rank(), tile.rank() == 1 ? "axis" : "axes"));
  for (int i = rule.position("places"); i < static_cast<int>(rule.operands.size()); ++i) rule.index_operand(i);
  rule.result(Type::scalar(tile.element()));
}

// Reductions, scans and products.
void apply(Rule& rule, ReduceOp const& op) {
  if (!rule.tile_operand("tile") || !rule.axis_in(op.axis, rule.operand("tile").rank())) return;
  rule.require(is_arithmetic(rule.operand("tile").element()), rule.says("tile") + " but takes numbers");
  Extents shape = rule.operand("tile").shape();
  shape[static_cast<int>(op.axis)] = 1;
  rule.result(rule.operand("tile").with_shape(shape));
}

void apply(Rule& rule, ScanOp const& op) {
  if (!rule.tile_operand("tile") || !rule.axis_in(op.axis, rule.operand("tile").rank())) return;
  rule.require(is_arithmetic(rule.operand("tile").element()), rule.says("tile") + " but takes numbers");
  rule.result(rule.operand("tile"));
}

// Counts, and elements at places.
/// Requires a tile of one axis.
static bool line(Rule& rule, OperandOf place) {
  return rule.tile_operand(place) &&
         rule.require(rule.operand(place).rank() == 1, rule.says(place) + " but must have 1 axis");
}
/// Requires a tile of integers of 32 bits: of i32, or of values, which may be unsigned.
static bool numbers_of_32_bits(Rule& rule, OperandOf place, bool unsigned_too) {
  if (!rule.tile_operand(place)) return false;
  Element const element = rule.operand(place).element();
  return rule.require(element == Element::i32 || (unsigned_too && element == Element::u32),
                      rule.says(place) + (unsigned_too ? " but must be of i32 or u32" : " but must be of i32"));
}

void apply(Rule& rule, HistogramOp const&) {
  if (!numbers_of_32_bits(rule, "tile", true) || !rule.stated_tile()) return;
  Type const& result = rule.stated[0];
  rule.require(result.rank() == 1 && result.element() == Element::i32,
               "the result is " + to_string(result) + " but must be a tile of i32 with 1 axis");
  rule.result(result);
}

void apply(Rule& rule, RanksOp const&) {
  if (!line(rule, "tile") || !line(rule, "starts")) return;
  numbers_of_32_bits(rule, "tile", true);
  numbers_of_32_bits(rule, "starts", false);
  rule.result(rule.operand("tile").with_element(Element::i32));
}

void apply(Rule& rule, TakeOp const&) {
  if (!line(rule, "tile") || !numbers_of_32_bits(rule, "places", false)) return;
  rule.result(rule.operand("places").with_element(rule.operand("tile").element()));
}

void apply(Rule& rule, PutOp const&) {
  if (!line(rule, "tile") || !line(rule, "places") || !numbers_of_32_bits(rule, "places", false)) return;
  rule.require(rule.operand("tile").shape() == rule.operand("places").shape(),
               rule.says("tile") + " but " + rule.says("places"));
  rule.result(rule.operand("tile").with_layout(nullptr));
}

void apply(Rule& rule, DotOp const& op) {
  for (char const* const name : {"lhs", "rhs", "accumulator"}) {
    if (!rule.tile_operand(name)) return;
    if (!rule.require(rule.operand(name).rank() == 2, rule.says(name) + " but must have 2 axes")) return;
  }
  Type const& a = rule.operand("lhs");
  Type const& b = rule.operand("rhs");
  Type const& acc = rule.operand("accumulator");
  std::string const both = " (lhs " + short_text(a) + ", rhs " + short_text(b) + ")";
  rule.require(a.shape()[1] == b.shape()[0],
               fmt::format("dim 1 of lhs is {} but dim 0 of rhs is {}{}", a.shape()[1], b.shape()[0], both));
  if (rule.require(is_multiplied(a.element()), "no product of " + std::string(name(a.element())) + " tiles" + both))
    rule.require(
        multiply_together(a.element(), b.element()),
        "lhs holds " + std::string(name(a.element())) + " but rhs holds " + std::string(name(b.element())) + both);
  rule.require(op.precision == DotPrecision::full || a.element() == Element::f32,
               "precisions tf32 and tf32x3 are for f32, not for " + std::string(name(a.element())) + both);
  Type const wanted = Type::tile(dot_accumulator(a.element()), {a.shape()[0], b.shape()[1]});
  rule.require(acc.with_layout(nullptr) == wanted,
               "accumulator is " + short_text(acc) + " but must be " + short_text(wanted) + both);
  rule.result(acc);
}

// Launch.
void apply(Rule& rule, GridOp const&) {
  rule.require(!rule.operands.empty() && rule.operands.size() <= 3,
               fmt::format("1 to 3 extents, found {}", rule.operands.size()));
  for (int i = 0; i < static_cast<int>(rule.operands.size()); ++i) rule.index_operand(i);
}
void apply(Rule& rule, RequireOp const&) {
  rule.require(rule.operand("condition") == Type::scalar(Element::boolean),
               rule.says("condition") + " but must be bool");
}
void apply(Rule& rule, ExtentOp const& op) {
  if (rule.require(rule.operand("tensor").is_tensor(), rule.says("tensor") + " but must be a tensor"))
    rule.axis_in(op.axis, rule.operand("tensor").rank());
  rule.result(Type::index());
}
void apply(Rule& rule, BlockIndexOp const& op) {
  rule.axis_in(op.axis, 3);
  rule.result(Type::index());
}
void apply(Rule& rule, GridExtentOp const& op) {
  rule.axis_in(op.axis, 3);
  rule.result(Type::index());
}
void apply(Rule& rule, MultiprocessorsOp const&) { rule.result(Type::index()); }

// Control: verifier.cpp checks the rules that need the blocks.
static void carried(Rule& rule) {
  for (int i = rule.position("inits"); i < static_cast<int>(rule.operands.size()); ++i) {
    rule.require(rule.operand(i).is_scalar() || rule.operand(i).in_registers(),
                 rule.says(i) + "; only tiles and scalars are carried");
    rule.result(rule.operand(i));
  }
}
void apply(Rule& rule, ForOp const& op) {
  for (char const* const bound : {"lower", "upper", "step"}) rule.index_operand(bound);
  rule.require(
      op.stages == 0 || op.distance < op.stages,
      fmt::format(
          "distance is {} with {} stages; copies run at least 0 and fewer iterations ahead than there are stages",
          op.distance, op.stages));
  carried(rule);
}
void apply(Rule& rule, RepeatOp const&) { carried(rule); }
void apply(Rule& rule, IfOp const&) {
  rule.require(rule.operand("condition") == Type::scalar(Element::boolean),
               rule.says("condition") + " but must be bool");
  for (Type const& type : rule.stated) rule.result(type);
}
void apply(Rule&, YieldOp const&) {}
void apply(Rule&, ReturnOp const&) {}
void apply(Rule& rule, CallOp const&) {
  for (Type const& type : rule.stated) rule.result(type);
}

/// Applies the rule of an op: that of the elements it takes, or an overload of its own.
template <class OpStruct>
static void apply_rule(Rule& rule, OpStruct const& op) {
  constexpr bool by_elements = [] {
    if constexpr (requires { OpStruct::takes; }) return OpStruct::takes != Takes::by_rule;
    return false;
  }();
  if constexpr (by_elements)
    same_as_operands(rule, OpStruct::takes);
  else
    apply(rule, op);
  if constexpr (is_relaxable<OpStruct>) relaxed(rule, op);
}

static void dispatch(Rule& rule, OpKind kind, void const* attributes) {
  visit_op(kind, [&](auto type) {
    using OpStruct = typename decltype(type)::type;
    apply_rule(rule, *static_cast<OpStruct const*>(attributes));
  });
}

Inferred infer(OpKind kind, void const* attributes, std::span<Type const> operands, std::span<Type const> stated) {
  OpInfo const& info = op_info(kind);
  Rule rule{info, operands, stated, {}, false};
  std::size_t const named = info.operands.size();
  bool const counted = info.has(variadic) ? operands.size() + 1 >= named : operands.size() == named;
  if (!rule.require(counted,
                    fmt::format("{} operand{} but takes {}", operands.size(), operands.size() == 1 ? "" : "s",
                                info.has(variadic) ? fmt::format("at least {}", named - 1) : fmt::to_string(named))))
    return rule.out;
  if (std::string const wrong = why_out_of_bounds(kind, attributes); !rule.require(wrong.empty(), wrong))
    return rule.out;
  dispatch(rule, kind, attributes);
  if (rule.failed) rule.out.types.clear();
  return rule.out;
}

std::string why_not_a_type(Type const& type) {
  if (type.kind() == TypeKind::none) return "no type";
  if (type.is_scalar() || (type.is_mbarrier() && type.rank() == 0)) return {};
  if (type.rank() == 0) return to_string(type) + ": at least one axis is needed";
  if (type.is_tensor()) return {};
  std::int64_t elements = 1;
  for (std::int64_t const extent : type.shape()) {
    if (extent < 1) return to_string(type) + ": extents are at least 1";
    if (extent > max_tile_elements / elements)
      return fmt::format("{}: more than {} elements", to_string(type), max_tile_elements);
    elements *= extent;
  }
  if ((type.is_buffer() || type.is_pending()) && type.layout() == nullptr) return to_string(type) + ": needs a layout";
  if (type.layout() == nullptr) return {};
  std::string const wrong = type.is_buffer() ? why_not_in_memory(type.shape(), *type.layout())
                                             : why_not_in_registers(type.shape(), *type.layout());
  return wrong.empty() ? wrong : to_string(type) + ": " + wrong;
}

std::string why_not_launchable(Value const& value) {
  std::vector<Value const*> open = {&value};
  std::set<Value const*> seen;
  while (!open.empty()) {
    Value const& at = *open.back();
    open.pop_back();
    Op const* const op = at.defining_op();
    if (!seen.insert(&at).second) continue;
    if (op != nullptr && op->is<ExtentOp>()) {
      if (op->operand()->defining_op() == nullptr) continue;
      return to_string(at) + " is an extent of a slice, which the kernel computes";
    }
    if (!at.type().is_scalar() || is_float(at.type().element()))
      return to_string(at) + " is " + to_string(at.type()) + ", not an integer";
    if (at.type().element() == Element::u64) return to_string(at) + " is u64; cast it to i64";
    Block const* const block = at.owner_block();
    if (op == nullptr && (block == nullptr || block->parent_function() == nullptr))
      return to_string(at) + " changes within the kernel";
    if (op == nullptr) continue;
    if (!op->info().is_launchable()) return std::string(op->info().mnemonic) + " cannot be evaluated before the launch";
    open.insert(open.end(), op->operands().rbegin(), op->operands().rend());
  }
  return {};
}

}  // namespace tegula::ir
