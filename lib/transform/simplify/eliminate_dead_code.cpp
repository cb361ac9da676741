#include "transform/simplify/eliminate_dead_code.hpp"

#include "transform/common/dead_code.hpp"

namespace tegula::transform {

PassResult eliminate_dead_code(ir::Function& function, PassContext&) {
  return result_of(keep_only(function.body(), runs_by_itself));
}

}  // namespace tegula::transform
