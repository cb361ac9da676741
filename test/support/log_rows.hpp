// Reads the rows of a log as tests compare them: what each warp recorded, in its order.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "tegula/abi/profile_format.hpp"

namespace tegula::test {

/// Holds the entries of one warp of one CTA: "+name" where a part starts, "-name" where it stops, "=3" for a value.
struct LogRow {
  ProfileRowHeader header;
  std::vector<std::string> entries;
  std::vector<std::uint32_t> clocks;  ///< of the starts and stops
};

/// Counts the rows of a group that warps asked for, also those that did not fit.
inline std::uint32_t rows_claimed(ProfileLayout const& layout, std::span<std::byte const> bytes,
                                  std::int32_t group = 0) {
  std::uint32_t count = 0;
  std::memcpy(&count, bytes.data() + profile_counter_offset(layout, group), sizeof count);
  return count;
}

/// Lists the rows by CTA, then warp.
inline std::vector<LogRow> log_rows(ProfileLayout const& layout, std::span<std::byte const> bytes) {
  std::vector<LogRow> rows;
  std::int64_t const in_group = profile_group_rows(layout);
  for (std::int64_t i = 0; i < in_group * profile_groups(layout); ++i) {
    if (i % in_group >= rows_claimed(layout, bytes, static_cast<std::int32_t>(i / in_group))) continue;
    std::byte const* const at = bytes.data() + profile_rows_offset(layout) + i * profile_row_bytes(layout);
    LogRow row;
    std::memcpy(&row.header, at, sizeof row.header);
    std::uint32_t const written = row.header.slots_written;
    auto const slots = static_cast<std::uint32_t>(layout.slots);
    std::uint32_t const first = layout.circular && written > slots ? written - slots : 0;
    for (std::uint32_t n = first; n < std::min(written, first + slots); ++n) {
      ProfileSlot slot;
      std::memcpy(&slot, at + sizeof row.header + n % slots * sizeof slot, sizeof slot);
      auto const kind = static_cast<ProfileSlotKind>(slot.tag >> 30);
      if (kind == ProfileSlotKind::value) {
        std::uint64_t const bits = std::uint64_t{slot.tag} << 34 >> 2 | slot.low;  // 62 bits
        row.entries.push_back(fmt::format("={}", static_cast<std::int64_t>(bits << 2) >> 2));
        continue;
      }
      if (std::int64_t const stopped = profile_stopped(slot.tag); stopped >= 0) {
        row.entries.push_back("-" + layout.names.at(static_cast<std::size_t>(stopped)).name);
        row.clocks.push_back(slot.low);
      }
      std::string const name = kind == ProfileSlotKind::empty ? "empty" : layout.names.at(slot.tag & 0xffff).name;
      row.entries.push_back((kind == ProfileSlotKind::stop ? "-" : "+") + name);
      row.clocks.push_back(slot.low);
    }
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(), [](LogRow const& a, LogRow const& b) {
    return std::tie(a.header.launch, a.header.cta, a.header.warp) <
           std::tie(b.header.launch, b.header.cta, b.header.warp);
  });
  return rows;
}

/// Returns the entries joined by blanks.
inline std::string text_of(LogRow const& row) {
  std::string text;
  for (std::string const& entry : row.entries) text += (text.empty() ? "" : " ") + entry;
  return text;
}

/// True if each part that starts stops, in order of nesting, and clocks never go back by a large step.
inline bool is_nested(LogRow const& row) {
  std::vector<std::string> open;
  for (std::string const& entry : row.entries) {
    if (entry[0] == '+') open.push_back(entry.substr(1));
    if (entry[0] != '-') continue;
    if (open.empty() || open.back() != entry.substr(1)) return false;
    open.pop_back();
  }
  bool forward = true;
  for (std::size_t i = 1; i < row.clocks.size(); ++i)
    forward = forward && static_cast<std::int32_t>(row.clocks[i] - row.clocks[i - 1]) >= 0;
  return open.empty() && forward;
}

}  // namespace tegula::test
