// Runs one kernel with its arguments and tables repeatedly under different schedules. Holds the state of one run that
// warps share.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/agent.hpp"
#include "sim/block/executions.hpp"
#include "sim/block/fragment.hpp"
#include "sim/block/global.hpp"
#include "sim/block/plan.hpp"
#include "sim/block/shared_view.hpp"
#include "sim/machine/machine.hpp"
#include "sim/machine/warp.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::sim::block {

/// Moves the values of one asynchronous operation; `rank` is that of the destination CTA under multicast, else 0.
using Move = std::function<void(machine::Moment, int rank)>;

/// Holds each warp's fragments while warps of one CTA exchange them in one op, those of each operand one after the
/// other. The bytes of the scratch memory stand for them in the machine, which finds unordered accesses.
using Exchange = std::vector<Value>;

struct EngineOptions {
  sim::Options values;  ///< precision, grid, reports about values
  TargetInfo const* target = gpu_targets.front();
  int cluster = 1;
  bool dependent = false;  ///< a grid before this one may still write the arguments' memory
  Executions* executions = nullptr;
};

class Engine {
 public:
  Engine(ir::Function const& kernel, Arguments const& arguments, EngineOptions const& options);

  /// Registers buffers, names and warps of a run; forgets the previous run. The machine's first CTA is `first` of the
  /// grid, and it holds up to `count` of them.
  void build(machine::Machine& machine, int first, int count);

  [[nodiscard]] Plan const& plan() const { return plan_; }
  [[nodiscard]] GlobalMemory& global() { return global_; }
  [[nodiscard]] Launch& launch() { return *launch_; }
  [[nodiscard]] Grid const& grid() const { return grid_; }
  /// Counts the CTAs of the grid.
  [[nodiscard]] int ctas() const { return ctas_; }
  [[nodiscard]] int cluster() const { return options_.cluster; }
  [[nodiscard]] std::uint32_t entry_registers() const;
  /// Returns the clocks that the tensor core of one quarter needs for a product of rows x columns x bytes of K.
  [[nodiscard]] machine::Time product_clocks(std::size_t rows, std::size_t columns, std::int64_t depth_bytes) const;
  [[nodiscard]] TargetInfo const& target() const { return *options_.target; }
  void note_execution(ir::Op const& op, int warp) {
    if (options_.executions != nullptr) ++(*options_.executions)[{&op, warp}];
  }

  [[nodiscard]] Fragment const& fragment(layout::Layout const& layout, int warp) {
    return fragments_.get(layout, warp);
  }
  [[nodiscard]] MatrixPart const& matrix(Fragment const& fragment);
  [[nodiscard]] Regions& regions() { return regions_; }
  /// Remembers that a copy's placement was checked; false if it was checked before.
  bool first_check(ir::Op const& op, Region const& region) { return checked_.emplace(&op, &region).second; }
  /// Returns the tables of an op that its own file makes.
  template <class Table>
  Table& table(ir::Op const& op, int warp) {
    std::shared_ptr<void>& slot = tables_[{&op, warp}];
    if (!slot) slot = std::make_shared<Table>();
    return *static_cast<Table*>(slot.get());
  }

  // --- of the run under way ------------------------------------------------------------------------------------------
  /// Returns the bytes of the memory behind a view, and the machine's space for it; `cta` is that of shared memory.
  [[nodiscard]] std::byte* bytes_behind(View const& view, int cta) {
    return view.global == nullptr ? shared_bytes(cta) : launch_->buffer(*view.global).data();
  }
  [[nodiscard]] machine::Space space_behind(View const& view, int cta) const {
    return view.global == nullptr ? machine_->shared(cta) : buffer_spaces_.at(view.global);
  }
  [[nodiscard]] std::byte* shared_bytes(int cta) { return machine_->shared_bytes(cta).data(); }
  /// Makes an effect that calls `move` for each of its moments; `calls` of them end it.
  machine::Effect effect(int calls, Move move);
  [[nodiscard]] Exchange& exchange(int cta, ir::Op const& op) { return exchanges_[{cta, &op}]; }
  /// Returns the global memory in which a CTA builds the descriptor whose address goes to `home`.
  [[nodiscard]] machine::Footprint descriptor(ir::Value const& home, int cta) const {
    auto const begin = static_cast<std::uint64_t>(cta) * tensor_map_bytes;
    return {descriptors_.at(&home), begin, begin + tensor_map_bytes};
  }
  /// Note that a CTA builds a descriptor, and that it gives its place back.
  void note_built(ir::Value const& home, int cta, machine::ActionSite const& site);
  void note_freed(ir::Value const& home, int cta, machine::ActionSite const& site);
  /// Files a report that the machine cannot make.
  void report(machine::ReportKind kind, std::string sentence, machine::ActionSite const& site);
  /// Returns these reports at the end of the run.
  [[nodiscard]] std::vector<machine::Report> take_reports();

 private:
  struct Moving {
    Move move;
    int calls = 0;
  };
  static constexpr std::uint64_t ranks = 16;
  static constexpr std::uint64_t tensor_map_bytes = 128;
  void add_descriptors(machine::Machine& machine, int ctas);

  ir::Function const& kernel_;
  Arguments const& arguments_;
  EngineOptions options_;
  Plan plan_;
  int ctas_ = 0;
  Grid grid_;  ///< known before anything looks at the arguments, which the launch checks
  GlobalMemory global_;
  Fragments fragments_;
  std::map<Fragment const*, MatrixPart> matrices_;
  Regions regions_;
  std::map<std::pair<ir::Op const*, int>, std::shared_ptr<void>> tables_;
  std::set<std::pair<ir::Op const*, Region const*>> checked_;

  machine::Machine* machine_ = nullptr;
  std::unique_ptr<Launch> launch_;
  std::vector<Moving> moving_;
  std::vector<std::size_t> free_moving_;
  std::map<std::pair<int, ir::Op const*>, Exchange> exchanges_;
  GlobalBuffers buffers_;  ///< of all CTAs, which may run one batch after the other
  std::map<ir::Op const*, machine::Space> buffer_spaces_;
  std::map<ir::Value const*, machine::Space> descriptors_;                 ///< by home
  std::map<std::pair<ir::Value const*, int>, machine::ActionSite> built_;  ///< by home and CTA, and not freed
  std::vector<machine::Report> reports_;
};

}  // namespace tegula::sim::block
