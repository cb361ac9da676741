#include "sim/block/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/core/walk.hpp"
#include "ir/memory/exchange.hpp"
#include "ir/text/text.hpp"
#include "sim/block/warp_program.hpp"
#include "target/block_rules.hpp"
#include "tegula/support/error.hpp"

namespace tegula::sim::block {

using namespace ir;

namespace {

struct Place {
  Engine* engine;
  int cta;    // in the machine
  int block;  // in the grid
  int index;
};

}  // namespace

Engine::Engine(Function const& kernel, Arguments const& arguments, EngineOptions const& options)
    : kernel_(kernel),
      arguments_(arguments),
      options_(options),
      plan_(kernel, *options.target),
      grid_(Launch(kernel, arguments, options.values).grid()),
      global_(kernel, arguments, options.dependent) {
  ctas_ = static_cast<int>(block_count(kernel, grid_));
  if (ctas_ % options_.cluster != 0)
    throw UserError(fmt::format("simulate: @{}: a grid of {} CTAs is not a multiple of the cluster of {}",
                                kernel.name(), ctas_, options_.cluster));
}

std::uint32_t Engine::entry_registers() const {
  TargetInfo const& target = *options_.target;
  int const even = target.registers / (target.lanes * plan_.warps()) / target.register_step * target.register_step;
  return static_cast<std::uint32_t>(std::min(even, target::max_register_count));
}

machine::Time Engine::product_clocks(std::size_t rows, std::size_t columns, std::int64_t depth_bytes) const {
  TargetInfo const& target = *options_.target;
  double const rate = target.product_bytes_per_clock / target.costs.schedulers;
  return static_cast<machine::Time>(
      std::ceil(static_cast<double>(rows * columns) * static_cast<double>(depth_bytes) / rate));
}

void Engine::build(machine::Machine& machine, int first, int count) {
  machine_ = &machine;
  moving_.clear();
  free_moving_.clear();
  exchanges_.clear();
  reports_.clear();
  sim::Options values = options_.values;
  values.grid = grid_;
  launch_ = std::make_unique<Launch>(kernel_, arguments_, values);
  launch_->keep_buffers_in(buffers_);
  if (first == 0) buffers_.clear();
  for (auto const& [alloc, name] : plan_.global_buffers()) {
    machine::Buffer buffer;
    buffer.name = name;
    buffer.bytes = static_cast<std::uint64_t>(buffer_bytes(alloc->result()->type()));
    buffer_spaces_[alloc] = machine.add_buffer(std::move(buffer));
  }
  global_.add_to(machine);
  add_descriptors(machine, count);
  for (int cta = 0; cta < std::min(count, ctas() - first); ++cta) {
    for (NamedBytes const& name : plan_.names()) machine.name(machine.shared(cta), name.begin, name.end, name.name);
    for (int index = 0; index < plan_.warps(); ++index) {
      Place place{this, cta, first + cta, index};
      machine.add_warp(
          cta,
          [](void* context, machine::Warp warp) -> std::unique_ptr<machine::Program> {
            Place const& at = *static_cast<Place const*>(context);
            return std::make_unique<WarpProgram>(*at.engine, warp, at.cta, at.block, at.index);
          },
          &place);
    }
  }
}

void Engine::add_descriptors(machine::Machine& machine, int ctas) {
  descriptors_.clear();
  built_.clear();
  ir::walk(kernel_.body(), [&](Op const& op) {
    if (!op.is<BuildTensorMapOp>() && !op.is<DeviceTensorMapOp>()) return;
    auto const [slot, fresh] = descriptors_.try_emplace(op.in("home"));
    if (!fresh) return;
    machine::Buffer buffer;
    buffer.name = "the descriptor of " + to_string(*op.in("slice"));
    buffer.bytes = static_cast<std::uint64_t>(ctas) * tensor_map_bytes;
    buffer.initialised = false;
    slot->second = machine.add_buffer(buffer);
  });
}

void Engine::note_built(ir::Value const& home, int cta, machine::ActionSite const& site) {
  if (!built_.try_emplace({&home, cta}, site).second)
    report(machine::ReportKind::misuse,
           "a descriptor is built into a home whose first one still has its place; add free_tensor_map before it",
           site);
}

void Engine::note_freed(ir::Value const& home, int cta, machine::ActionSite const& site) {
  if (built_.erase({&home, cta}) == 0)
    report(machine::ReportKind::misuse, "the descriptor does not have a place any more; free it once", site);
}

std::vector<machine::Report> Engine::take_reports() {
  for (auto const& [place, site] : built_)
    report(machine::ReportKind::open_at_exit,
           "the descriptor's place is not given back, so that later CTAs find none; add free_tensor_map before the end",
           site);
  built_.clear();
  return std::move(reports_);
}

MatrixPart const& Engine::matrix(Fragment const& fragment) {
  auto const [at, fresh] = matrices_.try_emplace(&fragment);
  if (fresh) at->second = matrix_part(fragment);
  return at->second;
}

machine::Effect Engine::effect(int calls, Move move) {
  std::size_t number = moving_.size();
  if (free_moving_.empty()) {
    moving_.emplace_back();
  } else {
    number = free_moving_.back();
    free_moving_.pop_back();
  }
  moving_[number] = {std::move(move), calls};
  return {[](void* context, std::uint64_t payload, machine::Moment moment) {
            Engine& engine = *static_cast<Engine*>(context);
            std::size_t const at = payload / ranks;
            engine.moving_[at].move(moment, static_cast<int>(payload % ranks));
            if (--engine.moving_[at].calls > 0) return;
            engine.moving_[at].move = nullptr;
            engine.free_moving_.push_back(at);
          },
          this, number * ranks};
}

void Engine::report(machine::ReportKind kind, std::string sentence, machine::ActionSite const& site) {
  for (machine::Report const& known : reports_)
    if (known.sentence == sentence && known.later.site == site) return;
  machine::Report report;
  report.kind = kind;
  report.sentence = std::move(sentence);
  report.later = {site.op, site};
  reports_.push_back(std::move(report));
}

}  // namespace tegula::sim::block
