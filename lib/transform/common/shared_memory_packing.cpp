#include "transform/common/shared_memory_packing.hpp"

#include <algorithm>
#include <numeric>

namespace tegula::transform {
namespace {

using Order = std::vector<std::size_t>;
using Offsets = std::vector<std::int64_t>;

constexpr int max_improvements = 400;

std::int64_t aligned(std::int64_t bytes, std::int64_t to) { return (bytes + to - 1) / to * to; }

class Packer {
 public:
  Packer(std::vector<PackItem> const& items, std::function<bool(std::size_t, std::size_t)> const& together)
      : items_(items), rivals_(items.size()) {
    for (std::size_t a = 0; a < items.size(); ++a)
      for (std::size_t b = a + 1; b < items.size(); ++b)
        if (together(a, b)) {
          rivals_[a].push_back(b);
          rivals_[b].push_back(a);
        }
  }

  /// Sums the bytes of an item and of all that may not overlap it.
  [[nodiscard]] std::int64_t weight(std::size_t item) const {
    std::int64_t sum = items_[item].bytes;
    for (std::size_t const rival : rivals_[item]) sum += items_[rival].bytes;
    return sum;
  }

  /// Places each item in the lowest gap that earlier items of the order leave.
  [[nodiscard]] Offsets first_fit(Order const& order) const {
    Offsets offsets;
    for (PackItem const& item : items_) offsets.push_back(item.offset);
    for (std::size_t const item : order) {
      if (items_[item].offset >= 0) continue;
      std::vector<std::pair<std::int64_t, std::int64_t>> taken;
      for (std::size_t const rival : rivals_[item])
        if (offsets[rival] >= 0) taken.emplace_back(offsets[rival], offsets[rival] + items_[rival].bytes);
      std::sort(taken.begin(), taken.end());
      std::int64_t at = 0;
      for (auto const& [begin, end] : taken)
        if (begin < at + items_[item].bytes) at = std::max(at, aligned(end, items_[item].align));
      offsets[item] = at;
    }
    return offsets;
  }

 private:
  std::vector<PackItem> const& items_;
  std::vector<Order> rivals_;
};

}  // namespace

std::int64_t packed_bytes(std::vector<PackItem> const& items, std::vector<std::int64_t> const& offsets) {
  std::int64_t end = 0;
  for (std::size_t i = 0; i < items.size(); ++i)
    if (offsets[i] >= 0) end = std::max(end, offsets[i] + items[i].bytes);
  return end;
}

std::vector<std::int64_t> pack(std::vector<PackItem> const& items,
                               std::function<bool(std::size_t, std::size_t)> const& together, std::int64_t min) {
  Packer const packer(items, together);
  Order text(items.size());
  std::iota(text.begin(), text.end(), std::size_t{0});
  Offsets best;
  Order best_order;
  std::int64_t best_bytes = 0;
  auto const attempt = [&](Order const& order) {
    Offsets offsets = packer.first_fit(order);
    std::int64_t const bytes = packed_bytes(items, offsets);
    bool const better = best.empty() || bytes < best_bytes;
    if (better) best = std::move(offsets), best_bytes = bytes, best_order = order;
    return better;
  };
  auto const sorted = [&](auto const& key) {
    Order order = text;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) > key(b); });
    return order;
  };
  // Takes coarsely aligned ones first, so that few gaps arise; then big ones, or ones that stand in most others' way.
  attempt(sorted([&](std::size_t i) { return std::pair(items[i].align, items[i].bytes); }));
  attempt(sorted([&](std::size_t i) { return std::pair(items[i].bytes, items[i].align); }));
  attempt(sorted([&](std::size_t i) { return std::pair(packer.weight(i), items[i].bytes); }));
  attempt(text);
  for (int i = 0; i < max_improvements && best_bytes > min; ++i) {
    // The user that ends at the top goes earlier, to a place that differs from round to round.
    Order order = best_order;
    std::vector<std::size_t> top;
    for (std::size_t at = 0; at < order.size(); ++at)
      if (items[order[at]].offset < 0 && best[order[at]] + items[order[at]].bytes == best_bytes) top.push_back(at);
    if (top.empty()) break;  // fixed ones end there
    std::uint64_t const mixed = (static_cast<std::uint64_t>(i) + 1) * 0x9E3779B97F4A7C15ULL >> 20;
    std::size_t const from = top[mixed % top.size()];
    std::size_t const to = mixed / 7 % (order.size());
    std::size_t const moved = order[from];
    order.erase(order.begin() + static_cast<std::ptrdiff_t>(from));
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(std::min(to, order.size())), moved);
    if (i % 3 == 2) std::swap(order[mixed / 11 % order.size()], order[mixed / 13 % order.size()]);
    attempt(order);
  }
  return best;
}

}  // namespace tegula::transform
