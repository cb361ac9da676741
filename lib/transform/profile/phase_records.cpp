#include "transform/profile/phase_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/effects.hpp"
#include "analysis/shared_buffers.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/families.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/accesses.hpp"
#include "ir/memory/exchange.hpp"
#include "support/string_buffer.hpp"
#include "tegula/abi/profile_format.hpp"

namespace tegula::transform {
namespace {

using ir::Block;
using ir::Op;
using ir::Value;

/// Names a phase.
struct Phase {
  RecordKind kind = RecordKind::compute;
  std::string name;
};

/// Says how an op belongs to phases: it is part of one, it has none of its own, or it holds blocks with phases.
struct Found {
  enum class Part : std::uint8_t { of_phase, neutral, apart } part = Part::neutral;
  Phase phase;
};

constexpr int min_compute_ops = 2;

std::string name_of(Value const& value) { return value.name().empty() ? "tile" : value.name(); }

bool computes_tile(Op const& op) {
  if (!op.pure() || op.result_count() == 0 || ir::makes_elements(op)) return false;
  return op.result()->type().is_tile() && !op.info().has(ir::rearranges);
}

template <class Test>
bool contains(Op const& op, Test const& test) {
  bool found = test(op);
  for (int i = 0; i < op.block_count(); ++i) ir::walk(op.block(i), [&](Op& inside) { found = found || test(inside); });
  return found;
}

bool fills_buffers(Op const& op) { return ir::copies_in(op) || op.is<ir::MbarrierExpectOp>(); }
bool empties_buffers(Op const& op) {
  return ir::copies_out(op) || op.is<ir::BulkWaitOp>() || op.is<ir::BulkCommitOp>();
}

class Phases {
 public:
  explicit Phases(ir::Function& kernel) : kernel_(kernel) {
    ir::walk_pre_order(kernel.body(), [&](Op& op) {
      see(op);
      return ir::Walk::advance;
    });
  }

  bool run() {
    mark(kernel_.body());
    return inserted_;
  }

  /// Marks loops and stores of whole tiles. Their arithmetic runs where its values are needed, so it has no phase.
  bool run_on_tiles() {
    std::vector<Op*> ops;
    for (Op& op : kernel_.body()) ops.push_back(&op);
    for (Op* op : ops) {
      if (op->block_count() > 0) around(*op, *op, {RecordKind::compute, ""});
      if (op->info().effects.writes(ir::Space::global)) around(*op, *op, {RecordKind::store, stored(*op)});
    }
    return inserted_;
  }

 private:
  /// Notes the tensors of each buffer and of each mbarrier that counts their copies.
  void see(Op& op) {
    bool const in = ir::copies_in(op);
    if (!in && !ir::copies_out(op)) return;
    std::string const tensor = name_of(ir::tensor_of(*op.in(op.info().names("map") ? "map" : "tensor")));
    for (Op const* buffer : analysis::buffers_of(*op.in(in ? "destination" : "source"))) add(tensors_[buffer], tensor);
    if (in && op.info().names("mbarrier"))
      for (Op const* barrier : analysis::buffers_of(*op.in("mbarrier"))) add(tensors_[barrier], tensor);
  }
  static void add(std::vector<std::string>& names, std::string const& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }

  /// Returns the tensors of a buffer or of a full mbarrier; empty: it has none.
  std::string tensors_of(Value const& value) const {
    std::vector<std::string> names;
    for (Op const* buffer : analysis::buffers_of(value))
      if (auto const found = tensors_.find(buffer); found != tensors_.end())
        for (std::string const& name : found->second) add(names, name);
    return support::joined(names, ", ");
  }

  std::string factor(Value const& value) const {
    if (value.type().is_tile()) {
      if (auto const* const load = value.defined_by<ir::BufferLoadOp>()) return factor(*load->operand());
      return name_of(value);
    }
    std::string const tensors = tensors_of(value);
    return tensors.empty() ? "tile" : tensors;
  }

