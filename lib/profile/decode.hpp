// Decodes the buffer of records of a profiled kernel.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "tegula/abi/profile_format.hpp"
#include "tegula/profile/profile.hpp"

namespace tegula::profiling {

/// Says where a buffer comes from.
struct Source {
  std::string kernel;
  std::string device;
  std::string processor_word = "CTA";
  double clocks_per_ns = 1;  ///< nominal; long rows give the true one by their two clocks
  double record_clocks = 0;  ///< nominal cost of one record
};

/// Throws UserError in a build without the profiler.
void require_profiler();

/// Decodes the bytes of a buffer. Bytes that no kernel writes are counted, never followed. Throws UserError if there
/// are fewer bytes than the layout describes, or if the layout is not one.
Profile decode(ProfileLayout const& layout, std::span<std::byte const> buffer, Source const& source);

/// Joins profiles of kernels on one device to one of their launches: a row for each kernel, an event for each launch,
/// from the first start to the last stop of the warps that recorded. In it stands an event for the wait for the
/// previous launch, until the last warp has ended it.
Profile join(std::string title, std::span<Profile const> kernels);

/// Adds a further launch of the same kernel, behind those that `all` has: its launches get the next numbers, its times
/// begin where theirs end. Rows beyond `rows` are dropped and counted, as a buffer of so many rows does.
void append(Profile& all, Profile const& launch, std::int64_t rows);

}  // namespace tegula::profiling
