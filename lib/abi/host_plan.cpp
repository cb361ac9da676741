#include "abi/host_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "abi/tensor_facts.hpp"

namespace tegula {
namespace {

std::string joined(Extents const& list, char const* separator) {
  std::string text;
  for (std::int64_t const value : list) text += fmt::format("{}{}", text.empty() ? "" : separator, value);
  return text;
}

std::string unknown_extents(int rank) {
  std::string text;
  for (int axis = 0; axis < rank; ++axis) text += axis == 0 ? "?" : "x?";
  return text;
}

std::string tensor_text(ArgumentPlan const& argument) {
  ParameterInfo const& type = argument.type;
  std::string const facts = to_string(type.facts);
  return fmt::format(
      "{}{} {}x{}{}; facts used: {}", name(type.direction), argument.name.empty() ? "" : " %" + argument.name,
      argument.extents.empty() ? unknown_extents(type.rank) : joined(argument.extents, "x"), name(type.element),
      argument.strides.empty() ? "" : " strides (" + joined(argument.strides, ", ") + ")",
      facts.empty() ? "none" : facts);
}

std::string descriptor_text(HostPlan const& plan, int number) {
  DescriptorPlan const& descriptor = plan.descriptors[static_cast<std::size_t>(number)];
  int const span = swizzle_bytes(descriptor.map.swizzle);
  std::string text = fmt::format("descriptor {}: box {}, {}", number + 1, joined(descriptor.map.box, "x"),
                                 span == 0 ? std::string("no swizzle") : fmt::format("swizzle of {} bytes", span));
  if (!descriptor.map.axes.empty()) text += fmt::format(", axes in the order {}", joined(descriptor.map.axes, ", "));
  if (descriptor.map.nan_fill) text += ", NaN outside";
  if (descriptor.equal_to >= 0) text += fmt::format(", shares the encoding of descriptor {}", descriptor.equal_to + 1);
  return text;
}

/// Says why a tensor without a descriptor has none, from the compiled kernel alone.
std::string general_reason(CompiledKernel const& kernel, ParameterInfo const& parameter) {
  if (kernel.image_kind == ImageKind::host_object) return "the host has no TMA";
  if (!parameter.facts.unit_inner_stride || !parameter.facts.aligned_16)
    return "the code takes tensors without unit inner stride or 16-byte alignment";
  return "the compiler chose accesses of threads";
}

}  // namespace

HostPlan abi::host_plan(CompiledKernel const& kernel) {
  HostPlan plan;
  plan.kernel = kernel.name;
  for (ParameterInfo const& parameter : kernel.parameters) {
    plan.arguments.emplace_back();
    plan.arguments.back().type = parameter;
  }
  for (TensorMapInfo const& map : kernel.tensor_maps) {
    auto const number = static_cast<std::size_t>(map.parameter);
    if (number < plan.arguments.size())
      plan.arguments[number].descriptors.push_back(static_cast<int>(plan.descriptors.size()));
    plan.descriptors.push_back({map});
  }
  for (ArgumentPlan& argument : plan.arguments)
    if (argument.type.kind == ParameterKind::tensor && argument.descriptors.empty())
      argument.pointer.push_back(general_reason(kernel, argument.type));
  return plan;
}

void abi::add_paths(HostPlan& plan, KernelPaths const& paths) {
  for (std::size_t i = 0; i < plan.arguments.size(); ++i) {
    std::vector<std::string> reasons;
    for (auto const* rows : {&paths.loads, &paths.stores, &paths.indexed})
      for (AccessPath const& row : *rows) {
        if (row.parameter != static_cast<int>(i) || (row.path == Path::tma && row.reason.empty())) continue;
        if (std::find(reasons.begin(), reasons.end(), row.reason) == reasons.end()) reasons.push_back(row.reason);
      }
    if (!reasons.empty()) plan.arguments[i].pointer = std::move(reasons);
  }
}

std::string HostPlan::str(int indent) const {
  std::string const begin(static_cast<std::size_t>(indent), ' ');
  std::string text;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    ArgumentPlan const& argument = arguments[i];
    if (argument.type.kind == ParameterKind::scalar) {
      text += fmt::format("{}argument {}: scalar {}\n", begin, i + 1, name(argument.type.element));
      continue;
    }
    text += fmt::format("{}argument {}: {}\n", begin, i + 1, tensor_text(argument));
    for (int const number : argument.descriptors)
      text += fmt::format("{}  -> {} -> {}\n", begin, descriptor_text(*this, number), kernel);
    for (std::string const& reason : argument.pointer)
      text += fmt::format("{}  -> pointer -> {}: {}\n", begin, kernel, reason);
  }
  return text;
}

}  // namespace tegula
