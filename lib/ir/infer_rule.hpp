// One application of a typing rule: what the rules in infer.cpp (tile ops) and infer_block.cpp (block ops) share.
#pragma once

#include <string>

#include "ir/infer.hpp"
#include "ir/text.hpp"

namespace tegula::ir {

/// An integer that is computed with: i32 or i64.
inline bool is_whole(Element element) { return is_integer(element) && is_arithmetic(element); }

/// "64x32xf16"
std::string short_text(Type const& type);
/// "[64, 32]"
std::string list_text(Extents const& values);

/// One application of a rule. The first failure stays.
struct Rule {
  OpInfo const& info;
  std::span<Type const> operands;
  std::span<Type const> stated;
  Inferred out;
  bool failed = false;

  bool require(bool condition, std::string const& text) {
    if (!condition && !failed) {
      failed = true;
      out.error = std::string(info.mnemonic) + ": " + text;
    }
    return condition && !failed;
  }
  [[nodiscard]] Type const& operand(int i) const { return operands[static_cast<std::size_t>(i)]; }
  [[nodiscard]] std::string operand_name(int i) const {
    auto const names = info.operands;
    auto const at = static_cast<std::size_t>(i);
    if (info.has(variadic) && at + 1 >= names.size())
      return std::string(names.back()) + "[" + std::to_string(at + 1 - names.size()) + "]";
    return std::string(names[at]);
  }
  /// "lhs is tile<4xf32>"
  [[nodiscard]] std::string says(int i) const { return operand_name(i) + " is " + to_string(operand(i)); }

  /// A result; its layout may be stated when the rule gives none.
  void result(Type type) {
    auto const at = out.types.size();
    if (type.is_tile() && type.layout() == nullptr && at < stated.size() && stated[at].with_layout(nullptr) == type)
      type = stated[at];
    out.types.push_back(type);
  }
  /// The single stated result, which must be a tile (or scalar) of this element.
  bool stated_tile() {
    return require(stated.size() == 1, "the result's type must be stated") &&
           require(stated[0].is_tile(), "the result is " + to_string(stated[0]) + " but must be a tile");
  }
  bool tile_operand(int i) { return require(operand(i).is_tile(), says(i) + " but must be a tile"); }
  bool index_operand(int i) { return require(operand(i) == Type::index(), says(i) + " but must be i64"); }
  bool axis_in(std::int64_t axis, int rank) {
    return require(axis >= 0 && axis < rank,
                   "axis " + std::to_string(axis) + " of " + (rank == 1 ? "1 axis" : std::to_string(rank) + " axes"));
  }
};

/// `found` says "3 offsets" for `first` and later operands; one i64 or i32 per axis is needed.
void check_offsets(Rule& rule, int first, int axes, std::string const& of);

#define TEGULA_OP(name) void apply(Rule& rule, name const& op);
#include "tegula/ir/ops.def"
#undef TEGULA_OP

}  // namespace tegula::ir
