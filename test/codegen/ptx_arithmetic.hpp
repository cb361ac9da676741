// Computes PTX's arithmetic, comparisons and conversions on register values, by the PTX ISA's tables. A form of an
// instruction that is not written here is refused, never approximated: no modifier is skipped.
//
// Two liberties are taken. Approximations (approx, full) are computed in double and rounded once. NaN results of f64
// have any bits.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/ptx_text.hpp"
#include "tegula/support/half.hpp"

namespace tegula::test {

class PtxArithmetic : public PtxText {
 protected:
  using PtxText::PtxText;
  using Values = std::vector<std::uint64_t>;

  [[noreturn]] void refuse(Instruction const& at) const { fail("an instruction that the machine does not know", &at); }

  static bool has(Instruction const& at, std::string_view word) {
    return std::find(at.words.begin(), at.words.end(), word) != at.words.end();
  }
  /// Returns the words between the opcode and the last ones, which name types.
  static std::vector<std::string> modifiers(Instruction const& at, std::size_t types = 1) {
    if (at.words.size() < 1 + types) return {"no type"};
    return {at.words.begin() + 1, at.words.end() - static_cast<std::ptrdiff_t>(types)};
  }
  /// Refuses modifiers that are not in the list, and instructions without the type.
  void allow_only(Instruction const& at, std::initializer_list<std::string_view> words) const {
    for (std::string const& word : modifiers(at))
      if (std::find(words.begin(), words.end(), word) == words.end()) refuse(at);
  }

  static int bits_of(std::string const& type) {
    if (type == "pred") return 1;
    if (type == "bf16") return 16;
    return std::atoi(type.c_str() + std::min(type.find_first_of("0123456789"), type.size()));
  }
  static bool is_float(std::string const& type) {
    return type == "f16" || type == "bf16" || type == "f32" || type == "f64";
  }
  static bool is_integer(std::string const& type) {
    if (type == "pred") return true;
    int const bits = bits_of(type);
    return (type[0] == 'b' || type[0] == 'u' || type[0] == 's') && type == fmt::format("{}{}", type[0], bits) &&
           (bits == 8 || bits == 16 || bits == 32 || bits == 64);
  }
  static std::uint64_t cut(std::uint64_t value, int bits) {
    return bits >= 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
  }
  static std::int64_t sign(std::uint64_t value, int bits) {
    return bits == 64 ? static_cast<std::int64_t>(value)
                      : static_cast<std::int64_t>(value << (64 - bits)) >> (64 - bits);
  }
  /// Returns the number that a register holds. Integers of 64 bits are rounded.
  static double number(std::uint64_t bits, std::string const& type) {
    if (type == "f32") return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    if (type == "f64") return std::bit_cast<double>(bits);
    if (type == "f16") return f16_value(static_cast<std::uint16_t>(bits));
    if (type == "bf16") return bf16_value(static_cast<std::uint16_t>(bits));
    if (type == "e4m3") return e4m3_value(static_cast<std::uint8_t>(bits));
    if (type == "e5m2") return e5m2_value(static_cast<std::uint8_t>(bits));
    if (type[0] == 's') return static_cast<double>(sign(bits, bits_of(type)));
    return static_cast<double>(cut(bits, bits_of(type)));
  }
  /// Rounds a number to a float. NaN is PTX's: all bits but the sign.
  static std::uint64_t encode(double value, std::string const& type) {
    if (type == "f64") return std::bit_cast<std::uint64_t>(value);
    if (std::isnan(value)) return cut(~std::uint64_t{0}, bits_of(type) - 1);
    if (type == "f32") return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    if (type == "f16") return f16_bits(value);
    return bf16_bits(value);
  }

  std::uint64_t compute(Instruction const& at, Values const& in) const {
    std::string const& op = at.words[0];
    std::string const& type = at.words.back();
    if (op == "cvt") return convert(at, in);
    if (op == "setp") return compared(at, in) ? 1 : 0;
    if (op == "selp" && at.words.size() == 2 && (is_integer(type) || is_float(type)))
      return cut(in[2] != 0 ? in[0] : in[1], bits_of(type));
    if (is_float(type)) return float_op(at, in);
    if (op == "prmt" && type == "f4e") return permute(in[0], in[1], 0x3210 + 0x1111 * (in[2] & 3));
    if (!is_integer(type)) refuse(at);
    return integer_op(at, in);
  }

