#include "transform/profile/lower_profiling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <utility>
#include <vector>

#include "ir/core/builder.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/exchange.hpp"
#include "ir/memory/shared_frame.hpp"
#include "layout/shared_layouts.hpp"
#include "tegula/abi/profile_format.hpp"
#include "transform/common/levels.hpp"
#include "transform/common/remove_records.hpp"
#include "transform/profile/phase_records.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;

constexpr std::int64_t min_slots = 8, max_slots = std::int64_t{1} << 20;
constexpr std::int64_t word_bytes = 8;
constexpr std::size_t max_names = 1 << 16;

std::vector<Op*> records_in(ir::Function& function) {
  std::vector<Op*> result;
  ir::walk_pre_order(function.body(), [&](Op& op) {
    if (op.is<ir::RecordOp>()) result.push_back(&op);
    return ir::Walk::advance;
  });
  return result;
}

/// Tells whether an op only frees a stage of a ring.
bool frees_stage(Op const& op) {
  if (!op.is<ir::ElectOp>()) return false;
  for (Op const& inside : op.block())
    if (!inside.pure() && !inside.is<ir::MbarrierArriveOp>() && !inside.info().has(ir::terminator)) return false;
  return true;
}

/// Tells whether an op takes time that a profile would show; not: arithmetic of scalars, views, the release of a stage.
bool takes_time(Op const& op) {
  if (frees_stage(op)) return false;
  if (!op.pure() || op.block_count() > 0) return true;
  for (int i = 0; i < op.result_count(); ++i)
    if (op.result(i)->type().in_registers()) return true;
  return false;
}

Type words(Type (*space)(Element, Extents, layout::Layout const*), std::int64_t bytes) {
  Extents const shape{bytes / word_bytes};
  return space(Element::i64, shape, layout::dense_layout(shape));
}

class Lowering {
 public:
  Lowering(ir::Function& kernel, PassContext& context)
      : kernel_(kernel), context_(context), options_(context.options.profile) {}

  bool run() {
    bool changed = !options_.user && remove_records(kernel_);
    if (options_.compiler && !has_log()) {
      bool const on_host = context_.options.target == Target::host;
      changed = (on_host ? insert_tile_records(kernel_) : insert_phase_records(kernel_)) || changed;
    }
    std::vector<Op*> const records = records_in(kernel_);
    if (records.empty() || !ready() || !choose_sizes() || !number(records)) return changed;
    ir::Builder start = ir::Builder::before(kernel_.body().front());
    ir::BufferAllocOp global;
    global.align = 128;
    global.symbol = Symbol(profile_symbol);
    std::vector<Value*> buffers = {start.value(global, {}, words(Type::global, profile_buffer_bytes(layout_)))};
    if (layout_.shared_bytes > 0) {
      ir::BufferAllocOp shared;
      shared.offset = place_;
      buffers.push_back(start.value(shared, {}, words(Type::shared, layout_.shared_bytes)));
    }
    ir::ProfileBeginOp begin;
    begin.rows = layout_.rows;
    begin.slots = layout_.slots;
    begin.circular = options_.circular;
    begin.granularity = options_.granularity;
    begin.first_cta = std::clamp<std::int64_t>(options_.first_cta, 0, ir::ProfileBeginOp::max_ctas);
    begin.cta_step = std::clamp<std::int64_t>(options_.cta_step, 1, ir::ProfileBeginOp::max_ctas);
    begin.cta_count = std::clamp<std::int64_t>(options_.cta_count, 0, ir::ProfileBeginOp::max_ctas);
    begin.warps = static_cast<std::int64_t>(options_.warps) & ir::ProfileBeginOp::all_warps;
    log_ = start.op(begin, buffers, std::vector<Type>{Type::index()}).result();
    log_->set_name("log");
    for (Op* record : records) append(*record);
    join_stops(kernel_.body());
    Op& end = kernel_.body().back();
    ir::Builder::before(end).op(ir::ProfileEndOp{}, {log_}, {});
    return true;
  }

 private:
  using Name = std::pair<std::string_view, RecordKind>;

  /// Tells whether the pass has run.
  bool has_log() const {
    for (Op const& op : kernel_.body())
      if (op.is<ir::ProfileBeginOp>()) return true;
    return false;
  }

  /// Checks that the passes which decide the code of a GPU have run.
  bool ready() {
    if (context_.options.target == Target::host) return true;
    ir::Module const& module = *kernel_.parent();
    auto const lack = first_lack(properties_of(Level::placed) | PropertySet{Property::barriers}, module);
    if (!lack) return true;
    error(
        fmt::format("lower-profiling runs last, on code as it will run, which has {}; but there is {}; run it "
                    "after the passes that decide layouts, copies, fences and barriers",
                    name(lack->property), lack->why));
    return false;
  }

