// Prints and parses the text of the IR. `parse(print(m))` equals `m` and prints the same bytes.
//
//   tegula-ir 1
//
//   kernel @vadd(%a: in tensor<?xf32>, %c: out tensor<?xf32> {unit_inner, aligned_16, multiple_of = 16}) warps = 4 {
//     %n = extent %a {axis = 0} : i64
//     %r = for %i = %lo to %n step %s carry (%acc = %zero) {stages = 2} : tile<128xf32> {
//       ...
//       yield %next
//     }
//     return
//   }
//   function @f(%x: tile<128xf32>) -> (tile<128xf32>) noinline { ... return %y }
//
// One op per line: `results = mnemonic operands {attributes} : result types`, with attributes in declared order and
// defaults omitted. Zero of the result's element is the default of a constant attribute other than ConstantOp's.
// Operand types are those of the definitions. `for` and `if` have forms of their own, see ops/control.hpp; the blocks
// of other ops stand after the types, `(%g: i64) { ... } and { ... }`, each with its arguments if it has any. Value
// names are unique in a function; comments run from // to the end of the line. ` loc("file":line)` may end an op or a
// function.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "ir/core/op.hpp"
#include "support/diagnostics.hpp"

namespace tegula::ir {

using support::Diagnostics;

inline constexpr int text_version = 1;
/// Limits the nesting of blocks, in text and in verified IR.
inline constexpr int max_nesting = 64;

struct PrintOptions {
  bool locations = false;
};

/// Prints a module, as a pure function of the IR. Broken IR (dangling or null operands) prints too, though it does not
/// parse back.
std::string print(Module const& module, PrintOptions options = {});
std::string print(Function const& function, PrintOptions options = {});
/// Prints one op with its blocks, without a final newline; values defined outside show their own names or types. For
/// messages.
std::string print(Op const& op);

std::string to_string(Type const& type);
/// Prints "64x32xf16": shape and element alone.
std::string short_text(Type const& type);
/// Returns "tile", "tensor", "shared", ...: the word before a type's '<'; empty for scalars.
std::string_view type_word(TypeKind kind);
/// Prints `1.5 : f32`; floats as the shortest decimal that gives the same bits, `inf`, `nan`, or their bits in hex.
std::string to_string(Constant constant);
/// Prints "%name", or "a tile<128xf32>" for a value without a name.
std::string to_string(Value const& value);

/// Returns the names, with %, that `print(function)` gives its values.
std::unordered_map<Value const*, std::string> value_names(Function const& function);

using Positions = std::unordered_map<Op const*, support::TextPosition>;

struct ParseResult {
  Module module;            ///< empty when there are errors
  Diagnostics diagnostics;  ///< the first error: line, column, the found and the expected text
  Positions positions;      ///< where each op was read
  [[nodiscard]] bool ok() const { return !diagnostics.has_errors(); }
};

/// Reads a module. Checks the text only; `verify` (verifier.hpp) checks its meaning. Does not throw on bad text.
ParseResult parse(std::string_view text);

}  // namespace tegula::ir