  /// Returns the name of the copies that the wait for an empty stage makes room for: those after it in its block.
  std::string filled_after(Op const& wait) const {
    bool after = false;
    std::string name;
    for (Op const& op : *wait.parent()) {
      if (after && op.is<ir::MbarrierWaitOp>()) break;
      if (after && name.empty())
        contains(op, [&](Op const& at) {
          if (name.empty() && at.info().names("mbarrier") && fills_buffers(at)) name = tensors_of(*at.in("mbarrier"));
          return false;
        });
      after = after || &op == &wait;
    }
    return name.empty() ? "ring" : name;
  }

  std::string stored(Op const& op) const {
    std::string name;
    contains(op, [&](Op const& at) {
      if (!name.empty()) return false;
      if (at.info().names("tensor") && at.info().effects.writes(ir::Space::global)) name = name_of(*at.in("tensor"));
      if (at.info().names("map") && empties_buffers(at)) name = name_of(ir::tensor_of(*at.in("map")));
      return false;
    });
    return name;
  }

  static Found in(RecordKind kind, std::string name) { return {Found::Part::of_phase, {kind, std::move(name)}}; }

  /// Tells whether every op inside belongs to arithmetic.
  bool only_computes(Op const& op) const {
    bool any = false, all = true;
    for (int i = 0; i < op.block_count(); ++i)
      ir::walk(op.block(i), [&](Op& inside) {
        any = any || computes_tile(inside);
        all = all && (inside.pure() || inside.info().has(ir::terminator)) && !ir::is_tensor_core_product(inside);
      });
    return any && all;
  }

  Found find(Op const& op) const {
    if (auto const waits = of_wait(op)) return *waits;
    if (ir::is_tensor_core_product(op)) return in(RecordKind::issue, factor(*op.lhs()) + " x " + factor(*op.rhs()));
    if (op.is<ir::WgmmaCommitOp>() || op.is<ir::WgmmaFenceOp>()) return {};  // joined with the products around
    if (op.is<ir::BarrierOp>()) return in(RecordKind::exchange, "barrier");
    if (auto const moves = of_transfer(op)) return *moves;
    if (ir::scratch_bytes(op) > 0) return in(RecordKind::exchange, std::string(op.info().mnemonic));
    if (op.block_count() > 0) return with_blocks(op);
    if (computes_tile(op)) return in(RecordKind::compute, "");
    return {};
  }

  std::optional<Found> of_wait(Op const& op) const {
    if (op.is<ir::WaitDependenciesOp>()) return in(RecordKind::wait_launch, "previous launch");
    if (op.is<ir::WgmmaWaitOp>()) return in(RecordKind::wait_product, "product");
    if (op.is<ir::CpAsyncWaitOp>()) return in(RecordKind::wait_full, "copies");
    if (!op.is<ir::MbarrierWaitOp>()) return std::nullopt;
    std::string const full = tensors_of(*op.in("mbarrier"));
    return full.empty() ? in(RecordKind::wait_empty, filled_after(op)) : in(RecordKind::wait_full, full);
  }

  /// Finds the phase of an op that moves elements between memories, or from threads to memory.
  std::optional<Found> of_transfer(Op const& op) const {
    if (fills_buffers(op)) {
      std::string const name =
          op.info().names("mbarrier") ? tensors_of(*op.in("mbarrier")) : name_of(ir::tensor_of(*op.in("tensor")));
      return in(RecordKind::fill, name.empty() ? "ring" : name);
    }
    if (empties_buffers(op) || op.info().effects.writes(ir::Space::global)) return in(RecordKind::store, stored(op));
    if (op.is<ir::BufferStoreOp>()) {
      std::string const tensors = tensors_of(*op.in("destination"));
      return tensors.empty() ? in(RecordKind::exchange, "shared memory") : in(RecordKind::store, tensors);
    }
    if (analysis::is_global_read(op) && op.result()->type().is_tile())
      return in(RecordKind::fill, name_of(*op.in("tensor")));
    return std::nullopt;
  }

