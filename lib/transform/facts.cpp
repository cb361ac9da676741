// Which facts hold of a module: read off the IR.
#include "analysis/hazards.hpp"
#include "ir/shared_frame.hpp"
#include "ir/walk.hpp"
#include "support/string_buffer.hpp"
#include "transform/expand_math.hpp"
#include "transform/pipeline.hpp"

namespace tegula::transform {
namespace {

/// The first op that `in_the_way` says something about.
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

bool without_layout(ir::Op const& op) {
  for (int i = 0; i < op.result_count(); ++i)
    if (op.result(i)->type().is_tile() && op.result(i)->type().layout() == nullptr) return true;
  return false;
}

}  // namespace

std::string_view name(Fact fact) {
  switch (fact) {
    case Fact::no_calls:
      return "no-calls";
    case Fact::expanded_math:
      return "expanded-math";
    case Fact::layouts:
      return "layouts";
    case Fact::shared_offsets:
      return "shared-offsets";
    case Fact::barriers:
      return "barriers";
    case Fact::no_dots:
      return "no-dots";
    case Fact::no_fetches:
      return "no-fetches";
  }
  return "";
}

std::string why_not(Fact fact, ir::Module const& module) {
  switch (fact) {
    case Fact::no_calls:
      return first(module, [](ir::Op& op) {
        return op.is<ir::CallOp>() ? "call of @" + std::string(op.as<ir::CallOp>().callee.view()) : std::string();
      });
    case Fact::expanded_math:
      return first(module,
                   [](ir::Op& op) { return is_expanded(op.kind()) ? std::string(op.info().mnemonic) : std::string(); });
    case Fact::layouts:
      return first(module, [](ir::Op& op) {
        return without_layout(op) ? std::string(op.info().mnemonic) + " without a layout" : std::string();
      });
    case Fact::shared_offsets:
      for (auto const& function : module.functions())
        for (ir::SharedUser const& user : ir::shared_users(*function))
          if (!user.decided()) return ir::to_string(user) + " without an offset in @" + function->name();
      return {};
    case Fact::barriers: {
      analysis::Uniformity const uniformity(module), replicas(module, true);
      for (auto const& function : module.functions()) {
        analysis::Hazards hazards(*function, uniformity, replicas);
        if (auto const hazard = hazards.first())
          return std::string(hazard->later->op->info().mnemonic) + " in @" + function->name() +
                 " that may run before " + std::string(hazard->earlier->op->info().mnemonic) + " is over";
      }
      return {};
    }
    case Fact::no_dots:
      return first(module, [](ir::Op& op) { return op.is<ir::DotOp>() ? std::string("dot") : std::string(); });
    case Fact::no_fetches:
      return first(module, [](ir::Op& op) { return op.is<ir::FetchOp>() ? std::string("fetch") : std::string(); });
  }
  return {};
}

}  // namespace tegula::transform
