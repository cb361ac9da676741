// Lists the rows of norms: gradients with those of the weights, and a norm fused with all around it.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "../../../samples/norm_kernels.hpp"
#include "gpu/rows/memory_problem.hpp"
#include "tegula/math/philox.hpp"

namespace tegula::bench {
namespace {

constexpr int width = 4096;
constexpr double epsilon = 1e-5;
constexpr float keep = 0.9F, scale = 16;
constexpr int seed_of_dropout = 1234;

/// Counts blocks of kernels that go over all rows: as many as run at once.
std::int64_t blocks() { return std::int64_t{2} * device::best().limits().processors; }

struct Moments {
  double mean = 0, rstd = 0;
};

/// Returns the moments of a row; without `centred` the mean is 0.
Moments moments(HostTensor const& x, std::int64_t row, bool centred) {
  std::int64_t const columns = x.extents()[1], from = row * columns;
  double mean = 0, squares = 0;
  for (std::int64_t j = 0; j < columns && centred; ++j) mean += x.at(from + j) / static_cast<double>(columns);
  for (std::int64_t j = 0; j < columns; ++j) squares += (x.at(from + j) - mean) * (x.at(from + j) - mean);
  return {mean, 1 / std::sqrt(squares / static_cast<double>(columns) + epsilon)};
}

void compare_row_gradient(Verdict& verdict, Inputs const& in, HostTensor const& out, std::int64_t row, bool centred) {
  HostTensor const &x = in.at("X"), &dy = in.at("dY"), &weight = in.at("weight");
  std::int64_t const columns = weight.size(), from = row * columns;
  double const mean = centred ? in.at("mean").at(row) : 0, rstd = in.at("rstd").at(row);
  double across = 0, along = 0;
  for (std::int64_t j = 0; j < columns; ++j) {
    double const scaled = dy.at(from + j) * weight.at(j) / static_cast<double>(columns);
    across += centred ? scaled : 0;
    along += scaled * (x.at(from + j) - mean) * rstd;
  }
  for (std::int64_t j = 0; j < columns; ++j) {
    double const scaled = dy.at(from + j) * weight.at(j);
    double const expected = (scaled - across - (x.at(from + j) - mean) * rstd * along) * rstd;
    verdict.compare(out, from + j, expected, 1.1 * rounding(Element::bf16, expected) + 1e-5 * rstd);
  }
}

/// Compares the gradient of weight or bias: some columns at large sizes.
void compare_column_gradient(Verdict& verdict, Inputs const& in, std::string const& name, HostTensor const& out,
                             bool centred) {
  HostTensor const &x = in.at("X"), &dy = in.at("dY");
  std::int64_t const rows = x.extents()[0], columns = x.extents()[1];
  std::int64_t const step = std::max<std::int64_t>(1, rows * columns >> 22);
  for (std::int64_t j = 0; j < columns; j += step) {
    double sum = 0, size = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
      double const normal =
          name == "dbias" ? 1 : (x.at(i * columns + j) - (centred ? in.at("mean").at(i) : 0)) * in.at("rstd").at(i);
      sum += dy.at(i * columns + j) * normal;
      size += std::abs(dy.at(i * columns + j) * normal);
    }
    verdict.compare(out, j, sum, 1.1 * rounding(Element::bf16, sum) + 1e-6 * size + 1e-6);
  }
}

template <bool centred>
Problem gradient_problem(Extents const& extents, std::uint64_t seed) {
  Problem problem{{}, Element::bf16, extents, extents[0], {}};
  problem.inputs["X"] = normal(Element::bf16, extents, seed, 2);
  problem.inputs["dY"] = normal(Element::bf16, extents, seed + 1);
  problem.inputs["weight"] = normal(Element::bf16, {extents[1]}, seed + 2);
  HostTensor mean(Element::f32, {extents[0]}), rstd(Element::f32, {extents[0]});
  in_parallel(extents[0], [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      Moments const of = moments(problem.inputs.at("X"), i, centred);
      mean.set(i, of.mean);
      rstd.set(i, of.rstd);
    }
  });
  problem.inputs["rstd"] = std::move(rstd);
  problem.more.push_back({"dweight", Element::bf16, {extents[1]}});
  problem.more.push_back({"weight parts", Element::f32, {blocks(), extents[1]}, false});
  if (centred) {
    problem.inputs["mean"] = std::move(mean);
    problem.more.push_back({"dbias", Element::bf16, {extents[1]}});
    problem.more.push_back({"bias parts", Element::f32, {blocks(), extents[1]}, false});
  }
  problem.compare = [](Verdict& verdict, Inputs const& in, HostTensor const& out, std::int64_t row) {
    compare_row_gradient(verdict, in, out, row, centred);
  };
  problem.compare_more = [](Verdict& verdict, Inputs const& in, std::string const& name, HostTensor const& out) {
    compare_column_gradient(verdict, in, name, out, centred);
  };
  return problem;
}

