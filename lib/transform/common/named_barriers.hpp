// Hands out named barriers of the CTA that no op of a function uses.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "ir/core/op.hpp"

namespace tegula::transform {

/// Describes the partition around an op; null in a function's body.
struct Partition {
  ir::Op* specialize = nullptr;
  int number = 0;
  [[nodiscard]] ir::Block& block() const { return specialize->block(number); }
  /// Returns the number of the replica that runs the block, its only argument.
  [[nodiscard]] ir::Value* replica() const { return block().argument(0); }
  [[nodiscard]] std::int64_t warps() const { return specialize->as<ir::WarpSpecializeOp>().warps[number]; }
  [[nodiscard]] std::int64_t replicas() const { return specialize->as<ir::WarpSpecializeOp>().replicas[number]; }
};
Partition partition_of(ir::Op& op);

/// Names that the function's text uses are left alone. A name that is computed otherwise than as the number of a
/// replica and a constant may be any: none is free then.
class NamedBarriers {
 public:
  explicit NamedBarriers(ir::Function& function);
  /// Takes the first `count` free names that follow each other; nothing when there are none.
  std::optional<std::int64_t> take(std::int64_t count);

 private:
  void mark_used(ir::Op& op, ir::Value& name);

  std::set<std::int64_t> used_;
};

}  // namespace tegula::transform
