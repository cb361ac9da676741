#include "analysis/profile_layout.hpp"

#include <fmt/format.h>

#include <string>

#include "ir/core/walk.hpp"
#include "ir/memory/exchange.hpp"
#include "ir/memory/log_layout.hpp"

namespace tegula::analysis {
namespace {

/// Names the warps by the partitions that they run.
std::vector<ProfileRole> roles_of(ir::Function const& kernel) {
  std::vector<ProfileRole> roles;
  for (ir::Op const& op : kernel.body()) {
    if (!op.is<ir::WarpSpecializeOp>()) continue;
    auto const& split = op.as<ir::WarpSpecializeOp>();
    std::int32_t first = 0;
    for (int i = 0; i < op.block_count(); ++i) {
      std::string const& stated = op.block(i).argument(0)->name();
      std::string const name = stated.empty() ? fmt::format("role {}", i) : stated;
      for (std::int64_t replica = 0; replica < split.replicas[i]; ++replica) {
        auto const warps = static_cast<std::int32_t>(split.warps[i]);
        roles.push_back({split.replicas[i] == 1 ? name : fmt::format("{} {}", name, replica), first, warps});
        first += warps;
      }
    }
  }
  if (roles.empty()) roles.push_back({"warps", 0, std::max(kernel.warps, 1)});
  return roles;
}

}  // namespace

ProfileLayout profile_layout(ir::Function const& kernel) {
  ProfileLayout layout;
  auto const see = [&](ir::Op const& op) {
    if (op.is<ir::ProfileBeginOp>()) {
      auto const& begin = op.as<ir::ProfileBeginOp>();
      bool const shared = op.operand_count() == 2;
      layout = ir::log_layout(begin);
      layout.strategy = shared ? ProfileStrategy::shared : ProfileStrategy::device;
      if (shared) layout.shared_bytes = ir::buffer_bytes(op.in("shared")->type());
    } else if (op.is<ir::ProfileAppendOp>()) {
      auto const& entry = op.as<ir::ProfileAppendOp>();
      auto const number = static_cast<std::size_t>(entry.number);
      if (layout.names.size() <= number) layout.names.resize(number + 1);
      ProfileName& name = layout.names[number];
      if (name.name.empty())
        name = {std::string(entry.name.view()), std::string(entry.file.view()), static_cast<std::uint32_t>(entry.line),
                entry.about};
    }
  };
  ir::walk_pre_order(kernel.body(), [&](ir::Op& op) {
    see(op);
    return ir::Walk::advance;
  });
  if (layout.rows > 0) layout.roles = roles_of(kernel);
  return layout;
}

}  // namespace tegula::analysis
