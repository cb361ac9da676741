#include "jit/known_code.hpp"

#include <algorithm>
#include <mutex>
#include <shared_mutex>

namespace tegula::jit {

FoundKernel KnownCode::find(Key const& key) const {
  std::shared_lock lock(mutex_);
  for (Variant const& variant : variants_) {
    if (variant.grid != key.grid || variant.loaded->where != key.where || !std::ranges::equal(variant.facts, key.facts))
      continue;
    if (variant.options == key.options) return {variant.loaded, variant.require_sites, Origin::memory};
  }
  return {};
}

void KnownCode::add(Key const& key, FoundKernel const& found) {
  std::unique_lock lock(mutex_);
  for (Variant const& variant : variants_)
    if (variant.loaded == found.loaded && variant.options == key.options &&
        std::ranges::equal(variant.facts, key.facts))
      return;
  variants_.push_back({key.grid, std::vector<TensorFacts>(key.facts.begin(), key.facts.end()), key.options,
                       found.loaded, found.require_sites});
}

}  // namespace tegula::jit
