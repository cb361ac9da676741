// Lists the rows of transforms of rows, sums over all pairs, prefix sums, counts of values, and sorts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <string>
#include <utility>

#include "../../../samples/scan_kernels.hpp"
#include "../../../samples/sort_kernels.hpp"
#include "../../../samples/transform_kernels.hpp"
#include "gpu/rows/memory_problem.hpp"
#include "rig/rivals.hpp"

namespace tegula::bench {
namespace {

using Launch = std::function<void(stream const&)>;

/// Sets a rival that nvcc compiled, of these tensors; without one the row keeps its own.
void set_rival(Row& row, std::string const& variant, std::string const& name, std::vector<std::int64_t> sizes,
               std::vector<std::string> const& tensors = {"X", "Y"}) {
  if (!rivals_are_named()) return;
  row.rival = Rival::plain;
  row.plain = Side{
      variant, [=](Workload const& work, int set) { return make_rival(name, work.addresses(set, tensors), sizes); }};
}

void compare_transform(Verdict& verdict, Inputs const& in, HostTensor const& out, std::int64_t row) {
  HostTensor const& x = in.at("X");
  std::int64_t const n = x.extents()[1];
  double squares = 0;
  for (std::int64_t i = 0; i < 2 * n; ++i) squares += x.at(row * 2 * n + i) * x.at(row * 2 * n + i);
  for (std::int64_t k = 0; k < n; ++k) {
    std::complex<double> sum = 0;
    for (std::int64_t i = 0; i < n; ++i)
      sum += std::complex<double>(x.at((row * n + i) * 2), x.at((row * n + i) * 2 + 1)) *
             std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k * i % n) / static_cast<double>(n));
    double const tolerance = 1e-6 * std::sqrt(squares);
    verdict.compare(out, (row * n + k) * 2, sum.real(), tolerance);
    verdict.compare(out, (row * n + k) * 2 + 1, sum.imag(), tolerance);
  }
}

Problem transform_problem(Extents const& extents, std::uint64_t seed) {
  Problem problem{{}, Element::f32, {extents.at(0), extents.at(1), 2}, extents.at(0), compare_transform};
  problem.inputs["X"] = normal(Element::f32, problem.output, seed);
  problem.shape = shape_text(extents);
  return problem;
}

template <int n, int rows, int radix>
Launch fourier(Workload const& work, int set) {
  return prepare(samples::fourier<n, rows, radix>, work.view<float, 3>(set, "X"), work.view<float, 3>(set, "Y"));
}

constexpr float softening = 0.01F;

void compare_force(Verdict& verdict, Inputs const& in, HostTensor const& out, std::int64_t body) {
  HostTensor const& x = in.at("X");
  std::int64_t const n = x.extents()[1];
  double force[3] = {}, size[3] = {};
  for (std::int64_t j = 0; j < n; ++j) {
    double d[3] = {}, square = static_cast<double>(softening);
    for (std::int64_t k = 0; k < 3; ++k) {
      d[k] = x.at(k * n + j) - x.at(k * n + body);
      square += d[k] * d[k];
    }
    double const pull = x.at(3 * n + j) / (square * std::sqrt(square));
    for (std::size_t k = 0; k < 3; ++k) {
      force[k] += d[k] * pull;
      size[k] += std::abs(d[k] * pull);
    }
  }
  for (std::int64_t k = 0; k < 3; ++k) verdict.compare(out, k * n + body, force[k], 1e-5 * size[k]);
}

Problem gravity_problem(Extents const& extents, std::uint64_t seed) {
  std::int64_t const n = extents.at(0);
  Problem problem{{}, Element::f32, {3, n}, n, compare_force};
  problem.inputs["X"] = normal(Element::f32, {4, n}, seed);
  problem.work = 20 * n * n;
  problem.shape = fmt::format("{}", n);
  return problem;
}

