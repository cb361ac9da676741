// Lists the rows of kernels whose rows one multiprocessor does not hold.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "../../../samples/long_row_kernels.hpp"
#include "gpu/rows/memory_problem.hpp"

namespace tegula::bench {
namespace {

constexpr int width = 1 << 17;

/// Holds the maximum of a row and the sum of exponentials below it.
struct Exponentials {
  Exponentials(HostTensor const& x, std::int64_t row) : columns(x.extents()[1]), from(row * columns) {
    for (std::int64_t j = 0; j < columns; ++j) top = std::max(top, x.at(from + j));
    for (std::int64_t j = 0; j < columns; ++j) total += std::exp(x.at(from + j) - top);
  }
  std::int64_t columns, from;
  double top = -1e300, total = 0;
};

Problem softmax_problem(Extents const& extents, std::uint64_t seed) {
  Problem problem{{}, Element::bf16, extents, extents[0], {}};
  problem.inputs["X"] = normal(Element::bf16, extents, seed, 2);
  problem.compare = [](Verdict& verdict, Inputs const& in, HostTensor const& out, std::int64_t row) {
    HostTensor const& x = in.at("X");
    Exponentials const of(x, row);
    for (std::int64_t j = 0; j < of.columns; ++j) {
      double const expected = std::exp(x.at(of.from + j) - of.top) / of.total;
      verdict.compare(out, of.from + j, expected, 1.1 * rounding(Element::bf16, expected) + 1e-30);
    }
  };
  return problem;
}

/// Returns the factor of gradients, which would be 1 / rows in training.
constexpr float gradient_scale = 0.25F;

Problem cross_entropy_problem(Extents const& extents, std::uint64_t seed) {
  Problem problem{{}, Element::bf16, extents, extents[0], {}};
  problem.inputs["X"] = normal(Element::bf16, extents, seed, 2);
  HostTensor labels(Element::i32, {extents[0]});
  for (std::int64_t i = 0; i < extents[0]; ++i)
    labels.set(
        i, i % 17 == 3 ? -1 : static_cast<double>((i * 7919 + static_cast<std::int64_t>(seed % 1000)) % extents[1]));
  problem.inputs["labels"] = std::move(labels);
  problem.more.push_back({"loss", Element::f32, {extents[0]}});
  problem.compare = [](Verdict& verdict, Inputs const& in, HostTensor const& out, std::int64_t row) {
    HostTensor const& x = in.at("X");
    auto const label = static_cast<std::int64_t>(in.at("labels").at(row));
    Exponentials const of(x, row);
    for (std::int64_t j = 0; j < of.columns; ++j) {
      double const share = std::exp(x.at(of.from + j) - of.top) / of.total - (j == label ? 1 : 0);
      double const expected = label < 0 ? 0 : share * static_cast<double>(gradient_scale);
      verdict.compare(out, of.from + j, expected, 1.1 * rounding(Element::bf16, expected) + 1e-30);
    }
  };
  problem.compare_more = [](Verdict& verdict, Inputs const& in, std::string const&, HostTensor const& out) {
    std::int64_t const rows = out.size(), step = std::max<std::int64_t>(1, rows / 256);
    for (std::int64_t row = 0; row < rows; row += step) {
      auto const label = static_cast<std::int64_t>(in.at("labels").at(row));
      Exponentials const of(in.at("X"), row);
      double const expected = label < 0 ? 0 : of.top + std::log(of.total) - in.at("X").at(of.from + label);
      verdict.compare(out, row, expected, 1e-5 * (1 + std::abs(expected)));
    }
  };
  return problem;
}

}  // namespace

std::vector<Row> long_rows() {
  std::vector<Row> rows;
  Row softmax = family_row("long rows", "softmax bf16", {16384, width}, {3, 100000}, softmax_problem);
  softmax.sides = {{"tile ops", [](Workload const& work, int set) {
                      return prepare(samples::softmax_rows<bf16, width>, work.view<bf16, 2>(set, "X"),
                                     work.view<bf16, 2>(set, "Y"));
                    }}};
  softmax.codes = {code("softmax bf16", samples::softmax_rows<bf16, width>)};
  rows.push_back(std::move(softmax));
  Row loss =
      family_row("long rows", "cross-entropy bf16, both ways", {8192, 128256}, {5, 128256}, cross_entropy_problem);
  loss.sides = {{"tile ops", [](Workload const& work, int set) {
                   return prepare(samples::cross_entropy_rows<width>, work.view<bf16, 2>(set, "X"),
                                  work.view<int, 1>(set, "labels"), work.view<float, 1>(set, "loss"),
                                  work.view<bf16, 2>(set, "Y"), gradient_scale);
                 }}};
  loss.codes = {code("cross-entropy bf16, both ways", samples::cross_entropy_rows<width>)};
  rows.push_back(std::move(loss));
  return rows;
}

}  // namespace tegula::bench
