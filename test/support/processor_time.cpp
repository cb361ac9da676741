#include "support/processor_time.hpp"

#include <cstdint>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

namespace tegula::test {
namespace {

/// Names with the names that each uses, looked up in random order. Its result keeps the work from being removed.
std::size_t yardstick() {
  constexpr std::size_t names = 100000;
  std::mt19937_64 random(1);
  std::unordered_map<std::string, std::vector<std::string>> uses;
  auto const name = [&] { return "%value" + std::to_string(random() % names); };
  for (std::size_t i = 0; i < 2 * names; ++i) uses[name()].push_back(name());
  std::size_t found = 0;
  for (auto const& [user, used] : uses)
    for (std::string const& one : used) found += uses.contains(one) ? uses.at(one).size() : 0;
  return found;
}

}  // namespace

double yardstick_seconds() {
  [[maybe_unused]] std::size_t volatile kept = 0;
  return processor_seconds([&] { kept = yardstick(); });
}

bool in_time(double seconds, double limit) { return seconds < limit || seconds < limit * yardstick_seconds() / 0.1; }

}  // namespace tegula::test
