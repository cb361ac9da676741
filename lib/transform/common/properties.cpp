#include "transform/common/properties.hpp"

#include <utility>

#include "analysis/hazards.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/shared_frame.hpp"
#include "ir/values/elementary.hpp"
#include "support/string_buffer.hpp"
#include "transform/common/whole_kernels.hpp"

namespace tegula::transform {
namespace {

/// Finds the first op for which `in_the_way` returns a text.
template <class Test>
std::string first(ir::Module const& module, Test in_the_way) {
  std::string found;
  for (auto const& function : module.functions())
    ir::walk_pre_order(*function, [&](ir::Op& op) {
      if (found.empty())
        if (std::string const text = in_the_way(op); !text.empty()) found = text + " in @" + function->name();
      return found.empty() ? ir::Walk::advance : ir::Walk::skip;
    });
  return found;
}

bool is_laid_out(ir::Value const& value) { return !value.type().is_tile() || value.type().layout() != nullptr; }

bool is_laid_out(ir::Op const& op) {
  for (int i = 0; i < op.result_count(); ++i)
    if (!is_laid_out(*op.result(i))) return false;
  for (int b = 0; b < op.block_count(); ++b)
    for (int i = 0; i < op.block(b).argument_count(); ++i)
      if (!is_laid_out(*op.block(b).argument(i))) return false;
  return true;
}

/// Names the first op whose tiles have no layout, or the first kernel without warps.
std::string open_layout(ir::Module const& module) {
  std::string found = first(module, [](ir::Op& op) {
    return is_laid_out(op) ? std::string() : std::string(op.info().mnemonic) + " without a layout";
  });
  if (!found.empty()) return found;
  for (auto const& function : module.functions())
    if (function->is_kernel() && function->warps < 1) return "@" + function->name() + " without its number of warps";
  return {};
}

/// Names the first user of shared memory whose bytes have no place.
std::string open_offset(ir::Module const& module) {
  for (auto const& function : module.functions())
    for (ir::SharedUser const& user : ir::shared_users(*function))
      if (!user.decided()) return ir::to_string(user) + " without an offset in @" + function->name();
  return {};
}

/// Names the first two accesses that nothing orders.
std::string open_hazard(ir::Module const& module) {
  analysis::Uniformity const uniformity(module), replicas(module, true);
  for (auto const& function : module.functions()) {
    analysis::Hazards hazards(*function, uniformity, replicas);
    if (auto const hazard = hazards.first())
      return std::string(hazard->later->op->info().mnemonic) + " in @" + function->name() + " that may run before " +
             std::string(hazard->earlier->op->info().mnemonic) + " is over";
  }
  return {};
}

}  // namespace

std::string_view name(Property property) {
  switch (property) {
    case Property::whole_kernels:
      return "whole-kernels";
    case Property::expanded_math:
      return "expanded-math";
    case Property::layouts:
      return "layouts";
    case Property::shared_offsets:
      return "shared-offsets";
    case Property::barriers:
      return "barriers";
    case Property::planned_dots:
      return "planned-dots";
    case Property::no_dots:
      return "no-dots";
    case Property::no_fetches:
      return "no-fetches";
  }
  return "";
}

std::string why_not(Property property, ir::Module const& module) {
  switch (property) {
    case Property::whole_kernels:
      if (!has_products_or_copies(module)) return {};
      return first(module, [](ir::Op& op) {
        return op.is<ir::CallOp>() ? "call of @" + std::string(op.as<ir::CallOp>().callee.view()) : std::string();
      });
    case Property::expanded_math:
      return first(module, [](ir::Op& op) {
        return ir::is_expanded(op.info()) ? std::string(op.info().mnemonic) : std::string();
      });
    case Property::layouts:
      return open_layout(module);
    case Property::shared_offsets:
      return open_offset(module);
    case Property::barriers:
      // Elements of threads follow from layouts, and places in shared memory from offsets.
      for (Property const first :
           {Property::no_dots, Property::no_fetches, Property::layouts, Property::shared_offsets})
        if (std::string found = why_not(first, module); !found.empty()) return found;
      return open_hazard(module);
    case Property::planned_dots:
      return first(module, [](ir::Op& op) {
        bool const open = op.is<ir::DotOp>() && op.as<ir::DotOp>().path == ir::ProductPath::open;
        return open ? std::string("dot without a path") : std::string();
      });
    case Property::no_dots:
      return first(module, [](ir::Op& op) { return op.is<ir::DotOp>() ? std::string("dot") : std::string(); });
    case Property::no_fetches:
      return first(module, [](ir::Op& op) { return op.is<ir::FetchOp>() ? std::string("fetch") : std::string(); });
  }
  return {};
}

std::optional<Lack> first_lack(PropertySet properties, ir::Module const& module) {
  for (int i = 0; i < property_count; ++i) {
    auto const property = static_cast<Property>(i);
    if (!properties.has(property)) continue;
    if (std::string why = why_not(property, module); !why.empty()) return Lack{property, std::move(why)};
  }
  return std::nullopt;
}

}  // namespace tegula::transform
