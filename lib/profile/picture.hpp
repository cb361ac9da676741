// Chooses colours, labels and ticks for the picture and the page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tegula/profile/profile.hpp"

namespace tegula::profiling {

/// Returns the fill colour of a name's events, "#4c78a8": waits are warm, work is cold, the user's names take turns.
std::string colour(Profile const& profile, std::int32_t name);

/// Returns "CTA 3 warp 1 producer", or the name of the kernel that a row is.
std::string track_text(Profile const& profile, ProfileRow const& row);

/// Returns the distance of ticks, 1, 2 or 5 times a power of ten, for at most `ticks` of them.
double tick_step(double span, int ticks);

}  // namespace tegula::profiling