/// Returns the number in [0, 1) of a place.
double uniform(std::uint32_t seed, std::int64_t place) {
  return (math::random_words(seed, place)[static_cast<std::size_t>(place & 3)] >> 8) * 0x1p-24;
}

/// Returns the row of residual + dropout(x), and of its norm.
struct FusedRow {
  FusedRow(Inputs const& in, std::int64_t row) {
    HostTensor const &x = in.at("X"), &residual = in.at("residual");
    std::int64_t const columns = x.extents()[1], from = row * columns;
    double mean = 0, squares = 0;
    for (std::int64_t j = 0; j < columns; ++j) {
      bool const kept = uniform(seed_of_dropout, from + j) < static_cast<double>(keep);
      total.push_back(residual.at(from + j) + (kept ? x.at(from + j) * static_cast<double>(1 / keep) : 0));
      mean += total.back() / static_cast<double>(columns);
    }
    for (double const value : total) squares += (value - mean) * (value - mean);
    double const rstd = 1 / std::sqrt(squares / static_cast<double>(columns) + epsilon);
    for (std::int64_t j = 0; j < columns; ++j)
      norm.push_back((total[static_cast<std::size_t>(j)] - mean) * rstd * in.at("weight").at(j) + in.at("bias").at(j));
  }
  std::vector<double> total, norm;
};

Problem fused_problem(Extents const& extents, std::uint64_t seed) {
  Problem problem{{}, Element::e4m3, extents, extents[0], {}};
  problem.inputs["X"] = normal(Element::bf16, extents, seed, 2);
  problem.inputs["residual"] = normal(Element::bf16, extents, seed + 1, 2);
  problem.inputs["weight"] = normal(Element::bf16, {extents[1]}, seed + 2);
  problem.inputs["bias"] = normal(Element::bf16, {extents[1]}, seed + 3);
  problem.more.push_back({"total", Element::bf16, extents});
  problem.more.push_back({"amax", Element::f32, {1}, true, true});
  problem.compare = [](Verdict& verdict, Inputs const& in, HostTensor const& out, std::int64_t row) {
    std::vector<double> const norm = FusedRow(in, row).norm;
    for (std::size_t j = 0; j < norm.size(); ++j) {
      double const expected = std::clamp(norm[j] * static_cast<double>(scale), -448.0, 448.0);
      verdict.compare(out, row * static_cast<std::int64_t>(norm.size()) + static_cast<std::int64_t>(j), expected,
                      1.01 * rounding(Element::e4m3, expected) + 0x1p-10 + 1e-4);
    }
  };
  problem.compare_more = [](Verdict& verdict, Inputs const& in, std::string const& name, HostTensor const& out) {
    std::int64_t const rows = in.at("X").extents()[0], columns = in.at("X").extents()[1];
    std::int64_t const step = std::max<std::int64_t>(1, rows * columns >> 20);
    double max = 0;
    for (std::int64_t i = 0; i < rows; i += step) {
      FusedRow const row(in, i);
      for (std::int64_t j = 0; j < columns; ++j) {
        auto const at = static_cast<std::size_t>(j);
        max = std::max(max, std::abs(row.norm[at]));
        if (name == "total")
          verdict.compare(out, i * columns + j, row.total[at], 1.01 * rounding(Element::bf16, row.total[at]) + 1e-6);
      }
    }
    if (name != "amax") return;
    // Of some rows at large sizes: a lower bound.
    double const found = out.at(0);
    verdict.compare(out, 0, step == 1 || !(found >= max) ? max : found, 1e-5 * max);
  };
  return problem;
}