  Found with_blocks(Op const& op) const {
    if (only_computes(op) && !op.is<ir::ForOp>() && !op.is<ir::RepeatOp>()) return in(RecordKind::compute, "");
    if (op.is<ir::ElectOp>() &&
        !contains(op, [](Op const& at) { return at.is<ir::ForOp>() || at.is<ir::MbarrierWaitOp>(); })) {
      if (contains(op, fills_buffers)) {
        std::string name;
        contains(op, [&](Op const& at) {
          if (name.empty() && fills_buffers(at) && at.info().names("mbarrier")) name = tensors_of(*at.in("mbarrier"));
          return false;
        });
        return in(RecordKind::fill, name.empty() ? "ring" : name);
      }
      if (contains(op, empties_buffers)) return in(RecordKind::store, stored(op));
      return {};  // begins mbarriers, frees a stage
    }
    return {Found::Part::apart, {}};
  }

  void record(ir::Builder builder, ir::RecordEvent event, Phase const& phase, location where, Value* value = nullptr) {
    ir::RecordOp op;
    op.event = event;
    op.name = Symbol(std::string_view(phase.name).substr(0, max_record_name));
    op.about = phase.kind;
    op.file = Symbol(where.file());
    op.line = where.line();
    std::vector<Value*> operands;
    if (value != nullptr) operands.push_back(value);
    builder.set_where(where);
    builder.op(op, operands, std::vector<ir::Type>());
    inserted_ = true;
  }

  /// Puts records around the ops from `first` to `last`.
  void around(Op& first, Op& last, Phase phase) {
    if (phase.name.empty() && phase.kind == RecordKind::store) phase.name = "stores";
    if (phase.name.empty())
      phase.name = first.where().known() ? fmt::format("line {}", first.where().line()) : "arithmetic";
    location const where = first.where();
    record(ir::Builder::before(first), ir::RecordEvent::start, phase, where);
    record(ir::Builder::after(last), ir::RecordEvent::stop, phase, where);
  }

  struct Run {
    Op* first = nullptr;
    Op* last = nullptr;
    Phase phase;
    int ops = 0;
  };

  void end(std::optional<Run>& run) {
    if (run && (run->phase.kind != RecordKind::compute || run->ops >= min_compute_ops))
      around(*run->first, *run->last, run->phase);
    run.reset();
  }

  /// Arithmetic goes on through the wait for a product that runs beside it: the assembler overlaps the two, and a
  /// record between them would hold all of the arithmetic ahead of the wait.
  static bool joins(Run& run, Phase const& next) {
    if (run.phase.kind == RecordKind::compute && next.kind == RecordKind::wait_product)
      return run.ops >= min_compute_ops;
    if (run.phase.kind != next.kind) return false;
    bool const waits = next.kind == RecordKind::wait_empty || next.kind == RecordKind::wait_full ||
                       next.kind == RecordKind::wait_product || next.kind == RecordKind::wait_launch;
    if (waits) return false;
    if (next.kind == RecordKind::store && (run.phase.name.empty() || next.name.empty())) {
      if (run.phase.name.empty()) run.phase.name = next.name;
      return true;
    }
    return run.phase.name == next.name;
  }

  /// Tells whether arithmetic too short for a phase begins at an op. After the issue of a product it belongs to that.
  bool short_arithmetic(std::vector<Op*> const& ops, std::size_t first) const {
    int count = 0;
    for (std::size_t i = first; i < ops.size() && count < min_compute_ops; ++i) {
      Found const found = find(*ops[i]);
      if (found.part == Found::Part::neutral) continue;
      if (found.part == Found::Part::apart || found.phase.kind != RecordKind::compute) break;
      ++count;
    }
    return count > 0 && count < min_compute_ops;
  }

