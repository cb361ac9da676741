#include "ir/text/describe_ops.hpp"

#include <utility>

#include "ir/core/op_info.hpp"
#include "support/json.hpp"
#include "tegula/support/error.hpp"

namespace tegula::ir {
namespace {

using support::Json;

/// Spells one value of an enumeration or of a set of flags.
template <class E>
using Spelling = std::pair<E, std::string_view>;

constexpr Spelling<Family> families[] = {
    {Family::elementwise, "elementwise"},
    {Family::constant, "constant"},
    {Family::shape, "shape"},
    {Family::reduction, "reduction"},
    {Family::product, "product"},
    {Family::memory, "memory"},
    {Family::symbolic, "symbolic"},
    {Family::control, "control"},
    {Family::launch, "launch"},
    {Family::synchronisation, "synchronisation"},
    {Family::report, "report"},
};
constexpr Spelling<Space> spaces[] = {
    {Space::none, "none"},       {Space::global, "global"}, {Space::shared, "shared"},
    {Space::console, "console"}, {Space::log, "log"},
};
constexpr Spelling<Completion> completions[] = {
    {Completion::none, ""},       {Completion::mbarrier, "mbarrier"}, {Completion::bulk, "bulk"},
    {Completion::wgmma, "wgmma"}, {Completion::cp_async, "cp_async"}, {Completion::later, "later"},
};
constexpr Spelling<Takes> element_rules[] = {
    {Takes::numbers, "integers and floats"},
    {Takes::integers, "integers"},
    {Takes::logical, "integers and booleans"},
    {Takes::floats, "floats"},
    {Takes::by_rule, ""},
};
constexpr Spelling<unsigned> traits[] = {
    {commutative, "commutative"}, {terminator, "terminator"}, {has_regions, "has_regions"}, {variadic, "variadic"},
    {unique, "unique"},           {collective, "collective"}, {rearranges, "rearranges"},   {one_layout, "one_layout"},
    {per_warp, "per_warp"},       {launchable, "launchable"}, {via_f32, "via_f32"},
};
constexpr Spelling<unsigned> executors[] = {
    {on_host, "host"},
    {on_tile_simulator, "simulator of tiles"},
    {on_warp_simulator, "simulator of warps"},
    {on_gpu, "GPU"},
};

template <class E, std::size_t count>
std::string_view spelled(Spelling<E> const (&list)[count], E value) {
  for (auto const& [each, text] : list)
    if (each == value) return text;
  throw InternalError("describe_ops: an enumeration has a value without a name");
}

template <std::size_t count>
Json flags(Spelling<unsigned> const (&list)[count], unsigned set) {
  Json result = Json::array();
  for (auto const& [flag, text] : list) {
    if ((set & flag) != 0) result.push_back(text);
    set &= ~flag;
  }
  if (set != 0) throw InternalError("describe_ops: a flag has no name");
  return result;
}

Json describe(FieldRef const& field) {
  Json result{{"name", field.name}};
  auto const bounds = [&] {
    result["min"] = field.range.min;
    result["max"] = field.range.max;
  };
  switch (field.kind) {
    case FieldKind::boolean:
      result["kind"] = "boolean";
      result["default"] = *static_cast<bool const*>(field.data);
      break;
    case FieldKind::integer:
      result["kind"] = "integer";
      result["default"] = *static_cast<std::int64_t const*>(field.data);
      bounds();
      break;
    case FieldKind::enumeration:
      result["kind"] = "name";
      result["default"] = field.enum_names[*static_cast<std::uint8_t const*>(field.data)];
      result["values"] = Json(field.enum_names);
      break;
    case FieldKind::element:
      result["kind"] = "element";
      break;
    case FieldKind::extents:
      result["kind"] = "list of integers";
      bounds();
      break;
    case FieldKind::constant:
      result["kind"] = "constant";
      break;
    case FieldKind::symbol:
      result["kind"] = "symbol";
      break;
  }
  return result;
}

Json describe(Effect const& effect, OpInfo const& info) {
  Json result{{"access", effect.access == Access::read ? "reads" : "writes"}, {"space", spelled(spaces, effect.space)}};
  if (effect.operand >= 0) result["operand"] = info.operands[static_cast<std::size_t>(effect.operand)];
  if (effect.proxy == Proxy::async) result["proxy"] = "async";
  if (effect.completion != Completion::none) result["completion"] = spelled(completions, effect.completion);
  if (effect.atomic) result["atomic"] = true;
  return result;
}

template <class OpStruct>
std::string_view elements() {
  if constexpr (requires { OpStruct::takes; })
    return spelled(element_rules, OpStruct::takes);
  else
    return "";
}

template <class OpStruct>
Json describe(std::string_view name) {
  OpInfo const& info = op_info(kind_of<OpStruct>);
  OpStruct op;
  Json attributes = Json::array(), effects = Json::array();
  for (FieldRef const& field : fields_of(info.kind, &op)) attributes.push_back(describe(field));
  for (Effect const& effect : info.effects) effects.push_back(describe(effect, info));
  Json result{{"mnemonic", info.mnemonic},
              {"struct", name},
              {"family", spelled(families, info.family)},
              {"operands", Json(info.operands)},
              {"elements", elements<OpStruct>()},
              {"attributes", std::move(attributes)},
              {"effects", std::move(effects)},
              {"traits", flags(traits, info.traits)},
              {"executors", flags(executors, info.support)}};
  if (!info.replaced_by.empty()) result["replaced_by"] = info.replaced_by;
  if (info.number) result["number"] = {info.number->min, info.number->max};
  return result;
}

}  // namespace

std::string describe_ops() {
  std::string result = "[";
  std::string_view separator = "\n";
#define TEGULA_OP(name)                              \
  result += separator;                               \
  result += support::text_of(describe<name>(#name)); \
  separator = ",\n";
#include "tegula/ir/ops.def"
#undef TEGULA_OP
  return result + "\n]\n";
}

}  // namespace tegula::ir