  bool choose_sizes() {
    layout_.slots = static_cast<std::int32_t>(
        std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(options_.slots, min_slots, max_slots))));
    if (context_.options.target == Target::cuda && options_.strategy == ProfileStrategy::shared && !fit_in_shared())
      return false;
    layout_.rows = std::max(options_.rows, 1);
    layout_.rows -= layout_.rows % profile_groups(layout_);
    std::int64_t const max_bytes = max_tile_elements * word_bytes;
    if (profile_buffer_bytes(layout_) <= max_bytes) return true;
    error(fmt::format("profile: {} rows of {} slots take {} bytes, but a buffer has at most {}; take at most {} rows",
                      layout_.rows, layout_.slots, profile_buffer_bytes(layout_), max_bytes,
                      (max_bytes - profile_rows_offset(layout_)) / profile_row_bytes(layout_)));
    return false;
  }

  /// Takes as many slots as fit, a row for each warp.
  bool fit_in_shared() {
    constexpr std::int64_t alignment = 16;
    auto const users = ir::shared_users(kernel_);
    place_ = (ir::frame_bytes(users) + alignment - 1) / alignment * alignment;
    std::int64_t const allowed = context_.target.shared;
    for (;; layout_.slots /= 2) {
      layout_.shared_bytes = kernel_.warps * profile_row_bytes(layout_);
      if (place_ + layout_.shared_bytes <= allowed) return true;
      if (layout_.slots <= min_slots) break;
    }
    error(fmt::format(
        "profile: {} bytes of shared memory needed for {} slots of each of {} warps, but of {} the kernel "
        "leaves {}; take the strategy \"device\"",
        layout_.shared_bytes, layout_.slots, kernel_.warps, allowed, std::max<std::int64_t>(0, allowed - place_)));
    return false;
  }

  bool number(std::vector<Op*> const& records) {
    for (Op const* record : records) {
      auto const& attributes = record->as<ir::RecordOp>();
      numbers_.try_emplace({attributes.name.view(), attributes.about}, static_cast<std::int64_t>(numbers_.size()));
    }
    if (numbers_.size() <= max_names) return true;
    error(
        fmt::format("profile: records have {} different names, but a slot can number {}", numbers_.size(), max_names));
    return false;
  }

  void append(Op& record) {
    auto const& from = record.as<ir::RecordOp>();
    ir::ProfileAppendOp entry;
    entry.event = from.event;
    entry.number = numbers_.at({from.name.view(), from.about});
    entry.name = from.name;
    entry.about = from.about;
    entry.file = from.file;
    entry.line = from.line;
    std::vector<Value*> operands = {log_};
    operands.insert(operands.end(), record.operands().begin(), record.operands().end());
    ir::Builder::before(record).op(entry, operands, std::vector<Type>()).set_where(record.where());
    record.erase();
  }

  /// Gives a start the stop before it, if no time passes between them: one entry says both.
  static void join_stops(ir::Block& block) {
    Op* stop = nullptr;
    std::vector<Op*> joined;
    for (Op& op : block) {
      for (int i = 0; i < op.block_count(); ++i) join_stops(op.block(i));
      if (!op.is<ir::ProfileAppendOp>()) {
        if (takes_time(op)) stop = nullptr;
        continue;
      }
      auto& entry = op.as<ir::ProfileAppendOp>();
      bool const stops = entry.event == ir::RecordEvent::stop;
      if (!stops && stop != nullptr) {
        entry.stops = stop->as<ir::ProfileAppendOp>().number;
        joined.push_back(stop);
      }
      bool const can_join = stops && op.operand_count() == 1 && entry.number < max_stopped_names;
      stop = can_join ? &op : nullptr;
    }
    for (Op* op : joined) op->erase();
  }

  void error(std::string const& text) { context_.diagnostics.error(text, kernel_.where); }

  ir::Function& kernel_;
  PassContext& context_;
  ProfileOptions const& options_;
  ProfileLayout layout_;
  std::int64_t place_ = 0;  ///< of the rows in shared memory
  std::map<Name, std::int64_t> numbers_;
  Value* log_ = nullptr;
};

}  // namespace

PassResult lower_profiling(ir::Function& function, PassContext& context) {
  if (function.is_kernel()) return result_of(Lowering(function, context).run());
  if (!context.options.profile.user) return result_of(remove_records(function));
  if (has_records(function))
    context.diagnostics.error(
        "profile: @" + function.name() + " has records and is called; run inline-functions before lower-profiling",
        function.where);
  return PassResult::unchanged;
}

}  // namespace tegula::transform