template <int BI, int BJ>
Launch gravity(Workload const& work, int set) {
  return prepare(samples::gravity<BI, BJ>, work.view<float, 2>(set, "X"), work.view<float, 2>(set, "Y"), softening);
}

/// Compares a sum with those before it, which the first part adds up once.
Problem scan_problem(Extents const& extents, std::uint64_t seed) {
  std::int64_t const n = extents.at(0);
  Problem problem{{}, Element::u32, {n}, 1, {}};
  HostTensor x(Element::u32, {n});
  in_parallel(n, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i)
      x.set(i, static_cast<double>((static_cast<std::uint64_t>(i) + seed) * 2654435761U >> 7 & 0xFFFFU));
  });
  problem.inputs["X"] = std::move(x);
  problem.more.push_back({"words", Element::u64, {(n + 4095) / 4096}, false});
  problem.more.push_back({"next", Element::i32, {1}, false});
  problem.compare = [n](Verdict& verdict, Inputs const& in, HostTensor const& out, std::int64_t) {
    std::uint32_t sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      sum += static_cast<std::uint32_t>(in.at("X").at(i));
      verdict.compare(out, i, static_cast<double>(sum), 0.25);
    }
  };
  return problem;
}

template <int BN>
Launch scan(Workload const& work, int set) {
  auto const words = work.view<std::uint64_t, 1>(set, "words");
  auto const next = work.view<int, 1>(set, "next");
  auto const start = prepare(samples::scan_start<1024>, words, next);
  auto const sums = prepare(samples::scan_long<BN>, work.view<std::uint32_t, 1>(set, "X"),
                            work.view<std::uint32_t, 1>(set, "Y"), words, next);
  return [=](stream const& on) {
    start(on);
    sums(on);
  };
}

/// Draws integers of so many bits.
HostTensor integers(std::int64_t n, std::uint64_t seed, int bits) {
  HostTensor result(Element::u32, {n});
  in_parallel(n, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      // Mixes the bits of the number (splitmix64).
      std::uint64_t x = (static_cast<std::uint64_t>(i) + (seed << 32U)) * 0x9E3779B97F4A7C15ULL;
      x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
      x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
      result.set(i, static_cast<double>((x ^ (x >> 31U)) >> (64U - static_cast<unsigned>(bits))));
    }
  });
  return result;
}

Problem histogram_problem(Extents const& extents, std::uint64_t seed) {
  std::int64_t const n = extents.at(0);
  Problem problem{{}, Element::i32, {1, 256}, 1, {}};
  problem.inputs["X"] = integers(n, seed, 8);
  problem.compare = [n](Verdict& verdict, Inputs const& in, HostTensor const& out, std::int64_t) {
    std::vector<std::int64_t> counts(256, 0);
    for (std::int64_t i = 0; i < n; ++i) ++counts[static_cast<std::size_t>(in.at("X").at(i))];
    for (std::int64_t i = 0; i < 256; ++i)
      verdict.compare(out, i, static_cast<double>(counts[static_cast<std::size_t>(i)]), 0.25);
  };
  return problem;
}

template <int BN, int warps>
Launch count_values(Workload const& work, int set) {
  auto const counts = work.view<int, 2>(set, "Y");
  auto const start = prepare(samples::clear_counts<256>, counts);
  auto const count =
      prepare(with({.warps = warps}), samples::count_values<BN, 256>, work.view<std::uint32_t, 1>(set, "X"), counts);
  return [=](stream const& on) {
    start(on);
    count(on);
  };
}

constexpr int parts_of_sorts[] = {4096, 8192};

