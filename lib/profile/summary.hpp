// Puts figures of a profile into words, for the summary and the page.
#pragma once

#include <string>
#include <vector>

#include "tegula/profile/profile.hpp"

namespace tegula::profiling {

/// Prints a time with three digits and its unit: "12.3 ns", "4.56 us".
std::string time_text(double ns);

/// Says which side of a ring waits: "producer bound", "consumer bound", "balanced".
char const* verdict(ProfileWait const& wait);

/// Lists everything that the profile lacks: dropped rows and slots, halves, uncertain clocks.
std::vector<std::string> notes(Profile const& profile);

/// States kernel, device, warps, time and memory in one line.
std::string headline(Profile const& profile);

}  // namespace tegula::profiling
