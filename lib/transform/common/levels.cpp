#include "transform/common/levels.hpp"

#include "ir/core/walk.hpp"

namespace tegula::transform {
namespace {

/// Tells whether an op stands in kernels as they are written, with layouts or without: hosts run it, or it is the rank
/// in a cluster, which is a number like the block's index.
bool is_written(ir::Op const& op) {
  return !op.info().is_block_op() || op.info().runs(ir::on_host) || op.is<ir::ClusterRankOp>();
}

bool is_staged(ir::Op const& op) {
  return op.is<ir::WarpSpecializeOp>() || op.is<ir::FillOp>() ||
         (op.is<ir::ElectOp>() && op.as<ir::ElectOp>().role != ir::Role::none);
}

/// Finds the first op for which `later` is true.
template <class Later>
std::string first(ir::Module const& module, Later later) {
  std::string found;
  for (auto const& function : module.functions())
    ir::walk_pre_order(*function, [&](ir::Op& op) {
      if (found.empty() && later(op)) found = std::string(op.info().mnemonic) + " in @" + function->name();
      return found.empty() ? ir::Walk::advance : ir::Walk::skip;
    });
  return found;
}

/// Finds an op that only levels after this one have. Empty: there is none. Kernels written in block ops may place
/// their buffers themselves, so offsets do not part `staged` from `placed`.
std::string later_op(Level level, ir::Module const& module) {
  switch (level) {
    case Level::tile:
      return first(module, [](ir::Op const& op) { return !is_written(op); });
    case Level::laid_out:
      return first(module, is_staged);
    case Level::planned:  // texts may state the layouts of all tiles
    case Level::staged:
    case Level::placed:
      return {};
  }
  return {};
}

}  // namespace

std::string_view name(Level level) {
  switch (level) {
    case Level::tile:
      return "tile";
    case Level::planned:
      return "planned";
    case Level::laid_out:
      return "laid-out";
    case Level::staged:
      return "staged";
    case Level::placed:
      return "placed";
  }
  return "";
}

std::string to_string(Levels levels) {
  std::string const from(name(levels.from));
  return levels.from == levels.to ? from : from + " to " + std::string(name(levels.to));
}

std::string why_not(Level level, ir::Module const& module) {
  if (auto const lack = first_lack(properties_of(level), module)) return lack->why;
  for (Level at = level; at < Level::placed; at = static_cast<Level>(static_cast<int>(at) + 1))
    if (std::string found = later_op(at, module); !found.empty()) return found;
  return {};
}

Levels levels_of(ir::Module const& module) {
  Levels result;
  for (int i = 0; i < level_count; ++i)
    if (!later_op(static_cast<Level>(i), module).empty()) result.from = static_cast<Level>(i + 1);
  while (result.to > Level::tile && first_lack(properties_of(result.to), module))
    result.to = static_cast<Level>(static_cast<int>(result.to) - 1);
  return result;
}

}  // namespace tegula::transform