 private:
  std::uint64_t integer_op(Instruction const& at, Values const& in) const {
    std::string const& op = at.words[0];
    std::string const& type = at.words.back();
    int const bits = bits_of(type);
    bool const is_signed = type[0] == 's';
    if (op == "mul" || op == "mad") return product(at, in);
    if (op == "shf") return funnel_shift(at, in);
    if (op == "min" || op == "max") return extreme_integer(at, in);
    if (!modifiers(at).empty()) refuse(at);
    if (op == "shl" || op == "shr") return shift(op == "shl", in, bits, is_signed);
    if (op == "div" || op == "rem") return divide(op == "div", in[0], in[1], bits, is_signed, at);
    if (op == "bfe") return extracted(in, bits, is_signed);
    if (op == "prmt") return permute(in[0], in[1], in[2]);
    if (op == "lop3") return any_of_three(in);
    return word_op(at, in);
  }

  /// Computes an op whose result's bits do not depend on the sign of its type.
  std::uint64_t word_op(Instruction const& at, Values const& in) const {
    std::string const& op = at.words[0];
    int const bits = bits_of(at.words.back());
    std::uint64_t const a = cut(in[0], bits), b = in.size() > 1 ? cut(in[1], bits) : 0;
    if (op == "mov") return a;
    if (op == "popc") return static_cast<std::uint64_t>(std::popcount(a));
    if (op == "add") return cut(a + b, bits);
    if (op == "sub") return cut(a - b, bits);
    if (op == "neg") return cut(~a + 1, bits);
    if (op == "abs") return sign(a, bits) < 0 ? cut(~a + 1, bits) : a;
    if (op == "and") return a & b;
    if (op == "or") return a | b;
    if (op == "xor") return a ^ b;
    if (op == "not") return cut(~a, bits);
    refuse(at);
  }

  std::uint64_t product(Instruction const& at, Values const& in) const {
    bool const adds = at.words[0] == "mad", is_signed = at.words.back()[0] == 's';
    int const bits = bits_of(at.words.back());
    std::vector<std::string> const part = modifiers(at);
    if (part.size() != 1 || (adds && part[0] == "hi")) refuse(at);
    std::uint64_t const more = adds ? in[2] : 0;
    if (part[0] == "lo") return cut(cut(in[0], bits) * cut(in[1], bits) + more, bits);
    if (part[0] == "wide" && bits < 64) return cut(wide(in[0], in[1], bits, is_signed) + more, 2 * bits);
    if (part[0] == "hi") return high(in[0], in[1], bits, is_signed);
    refuse(at);
  }

  std::uint64_t funnel_shift(Instruction const& at, Values const& in) const {
    allow_only(at, {"l", "r", "wrap", "clamp"});
    std::uint64_t const both = cut(in[0], 32) | cut(in[1], 32) << 32, amount = cut(in[2], 32);
    std::uint64_t const by = has(at, "wrap") ? amount & 31 : std::min<std::uint64_t>(amount, 32);
    return has(at, "l") ? cut(both << by >> 32, 32) : cut(both >> by, 32);
  }

  /// Returns the min or max, or with "relu" that and 0.
  std::uint64_t extreme_integer(Instruction const& at, Values const& in) const {
    std::string const& type = at.words.back();
    bool const least = at.words[0] == "min";
    int const bits = bits_of(type);
    std::uint64_t const a = cut(in[0], bits), b = cut(in[1], bits);
    std::int64_t const c = sign(a, bits), d = sign(b, bits), found = least ? std::min(c, d) : std::max(c, d);
    if (type == "s32" && modifiers(at) == std::vector<std::string>{"relu"})
      return static_cast<std::uint64_t>(std::max<std::int64_t>(found, 0));
    if (!modifiers(at).empty()) refuse(at);
    if (type[0] == 's') return cut(static_cast<std::uint64_t>(found), bits);
    return least ? std::min(a, b) : std::max(a, b);
  }

  static std::uint64_t shift(bool left, Values const& in, int bits, bool is_signed) {
    auto const width = static_cast<std::uint64_t>(bits);
    std::uint64_t const value = cut(in[0], bits), by = std::min(cut(in[1], 32), width);
    if (!left && is_signed) return cut(static_cast<std::uint64_t>(sign(value, bits) >> std::min(by, width - 1)), bits);
    if (by == width) return 0;
    return left ? cut(value << by, bits) : value >> by;
  }

  /// Looks each bit up in a table of 8 bits, by the bits of three words.
  static std::uint64_t any_of_three(Values const& in) {
    std::uint64_t result = 0;
    for (int bit = 0; bit < 32; ++bit) {
      std::uint64_t const row = (in[0] >> bit & 1) << 2 | (in[1] >> bit & 1) << 1 | (in[2] >> bit & 1);
      result |= (in[3] >> row & 1) << bit;
    }
    return result;
  }

