// Provides the helpers that the typing rules in infer.cpp (tile ops), infer_memory.cpp (their memory) and
// infer_block.cpp (block ops) share.
#pragma once

#include <fmt/format.h>

#include <string>

#include "ir/infer/infer.hpp"
#include "ir/text/text.hpp"

namespace tegula::ir {

/// True for an integer that ops compute with: i32 or i64.
inline bool is_whole(Element element) { return is_integer(element) && is_arithmetic(element); }
/// True for i32 and i64, of which indices, coordinates and counts are.
inline bool is_counting(Element element) { return is_whole(element) && is_signed(element); }

/// Prints "[64, 32]".
std::string list_text(Extents const& values);
/// Prints "8x4xf16" for a tile without a layout, and other types as they are.
std::string short_text(Type const& type);

/// Names an operand of a rule's op, or returns its position where a rule treats all operands alike.
struct OperandOf {
  int position = 0;
  std::string_view name;

  OperandOf(int at) : position(at) {}                // NOLINT(google-explicit-constructor): stands for the operand
  OperandOf(char const* operand) : name(operand) {}  // NOLINT(google-explicit-constructor): likewise
};

/// Applies one typing rule to one op: its operands, the stated result types, and the inferred ones. Keeps the first
/// error.
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
  /// Returns the position of the operand; for the last name of a variadic op, of its first operand. A name must be one
  /// of the op's.
  [[nodiscard]] int position(OperandOf place) const {
    return place.name.empty() ? place.position : info.position(place.name);
  }
  [[nodiscard]] Type const& operand(OperandOf place) const {
    return operands[static_cast<std::size_t>(position(place))];
  }
  [[nodiscard]] std::span<Type const> all(OperandOf place) const {
    return operands.subspan(static_cast<std::size_t>(position(place)));
  }
  [[nodiscard]] std::string operand_name(OperandOf place) const {
    auto const names = info.operands;
    auto const at = static_cast<std::size_t>(position(place));
    if (info.has(variadic) && at + 1 >= names.size()) return fmt::format("{}[{}]", names.back(), at + 1 - names.size());
    return std::string(names[at]);
  }
  /// Says "lhs is tile<4xf32>".
  [[nodiscard]] std::string says(OperandOf place) const {
    return operand_name(place) + " is " + to_string(operand(place));
  }

  /// Adds a result; its layout may be stated when the rule does not give one.
  void result(Type type) {
    auto const at = out.types.size();
    if (type.is_tile() && type.layout() == nullptr && at < stated.size() && stated[at].with_layout(nullptr) == type)
      type = stated[at];
    out.types.push_back(type);
  }
  /// Requires a single stated result, which is a tile.
  bool stated_tile() {
    return require(stated.size() == 1, "the result's type must be stated") &&
           require(stated[0].is_tile(), "the result is " + to_string(stated[0]) + " but must be a tile");
  }
  bool tile_operand(OperandOf place) { return require(operand(place).is_tile(), says(place) + " but must be a tile"); }
  bool index_operand(OperandOf place) {
    return require(operand(place) == Type::index(), says(place) + " but must be i64");
  }
  /// Requires that a list names each axis of a tile or tensor once.
  bool permutation_of(Extents const& permutation, Type const& type) {
    bool legal = permutation.size() == type.rank();
    for (int i = 0; i < permutation.size(); ++i) {
      legal = legal && permutation[i] >= 0 && permutation[i] < type.rank();
      for (int j = 0; j < i; ++j) legal = legal && permutation[i] != permutation[j];
    }
    return require(legal, fmt::format("{} does not permute the {} axes of {}", list_text(permutation), type.rank(),
                                      short_text(type)));
  }
  bool axis_in(std::int64_t axis, int rank) {
    return require(axis >= 0 && axis < rank,
                   fmt::format("axis {} of {}", axis, rank == 1 ? "1 axis" : fmt::format("{} axes", rank)));
  }
};

/// Requires a tile or a scalar, which arithmetic works on.
void computable(Rule& rule, OperandOf place);

/// Requires one of the operands called `offsets` per axis, `axes` in all; `of` names the owner of the axes in the
/// message.
void check_offsets(Rule& rule, int axes, std::string const& of);

#define TEGULA_OP(name) void apply(Rule& rule, name const& op);
#include "tegula/ir/ops.def"
#undef TEGULA_OP

}  // namespace tegula::ir
