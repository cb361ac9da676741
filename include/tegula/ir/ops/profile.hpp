// Defines records of events, and the log into which a running kernel writes them (tegula/abi/profile_format.hpp).
#pragma once

#include "tegula/abi/profile_format.hpp"
#include "tegula/ir/fields.hpp"

namespace tegula::ir {

using namespace std::string_view_literals;

enum class RecordEvent : std::uint8_t { start, stop };
template <>
inline constexpr std::array enum_names<RecordEvent>{"start"sv, "stop"sv};
template <>
inline constexpr std::array enum_names<RecordKind>{"user"sv,     "fill"sv,         "wait_empty"sv,  "wait_full"sv,
                                                   "issue"sv,    "wait_product"sv, "compute"sv,     "exchange"sv,
                                                   "epilogue"sv, "store"sv,        "wait_launch"sv, "tile"sv};

template <>
inline constexpr std::array enum_names<ProfileGranularity>{"warp"sv, "warpgroup"sv, "cta"sv};

/// Records that a part of the kernel starts or stops here: `record {name = "softmax"}`, and with a number
/// `record %tile {event = start, name = "tile"}`. Records keep their order. They mean nothing before lower-profiling
/// has made an entry of a log of each.
struct RecordOp : OpDefaults<Family::report> {
  static constexpr std::string_view mnemonic = "record";
  static constexpr auto operands = names("value");
  static constexpr unsigned traits = variadic;
  static constexpr Effects effects = writes(Space::log);
  RecordEvent event = RecordEvent::start;
  Symbol name;
  RecordKind about = RecordKind::user;
  Symbol file;
  std::int64_t line = 0;
  static constexpr auto attributes() {
    return fields(field("event", &RecordOp::event), field("name", &RecordOp::name), field("about", &RecordOp::about),
                  field("file", &RecordOp::file),
                  field("line", &RecordOp::line, Bounds{0, (std::int64_t{1} << 31) - 1}));
  }
};

/// Begins the log of each executing warp: `%l = profile_begin %buffer {rows = 4096, slots = 256} : i64`. The buffer, in
/// global memory, has the format of ProfileLayout; a warp that records takes one of its rows. With a buffer in shared
/// memory as a second operand, which holds one row per warp, warps write there; they take a row when they end. The
/// result stands for the log. First in the kernel's body.
///
/// CTAs first_cta, first_cta + cta_step, ... record, cta_count of them; of those the warps of the mask, by granularity:
/// each, the first of each warpgroup, or the first.
struct ProfileBeginOp : OpDefaults<Family::report> {
  static constexpr std::string_view mnemonic = "profile_begin";
  static constexpr auto operands = names("buffer", "shared");
  static constexpr unsigned traits = variadic | unique | per_warp;
  static constexpr Effects effects = writes(Space::log);
  std::int64_t rows = 1;
  std::int64_t slots = 1;
  bool circular = false;
  ProfileGranularity granularity = ProfileGranularity::warp;
  std::int64_t first_cta = 0;
  std::int64_t cta_step = 1;
  std::int64_t cta_count = max_ctas;
  std::int64_t warps = all_warps;
  static constexpr std::int64_t max_ctas = std::int64_t{1} << 31;
  static constexpr std::int64_t all_warps = (std::int64_t{1} << 32) - 1;
  static constexpr auto attributes() {
    return fields(field("rows", &ProfileBeginOp::rows, {1, std::int64_t{1} << 24}),
                  field("slots", &ProfileBeginOp::slots, {1, std::int64_t{1} << 20}),
                  field("circular", &ProfileBeginOp::circular), field("granularity", &ProfileBeginOp::granularity),
                  field("first_cta", &ProfileBeginOp::first_cta, {0, max_ctas}),
                  field("cta_step", &ProfileBeginOp::cta_step, {1, max_ctas}),
                  field("cta_count", &ProfileBeginOp::cta_count, {0, max_ctas}),
                  field("warps", &ProfileBeginOp::warps, {0, all_warps}));
  }
};
/// Appends one entry to the log, or, with a value, two: `profile_append %l, %v {number = 3, name = "softmax"}`. Entry
/// `number` of ProfileLayout::names describes it; name, kind and place are as the record's. An entry of a start also
/// stops the name with number `stops`, unless that is -1: one phase ends where the next begins.
struct ProfileAppendOp : OpDefaults<Family::report> {
  static constexpr std::string_view mnemonic = "profile_append";
  static constexpr auto operands = names("log", "value");
  static constexpr unsigned traits = variadic;
  static constexpr Effects effects = writes(Space::log);
  RecordEvent event = RecordEvent::start;
  std::int64_t number = 0;
  std::int64_t stops = -1;
  Symbol name;
  RecordKind about = RecordKind::user;
  Symbol file;
  std::int64_t line = 0;
  static constexpr auto attributes() {
    return fields(field("event", &ProfileAppendOp::event), field("number", &ProfileAppendOp::number, {0, 0xffff}),
                  field("stops", &ProfileAppendOp::stops, {-1, max_stopped_names - 1}),
                  field("name", &ProfileAppendOp::name), field("about", &ProfileAppendOp::about),
                  field("file", &ProfileAppendOp::file),
                  field("line", &ProfileAppendOp::line, Bounds{0, (std::int64_t{1} << 31) - 1}));
  }
};

/// Ends the log of each executing warp: `profile_end %l`. All lanes take part. Last in the kernel's body.
struct ProfileEndOp : OpDefaults<Family::report> {
  static constexpr std::string_view mnemonic = "profile_end";
  static constexpr auto operands = names("log");
  static constexpr Effects effects = writes(Space::log);
};

}  // namespace tegula::ir
