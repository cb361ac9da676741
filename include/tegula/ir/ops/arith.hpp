// Defines the ops of arithmetic, comparison, selection, conversion and elementary functions. All work on scalars and,
// element by element, on tiles of one shape; both operands have the same type. Meanings are exact and the same on every
// target unless an op states an error. Float arithmetic rounds each step to nearest even; integers wrap.
//
// Passes relax arithmetic by the licences of lib/doc/arithmetic.md alone, unless the options ask for exact arithmetic.
// An op that stands for relaxed arithmetic names its licence; code generation and simulators only follow its
// attributes.
#pragma once

#include "tegula/abi/launch_op.hpp"
#include "tegula/ir/fields.hpp"

namespace tegula::ir {

using namespace std::string_view_literals;

enum class Predicate : std::uint8_t { eq, ne, lt, le, gt, ge };
template <>
inline constexpr std::array enum_names<Predicate>{"eq"sv, "ne"sv, "lt"sv, "le"sv, "gt"sv, "ge"sv};

/// Names the row of lib/doc/arithmetic.md that allows an op to be what it is.
enum class Licence : std::uint8_t {
  none,               ///< as written
  contraction,        ///< a product meets a sum unrounded
  scale_in_exponent,  ///< a scale moves into the exponent
  kept_16_bits,       ///< only 16 bits of the result are kept
  kernel_of_blocks,   ///< powers below 2^-126 are 0 in kernels with copies or products
  vanishes,           ///< a power below 2^-126 does not change the sum that it joins: no bit changes
  share_of_row,       ///< a power of a number of at most 0 counts only as a share of a sum of at least 1
  two_ulp,            ///< quotients and square roots of f32 are within 2 ulp
  function_bound,     ///< a step of a function, whose bound in elementary.def counts its error
};
template <>
inline constexpr std::array enum_names<Licence>{"none"sv,         "contraction"sv,      "scale_in_exponent"sv,
                                                "kept_16_bits"sv, "kernel_of_blocks"sv, "vanishes"sv,
                                                "share_of_row"sv, "two_ulp"sv,          "function_bound"sv};

/// Bounds of the bits of a float that an op computes: 0 for all of them.
inline constexpr Bounds significant_bits{0, 53};

/// Returns a constant: `%c = constant {value = 1.5 : f32} : f32`, or of a tile type: that value in every element.
struct ConstantOp : OpDefaults<Family::constant> {
  static constexpr std::string_view mnemonic = "constant";
  static constexpr auto operands = names();
  static constexpr unsigned traits = launchable;
  Constant value;
  static constexpr auto attributes() { return fields(field("value", &ConstantOp::value)); }
};

/// Names the elements that an elementwise op takes. Its operands have one type, which is the result's.
enum class Takes : std::uint8_t {
  numbers,   ///< integers and floats
  integers,  ///< not booleans
  logical,   ///< integers and booleans
  floats,
  by_rule,  ///< as infer.cpp says
};

struct BinaryDefaults : OpDefaults<Family::elementwise> {
  static constexpr auto operands = names("lhs", "rhs");
  static constexpr Takes takes = Takes::numbers;
};
struct CommutativeDefaults : BinaryDefaults {
  static constexpr unsigned traits = commutative;
};
struct UnaryDefaults : OpDefaults<Family::elementwise> {
  static constexpr auto operands = names("operand");
  static constexpr Takes takes = Takes::numbers;
};

/// Adds. Not for booleans.
struct AddOp : CommutativeDefaults {
  static constexpr std::string_view mnemonic = "add";
  static constexpr unsigned traits = commutative | via_f32;
  static constexpr LaunchOp launch = LaunchOp::add;
};
/// Subtracts. Not for booleans.
struct SubOp : BinaryDefaults {
  static constexpr std::string_view mnemonic = "sub";
  static constexpr unsigned traits = via_f32;
  static constexpr LaunchOp launch = LaunchOp::sub;
};
/// Multiplies. Not for booleans. With the licence of contraction, threads may add it to their sums without rounding it.
struct MulOp : CommutativeDefaults {
  static constexpr std::string_view mnemonic = "mul";
  static constexpr unsigned traits = commutative | via_f32;
  static constexpr LaunchOp launch = LaunchOp::mul;
  Licence licence = Licence::none;
  static constexpr auto attributes() { return fields(field("licence", &MulOp::licence)); }
};
/// Returns the upper half of the product of two integers, which has twice their bits.
struct MultiplyHighOp : CommutativeDefaults {
  static constexpr std::string_view mnemonic = "multiply_high";
  static constexpr Takes takes = Takes::integers;
};
/// Divides; integers truncate toward zero, x / 0 is 0, the minimum value / -1 wraps. `bits = 22`, of f32: that many
/// significant bits are right. `normal`: a divisor below 2^-126 in magnitude counts as 0, one above 2^126 as infinity.
struct DivOp : BinaryDefaults {
  static constexpr std::string_view mnemonic = "div";
  static constexpr unsigned traits = via_f32;
  static constexpr LaunchOp launch = LaunchOp::div;
  std::int64_t bits = 0;
  bool normal = false;
  Licence licence = Licence::none;
  static constexpr auto attributes() {
    return fields(field("bits", &DivOp::bits, significant_bits), field("normal", &DivOp::normal),
                  field("licence", &DivOp::licence));
  }
};
/// Returns the integer remainder with the sign of lhs; x % 0 is x.
struct RemOp : BinaryDefaults {
  static constexpr std::string_view mnemonic = "rem";
  static constexpr Takes takes = Takes::integers;
  static constexpr LaunchOp launch = LaunchOp::rem;
};
/// Divides integers and rounds up, for lhs >= 0 and rhs > 0; rhs <= 0 gives 0.
struct CeilDivOp : BinaryDefaults {
  static constexpr std::string_view mnemonic = "ceil_div";
  static constexpr Takes takes = Takes::integers;
  static constexpr LaunchOp launch = LaunchOp::ceil_div;
};
/// Returns the minimum. Floats: a NaN operand gives the other one; -0 and +0 may give either.
struct MinOp : CommutativeDefaults {
  static constexpr std::string_view mnemonic = "min";
  static constexpr unsigned traits = commutative | via_f32;
  static constexpr LaunchOp launch = LaunchOp::min;
};
/// Returns the maximum. Floats: a NaN operand gives the other one; -0 and +0 may give either. `slack = n`: where the
/// two differ by at most n, either of them.
struct MaxOp : CommutativeDefaults {
  static constexpr std::string_view mnemonic = "max";
  static constexpr unsigned traits = commutative | via_f32;
  static constexpr LaunchOp launch = LaunchOp::max;
  std::int64_t slack = 0;
  static constexpr auto attributes() { return fields(field("slack", &MaxOp::slack, {0, 1024})); }
};
/// Computes the bitwise and of integers, the logical and of booleans.
struct AndOp : CommutativeDefaults {
  static constexpr std::string_view mnemonic = "and";
  static constexpr Takes takes = Takes::logical;
  static constexpr LaunchOp launch = LaunchOp::bit_and;
};
/// Computes the bitwise or of integers, the logical or of booleans.
struct OrOp : CommutativeDefaults {
  static constexpr std::string_view mnemonic = "or";
  static constexpr Takes takes = Takes::logical;
  static constexpr LaunchOp launch = LaunchOp::bit_or;
};
/// Computes the bitwise exclusive or of integers, the logical one of booleans.
struct XorOp : CommutativeDefaults {
  static constexpr std::string_view mnemonic = "xor";
  static constexpr Takes takes = Takes::logical;
  static constexpr LaunchOp launch = LaunchOp::bit_xor;
};
/// Shifts integers left; amounts outside 0..bits-1 give 0.
struct ShlOp : BinaryDefaults {
  static constexpr std::string_view mnemonic = "shl";
  static constexpr Takes takes = Takes::integers;
};
/// Shifts right arithmetically; amounts outside 0..bits-1 act as bits-1.
struct ShrOp : BinaryDefaults {
  static constexpr std::string_view mnemonic = "shr";
  static constexpr Takes takes = Takes::integers;
};

/// Compares: `%c = compare %a, %b {predicate = lt} : bool` (or a tile of bool). Signed; floats ordered, but ne is
/// unordered.
struct CompareOp : BinaryDefaults {
  static constexpr std::string_view mnemonic = "compare";
  static constexpr unsigned traits = launchable | via_f32;
  static constexpr Takes takes = Takes::by_rule;
  Predicate predicate = Predicate::eq;
  static constexpr auto attributes() { return fields(field("predicate", &CompareOp::predicate)); }
};

/// Selects: `%r = select %condition, %a, %b`; condition is a boolean of the same shape.
struct SelectOp : OpDefaults<Family::elementwise> {
  static constexpr std::string_view mnemonic = "select";
  static constexpr auto operands = names("condition", "lhs", "rhs");
  static constexpr unsigned traits = launchable;
};

/// Multiplies and adds: `%d = fma %a, %b, %c` is a * b + c of f32 or f64, rounded once.
struct FmaOp : OpDefaults<Family::elementwise> {
  static constexpr std::string_view mnemonic = "fma";
  static constexpr auto operands = names("lhs", "rhs", "addend");
  Licence licence = Licence::none;
  static constexpr auto attributes() { return fields(field("licence", &FmaOp::licence)); }
};

/// Converts to the element of the result type; not to boolean:
/// - float to float and integer to float round to nearest even (overflow to infinity),
/// - float to integer truncates and saturates; NaN gives 0,
/// - integer to integer wraps or sign-extends,
/// - boolean to number gives 0 or 1.
struct CastOp : UnaryDefaults {
  static constexpr std::string_view mnemonic = "cast";
  static constexpr unsigned traits = launchable;
  static constexpr Takes takes = Takes::by_rule;
};
/// Returns the same bits as another element of the same width (f32 and i32, f64 and i64).
struct BitcastOp : UnaryDefaults {
  static constexpr std::string_view mnemonic = "bitcast";
  static constexpr Takes takes = Takes::by_rule;
};

/// Negates: flips a float's sign, wraps for integers.
struct NegOp : UnaryDefaults {
  static constexpr std::string_view mnemonic = "neg";
  static constexpr unsigned traits = launchable | via_f32;
};
/// Computes the logical not of booleans, the bitwise not of integers.
struct NotOp : UnaryDefaults {
  static constexpr std::string_view mnemonic = "not";
  static constexpr unsigned traits = launchable;
  static constexpr Takes takes = Takes::logical;
};
/// Returns the absolute value. Integers: that of the minimum value wraps and stays the minimum value.
struct AbsOp : UnaryDefaults {
  static constexpr std::string_view mnemonic = "abs";
  static constexpr unsigned traits = launchable | via_f32;
};
/// Returns random bits that a seed and a place decide: `%r = random_bits %seed, %place : tile<64xi32>`. They are word
/// place mod 4 of Philox4x32-10 with counter (place / 4, rounded down; 0) and key seed, both of 64 bits. As i64 they
/// are the two words of the place's pair: word 0 or 2 in the low half, the next one in the high half. assign-layouts
/// writes `run`: places count up by 1 in aligned groups of so many elements of the last axis; `aligned`: each group
/// starts at a multiple of 4.
struct RandomBitsOp : OpDefaults<Family::elementwise> {
  static constexpr std::string_view mnemonic = "random_bits";
  static constexpr auto operands = names("seed", "place");
  static constexpr Takes takes = Takes::by_rule;
  std::int64_t run = 1;
  bool aligned = false;
  static constexpr auto attributes() {
    return fields(field("run", &RandomBitsOp::run, Bounds{1, 128}), field("aligned", &RandomBitsOp::aligned));
  }
};
/// Names the executors of an expanded row by its column `device`: the host computes by arithmetic alone.
namespace computed {
inline constexpr unsigned expansion = on_simulators;
inline constexpr unsigned units = on_simulators;
inline constexpr unsigned native = on_simulators | on_gpu;
inline constexpr unsigned coarse = native;
}  // namespace computed

/// Computes the functions of elementary.def, of floats; f16 and bf16 are computed in f32 and rounded once. Errors on
/// host, simulator and Hopper are those of their rows. `bits`, of f32, says that so many significant bits are right,
/// `flush` that powers below 2^-126 are 0.
#define TEGULA_ATTRIBUTES_roundeven(op)
#define TEGULA_ATTRIBUTES_floor(op)
#define TEGULA_ATTRIBUTES_ceil(op)
#define TEGULA_ATTRIBUTES_trunc(op)
#define TEGULA_ATTRIBUTES_sqrt(op)                                                             \
  std::int64_t bits = 0;                                                                       \
  Licence licence = Licence::none;                                                             \
  static constexpr auto attributes() {                                                         \
    return fields(field("bits", &op::bits, significant_bits), field("licence", &op::licence)); \
  }
#define TEGULA_EXACT(op, name, intrinsic, ...)          \
  struct op : UnaryDefaults {                           \
    static constexpr std::string_view mnemonic = #name; \
    static constexpr unsigned traits = via_f32;         \
    static constexpr Takes takes = Takes::floats;       \
    TEGULA_ATTRIBUTES_##intrinsic(op)                   \
  };
#define TEGULA_STRUCT_EXPANDED(op, name, device, ...)              \
  struct op : UnaryDefaults {                                      \
    static constexpr std::string_view mnemonic = #name;            \
    static constexpr unsigned support = computed::device;          \
    static constexpr std::string_view replaced_by = "expand-math"; \
    static constexpr unsigned traits = via_f32;                    \
    static constexpr Takes takes = Takes::floats;                  \
    __VA_ARGS__                                                    \
  };
#define TEGULA_STRUCT_expansion(op, name) TEGULA_STRUCT_EXPANDED(op, name, expansion, )
#define TEGULA_STRUCT_coarse(op, name) TEGULA_STRUCT_EXPANDED(op, name, coarse, )
#define TEGULA_STRUCT_RELAXABLE(op, name, device)                                                   \
  TEGULA_STRUCT_EXPANDED(                                                                           \
      op, name, device, std::int64_t bits = 0; bool flush = false; Licence licence = Licence::none; \
      static constexpr auto attributes() {                                                          \
        return fields(field("bits", &op::bits, significant_bits), field("flush", &op::flush),       \
                      field("licence", &op::licence));                                              \
      })
#define TEGULA_STRUCT_native(op, name) TEGULA_STRUCT_RELAXABLE(op, name, native)
#define TEGULA_STRUCT_units(op, name) TEGULA_STRUCT_RELAXABLE(op, name, units)
#define TEGULA_EXPANDED(op, name, device, ...) TEGULA_STRUCT_##device(op, name)
#define TEGULA_EXPANDED_2(op, name, ...)                           \
  struct op : BinaryDefaults {                                     \
    static constexpr std::string_view mnemonic = #name;            \
    static constexpr unsigned support = computed::expansion;       \
    static constexpr std::string_view replaced_by = "expand-math"; \
    static constexpr unsigned traits = via_f32;                    \
    static constexpr Takes takes = Takes::floats;                  \
  };
#include "tegula/math/elementary.def"
#undef TEGULA_STRUCT_expansion
#undef TEGULA_STRUCT_coarse
#undef TEGULA_STRUCT_native
#undef TEGULA_STRUCT_units
#undef TEGULA_STRUCT_RELAXABLE
#undef TEGULA_STRUCT_EXPANDED
#undef TEGULA_ATTRIBUTES_roundeven
#undef TEGULA_ATTRIBUTES_floor
#undef TEGULA_ATTRIBUTES_ceil
#undef TEGULA_ATTRIBUTES_trunc
#undef TEGULA_ATTRIBUTES_sqrt

}  // namespace tegula::ir
