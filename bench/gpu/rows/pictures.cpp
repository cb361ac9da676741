// Lists the rows of convolutions of pictures.
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

#include "../../../samples/convolution_kernels.hpp"
#include "gpu/rows/memory_problem.hpp"

namespace tegula::bench {
namespace {

using Launch = std::function<void(stream const&)>;
constexpr std::int64_t size = 3;  // of the filters

/// Compares the results of one pixel: extents are pictures, rows, columns, channels, output channels (0: depthwise).
void compare_pixel(Verdict& verdict, Inputs const& in, HostTensor const& out, std::int64_t part) {
  HostTensor const &x = in.at("X"), &filters = in.at("filters");
  std::int64_t const height = x.extents()[1], width = x.extents()[2], channels = x.extents()[3];
  bool const depthwise = filters.extents().size() == 3;
  std::int64_t const results = out.extents()[3], i = part / width % height, j = part % width;
  for (std::int64_t n = 0; n < results; ++n) {
    double sum = 0, squares = 0;
    for (std::int64_t down = 0; down < size; ++down)
      for (std::int64_t right = 0; right < size; ++right) {
        std::int64_t const row = i + down - size / 2, column = j + right - size / 2, tap = down * size + right;
        if (row < 0 || row >= height || column < 0 || column >= width) continue;
        std::int64_t const pixel = (part / width / height * height + row) * width + column;
        for (std::int64_t c = depthwise ? n : 0; c < (depthwise ? n + 1 : channels); ++c) {
          double const weight =
              depthwise ? filters.at(tap * channels + c) : filters.at((tap * channels + c) * results + n);
          double const term = x.at(pixel * channels + c) * weight;
          sum += term;
          squares += term * term;
        }
      }
    verdict.compare(out, part * results + n, sum,
                    1.1 * rounding(Element::bf16, sum) + 1e-5 * std::sqrt(squares) + 1e-6);
  }
}

Problem picture_problem(Extents const& extents, std::uint64_t seed) {
  std::int64_t const pictures = extents.at(0), height = extents.at(1), width = extents.at(2), channels = extents.at(3);
  std::int64_t const results = extents.at(4) == 0 ? channels : extents.at(4);
  Problem problem{{}, Element::bf16, {pictures, height, width, results}, pictures * height * width, compare_pixel};
  problem.inputs["X"] = normal(Element::bf16, {pictures, height, width, channels}, seed);
  problem.inputs["filters"] =
      normal(Element::bf16, extents.at(4) == 0 ? Extents{size, size, channels} : Extents{size, size, channels, results},
             seed + 1);
  if (extents.at(4) != 0) problem.work = 2 * pictures * height * width * channels * results * size * size;
  problem.shape =
      shape_text({pictures, height, width, channels}) + (extents.at(4) == 0 ? "" : fmt::format(" to {}", results));
  return problem;
}

template <int BP, int BH, int BW, int BN>
Launch convolution(Workload const& work, int set) {
  return prepare(samples::convolution<BP, BH, BW, BN, 64>, work.view<bf16, 4>(set, "X"),
                 work.view<bf16, 4>(set, "filters"), work.view<bf16, 4>(set, "Y"));
}

template <int BH, int BW, int BC>
Launch depthwise(Workload const& work, int set) {
  return prepare(samples::depthwise<BH, BW, BC>, work.view<bf16, 4>(set, "X"), work.view<bf16, 3>(set, "filters"),
                 work.view<bf16, 4>(set, "Y"));
}

}  // namespace

std::vector<Row> picture_rows() {
  std::vector<Row> rows;
  Row all = family_row("convolutions", "convolution 3 x 3 bf16", {32, 56, 56, 256, 256}, {3, 13, 10, 72, 40},
                       picture_problem);
  all.counts_bytes = false;
  all.rival = Rival::none;
  all.sides = {{"2 x 8 x 8 pixels, 256 channels", convolution<2, 8, 8, 256>},
               {"2 x 8 x 8 pixels, 128 channels", convolution<2, 8, 8, 128>},
               {"1 x 8 x 16 pixels, 256 channels", convolution<1, 8, 16, 256>}};
  all.codes = {code("convolution", samples::convolution<2, 8, 8, 256, 64>)};
  rows.push_back(std::move(all));
  Row each = family_row("convolutions, depthwise", "depthwise 3 x 3 bf16", {32, 56, 56, 256, 0}, {3, 13, 10, 72, 0},
                        picture_problem);
  each.sides = {
      {"8 x 8 x 64", depthwise<8, 8, 64>}, {"4 x 8 x 64", depthwise<4, 8, 64>}, {"2 x 8 x 256", depthwise<2, 8, 256>}};
  each.codes = {code("depthwise, 8 x 8 x 64", samples::depthwise<8, 8, 64>),
                code("depthwise, 4 x 8 x 64", samples::depthwise<4, 8, 64>)};
  rows.push_back(std::move(each));
  return rows;
}

}  // namespace tegula::bench
