// Plans a kernel before it runs. A plan holds:
// - the ops' places in the text,
// - the values' last uses,
// - the values that tensor cores touch,
// - the places of shared buffers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/core/op.hpp"
#include "sim/block/cost.hpp"
#include "sim/machine/types.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::sim::block {

/// Describes one op.
struct OpPlan {
  machine::ActionSite site;
  std::vector<ir::Value const*> dies;     ///< of the op's own block, not used after it
  std::vector<ir::Value const*> reads;    ///< operands in registers that a tensor core touches too
  std::vector<ir::Value const*> defines;  ///< results of that kind
  OpCost cost;
};

/// Names an interval of shared memory.
struct NamedBytes {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::string name;
};

class Plan {
 public:
  /// Throws UserError for ops that warps cannot simulate: `dot`, tiles without layouts.
  explicit Plan(ir::Function const& kernel, TargetInfo const& target);

  [[nodiscard]] OpPlan const& of(ir::Op const& op) const { return ops_.at(&op); }
  /// True for a value whose registers tensor cores read or write.
  [[nodiscard]] bool in_tensor_core(ir::Value const& value) const { return tracked_.count(&value) != 0; }
  /// True when `op` is the last to use the value, and uses it once: its result may take the value's registers.
  [[nodiscard]] bool takes_over(ir::Op const& op, ir::Value const& value) const {
    auto const found = last_.find(&value);
    return found != last_.end() && found->second.op == &op && found->second.uses == 1;
  }
  /// True when `op`, or a block it holds, is the last to use the value.
  [[nodiscard]] bool ends_at(ir::Op const& op, ir::Value const& value) const {
    auto const found = last_.find(&value);
    return found != last_.end() && found->second.op == &op;
  }
  /// Returns the byte offset of a buffer, or of the memory through which an op's warps exchange. In a device function
  /// it counts from the base of the current call (ir::shared_base).
  [[nodiscard]] std::uint32_t place(ir::Op const& user) const { return places_.at(&user); }
  /// Names the buffers in global memory that threads access.
  [[nodiscard]] std::map<ir::Op const*, std::string> const& global_buffers() const { return global_buffers_; }
  [[nodiscard]] std::uint32_t shared_bytes() const { return shared_bytes_; }
  [[nodiscard]] std::vector<NamedBytes> const& names() const { return names_; }

  [[nodiscard]] ir::Function const& kernel() const { return kernel_; }
  [[nodiscard]] int warps() const { return warps_; }

 private:
  struct Last {
    ir::Op const* op = nullptr;
    int uses = 0;
  };
  std::uint32_t place(ir::Block const& block, std::uint32_t line);
  void check(ir::Op const& op) const;
  void find_last(ir::Value const& value);
  void find_ends(ir::Block const& block);
  void find_tracked(ir::Function const& function);
  void place_buffers(std::int64_t allowed);
  void name_buffer(ir::Type const& type, std::string const& name, std::uint32_t at, std::uint32_t size);

  ir::Function const& kernel_;
  TargetInfo const& target_;
  std::unordered_map<ir::Op const*, OpPlan> ops_;
  std::unordered_map<ir::Op const*, int> order_;
  std::unordered_map<ir::Value const*, Last> last_;
  std::unordered_map<ir::Value const*, bool> tracked_;
  std::unordered_map<ir::Op const*, std::uint32_t> places_;
  std::vector<NamedBytes> names_;
  std::map<ir::Op const*, std::string> global_buffers_;
  std::uint32_t shared_bytes_ = 0;
  int warps_ = 1;
};

}  // namespace tegula::sim::block
