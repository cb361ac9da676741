// Describes the buffer of records that a profiled kernel fills, and what is needed to read it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tegula {

/// Says where a warp keeps its records while it runs. The host has rows in memory in each case.
enum class ProfileStrategy : std::uint8_t {
  shared,  ///< in dynamic shared memory; each warp copies its part to the device buffer when it ends
  device,  ///< in the device buffer; the kernel needs no shared memory for it
};

/// Says which warps record: each warp, the first of each warpgroup, or the first of the CTA.
enum class ProfileGranularity : std::uint8_t { warp, warpgroup, cta };

/// Says what a record is about. All but `user` are made by the compiler.
enum class RecordKind : std::uint8_t {
  user,
  fill,          ///< a producer issues the copies of a stage
  wait_empty,    ///< a producer waits for a free stage of a ring
  wait_full,     ///< a consumer waits for a filled stage of a ring
  issue,         ///< issue of a product
  wait_product,  ///< wait for a product
  compute,       ///< arithmetic between the others
  exchange,      ///< tiles go through shared memory
  epilogue,      ///< between the main loop and the end of a tile
  store,         ///< stores of results, with the wait for them
  wait_launch,   ///< wait for the previous launch of the stream
  tile,          ///< one tile of a persistent CTA
};

/// Describes one name of records; slots give its number.
struct ProfileName {
  std::string name;  ///< of a ring: the tensor's name
  std::string file;  ///< the user's source, if known
  std::uint32_t line = 0;
  RecordKind kind = RecordKind::user;
  friend bool operator==(ProfileName const&, ProfileName const&) = default;
};

/// Names warps first_warp ... first_warp + warps - 1 of each CTA: "producer", "consumer 0".
struct ProfileRole {
  std::string name;
  std::int32_t first_warp = 0;
  std::int32_t warps = 0;
  friend bool operator==(ProfileRole const&, ProfileRole const&) = default;
};

/// Describes the device buffer of one compiled kernel: a ProfileBufferHeader, then `rows` rows of a ProfileRowHeader
/// and `slots` slots each. No rows: the kernel records nothing.
struct ProfileLayout {
  ProfileStrategy strategy = ProfileStrategy::shared;
  bool circular = false;          ///< the last slots are kept; else the first
  std::int32_t rows = 0;          ///< rows that the buffer holds: one per warp, CTA and launch
  std::int32_t slots = 0;         ///< slots of a row, a power of two
  std::int64_t shared_bytes = 0;  ///< dynamic shared memory for records: 0 with strategy `device`
  std::vector<ProfileName> names;
  std::vector<ProfileRole> roles;
  friend bool operator==(ProfileLayout const&, ProfileLayout const&) = default;
};

struct ProfileBufferHeader {
  std::uint32_t rows_claimed = 0;  ///< of a buffer of one group: see profile_groups
  std::uint32_t reserved = 0;
  std::uint64_t launch = 0;  ///< host and simulator: number of the launch, written before it
  std::uint64_t unused[6] = {};
};
static_assert(sizeof(ProfileBufferHeader) == 64);

/// Precedes the slots of one warp of one CTA of one launch.
struct ProfileRowHeader {
  std::uint64_t launch = 0;         ///< GPU: %gridid; host and simulator: number of the launch
  std::uint64_t start_time = 0;     ///< in ns: %globaltimer
  std::uint64_t stop_time = 0;      ///< 0 if the warp did not reach its end
  std::uint32_t start_clock = 0;    ///< cycles, at start_time
  std::uint32_t stop_clock = 0;     ///< cycles, at stop_time
  std::uint32_t cta = 0;            ///< linear number of the CTA in its launch
  std::uint32_t warp = 0;           ///< number of the warp in its CTA
  std::uint32_t processor = 0;      ///< multiprocessor; host: thread of the pool; simulator: the CTA
  std::uint32_t slots_written = 0;  ///< with those that did not fit or were written over
};
static_assert(sizeof(ProfileRowHeader) == 48);

/// Says what a slot holds: bits 31..30 of its first word.
enum class ProfileSlotKind : std::uint8_t { empty, start, stop, value };

/// Holds one slot. start, stop: the low 16 bits of `tag` number the name, `low` is the clock. A start may also stop
/// another name at the same clock: bits 29..16 hold its number plus one, else 0. value: the value of the record before
/// it, 62 bits, signed, the upper 30 in `tag`.
struct ProfileSlot {
  std::uint32_t tag = 0;
  std::uint32_t low = 0;
};
static_assert(sizeof(ProfileSlot) == 8);