  /// Extracts bits; behind the end of the word stands the field's sign, that of its last bit in the word.
  static std::uint64_t extracted(Values const& in, int bits, bool is_signed) {
    int const first = static_cast<int>(in[1] & 255), count = static_cast<int>(in[2] & 255);
    auto const bit = [&](int at) { return in[0] >> at & 1; };
    std::uint64_t const fill = is_signed && count != 0 ? bit(std::min(first + count - 1, bits - 1)) : 0;
    std::uint64_t result = 0;
    for (int i = 0; i < bits; ++i) result |= (i < count && first + i < bits ? bit(first + i) : fill) << i;
    return result;
  }

  static std::uint64_t wide(std::uint64_t a, std::uint64_t b, int bits, bool is_signed) {
    return cut(is_signed ? static_cast<std::uint64_t>(sign(a, bits) * sign(b, bits)) : cut(a, bits) * cut(b, bits),
               2 * bits);
  }
  static std::uint64_t high(std::uint64_t a, std::uint64_t b, int bits, bool is_signed) {
    if (bits < 64) return cut(wide(a, b, bits, is_signed) >> bits, bits);
    __extension__ using Wide = __int128;
    __extension__ using WideUnsigned = unsigned __int128;
    WideUnsigned const product =
        is_signed
            ? static_cast<WideUnsigned>(static_cast<Wide>(static_cast<std::int64_t>(a)) * static_cast<std::int64_t>(b))
            : static_cast<WideUnsigned>(a) * b;
    return static_cast<std::uint64_t>(product >> 64);
  }
  std::uint64_t divide(bool quotient, std::uint64_t a, std::uint64_t b, int bits, bool is_signed,
                       Instruction const& at) const {
    if (cut(b, bits) == 0) fail("division by zero", &at);
    if (!is_signed) return quotient ? cut(a, bits) / cut(b, bits) : cut(a, bits) % cut(b, bits);
    std::int64_t const x = sign(a, bits), y = sign(b, bits);
    if (y == -1) return quotient ? cut(~a + 1, bits) : 0;
    return cut(static_cast<std::uint64_t>(quotient ? x / y : x % y), bits);
  }
  static std::uint64_t permute(std::uint64_t a, std::uint64_t b, std::uint64_t selectors) {
    std::uint64_t const both = cut(a, 32) | cut(b, 32) << 32;
    std::uint64_t result = 0;
    for (int i = 0; i < 4; ++i) {
      std::uint64_t const selector = selectors >> (4 * i) & 15;
      std::uint64_t byte = both >> (8 * (selector & 7)) & 255;
      if ((selector & 8) != 0) byte = (byte & 128) != 0 ? 255 : 0;
      result |= byte << (8 * i);
    }
    return result;
  }

  template <class T>
  bool holds(Instruction const& at, std::string const& relation, T a, T b) const {
    if (relation == "eq") return a == b;
    if (relation == "ne") return a != b;
    if (relation == "lt" || relation == "lo") return a < b;
    if (relation == "le" || relation == "ls") return a <= b;
    if (relation == "gt" || relation == "hi") return a > b;
    if (relation == "ge" || relation == "hs") return a >= b;
    refuse(at);
  }
  bool compared(Instruction const& at, Values const& in) const {
    if (at.words.size() != 3 || in.size() != 2) refuse(at);
    std::string const &relation = at.words[1], &type = at.words[2];
    if (is_float(type)) {
      double const a = number(in[0], type), b = number(in[1], type);
      bool const nan = std::isnan(a) || std::isnan(b);
      if (relation == "nan") return nan;
      if (relation == "num") return !nan;
      bool const unordered = relation.size() == 3 && relation[2] == 'u';
      return unordered ? nan || holds(at, relation.substr(0, 2), a, b) : !nan && holds(at, relation, a, b);
    }
    if (!is_integer(type)) refuse(at);
    int const bits = bits_of(type);
    return type[0] == 's' ? holds(at, relation, sign(in[0], bits), sign(in[1], bits))
                          : holds(at, relation, cut(in[0], bits), cut(in[1], bits));
  }

  static double flushed(double value) { return std::fabs(value) < 0x1p-126 ? std::copysign(0.0, value) : value; }
  /// Returns one of two numbers; of a NaN and a number the number, of two zeros the one whose sign fits.
  static double extreme(bool greater, double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
    if (a == b) return std::signbit(a) == greater ? b : a;
    return (a < b) == greater ? b : a;
  }

