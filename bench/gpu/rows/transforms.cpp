// Lists the rows of transforms of rows, sums over all pairs, and prefix sums.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <string>
#include <utility>

#include "../../../samples/scan_kernels.hpp"
#include "../../../samples/transform_kernels.hpp"
#include "gpu/rows/memory_problem.hpp"
#include "rig/rivals.hpp"

namespace tegula::bench {
namespace {

using Launch = std::function<void(stream const&)>;

/// Sets a rival that nvcc compiled, of tensors X and Y; without one the row keeps its own.
void set_rival(Row& row, std::string const& variant, std::string const& name, std::vector<std::int64_t> sizes) {
  if (!rivals_are_named()) return;
  row.rival = Rival::plain;
  row.plain = Side{variant, [=](Workload const& work, int set) {
                     return make_rival(name, work.addresses(set, {"X", "Y"}), sizes);
                   }};
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
  return rows;
}

}  // namespace tegula::bench
