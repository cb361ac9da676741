// Counts the values of a long vector, and sorts integers with and without values by a radix sort.
#include "sort_kernels.hpp"
#include "support/report.hpp"

#include <numeric>
#include <utility>

using namespace tegula;

namespace {

constexpr int part = 4096, counted_part = 8192;

/// Sorts keys, and values where there are any; both end in the memory in which they began.
struct Sort {
  Sort(device where, std::int64_t n)
      : counts(where, samples::sort_digits, ceil_div(n, part)),
        starts(where, samples::sort_digits, ceil_div(n, part)),
        totals(where, samples::sort_passes, samples::sort_digits),
        other_keys(where, n),
        other_values(where, n) {}

  void operator()(stream const& order, buffer<std::uint32_t, 1>& keys) {
    run(order, keys, [&](int pass, auto& from, auto& to) {
      launch(order, samples::sort_keys<part>, from, counts, starts, to, pass);
    });
  }
  void operator()(stream const& order, buffer<std::uint32_t, 1>& keys, buffer<int, 1>& values) {
    run(order, keys, [&](int pass, auto& from, auto& to) {
      auto& from_values = pass % 2 == 0 ? values : other_values;
      auto& to_values = pass % 2 == 0 ? other_values : values;
      launch(order, samples::sort_pairs<part, int>, from, from_values, counts, starts, to, to_values, pass);
    });
  }

 private:
  template <class Move>
  void run(stream const& order, buffer<std::uint32_t, 1>& keys, Move const& move) {
    launch(order, samples::clear_counts<256>, totals);
    for (int pass = 0; pass < samples::sort_passes; ++pass) {
      auto& from = pass % 2 == 0 ? keys : other_keys;
      auto& to = pass % 2 == 0 ? other_keys : keys;
      launch(order, samples::sort_count<part>, from, counts, totals, pass);
      launch(order, samples::sort_starts<1024>, counts, totals, starts, pass);
      move(pass, from, to);
    }
  }

  buffer<int, 2> counts, starts, totals;
  buffer<std::uint32_t, 1> other_keys;
  buffer<int, 1> other_values;
};

}  // namespace

int main() {
  return samples::guarded("28_sort", [] {
    std::int64_t const n = 70001;
    device const where = device::best();
    stream const order(where);
    std::vector<std::uint32_t> keys;
    for (double const x : samples::exact(samples::random_values<float>(n)))
      keys.push_back(static_cast<std::uint32_t>((x + 1) * 0.5 * 4294967295.0));
    std::vector<int> places(keys.size()), sorted(keys.size());
    std::iota(places.begin(), places.end(), 0);
    auto K = samples::filled<std::uint32_t, 1>(where, keys, n), L = samples::filled<std::uint32_t, 1>(where, keys, n);
    auto P = samples::filled<int, 1>(where, places, n);
    Sort sort(where, n);
    sort(order, K);
    sort(order, L, P);

    std::stable_sort(places.begin(), places.end(), [&](int a, int b) {
      return keys[static_cast<std::size_t>(a)] < keys[static_cast<std::size_t>(b)];
    });
    std::vector<double> expected;
    for (int const place : places) expected.push_back(keys[static_cast<std::size_t>(place)]);
    std::vector<std::uint32_t> found(keys.size());
    K.copy_to(found);
    samples::Comparison all = samples::compare(found, expected, 0, 0);
    L.copy_to(found);
    all.join(samples::compare(found, expected, 0, 0));
    P.copy_to(sorted);
    all.join(samples::compare(sorted, samples::exact(places), 0, 0));

    for (std::uint32_t& key : keys) key >>= 24U;
    K.copy_from(keys);
    buffer<int, 2> counts(where, 1, 256);
    launch(order, samples::clear_counts<256>, counts);
    launch(order, samples::count_values<counted_part, 256>, K, counts);
    std::vector<int> counted(256);
    counts.copy_to(counted);
    expected.assign(256, 0);
    for (std::uint32_t const key : keys) ++expected[key];
    all.join(samples::compare(counted, expected, 0, 0));

    double const seconds = samples::best_seconds(
        order, [&](stream const& on) { sort(on, L); }, 3);
    return samples::report("28_sort", samples::text(n, " keys, with values too; 256 counts"), where, seconds,
                           1e-9 * static_cast<double>(n) / seconds, "Gkeys/s", all);
  });
}