  /// Computes f32 results in double and rounds once, which is exact rounding for + - * / and square roots.
  std::uint64_t float_op(Instruction const& at, Values const& in) const {
    std::string const &op = at.words[0], &type = at.words.back();
    int const bits = bits_of(type);
    if (op == "mov" || op == "neg" || op == "abs") {
      if (at.words.size() != 2) refuse(at);
      return op == "mov"   ? cut(in[0], bits)
             : op == "neg" ? cut(in[0] ^ (std::uint64_t{1} << (bits - 1)), bits)
                           : cut(in[0], bits - 1);
    }
    check_modifiers(at);
    bool const flush = has(at, "ftz");
    auto const operand = [&](std::size_t i) {
      double const value = i < in.size() ? number(in[i], type) : 0;
      return flush ? flushed(value) : value;
    };
    auto const result = [&](double value) { return encode(flush ? flushed(value) : value, type); };
    return result(in_double(at, operand(0), operand(1), operand(2)));
  }

  /// Refuses modifiers that the op does not have.
  void check_modifiers(Instruction const& at) const {
    std::string const& op = at.words[0];
    bool const arithmetic = op == "add" || op == "sub" || op == "mul" || op == "fma",
               quotient = op == "div" || op == "rcp" || op == "sqrt",
               power = op == "rsqrt" || op == "ex2" || op == "lg2";
    if (arithmetic)
      allow_only(at, {"rn"});
    else if (quotient || power)
      allow_only(at, {"rn", "approx", "full", "ftz"});
    else
      allow_only(at, {});
    if ((has(at, "ftz") || power) && at.words.back() != "f32") refuse(at);
  }

