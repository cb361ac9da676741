// Tables all ops, made from ops.def: every property of an op that other parts may ask without knowing its struct.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/ir/ops.hpp"
#include "tegula/ir/source.hpp"

namespace tegula::ir {

enum class FieldKind : std::uint8_t { boolean, integer, enumeration, element, extents, constant, symbol };

/// Refers to one attribute field of one op struct instance, erased. `data` points at the member; its type follows from
/// kind (enumeration: a uint8_t value indexing enum_names).
struct FieldRef {
  std::string_view name;
  FieldKind kind;
  void* data;
  std::span<std::string_view const> enum_names;
  Bounds range = {};  ///< of integers and lists of them
};

struct OpInfo {
  OpKind kind;
  std::string_view mnemonic;
  Family family;
  unsigned support;
  std::span<std::string_view const> operands;
  Effects effects;
  unsigned traits;
  std::optional<LaunchOp> launch;  ///< the step of launch programs for an op of two integers
  std::optional<Bounds> number;    ///< of the integer that an op without integer operands returns
  std::string_view replaced_by;    ///< the pass that makes other ops of it; empty: none needs to
  std::size_t size;                ///< of the struct; all op structs are trivially copyable
  void const* defaults;            ///< a default-constructed struct
  void (*list_fields)(void* op, std::vector<FieldRef>& out);
  Source (*source)(void const* op, SourceShapes const& of);  ///< null: the op does not state its source
  std::int64_t* (*scratch)(void* op);                        ///< null: the op has no attribute `scratch`

  [[nodiscard]] bool has(Trait trait) const { return (traits & trait) != 0; }
  [[nodiscard]] bool runs(Support executor) const { return (support & executor) != 0; }
  /// True for an op of the block family: see BlockOp.
  [[nodiscard]] bool is_block_op() const { return !runs(on_tile_simulator); }
  /// True for an op of integers that launch programs compute.
  [[nodiscard]] bool is_launchable() const { return has(launchable) || launch.has_value(); }
  /// True for an op that combines elements with those in memory at once.
  [[nodiscard]] bool atomic() const {
    return std::any_of(effects.begin(), effects.end(), [](Effect const& effect) { return effect.atomic; });
  }
  /// True for an op that names such an operand.
  [[nodiscard]] bool names(std::string_view operand) const {
    return std::find(operands.begin(), operands.end(), operand) != operands.end();
  }
  /// Returns the position of the operand of that name, or of the first one of the last name of a variadic op.
  /// InternalError for a name that the op does not list.
  [[nodiscard]] int position(std::string_view operand) const;
};

OpInfo const& op_info(OpKind kind);
/// Says why an executor does not run an op, which it meets all the same: the one text of all refusals.
std::string why_not_run(OpInfo const& op, Support executor);
/// Finds the op with that mnemonic, else null.
OpInfo const* find_op(std::string_view mnemonic);

/// Returns the fields of an op struct instance, in declared order.
std::vector<FieldRef> fields_of(OpKind kind, void* op);
/// Names the first integer of an op struct outside its bounds: "stages is 65, not 0 to 64". Empty: there is none.
std::string why_out_of_bounds(OpKind kind, void const* op);
bool field_equal(FieldRef const& a, FieldRef const& b);

}  // namespace tegula::ir
