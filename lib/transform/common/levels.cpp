#include "transform/common/levels.hpp"

#include "ir/walk.hpp"

namespace tegula::transform {
namespace {

bool is_written(ir::Type const& type) {
  return type.is_scalar() || type.is_tensor() || type.is_global() || (type.is_tile() && type.layout() == nullptr);
}

/// Tells whether an op stands in kernels as they are written. The rank in a cluster is a number like the block's index.
bool is_written(ir::Op const& op) {
  if (op.info().is_block_op() && !op.is<ir::ClusterRankOp>()) return false;
  for (int i = 0; i < op.result_count(); ++i)
    if (!is_written(op.result(i)->type())) return false;
  return true;
}

bool is_staged(ir::Op const& op) {
  return op.is<ir::WarpSpecializeOp>() || (op.is<ir::ElectOp>() && op.as<ir::ElectOp>().role != ir::Role::none);
}

bool has_tiles(ir::Module const& module) {
  bool found = false;
  for (auto const& function : module.functions())
    ir::walk(*function, [&](ir::Op const& op) {
      for (int i = 0; i < op.result_count(); ++i) found = found || op.result(i)->type().is_tile();
    });
  return found;
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

/// Finds an op that only levels behind this one have. Empty: there is none. Kernels written in block ops may place
/// their buffers themselves, so offsets do not part `staged` from `placed`.
std::string later_op(Level level, ir::Module const& module) {
  switch (level) {
    case Level::tile:
      return first(module, [](ir::Op const& op) { return !is_written(op); });
    case Level::planned:
      return has_tiles(module) && why_not(Property::layouts, module).empty() ? "a layout on every tile" : "";
    case Level::laid_out:
      return first(module, is_staged);
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
