// Lists the products of the table.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "../../../samples/tuned_products.hpp"
#include "gpu/rows/kernels.hpp"
#include "gpu/rows/row.hpp"

namespace tegula::bench {
namespace {

using Extents = std::vector<std::int64_t>;

template <class T, class Result = T, class K>
Side side(std::string variant, K const& kernel, CompileOptions const& options = {}) {
  return {std::move(variant), [kernel, options](Workload const& work, int set) {
            return prepare(with(options), kernel, work.view<T, 2>(set, "A"), work.view<T, 2>(set, "B"),
                           work.view<Result, 2>(set, "C"));
          }};
}

/// Makes a side of several kernels; its remark is the one that a launch takes.
template <class K>
Side chosen(std::string variant, K const& kernels) {
  Side result = side<bf16>(std::move(variant), kernels);
  result.remark = [kernels](Workload const& work) {
    return choice(kernels, work.view<bf16, 2>(0, "A"), work.view<bf16, 2>(0, "B"), work.view<bf16, 2>(0, "C")).label;
  };
  return result;
}

std::vector<Code> product_codes() {
  return {code("product 128x256", samples::product<128, 256, 64>),
          code("product 128x128", samples::product<128, 128, 64>),
          code("product 128x128, split 2", samples::product<128, 128, 64>, {.split = 2}),
          code("product 128x64", samples::product<128, 64, 128>),
          code("product 64x128", samples::product<64, 128, 128>),
          code("product 64x64, 6 stages", samples::product<64, 64, 128>, {.stages = 6}),
          code("product 64x64, split 2", samples::product<64, 64, 128>, {.split = 2}),
          code("product 32x64, 8 stages", samples::product<32, 64, 128>, {.stages = 8}),
          code("product 16x64, 8 stages", samples::product<16, 64, 128>, {.stages = 8}),
          code("product 16x64, split 2", samples::product<16, 64, 128>, {.stages = 6, .split = 2})};
}

void add_bf16(std::vector<Row>& rows) {
  constexpr double short_work = 5e9;  // under about 40 us of a launch: the calling thread may not keep up
  for (Extents const& extents : std::vector<Extents>{{8192, 8192, 8192},
                                                     {4096, 4096, 4096},
                                                     {2048, 2048, 2048},
                                                     {4096, 4096, 16384},
                                                     {4000, 4000, 4000},
                                                     {1024, 1024, 1024},
                                                     {512, 512, 512},
                                                     {1, 4096, 4096},
                                                     {1, 8192, 8192},
                                                     {16, 4096, 4096},
                                                     {16, 8192, 8192},
                                                     {3072, 5120, 1536},
                                                     {128, 28672, 8192},
                                                     {8192, 1000, 4104},
                                                     {8192, 1000, 4096}}) {
    double const work = 2.0 * static_cast<double>(extents[0] * extents[1]) * static_cast<double>(extents[2]);
    Row row{"product, bf16", "gpu product bf16", extents, {130, 264, 72}};
    row.quick = extents == Extents{4096, 4096, 4096} || extents == Extents{1024, 1024, 1024};
    row.graph = work < short_work;
    row.make = make_product;
    row.sides = {chosen("tuned table", samples::products), chosen("cost model", samples::product_variants)};
    row.codes = product_codes();
    row.rival = Rival::library;
    rows.push_back(std::move(row));
  }
}

/// Adds a product whose results pass through `epilogue`.
template <Gelu by, class F>
void add_gelu(std::vector<Row>& rows, std::string const& name, F epilogue) {
  auto const fused = samples::gemm<128, 256, 64>(epilogue);
  for (std::int64_t const n : {8192, 4096, 2048}) {
    Row row{"product, bias and GELU, bf16", "gpu product " + name, {n, n, n}, {130, 264, 72}};
    row.quick = n == 4096;
    row.make = make_gelu_product<by>;
    row.sides = {{"fused", [fused](Workload const& work, int set) {
                    return prepare(fused, work.view<bf16, 2>(set, "A"), work.view<bf16, 2>(set, "B"),
                                   work.view<float, 1>(set, "bias"), work.view<bf16, 2>(set, "C"));
                  }}};
    row.codes = {code("product 128x256, bias and " + name, fused)};
    row.rival = Rival::plain;
    row.plain = side<bf16>("plain product", samples::product<128, 256, 64>);
    rows.push_back(std::move(row));
  }
}

template <class T, class Result, class K>
void add_by_columns(std::vector<Row>& rows, std::string const& name, K const& kernel) {
  for (std::int64_t const n : {8192, 4096}) {
    Row row{"product, " + name, "gpu product " + name, {n, n, n}, {130, 264, 144}};
    row.quick = n == 4096;
    row.make = make_product_of<element_of<T>::value, element_of<Result>::value>;
    auto const add_side = [&](char const* label, CompileOptions const& options) {
      row.sides.push_back(side<T, Result>(fmt::format("tiles of 128 x 256{}", label), kernel, options));
    };
    add_side("", {});
    add_side(", serpentine", {.serpentine = Choice::on});
    add_side(", serpentine, three stages", {.stages = 3, .serpentine = Choice::on});
    add_side(", serpentine, shared", {.share = 2, .serpentine = Choice::on});
    row.codes = {code("product 128x256, " + name, kernel)};
    row.rival = Rival::library;
    rows.push_back(std::move(row));
  }
}

}  // namespace

std::vector<Row> product_rows() {
  std::vector<Row> rows;
  add_bf16(rows);
  add_gelu<Gelu::exponential>(rows, "gelu", bias_gelu);
  add_gelu<Gelu::fast_tanh>(rows, "gelu by fast_tanh", bias_fast_gelu);
  add_by_columns<float, float>(rows, "tf32", product_by_columns<float, float, float, 128, 256, 32, tf32>);
  add_by_columns<e4m3, bf16>(rows, "e4m3", product_by_columns<e4m3, float, bf16, 128, 256, 128>);
  add_by_columns<std::int8_t, std::int32_t>(rows, "i8",
                                            product_by_columns<std::int8_t, std::int32_t, std::int32_t, 128, 256, 128>);
  return rows;
}

}  // namespace tegula::bench
