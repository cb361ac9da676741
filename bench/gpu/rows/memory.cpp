// Lists the kernels of the table that the memory limits, with their problems.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "gpu/rows/kernels.hpp"
#include "gpu/rows/memory_problem.hpp"

namespace tegula::bench {
namespace {

constexpr double epsilon = 1e-5;

template <class T>
Problem rmsnorm_problem(Extents const& extents, std::uint64_t seed) {
  constexpr Element element = element_of<T>::value;
  Problem problem{{}, element, extents, extents[0], {}};
  problem.inputs["X"] = normal(element, extents, seed, 2);
  problem.inputs["weight"] = normal(element, {extents[1]}, seed + 1);
  problem.compare = [](Verdict& verdict, Inputs const& in, HostTensor const& out, std::int64_t row) {
    HostTensor const &x = in.at("X"), &weight = in.at("weight");
    std::int64_t const columns = weight.size(), from = row * columns;
    double squares = 0;
    for (std::int64_t j = 0; j < columns; ++j) squares += x.at(from + j) * x.at(from + j);
    double const scale = 1 / std::sqrt(squares / static_cast<double>(columns) + epsilon);
    for (std::int64_t j = 0; j < columns; ++j) {
      double const expected = x.at(from + j) * scale * weight.at(j);
      verdict.compare(out, from + j, expected, 2 * rounding(element, expected) + 2e-6 * (std::abs(expected) + 1e-3));
    }
  };
  return problem;
}

template <class T>
Problem transpose_problem(Extents const& extents, std::uint64_t seed) {
  Problem problem{{}, element_of<T>::value, {extents[1], extents[0]}, extents[1], {}};
  problem.inputs["X"] = normal(problem.element, extents, seed);
  problem.compare = [](Verdict& verdict, Inputs const& in, HostTensor const& out, std::int64_t row) {
    HostTensor const& x = in.at("X");
    std::int64_t const rows = out.extents()[0], columns = out.extents()[1];
    for (std::int64_t j = 0; j < columns; ++j) verdict.compare(out, row * columns + j, x.at(j * rows + row), 1e-30);
  };
  return problem;
}

Problem gelu_problem(Extents const& extents, std::uint64_t seed) {
  Problem problem{{}, Element::bf16, extents, extents[0], {}};
  problem.inputs["X"] = normal(Element::bf16, extents, seed, 2);
  problem.inputs["bias"] = normal(Element::bf16, {extents[1]}, seed + 1);
  problem.compare = [](Verdict& verdict, Inputs const& in, HostTensor const& out, std::int64_t row) {
    HostTensor const& bias = in.at("bias");
    for (std::int64_t j = 0; j < bias.size(); ++j) {
      double const expected = tanh_gelu(in.at("X").at(row * bias.size() + j) + bias.at(j));
      verdict.compare(out, row * bias.size() + j, expected, 1.1 * rounding(Element::bf16, expected) + 1e-5);
    }
  };
  return problem;
}

Problem sums_problem(Extents const& extents, std::uint64_t seed) {
  Problem problem{{}, Element::f32, {extents[0]}, extents[0], {}};
  problem.inputs["X"] = normal(Element::f32, extents, seed);
  problem.compare = [columns = extents[1]](Verdict& verdict, Inputs const& in, HostTensor const& out,
                                           std::int64_t row) {
    double sum = 0, size = 0;
    for (std::int64_t j = 0; j < columns; ++j) {
      double const value = in.at("X").at(row * columns + j);
      sum += value;
      size += std::abs(value);
    }
    verdict.compare(out, row, sum, 1e-6 * size + 1e-30);
  };
  return problem;
}

Problem addition_problem(Extents const& extents, std::uint64_t seed) {
  constexpr std::int64_t piece = 4096;
  Problem problem{{}, Element::f32, extents, (extents[0] + piece - 1) / piece, {}};
  problem.inputs["X"] = normal(Element::f32, extents, seed);
  problem.inputs["B"] = normal(Element::f32, extents, seed + 1);
  problem.compare = [](Verdict& verdict, Inputs const& in, HostTensor const& out, std::int64_t part) {
    for (std::int64_t i = part * piece; i < std::min((part + 1) * piece, out.size()); ++i) {
      double const expected = in.at("X").at(i) + in.at("B").at(i);
      verdict.compare(out, i, expected, rounding(Element::f32, expected) + 1e-30);
    }
  };
  return problem;
}

template <class Prepare>
Row row_of(std::string const& kernel, Extents extents, Extents small, Code made, Prepare const& go) {
  Row row{"memory", "gpu " + kernel, std::move(extents), std::move(small)};
  row.sides = {{"tile ops", go}};
  row.codes = {std::move(made)};
  row.rival = Rival::copy;
  row.counts_bytes = true;
  return row;
}

/// Adds a row of a problem of this file.
template <class Prepare>
void add(std::vector<Row>& rows, std::string const& kernel, Problem (*problem)(Extents const&, std::uint64_t),
         Extents extents, Extents small, Code made, Prepare const& go) {
  Row row = row_of(kernel, std::move(extents), std::move(small), std::move(made), go);
  row.make = [problem](stream const& order, Extents const& of, std::uint64_t seed, bool one_set) {
    return make_memory_work(order, problem(of, seed), one_set);
  };
  rows.push_back(std::move(row));
}

/// Prepares a kernel whose only tensors are X and Y.
template <class T, class K>
auto from_x_to_y(K const& kernel) {
  return [kernel](Workload const& work, int set) {
    return prepare(kernel, work.view<T, 2>(set, "X"), work.view<T, 2>(set, "Y"));
  };
}

template <class T>
auto normalise() {
  return [](Workload const& work, int set) {
    return prepare(rmsnorm<T, 4096>, work.view<T, 2>(set, "X"), work.view<T, 1>(set, "weight"),
                   work.view<T, 2>(set, "Y"), static_cast<float>(epsilon));
  };
}

}  // namespace

std::vector<Row> memory_rows() {
  Extents const large = {32768, 4096}, square = {8192, 8192}, small = {5, 1000}, ragged = {130, 72};
  std::vector<Row> rows;
  add(rows, "rmsnorm bf16", rmsnorm_problem<bf16>, large, small, code("rmsnorm bf16", rmsnorm<bf16, 4096>),
      normalise<bf16>());
  add(rows, "rmsnorm f32", rmsnorm_problem<float>, large, small, code("rmsnorm f32", rmsnorm<float, 4096>),
      normalise<float>());
  add(rows, "transpose bf16, tiles of 64", transpose_problem<bf16>, square, ragged,
      code("transpose bf16, tiles of 64", transpose<bf16, 64>), from_x_to_y<bf16>(transpose<bf16, 64>));
  add(rows, "transpose bf16, tiles of 128", transpose_problem<bf16>, square, ragged,
      code("transpose bf16, tiles of 128", transpose<bf16, 128>), from_x_to_y<bf16>(transpose<bf16, 128>));
  add(rows, "transpose f32, tiles of 64", transpose_problem<float>, square, ragged,
      code("transpose f32, tiles of 64", transpose<float, 64>), from_x_to_y<float>(transpose<float, 64>));
  add(rows, "bias and GELU bf16", gelu_problem, large, small, code("bias and GELU bf16", bias_gelu_rows),
      [](Workload const& work, int set) {
        return prepare(bias_gelu_rows, work.view<bf16, 2>(set, "X"), work.view<bf16, 1>(set, "bias"),
                       work.view<bf16, 2>(set, "Y"));
      });
  rows.push_back(row_of("softmax f32", large, small, code("softmax f32", samples::softmax<4096>),
                        from_x_to_y<float>(samples::softmax<4096>)));
  rows.back().make = make_softmax;
  rows.push_back(row_of(
      "layernorm bf16", large, small, code("layernorm bf16", layernorm<4096>), [](Workload const& work, int set) {
        return prepare(layernorm<4096>, work.view<bf16, 2>(set, "X"), work.view<bf16, 1>(set, "Gamma"),
                       work.view<bf16, 1>(set, "Beta"), work.view<bf16, 2>(set, "Y"), static_cast<float>(epsilon));
      }));
  rows.back().make = make_layernorm;
  add(rows, "row sums f32", sums_problem, large, small, code("row sums f32", row_sums<4096>),
      [](Workload const& work, int set) {
        return prepare(row_sums<4096>, work.view<float, 2>(set, "X"), work.view<float, 1>(set, "Y"));
      });
  add(rows, "vector addition f32", addition_problem, {std::int64_t{1} << 26}, {5000},
      code("vector addition f32", samples::vadd), [](Workload const& work, int set) {
        return prepare(samples::vadd, work.view<float, 1>(set, "X"), work.view<float, 1>(set, "B"),
                       work.view<float, 1>(set, "Y"));
      });
  for (Row& row : rows) row.quick = row.kernel == "gpu softmax f32" || row.kernel == "gpu transpose bf16, tiles of 64";
  return rows;
}

}  // namespace tegula::bench
