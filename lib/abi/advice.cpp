#include "tegula/abi/advice.hpp"

#include <fmt/format.h>

#include <array>

namespace tegula {
namespace {

constexpr std::array kind_names{"narrow access", "pointer load", "wasted bytes", "indexed access",
                                "product",       "small tile",   "empty tile",   "no stages",
                                "shallow ring",  "spills",       "grid",         "small blocks",
                                "function",      "rounding",     "checks",       "launch"};
constexpr std::array limit_names{"memory", "tensor cores", "issue slots", "special functions", "latency"};

std::string line_of(SlowSpot const& spot) {
  std::string const place = spot.where.known() ? fmt::format("{}:{}: ", spot.where.file(), spot.where.line()) : "";
  double const factor = 1 / (1 - spot.gain);
  std::string const gain = factor < 1.2 ? fmt::format("about {:.0f} % less time", spot.gain * 100)
                                        : fmt::format("about {:.1f} times faster", factor);
  return fmt::format("{}{}; {}: {}", place, spot.what, spot.remedy, gain);
}

}  // namespace

char const* name(SlowSpot::Kind kind) { return kind_names[static_cast<std::size_t>(kind)]; }
char const* name(Advice::Limit limit) { return limit_names[static_cast<std::size_t>(limit)]; }

std::string Advice::str(int indent) const {
  std::string const begin(static_cast<std::size_t>(indent), ' ');
  std::string text = fmt::format("{}limit: {}, ", begin, name(limit));
  if (limit == Limit::latency)
    text += fmt::format("{:.1f} of {:.1f} us expected", min_seconds * 1e6, seconds * 1e6);
  else
    text += fmt::format("{:.0f} % of {} expected", share() * 100, rate);
  if (measured > 0)
    text += limit == Limit::latency ? fmt::format(", {:.1f} us measured", measured * 1e6)
                                    : fmt::format(", {:.0f} % measured", measured_share() * 100);
  text += "\n";
  for (SlowSpot const& spot : slow) text += begin + line_of(spot) + "\n";
  return text;
}

}  // namespace tegula