/// Limits the numbers of names that a start can stop: they are less.
inline constexpr std::int64_t max_stopped_names = (std::int64_t{1} << 14) - 1;

/// Makes the first word of a slot. A start stops the name with number `stopped` too, unless that is -1.
constexpr std::uint32_t profile_tag(ProfileSlotKind kind, std::int64_t number, std::int64_t stopped = -1) {
  return static_cast<std::uint32_t>(kind) << 30 | static_cast<std::uint32_t>((stopped + 1) << 16 | number);
}
/// Reads the number of the name that a start stops too, or -1.
constexpr std::int64_t profile_stopped(std::uint32_t tag) { return static_cast<std::int64_t>(tag >> 16 & 0x3fff) - 1; }

/// Counts the groups of rows of a large buffer, a power of two. Each has its own counter of claims, far from the
/// others, because all warps of a GPU that add to one address wait for each other. A multiprocessor, or a CTA of the
/// host or the simulator, claims rows of one group. A counter may exceed the rows of its group: the rest was dropped.
constexpr std::int32_t profile_groups(ProfileLayout const& layout) { return layout.rows >= 2048 ? 32 : 1; }
constexpr std::int32_t profile_group_rows(ProfileLayout const& layout) { return layout.rows / profile_groups(layout); }
inline constexpr std::int64_t profile_counter_bytes = 256;
/// Returns the place of a group's counter, a u32, and of the first row, in bytes from the start of the buffer.
constexpr std::int64_t profile_counter_offset(ProfileLayout const& layout, std::int32_t group) {
  return profile_groups(layout) == 1 ? 0 : std::int64_t{sizeof(ProfileBufferHeader)} + group * profile_counter_bytes;
}
constexpr std::int64_t profile_rows_offset(ProfileLayout const& layout) {
  return std::int64_t{sizeof(ProfileBufferHeader)} +
         (profile_groups(layout) == 1 ? 0 : profile_groups(layout) * profile_counter_bytes);
}

/// Memory takes whole sectors: a row begins with one, and what is stored of it ends with one.
inline constexpr std::int64_t profile_sector_bytes = 32;
static_assert(sizeof(ProfileBufferHeader) % profile_sector_bytes == 0 &&
              profile_counter_bytes % profile_sector_bytes == 0);

/// Returns the bytes of one row, and of the device buffer.
constexpr std::int64_t profile_row_bytes(ProfileLayout const& layout) {
  std::int64_t const used = std::int64_t{sizeof(ProfileRowHeader)} + layout.slots * std::int64_t{sizeof(ProfileSlot)};
  return (used + profile_sector_bytes - 1) / profile_sector_bytes * profile_sector_bytes;
}
constexpr std::int64_t profile_buffer_bytes(ProfileLayout const& layout) {
  return layout.rows == 0 ? 0 : profile_rows_offset(layout) + layout.rows * profile_row_bytes(layout);
}

/// Limits the characters of a record's name.
inline constexpr std::size_t max_record_name = 64;

/// The symbol of the device buffer in a module.
inline constexpr char profile_symbol[] = "tegula_profile";

/// Selects what a kernel records, and how. Part of the compile options, so of the cache key.
struct ProfileOptions {
  bool user = false;      ///< records and regions that the kernel's author wrote; false: they are removed
  bool compiler = false;  ///< records of every role and phase that the passes made
  ProfileStrategy strategy = ProfileStrategy::shared;
  ProfileGranularity granularity = ProfileGranularity::warp;
  bool circular = false;       ///< keeps the last records of a warp where they do not all fit; else the first
  std::int32_t slots = 256;    ///< of each warp: rounded up to a power of two
  std::int32_t rows = 4096;    ///< of the buffer
  std::int64_t first_cta = 0;  ///< CTAs first_cta, first_cta + cta_step, ... record, cta_count of them
  std::int64_t cta_step = 1;
  std::int64_t cta_count = std::int64_t{1} << 31;
  std::uint64_t warps = ~std::uint64_t{0};  ///< mask of the warps of a CTA that record
  [[nodiscard]] constexpr bool any() const { return user || compiler; }
  friend bool operator==(ProfileOptions const&, ProfileOptions const&) = default;
};

}  // namespace tegula
