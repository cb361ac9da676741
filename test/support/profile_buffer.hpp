// Fills a buffer of records as a profiled kernel does, for tests of what reads it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tegula/abi/profile_format.hpp"

namespace tegula::test {

/// Writes rows one after another. The caller gives clocks of 64 bits, of which slots keep 32.
class ProfileBuffer {
 public:
  explicit ProfileBuffer(ProfileLayout layout)
      : layout_(std::move(layout)), bytes_(static_cast<std::size_t>(profile_buffer_bytes(layout_))) {}

  struct Warp {
    std::uint64_t launch = 0;
    std::uint32_t cta = 0;
    std::uint32_t warp = 0;
    std::uint32_t processor = 0;
  };
  /// Claims a row; it is written if there is room.
  void begin(Warp const& warp, std::uint64_t time, std::uint64_t clock) {
    row_ = claimed_++;
    header_ = {};
    header_.launch = warp.launch;
    header_.cta = warp.cta;
    header_.warp = warp.warp;
    header_.processor = warp.processor;
    header_.start_time = time;
    header_.start_clock = static_cast<std::uint32_t>(clock);
    store();
  }
  void start(std::uint32_t name, std::uint64_t clock) { slot(1u << 30 | name, static_cast<std::uint32_t>(clock)); }
  /// Stops one name and starts another, in one slot.
  void change(std::uint32_t from, std::uint32_t to, std::uint64_t clock) {
    slot(profile_tag(ProfileSlotKind::start, to, from), static_cast<std::uint32_t>(clock));
  }
  void stop(std::uint32_t name, std::uint64_t clock) { slot(2u << 30 | name, static_cast<std::uint32_t>(clock)); }
  void value(std::int64_t value) {
    auto const bits = static_cast<std::uint64_t>(value);
    slot(3u << 30 | (static_cast<std::uint32_t>(bits >> 32) & 0x3fffffffu), static_cast<std::uint32_t>(bits));
  }
  void end(std::uint64_t time, std::uint64_t clock) {
    header_.stop_time = time;
    header_.stop_clock = static_cast<std::uint32_t>(clock);
    store();
  }
  void slot(std::uint32_t tag, std::uint32_t low) {
    std::uint64_t const number = header_.slots_written++;
    store();
    auto const room = static_cast<std::uint64_t>(layout_.slots);
    if (row_ >= layout_.rows || (!layout_.circular && number >= room)) return;
    ProfileSlot const written{tag, low};
    std::memcpy(at(row_) + sizeof(ProfileRowHeader) + number % room * sizeof written, &written, sizeof written);
  }

  [[nodiscard]] std::vector<std::byte>& bytes() { return bytes_; }
  [[nodiscard]] ProfileLayout const& layout() const { return layout_; }
  [[nodiscard]] std::byte* at(std::int64_t row) {
    return bytes_.data() + profile_rows_offset(layout_) + row * profile_row_bytes(layout_);
  }

 private:
  void store() {
    std::int64_t left = claimed_;  // groups fill up one after another
    for (std::int32_t group = 0; group < profile_groups(layout_); ++group) {
      bool const last = group + 1 == profile_groups(layout_);
      auto const here =
          static_cast<std::uint32_t>(last ? left : std::min<std::int64_t>(left, profile_group_rows(layout_)));
      std::memcpy(bytes_.data() + profile_counter_offset(layout_, group), &here, sizeof here);
      left -= here;
    }
    if (row_ < layout_.rows) std::memcpy(at(row_), &header_, sizeof header_);
  }

  ProfileLayout layout_;
  std::vector<std::byte> bytes_;
  ProfileRowHeader header_;
  std::int64_t row_ = 0;
  std::int64_t claimed_ = 0;
};

}  // namespace tegula::test
