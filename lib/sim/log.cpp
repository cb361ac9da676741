#include "sim/log.hpp"

#include <cstddef>
#include <cstring>

#include "ir/memory/log_layout.hpp"
#include "sim/meaning.hpp"
#include "tegula/abi/profile_format.hpp"

namespace tegula::sim {

using namespace ir;

namespace {

constexpr std::int64_t not_recorded = -1;

/// Reads a struct of the buffer, changes it and writes it back.
template <class T, class Change>
void change(std::byte* at, Change const& changed) {
  T value;
  std::memcpy(&value, at, sizeof value);
  changed(value);
  std::memcpy(at, &value, sizeof value);
}

/// Names one log: its attributes, the buffer and the row.
struct Log {
  ProfileBeginOp const& attributes;
  std::byte* buffer;
  std::int64_t row;

  [[nodiscard]] std::byte* at_row() const {
    ProfileLayout const layout = log_layout(attributes);
    return buffer + profile_rows_offset(layout) + row * profile_row_bytes(layout);
  }
  void append(ProfileSlot slot) const {
    change<ProfileRowHeader>(at_row(), [&](ProfileRowHeader& header) {
      std::int64_t const count = header.slots_written++;
      if (!attributes.circular && count >= attributes.slots) return;
      std::byte* const to = at_row() + sizeof(ProfileRowHeader) + count % attributes.slots * std::int64_t{sizeof slot};
      std::memcpy(to, &slot, sizeof slot);
    });
  }
};

Log log_of(Agent& agent, ir::Value const& token) {
  Op const& begin = *token.defining_op();
  return {begin.as<ProfileBeginOp>(), agent.launch().buffer(*begin.in("buffer")->defining_op()).data(),
          agent.index(token)};
}

bool records(ProfileBeginOp const& op, std::int64_t cta, int warp, int warps_per_group) {
  if (warp >= 32 || (op.warps >> warp & 1) == 0) return false;
  if (op.granularity == ProfileGranularity::cta && warp != 0) return false;
  if (op.granularity == ProfileGranularity::warpgroup && warp % warps_per_group != 0) return false;
  std::int64_t const behind = cta - op.first_cta;
  return behind >= 0 && behind % op.cta_step == 0 && behind / op.cta_step < op.cta_count;
}

}  // namespace

LogTime steps_of(Launch const& launch) {
  auto const steps = static_cast<std::uint64_t>(launch.steps());
  return {steps, static_cast<std::uint32_t>(steps)};
}

void begin_log(Agent& agent, Op const& op, int warp, int warps_per_group, LogTime now) {
  auto const& attributes = op.as<ProfileBeginOp>();
  agent.set_index(*op.result(), not_recorded);
  if (!records(attributes, agent.linear_block(), warp, warps_per_group)) return;
  std::byte* const buffer = agent.launch().buffer(*op.in("buffer")->defining_op()).data();
  ProfileLayout const layout = log_layout(attributes);
  std::int64_t const selected = (agent.linear_block() - attributes.first_cta) / attributes.cta_step;
  auto const group = static_cast<std::int32_t>((selected + warp) % profile_groups(layout));
  std::int64_t row = 0;
  std::uint64_t launch = 0;
  std::memcpy(&launch, buffer + offsetof(ProfileBufferHeader, launch), sizeof launch);
  change<std::uint32_t>(buffer + profile_counter_offset(layout, group),
                        [&](std::uint32_t& claimed) { row = claimed++; });
  if (row >= profile_group_rows(layout)) return;
  row += std::int64_t{group} * profile_group_rows(layout);
  agent.set_index(*op.result(), row);
  change<ProfileRowHeader>(Log{attributes, buffer, row}.at_row(), [&](ProfileRowHeader& header) {
    header.launch = launch;
    header.start_time = now.ns;
    header.start_clock = now.cycles;
    header.cta = header.processor = static_cast<std::uint32_t>(agent.linear_block());
    header.warp = static_cast<std::uint32_t>(warp);
  });
}

void append_to_log(Agent& agent, Op const& op, LogTime now) {
  Log const log = log_of(agent, *op.in("log"));
  if (log.row == not_recorded) return;
  log.append({log_tag(op.as<ProfileAppendOp>()), now.cycles});
  if (op.operand_count() < 2) return;
  auto const value = static_cast<std::uint64_t>(agent.index(*op.in("value")));
  std::uint32_t const tag = profile_tag(ProfileSlotKind::value, 0);
  log.append({tag | (static_cast<std::uint32_t>(value >> 32) & ~tag), static_cast<std::uint32_t>(value)});
}

void end_log(Agent& agent, Op const& op, LogTime now) {
  Log const log = log_of(agent, *op.in("log"));
  if (log.row == not_recorded) return;
  change<ProfileRowHeader>(log.at_row(), [&](ProfileRowHeader& header) {
    header.stop_time = now.ns;
    header.stop_clock = now.cycles;
  });
}

// Records mean nothing by themselves.
void execute(Agent&, Op const&, RecordOp const&) {}
void execute(Agent& agent, Op const& op, ProfileBeginOp const&) {
  begin_log(agent, op, 0, 1, steps_of(agent.launch()));
}
void execute(Agent& agent, Op const& op, ProfileAppendOp const&) { append_to_log(agent, op, steps_of(agent.launch())); }
void execute(Agent& agent, Op const& op, ProfileEndOp const&) { end_log(agent, op, steps_of(agent.launch())); }

void execute(Agent&, Op const& op, BufferAllocOp const&) {
  if (!op.result()->type().is_global()) refuse_block_op(op);
}

}  // namespace tegula::sim
