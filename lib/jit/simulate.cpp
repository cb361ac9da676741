#include "jit/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/profile_layout.hpp"
#include "compiler/compile.hpp"
#include "ir/verify/verify_block.hpp"
#include "jit/build.hpp"
#include "jit/kernel_memo.hpp"
#include "jit/launch_options.hpp"
#include "jit/profile.hpp"
#include "jit/staging.hpp"
#include "jit/stated_grid.hpp"
#include "runtime/argument_check.hpp"
#include "runtime/launch_program.hpp"
#include "sim/block/simulate.hpp"
#include "sim/interpreter.hpp"
#include "support/options.hpp"
#include "target/gpu_target.hpp"
#include "tegula/jit/schedule.hpp"
#include "tegula/support/error.hpp"
#include "tegula/target/target_info.hpp"
#include "trace/traced_kernel.hpp"
#include "transform/pipeline.hpp"

namespace tegula::jit {
namespace {

/// Returns the kernel as the passes transform it for the GPU. Throws UserError with the compiler's reason if it is
/// refused.
ir::Module lowered_for_warps(Traced const& traced, CompileOptions const& options) {
  try {
    ir::Module result = compiler::lower(trace::module(traced.kernel), options);
    compiler::refuse_for_gpu(result, options);
    return result;
  } catch (UserError const& error) {
    throw UserError(
        fmt::format("{}: the kernel cannot run on {}, so its warps cannot be simulated: {}\n  note: without a schedule "
                    "its tiles are simulated",
                    traced.kernel.name(), options.architecture, error.what()),
        error.where());
  }
}

}  // namespace

Simulation::Simulation(KernelRef const& kernel, std::span<Argument const> arguments, GridOverride const& grid,
                       std::string schedule)
    : traced_(traced(kernel)), arguments_(arguments.begin(), arguments.end()), schedule_(std::move(schedule)) {
  if (!schedule_.empty()) (void)sim::machine::parse_schedule(schedule_);
  if (grid.given) {
    bool const warps = !schedule_.empty() || chosen_options(kernel).profile.any() || support::options().profile.on;
    DeviceKind const kind = warps ? DeviceKind::cuda : DeviceKind::host;
    arguments_ = with_grid_arguments(traced_->kernel, arguments, grid, kind);
    traced_ = traced(kernel, GridFrom::launch);
  }
  options_ =
      gpu_launch_options(kernel, std::string(target::default_target().architecture), runtime::facts_of(arguments_));
  for (Argument const& argument : arguments_) {
    if (argument.allocation == nullptr) continue;
    detail::retain(argument.allocation);
    buffers_.emplace_back(argument.allocation);
  }
  runtime::check_arguments(traced_->kernel.name(), traced_->kernel.parameters(), arguments_, device_of(arguments_));
  runtime::check_requirements(traced_->kernel.name(), traced_->launch,
                              runtime::evaluate(traced_->launch, arguments_, host_multiprocessors));
}

Simulation::Found Simulation::find() const {
  runtime::check_arguments(traced_->kernel.name(), traced_->kernel.parameters(), arguments_, device_of(arguments_));
  Staging staging(arguments_);
  sim::Arguments const arguments = sim_arguments(arguments_, staging);
  ir::Module const& module = trace::module(traced_->kernel);
  CompileOptions of_tiles = options_;
  of_tiles.target = Target::host;  // which checks stated ranges
  ir::Module const checked = compiler::for_tiles(module, of_tiles);
  sim::Options tiles;
  bool const by_hand = ir::has_block_ops(module.kernel());
  Found found;
  bool const records_asked = options_.profile.any();
  if (schedule_.empty() && !by_hand && !records_asked) {
    found.result = summary(sim::run(checked.kernel(), arguments, tiles));
    found.result.exact = options_.exact;
    staging.write_back();
    return found;
  }
  ir::Module const lowered = lowered_for_warps(*traced_, options_);
  ProfileLayout const layout = analysis::profile_layout(lowered.kernel());
  std::vector<std::byte> records;
  sim::block::Options warps;
  warps.target = &target::gpu_target(options_);
  warps.print = by_hand;  // else the run of the tiles prints
  // Limits the blocks at once: the run of the tiles compared blocks of tiles with each other, and a large grid at once
  // is slow.
  constexpr int blocks_at_once = 32;
  if (!by_hand && lowered.kernel().cluster == 1) warps.batch = blocks_at_once;
  if (layout.rows > 0) {
    TargetInfo const& target = target::default_target();
    warps.timed = true;
    warps.profile = &records;
    warps.resident = target.costs.multiprocessors / std::max(lowered.kernel().cluster, 1);
    if (lowered.kernel().cluster == 1) warps.batch = target.costs.multiprocessors;
  }
  sim::block::Simulation simulation(lowered.kernel(), arguments,
                                    warps);  // remembers the present contents of the tensors
  if (!by_hand) {
    found.result = summary(sim::run(checked.kernel(), arguments, tiles));
    if (!found.result.clean) {
      staging.write_back();
      return found;
    }
  }
  sim::machine::Schedule const own = records_asked ? sim::machine::Schedule::timed() : sim::machine::Schedule::seed(1);
  sim::block::Result const result = simulation.run(schedule_.empty() ? own : sim::machine::parse_schedule(schedule_));
  found.ours = !by_hand && !result.clean();
  found.result.clean = result.clean();
  found.result.blocks = result.values.blocks;
  found.result.steps = result.values.steps;
  found.result.report = result.clean() ? std::string() : result.str();
  found.result.executor = tegula::simulation::Executor::warps;
  found.result.pipeline = options_.pipeline.empty() ? transform::to_string(compiler::default_pipeline(module, options_))
                                                    : options_.pipeline;
  found.result.exact = options_.exact;
  if (!records.empty()) {
    found.result.profile = decode_simulated(traced_->kernel.name(), layout, records);
    if (support::options().profile.on) save_at_exit(key_of(*traced_, options_), found.result.profile, layout.rows);
  }
  staging.write_back();
  return found;
}

simulation Simulation::result() const { return find().result; }

simulation Simulation::checked() const {
  Found found = find();
  if (found.result.clean) return std::move(found.result);
  std::string const text = fmt::format("{}: simulated: {}", traced_->kernel.name(), found.result.report);
  if (!found.ours) throw UserError(text);
  throw InternalError(text + "\n  the kernel ran clean as written, so the result of the passes is wrong");
}

}  // namespace tegula::jit

namespace tegula::schedule {

order seed(std::uint64_t number) { return {fmt::format("seed:{}", number)}; }
order starve(std::uint64_t warp) { return {fmt::format("starve:{}", warp)}; }

}  // namespace tegula::schedule
