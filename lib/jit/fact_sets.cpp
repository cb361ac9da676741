#include "jit/fact_sets.hpp"

#include <algorithm>

#include "abi/tensor_facts.hpp"
#include "runtime/argument_check.hpp"

namespace tegula::jit {
namespace {

bool holds(FactSets::Facts const& needed, FactSets::Facts const& present) {
  return std::ranges::equal(needed, present, [](TensorFacts n, TensorFacts p) { return runtime::satisfies(p, n); });
}

int strength(FactSets::Facts const& facts) {
  int result = 0;
  for (TensorFacts const& of_one : facts)
    for (TensorFactName const& fact : tensor_fact_names) result += of_one.*fact.flag ? 1 : 0;
  return result;
}

}  // namespace

FactSets::Facts FactSets::chosen(std::string const& kernel, std::span<TensorFacts const> present) {
  std::lock_guard lock(mutex_);
  std::vector<Facts>& known = sets_[kernel];
  Facts const wanted(present.begin(), present.end());
  if (std::ranges::find(known, wanted) != known.end()) return wanted;
  Facts const none(present.size());
  bool const has_none = std::ranges::find(known, none) != known.end();
  if (static_cast<int>(known.size()) + (has_none || wanted == none ? 0 : 1) < max_builds)
    return known.emplace_back(wanted);
  if (!has_none) known.push_back(none);
  Facts const* best = nullptr;
  for (Facts const& set : known)
    if (holds(set, wanted) && (best == nullptr || strength(set) > strength(*best))) best = &set;
  return *best;
}

int FactSets::count(std::string const& kernel) const {
  std::lock_guard lock(mutex_);
  auto const found = sets_.find(kernel);
  return found == sets_.end() ? 0 : static_cast<int>(found->second.size());
}

int FactSets::count_of(std::string_view beginning) const {
  std::lock_guard lock(mutex_);
  int result = 0;
  for (auto at = sets_.lower_bound(beginning); at != sets_.end() && at->first.starts_with(beginning); ++at)
    result += static_cast<int>(at->second.size());
  return result;
}

void FactSets::clear() {
  std::lock_guard lock(mutex_);
  sets_.clear();
}

}  // namespace tegula::jit
