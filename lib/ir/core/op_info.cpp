#include "ir/core/op_info.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/hana/for_each.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/hana/type.hpp>
#include <concepts>
#include <map>
#include <string>

#include "support/locks.hpp"
#include "tegula/support/error.hpp"

namespace tegula::ir {
namespace {

namespace hana = boost::hana;

template <class T>
constexpr FieldKind field_kind() {
  if constexpr (std::is_same_v<T, bool>)
    return FieldKind::boolean;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return FieldKind::integer;
  else if constexpr (std::is_same_v<T, Element>)
    return FieldKind::element;
  else if constexpr (std::is_same_v<T, Extents>)
    return FieldKind::extents;
  else if constexpr (std::is_same_v<T, Constant>)
    return FieldKind::constant;
  else if constexpr (std::is_same_v<T, Symbol>)
    return FieldKind::symbol;
  else {
    static_assert(
        std::is_enum_v<T> && sizeof(T) == 1 && !enum_names<T>.empty(),
        "an attribute must be a bool, int64, Element, Extents, Constant, Symbol or a byte enumeration with enum_names");
    return FieldKind::enumeration;
  }
}

template <class OpStruct, class T>
FieldRef reference(Field<OpStruct, T> const& field, OpStruct& op) {
  std::span<std::string_view const> names;
  if constexpr (field_kind<T>() == FieldKind::enumeration) names = enum_names<T>;
  return {field.name, field_kind<T>(), &(op.*field.member), names, field.range};
}

template <class OpStruct>
void list_fields(void* op, [[maybe_unused]] std::vector<FieldRef>& out) {
  [[maybe_unused]] auto& typed = *static_cast<OpStruct*>(op);
  detail::each_pack_item(OpStruct::attributes(), [&](auto const& field) { out.push_back(reference(field, typed)); });
}

template <class OpStruct>
constexpr auto source_function() -> Source (*)(void const*, SourceShapes const&) {
  if constexpr (ShapeOp<OpStruct>)
    return [](void const* op, SourceShapes const& of) { return static_cast<OpStruct const*>(op)->source(of); };
  else
    return nullptr;
}

template <class OpStruct>
constexpr auto scratch_function() -> std::int64_t* (*)(void*) {
  if constexpr (requires { &OpStruct::scratch; })
    return [](void* op) { return &static_cast<OpStruct*>(op)->scratch; };
  else
    return nullptr;
}

constexpr auto op_types = hana::make_tuple(
#define TEGULA_OP(name) hana::type_c<name>,
#include "tegula/ir/ops.def"
#undef TEGULA_OP
    hana::type_c<void>);

/// Tells whether every access of an op names its operand and, if it is asynchronous, its completion.
template <class OpStruct>
constexpr bool effects_are_complete() {
  for (Effect const& effect : OpStruct::effects) {
    if (effect.space == Space::console || effect.space == Space::log) continue;
    if (effect.operand < 0 || effect.operand >= static_cast<int>(OpStruct::operands.size())) return false;
    if (effect.proxy == Proxy::async && effect.completion == Completion::none) return false;
  }
  return true;
}

/// Says what ops of a family may state.
struct FamilyRules {
  bool block_ops = false;  ///< they may be block ops
  bool effects = false;
  bool blocks = false;  ///< they may hold blocks, or end one
};

constexpr FamilyRules rules_of(Family family) {
  switch (family) {
    case Family::elementwise:
    case Family::constant:
    case Family::launch:
      return {};
    case Family::report:
      return {.effects = true};
    case Family::shape:
    case Family::reduction:
    case Family::symbolic:
      return {.block_ops = true};
    case Family::product:
    case Family::memory:
    case Family::synchronisation:
      return {.block_ops = true, .effects = true};
    case Family::control:
      return {.block_ops = true, .blocks = true};
  }
  return {};
}

/// True if the statements of an op about its kind agree with each other.
template <class OpStruct>
constexpr bool is_consistent() {
  constexpr FamilyRules may = rules_of(OpStruct::family);
  constexpr bool blocks = (OpStruct::traits & (has_regions | terminator)) != 0;
  if (BlockOp<OpStruct> && !may.block_ops) return false;
  if (OpStruct::effects.count != 0 && !may.effects) return false;
  if (blocks && !may.blocks) return false;
  if (OpStruct::family == Family::elementwise) return OpStruct::operands.size() > 0;
  return OpStruct::family != Family::constant || OpStruct::operands.size() == 0;
}

/// True if every executor runs an op, or a pass replaces it; block ops need not run on hosts.
template <class OpStruct>
constexpr bool is_replaced() {
  constexpr unsigned needed = BlockOp<OpStruct> ? on_warps : everywhere;
  return (OpStruct::support & needed) == needed || requires { OpStruct::replaced_by; };
}

template <class OpStruct>
constexpr OpInfo info_of(OpStruct const& defaults, void (*fields)(void*, std::vector<FieldRef>&)) {
  OpInfo info{};
  info.kind = kind_of<OpStruct>;
  info.mnemonic = OpStruct::mnemonic;
  info.family = OpStruct::family;
  info.support = OpStruct::support;
  info.operands = OpStruct::operands;
  info.effects = OpStruct::effects;
  info.traits = OpStruct::traits;
  if constexpr (requires { OpStruct::launch; }) info.launch = OpStruct::launch;
  if constexpr (requires {
                  { &OpStruct::number } -> std::same_as<Bounds const*>;
                })
    info.number = OpStruct::number;
  if constexpr (requires { OpStruct::replaced_by; }) info.replaced_by = OpStruct::replaced_by;
  info.size = sizeof(OpStruct);
  info.defaults = &defaults;
  info.list_fields = fields;
  info.source = source_function<OpStruct>();
  info.scratch = scratch_function<OpStruct>();
  return info;
}

#define TEGULA_OP(name)                                                                                     \
  static_assert(                                                                                            \
      requires { name::family; }, #name " must have a family: derive it from OpDefaults<Family, Support>"); \
  static_assert(is_consistent<name>(), #name " must do only what its family does");                         \
  static_assert(is_replaced<name>(),                                                                        \
                #name " must run on all executors, or state replaced_by, the pass that replaces it");
#include "tegula/ir/ops.def"
#undef TEGULA_OP

std::array<OpInfo, op_kind_count> make_table() {
  std::array<OpInfo, op_kind_count> table{};
  hana::for_each(op_types, [&](auto type) {
    using OpStruct = typename decltype(type)::type;
    if constexpr (!std::is_void_v<OpStruct>) {
      static_assert(std::is_trivially_copyable_v<OpStruct> && std::is_trivially_destructible_v<OpStruct>);
      static_assert(effects_are_complete<OpStruct>(),
                    "each access of an op must name its operand, and an asynchronous one its completion");
      static constexpr OpStruct defaults{};
      table[static_cast<std::size_t>(kind_of<OpStruct>)] = info_of(defaults, &list_fields<OpStruct>);
    }
  });
  return table;
}

std::array<OpInfo, op_kind_count> const& table() {
  using Table = std::array<OpInfo, op_kind_count>;
  static constinit support::Lasting<Table const> instance;
  return instance.get([] { return std::make_unique<Table const>(make_table()); });
}

}  // namespace

OpInfo const& op_info(OpKind kind) { return table()[static_cast<std::size_t>(kind)]; }

std::string why_not_run(OpInfo const& op, Support executor) {
  std::string const who = executor == on_host             ? "code generation for hosts"
                          : executor == on_tile_simulator ? "the simulator of whole tiles"
                          : executor == on_warp_simulator ? "the simulator of warps"
                                                          : "code generation for GPUs";
  std::string const first = op.replaced_by.empty() ? "" : "; run " + std::string(op.replaced_by) + " first";
  return std::string(op.mnemonic) + ": " + who + " does not run it" + first;
}

int OpInfo::position(std::string_view operand) const {
  auto const found = std::find(operands.begin(), operands.end(), operand);
  if (found == operands.end())
    throw InternalError("op " + std::string(mnemonic) + " has no operand " + std::string(operand));
  return static_cast<int>(found - operands.begin());
}

OpInfo const* find_op(std::string_view mnemonic) {
  using Index = std::map<std::string_view, OpInfo const*>;
  static constinit support::Lasting<Index> by_mnemonic;
  Index const& index = by_mnemonic.get([] {
    auto result = std::make_unique<Index>();
    for (OpInfo const& info : table()) result->emplace(info.mnemonic, &info);
    return result;
  });
  auto const found = index.find(mnemonic);
  return found == index.end() ? nullptr : found->second;
}

std::vector<FieldRef> fields_of(OpKind kind, void* op) {
  std::vector<FieldRef> result;
  op_info(kind).list_fields(op, result);
  return result;
}

std::string why_out_of_bounds(OpKind kind, void const* op) {
  for (FieldRef const& field : fields_of(kind, const_cast<void*>(op))) {
    auto const [min, max] = field.range;
    auto const out_of_bounds = [&, min = min, max = max](std::string const& name, std::int64_t value) {
      return fmt::format("{} is {}, not {} to {}", name, value, min, max);
    };
    auto const outside = [min = min, max = max](std::int64_t value) { return value < min || value > max; };
    if (field.kind == FieldKind::integer) {
      auto const value = *static_cast<std::int64_t const*>(field.data);
      if (outside(value)) return out_of_bounds(std::string(field.name), value);
    } else if (field.kind == FieldKind::extents) {
      auto const& list = *static_cast<Extents const*>(field.data);
      for (int i = 0; i < list.size(); ++i)
        if (outside(list[i])) return out_of_bounds(fmt::format("{}[{}]", field.name, i), list[i]);
    }
  }
  return {};
}

bool field_equal(FieldRef const& a, FieldRef const& b) {
  auto const same = [&]<class T>(T const*) { return *static_cast<T const*>(a.data) == *static_cast<T const*>(b.data); };
  switch (a.kind) {
    case FieldKind::boolean:
      return same(static_cast<bool const*>(nullptr));
    case FieldKind::integer:
      return same(static_cast<std::int64_t const*>(nullptr));
    case FieldKind::enumeration:
      return same(static_cast<std::uint8_t const*>(nullptr));
    case FieldKind::element:
      return same(static_cast<Element const*>(nullptr));
    case FieldKind::extents:
      return same(static_cast<Extents const*>(nullptr));
    case FieldKind::constant:
      return same(static_cast<Constant const*>(nullptr));
    case FieldKind::symbol:
      return same(static_cast<Symbol const*>(nullptr));
  }
  return false;
}

}  // namespace tegula::ir