/// Compares sorted keys, and values that were the numbers of the keys.
Problem sort_problem(Extents const& extents, std::uint64_t seed, bool with_values) {
  std::int64_t const n = extents.at(0);
  Problem problem{{}, Element::u32, {n}, 1, {}};
  problem.inputs["X"] = integers(n, seed, 32);
  auto const order = [n](Inputs const& in) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> result;
    for (std::int64_t i = 0; i < n; ++i)
      result.emplace_back(static_cast<std::uint32_t>(in.at("X").at(i)), static_cast<std::uint32_t>(i));
    std::sort(result.begin(), result.end());
    return result;
  };
  problem.compare = [n, order](Verdict& verdict, Inputs const& in, HostTensor const& out, std::int64_t) {
    auto const sorted = order(in);
    for (std::int64_t i = 0; i < n; ++i)
      verdict.compare(out, i, static_cast<double>(sorted[static_cast<std::size_t>(i)].first), 0.25);
  };
  problem.more.push_back({"keys", Element::u32, {n}, false});
  for (int const part : parts_of_sorts)
    for (char const* const name : {"counts", "starts"})
      problem.more.push_back(
          {fmt::format("{} {}", name, part), Element::i32, {samples::sort_digits, (n + part - 1) / part}, false});
  problem.more.push_back({"totals", Element::i32, {samples::sort_passes, samples::sort_digits}, false});
  if (!with_values) return problem;
  HostTensor numbers(Element::u32, {n});
  for (std::int64_t i = 0; i < n; ++i) numbers.set(i, static_cast<double>(i));
  problem.inputs["V"] = std::move(numbers);
  problem.more.push_back({"values", Element::u32, {n}, false});
  problem.more.push_back({"W", Element::u32, {n}});
  problem.compare_more = [n, order](Verdict& verdict, Inputs const& in, std::string const&, HostTensor const& out) {
    auto const sorted = order(in);
    for (std::int64_t i = 0; i < n; ++i)
      verdict.compare(out, i, static_cast<double>(sorted[static_cast<std::size_t>(i)].second), 0.25);
  };
  return problem;
}
Problem sort_keys_problem(Extents const& extents, std::uint64_t seed) { return sort_problem(extents, seed, false); }
Problem sort_pairs_problem(Extents const& extents, std::uint64_t seed) { return sort_problem(extents, seed, true); }

/// Sorts by parts of BN keys: from X to `keys`, to Y, to `keys`, to Y.
template <int BN, int warps, bool with_values>
Launch sort(Workload const& work, int set) {
  auto const counts = work.view<int, 2>(set, fmt::format("counts {}", BN));
  auto const starts = work.view<int, 2>(set, fmt::format("starts {}", BN));
  auto const totals = work.view<int, 2>(set, "totals");
  auto const options = with({.warps = warps});
  std::vector<Launch> steps = {prepare(samples::clear_counts<256>, totals)};
  for (int pass = 0; pass < samples::sort_passes; ++pass) {
    char const* const from = pass == 0 ? "X" : pass % 2 == 0 ? "Y" : "keys";
    char const* const to = pass % 2 == 0 ? "keys" : "Y";
    auto const keys = work.view<std::uint32_t, 1>(set, from), sorted = work.view<std::uint32_t, 1>(set, to);
    steps.emplace_back(prepare(samples::sort_count<BN>, keys, counts, totals, pass));
    steps.emplace_back(prepare(samples::sort_starts<2048>, counts, totals, starts, pass));
    if constexpr (with_values)
      steps.emplace_back(prepare(options, samples::sort_pairs<BN, std::uint32_t>, keys,
                                 work.view<std::uint32_t, 1>(set, pass == 0       ? "V"
                                                                  : pass % 2 == 0 ? "W"
                                                                                  : "values"),
                                 counts, starts, sorted,
                                 work.view<std::uint32_t, 1>(set, pass % 2 == 0 ? "values" : "W"), pass));
    else
      steps.emplace_back(prepare(options, samples::sort_keys<BN>, keys, counts, starts, sorted, pass));
  }
  return [steps](stream const& on) {
    for (Launch const& step : steps) step(on);
  };
}