using Launch = std::function<void(stream const&)>;

Launch rmsnorm_gradients(Workload const& work, int set) {
  auto const parts = work.view<float, 2>(set, "weight parts");
  auto const rows =
      prepare(samples::rmsnorm_backward<width>, work.view<bf16, 2>(set, "X"), work.view<bf16, 1>(set, "weight"),
              work.view<float, 1>(set, "rstd"), work.view<bf16, 2>(set, "dY"), work.view<bf16, 2>(set, "Y"), parts);
  auto const weights = prepare(samples::column_sums, parts, work.view<bf16, 1>(set, "dweight"));
  return [=](stream const& on) {
    rows(on);
    weights(on);
  };
}

Launch layernorm_gradients(Workload const& work, int set) {
  auto const parts = work.view<float, 2>(set, "weight parts"), bias_parts = work.view<float, 2>(set, "bias parts");
  auto const rows =
      prepare(samples::layernorm_backward<width>, work.view<bf16, 2>(set, "X"), work.view<bf16, 1>(set, "weight"),
              work.view<float, 1>(set, "mean"), work.view<float, 1>(set, "rstd"), work.view<bf16, 2>(set, "dY"),
              work.view<bf16, 2>(set, "Y"), parts, bias_parts);
  auto const weights = prepare(samples::column_sums, parts, work.view<bf16, 1>(set, "dweight"));
  auto const biases = prepare(samples::column_sums, bias_parts, work.view<bf16, 1>(set, "dbias"));
  return [=](stream const& on) {
    rows(on);
    weights(on);
    biases(on);
  };
}

Launch fused(Workload const& work, int set) {
  return prepare(samples::add_norm_quantize<width>, work.view<bf16, 2>(set, "X"), work.view<bf16, 2>(set, "residual"),
                 work.view<bf16, 1>(set, "weight"), work.view<bf16, 1>(set, "bias"), work.view<bf16, 2>(set, "total"),
                 work.view<e4m3, 2>(set, "Y"), work.view<float, 1>(set, "amax"), keep, seed_of_dropout,
                 static_cast<float>(epsilon), scale);
}

}  // namespace

std::vector<Row> norm_rows() {
  std::vector<Row> rows;
  auto const add = [&](char const* kernel, Extents extents, Problem (*problem)(Extents const&, std::uint64_t),
                       Launch (*go)(Workload const&, int), Code made) {
    Row row = family_row("norms", kernel, std::move(extents), {37, 1000}, problem);
    row.sides = {{"tile ops", go}};
    row.codes = {std::move(made)};
    row.graph = true;
    rows.push_back(std::move(row));
  };
  add("RMSNorm backward bf16", {32768, width}, gradient_problem<false>, rmsnorm_gradients,
      code("RMSNorm backward", samples::rmsnorm_backward<width>));
  add("layernorm backward bf16", {32768, width}, gradient_problem<true>, layernorm_gradients,
      code("layernorm backward", samples::layernorm_backward<width>));
  add("residual, dropout, layernorm, e4m3", {16384, width}, fused_problem, fused,
      code("residual, dropout, layernorm, e4m3", samples::add_norm_quantize<width>));
  rows[0].codes.push_back(code("column sums", samples::column_sums));
  return rows;
}

}  // namespace tegula::bench