  /// Computes in double, but fma of f32 as one operation of f32: double would round it twice.
  double in_double(Instruction const& at, double a, double b, double c) const {
    std::string const &op = at.words[0], &type = at.words.back();
    if (op == "add") return a + b;
    if (op == "sub") return a - b;
    if (op == "mul") return a * b;
    if (op == "div") return a / b;
    if (op == "rcp") return 1 / a;
    if (op == "sqrt") return std::sqrt(a);
    if (op == "rsqrt") return 1 / std::sqrt(a);
    if (op == "fma" && type == "f32")
      return static_cast<double>(std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c)));
    if (op == "fma" && type == "f64") return std::fma(a, b, c);
    if (op == "min" || op == "max") return extreme(op == "max", a, b);
    if (op == "ex2") return std::exp2(a);
    if (op == "lg2") return std::log2(a);
    refuse(at);
  }

  /// Converts to two numbers in one register. The first operand is the upper half.
  std::uint64_t convert_pair(Instruction const& at, Values const& in) const {
    std::string const &to = at.words[at.words.size() - 2], &from = at.words.back();
    std::vector<std::string> const words = modifiers(at, 2);
    auto const is_form = [&](std::size_t operands, std::vector<std::string> const& wanted) {
      return in.size() == operands && words == wanted;
    };
    if (to == "e4m3x2" || to == "e5m2x2") {
      if (from != "f32" || !is_form(2, {"rn", "satfinite"})) refuse(at);
      auto const narrow = [&](std::uint64_t bits) -> std::uint64_t {
        double const value = number(bits, from);
        return to == "e4m3x2" ? e4m3_bits(value) : e5m2_bits(value);
      };
      return narrow(in[0]) << 8 | narrow(in[1]);
    }
    if (to == "f16x2" && (from == "e4m3x2" || from == "e5m2x2")) {
      if (!is_form(1, {"rn"})) refuse(at);
      std::string const part = from.substr(0, 4);
      return encode(number(in[0] >> 8 & 255, part), "f16") << 16 | encode(number(in[0] & 255, part), "f16");
    }
    if ((to != "f16x2" && to != "bf16x2") || from != "f32" || !is_form(2, {"rn"})) refuse(at);
    std::string const half = to.substr(0, to.size() - 2);
    return encode(number(in[0], from), half) << 16 | encode(number(in[1], from), half);
  }

  std::uint64_t convert(Instruction const& at, Values const& in) const {
    if (at.words.size() < 3) refuse(at);
    std::string const &to = at.words[at.words.size() - 2], &from = at.words.back();
    std::vector<std::string> const words = modifiers(at, 2);
    std::string const mode = words.size() == 1 ? words[0] : words.empty() ? "" : "several";
    if (to.ends_with("x2")) return convert_pair(at, in);
    if (in.size() != 1) refuse(at);
    if (to == "tf32" && from == "f32" && mode == "rna") {  // ties go away from zero
      std::uint64_t const bits = cut(in[0], 32);
      return std::isfinite(number(bits, "f32")) ? cut(bits + 0x1000, 32) & ~std::uint64_t{0x1FFF} : bits;
    }
    if (is_float(to) && is_float(from)) return between_floats(at, in[0], mode, to, from);
    if (is_float(to) && is_integer(from)) {
      if (mode != "rn") refuse(at);
      return from_integer(in[0], to, from);
    }
    if (!is_integer(to)) refuse(at);
    if (is_float(from)) return to_integer(at, in[0], mode, to, from);
    if (!is_integer(from) || !words.empty()) refuse(at);
    std::uint64_t const value =
        from[0] == 's' ? static_cast<std::uint64_t>(sign(in[0], bits_of(from))) : cut(in[0], bits_of(from));
    return in_register(value, to);
  }

  /// Extends an integer of less bits than its register, as PTX does.
  static std::uint64_t in_register(std::uint64_t value, std::string const& type) {
    int const bits = bits_of(type);
    return type[0] == 's' ? static_cast<std::uint64_t>(sign(value, bits)) : cut(value, bits);
  }

  std::uint64_t between_floats(Instruction const& at, std::uint64_t in, std::string const& mode, std::string const& to,
                               std::string const& from) const {
    double const value = number(in, from);
    if (to == from) {
      if (mode == "rni") return encode(std::nearbyint(value), to);
      if (mode == "rmi") return encode(std::floor(value), to);
      if (mode == "rpi") return encode(std::ceil(value), to);
      if (mode == "rzi") return encode(std::trunc(value), to);
      refuse(at);
    }
    bool const widens = bits_of(to) > bits_of(from);
    if (mode == (widens ? "" : "rn")) return encode(value, to);
    if (mode != "rz" || to != "f32" || from != "f64") refuse(at);
    float const nearest = static_cast<float>(value);
    bool const beyond = std::fabs(static_cast<double>(nearest)) > std::fabs(value);
    return encode(static_cast<double>(beyond ? std::nextafterf(nearest, 0) : nearest), to);
  }

  /// Rounds an integer once. More than 53 bits are cut to these, the last of which is set where others were lost.
  static std::uint64_t from_integer(std::uint64_t in, std::string const& to, std::string const& from) {
    bool const negative = from[0] == 's' && sign(in, bits_of(from)) < 0;
    std::uint64_t const value = negative ? cut(~cut(in, bits_of(from)) + 1, bits_of(from)) : cut(in, bits_of(from));
    if (to == "f64") return encode(negative ? -static_cast<double>(value) : static_cast<double>(value), to);
    int const lost = std::max(0, static_cast<int>(std::bit_width(value)) - 53);
    std::uint64_t const kept = value >> lost | (cut(value, lost) != 0 ? 1U : 0U);
    double const odd = std::ldexp(static_cast<double>(kept), lost);
    return encode(negative ? -odd : odd, to);
  }

  /// Rounds to an integer and clamps to the range of its type.
  std::uint64_t to_integer(Instruction const& at, std::uint64_t in, std::string const& mode, std::string const& to,
                           std::string const& from) const {
    int const bits = bits_of(to);
    double const value = number(in, from);
    if (std::isnan(value)) return in_register(from == "f64" || bits == 64 ? std::uint64_t{1} << (bits - 1) : 0, to);
    double whole = 0;
    if (mode == "rzi")
      whole = std::trunc(value);
    else if (mode == "rmi")
      whole = std::floor(value);
    else if (mode == "rpi")
      whole = std::ceil(value);
    else if (mode == "rni")
      whole = std::nearbyint(value);
    else
      refuse(at);
    bool const is_signed = to[0] == 's';
    double const above = std::ldexp(1.0, is_signed ? bits - 1 : bits);  // the first number that is too large
    if (whole >= above) return in_register(cut(~std::uint64_t{0}, is_signed ? bits - 1 : bits), to);
    if (is_signed && whole < -above) return in_register(std::uint64_t{1} << (bits - 1), to);
    if (!is_signed) return whole <= 0 ? 0 : static_cast<std::uint64_t>(whole);
    return in_register(static_cast<std::uint64_t>(static_cast<std::int64_t>(whole)), to);
  }
};

}  // namespace tegula::test