void add_sorting(std::vector<Row>& rows) {
  Row counts = family_row("counts", "histogram u32, 256 bins", {std::int64_t{1} << 28}, {70000}, histogram_problem);
  counts.sides = {{"parts of 8192, 8 warps", count_values<8192, 8>},
                  {"parts of 16384, 8 warps", count_values<16384, 8>},
                  {"parts of 16384, 16 warps", count_values<16384, 16>}};
  counts.codes = {code("histogram", samples::count_values<8192, 256>, {.warps = 8})};
  set_rival(counts, "CUB", "histogram", counts.extents);
  rows.push_back(std::move(counts));
  Row keys = family_row("sorts", "sort u32", {std::int64_t{1} << 24}, {70000}, sort_keys_problem);
  keys.sides = {{"parts of 8192, 16 warps", sort<8192, 16, false>},
                {"parts of 8192, 8 warps", sort<8192, 8, false>},
                {"parts of 4096, 8 warps", sort<4096, 8, false>}};
  keys.codes = {code("sort, counts", samples::sort_count<8192>), code("sort, starts", samples::sort_starts<2048>),
                code("sort, keys", samples::sort_keys<8192>, {.warps = 16})};
  set_rival(keys, "CUB", "sort_keys", keys.extents);
  rows.push_back(std::move(keys));
  Row pairs = family_row("sorts", "sort u32 with u32", {std::int64_t{1} << 24}, {70000}, sort_pairs_problem);
  pairs.sides = {{"parts of 8192, 16 warps", sort<8192, 16, true>},
                 {"parts of 8192, 8 warps", sort<8192, 8, true>},
                 {"parts of 4096, 8 warps", sort<4096, 8, true>}};
  pairs.codes = {code("sort, pairs", samples::sort_pairs<8192, std::uint32_t>, {.warps = 16})};
  set_rival(pairs, "CUB", "sort_pairs", pairs.extents, {"X", "V", "Y", "W"});
  rows.push_back(std::move(pairs));
}

}  // namespace

std::vector<Row> transform_rows() {
  std::vector<Row> rows;
  Row small = family_row("transforms", "transform f32", {1 << 18, 256}, {33, 256}, transform_problem);
  small.sides = {{"8 rows, radix 16", fourier<256, 8, 16>}, {"16 rows, radix 16", fourier<256, 16, 16>}};
  small.codes = {code("transform of 256", samples::fourier<256, 16, 16>)};
  set_rival(small, "cuFFT", "fourier", small.extents);
  rows.push_back(std::move(small));
  Row large = family_row("transforms", "transform f32", {1 << 16, 1024}, {9, 1024}, transform_problem);
  large.sides = {{"4 rows, radix 32", fourier<1024, 4, 32>},
                 {"8 rows, radix 32", fourier<1024, 8, 32>},
                 {"4 rows, radix 16", fourier<1024, 4, 16>}};
  large.codes = {code("transform of 1024", samples::fourier<1024, 8, 32>)};
  set_rival(large, "cuFFT", "fourier", large.extents);
  rows.push_back(std::move(large));
  Row pairs = family_row("all pairs", "forces f32, 20 operations a pair", {65536}, {300}, gravity_problem);
  pairs.sides = {{"128 by 64", gravity<128, 64>}, {"256 by 32", gravity<256, 32>}, {"128 by 128", gravity<128, 128>}};
  pairs.codes = {code("forces, 128 by 64", samples::gravity<128, 64>)};
  pairs.counts_bytes = false;
  pairs.rival = Rival::none;
  set_rival(pairs, "CUDA kernel", "gravity", pairs.extents);
  rows.push_back(std::move(pairs));
  Row sums = family_row("prefix sums", "prefix sums u32", {std::int64_t{1} << 28}, {70000}, scan_problem);
  sums.sides = {{"parts of 4096", scan<4096>}, {"parts of 8192", scan<8192>}, {"parts of 16384", scan<16384>}};
  sums.codes = {code("prefix sums", samples::scan_long<4096>)};
  set_rival(sums, "CUB", "prefix_sum", sums.extents);
  rows.push_back(std::move(sums));
  add_sorting(rows);
  return rows;
}

}  // namespace tegula::bench
