#include "codegen/nvptx/profile_logs.hpp"

#include "tegula/support/error.hpp"

namespace tegula::codegen::nvptx {

Log const& ProfileLogs::of(ir::Value const& token) const {
  auto const found = logs_.find(&token);
  if (found == logs_.end()) throw InternalError("nvptx: a log is used before profile_begin");
  return found->second;
}

}  // namespace tegula::codegen::nvptx