  void mark(Block& block) {
    std::vector<Op*> ops;
    for (Op& op : block) ops.push_back(&op);
    Op* const product = loop_of_products(ops);
    std::optional<Run> run;
    for (std::size_t at = 0; at < ops.size() && !ops[at]->info().has(ir::terminator); ++at) {
      Found const found = find(*ops[at]);
      if (found.part == Found::Part::apart) {
        end(run);
        mark_blocks(*ops[at]);
      } else if (found.part == Found::Part::of_phase && !(run && goes_on(*run, ops, at, found.phase))) {
        end(run);
        bool const fenced = ir::is_tensor_core_product(*ops[at]) && at > 0 && ops[at - 1]->is<ir::WgmmaFenceOp>();
        run = Run{ops[fenced ? at - 1 : at], ops[at], found.phase, 1};  // fence and product become one statement
      } else if (ops[at]->is<ir::WgmmaCommitOp>() && run && run->phase.kind == RecordKind::issue) {
        run->last = ops[at];
      }
    }
    end(run);
    if (product != nullptr) mark_epilogue(*product, ops);
  }

  void mark_blocks(Op& op) {
    for (int i = 0; i < op.block_count(); ++i) mark(op.block(i));
    if (op.is<ir::ForOp>() && op.as<ir::ForOp>().tiles) mark_tiles(op);
  }

  /// Lets a run take an op of a phase, if it goes on with it.
  bool goes_on(Run& run, std::vector<Op*> const& ops, std::size_t at, Phase const& phase) const {
    bool const short_of_issue = run.phase.kind == RecordKind::issue && short_arithmetic(ops, at);
    if (!short_of_issue && !joins(run, phase)) return false;
    run.last = ops[at];
    if (!short_of_issue) ++run.ops;
    return true;
  }

  /// Finds the last loop of a block that holds products, if none follow outside.
  static Op* loop_of_products(std::vector<Op*> const& ops) {
    Op* found = nullptr;
    for (Op* op : ops)
      if (contains(*op, ir::is_tensor_core_product))
        found = op->is<ir::ForOp>() && !op->as<ir::ForOp>().tiles ? op : nullptr;
    return found;
  }

  void mark_tiles(Op& loop) {
    Phase const phase{RecordKind::tile, "tile"};
    Block& body = loop.block();
    record(ir::Builder::before(body.front()), ir::RecordEvent::start, phase, loop.where(), ir::Loop(loop).counter());
    record(ir::Builder::before(body.back()), ir::RecordEvent::stop, phase, loop.where());
  }

  /// Marks the code from the loop of a product, with the wait for it, to the end of its block.
  void mark_epilogue(Op& loop, std::vector<Op*> const& ops) {
    auto at = std::find(ops.begin(), ops.end(), &loop) + 1;
    auto const belongs = [](Op const* op) { return op->is<ir::WgmmaWaitOp>() || op->pure(); };
    auto const wait = std::find_if_not(at, ops.end(), belongs);
    Op* last_wait = &loop;
    for (auto each = at; each != wait; ++each)
      if ((*each)->is<ir::WgmmaWaitOp>()) last_wait = *each;
    at = std::find(ops.begin(), ops.end(), last_wait) + 1;
    if (at == ops.end() || (*at)->info().has(ir::terminator)) return;
    Op& end = *ops.back();
    Phase const phase{RecordKind::epilogue, "epilogue"};
    Op* first = *at;  // or the start of the phase that begins with it
    for (Op* before = previous(*first);
         before != nullptr && before->is<ir::RecordOp>() && before->as<ir::RecordOp>().event == ir::RecordEvent::start;
         before = previous(*before))
      first = before;
    record(ir::Builder::before(*first), ir::RecordEvent::start, phase, (*at)->where());
    record(ir::Builder::before(end), ir::RecordEvent::stop, phase, (*at)->where());
  }

  static Op* previous(Op const& op) {
    Op* before = nullptr;
    for (Op& each : *op.parent()) {
      if (&each == &op) return before;
      before = &each;
    }
    return nullptr;
  }

  ir::Function& kernel_;
  std::map<Op const*, std::vector<std::string>> tensors_;  ///< by allocation
  bool inserted_ = false;
};

}  // namespace

bool insert_phase_records(ir::Function& kernel) { return Phases(kernel).run(); }
bool insert_tile_records(ir::Function& kernel) { return Phases(kernel).run_on_tiles(); }

}  // namespace tegula::transform
