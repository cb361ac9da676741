#include "transform/planned/raise_dots.hpp"

#include <algorithm>
#include <vector>

#include "ir/core/walk.hpp"
#include "transform/common/dot_turns.hpp"

namespace tegula::transform {

PassResult raise_dots(ir::Function& function, PassContext&) {
  if (!function.is_kernel()) return PassResult::unchanged;
  std::vector<ir::Op*> dots;
  std::vector<ir::Block*> blocks;
  ir::walk(function, [&](ir::Op& op) {
    if (!op.is<ir::DotOp>() || op.as<ir::DotOp>().start == ir::ProductStart::written) return;
    dots.push_back(&op);
    if (std::find(blocks.begin(), blocks.end(), op.parent()) == blocks.end()) blocks.push_back(op.parent());
  });
  for (ir::Block* block : blocks) raise_products(*block);
  for (ir::Op* dot : dots) dot->as<ir::DotOp>().start = ir::ProductStart::written;
  return result_of(!dots.empty());
}

}  // namespace tegula::transform
