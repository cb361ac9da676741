// Lists the attention of the table.
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "gpu/rows/kernels.hpp"
#include "gpu/rows/row.hpp"

namespace tegula::bench {
namespace {

/// Holds the rate of a library that an H200 gave; see bench/results/.
struct Peer {
  std::int64_t dimension, length;
  bool causal;
  char const* name;
  int rate;  // TFLOP/s
};

constexpr Peer peers[] = {
    {128, 1024, false, "cuDNN", 624},
    {128, 4096, false, "cuDNN", 684},
    {128, 16384, false, "cuDNN", 700},
    {128, 1024, true, "cuDNN", 449},
    {128, 4096, true, "cuDNN", 583},
    {128, 16384, true, "cuDNN", 643},
    {64, 1024, false, "FlashAttention-3", 391},
    {64, 4096, false, "FlashAttention-3", 532},
    {64, 16384, false, "FlashAttention-3", 597},
    {64, 1024, true, "FlashAttention-3", 310},
    {64, 4096, true, "FlashAttention-3", 496},
    {64, 16384, true, "FlashAttention-3", 578},
};

constexpr std::int64_t tokens = 16384;

/// Makes a row of 16 Ki tokens; the heads together are 2048 wide where the dimension divides it.
template <class K, class... More>
Row attention_row(std::int64_t dimension, std::int64_t length, bool causal, int group, K const& kernel,
                  std::string const& tiles, More... more) {
  std::int64_t const heads = dimension == 96 || dimension == 192 ? 1536 / dimension : 2048 / dimension;
  std::string const mask = causal ? ", causal" : "";
  std::string const grouped = group == 1 ? "" : fmt::format(", {} heads of queries to one of keys", group);
  bool const main = group == 1 && (dimension == 64 || dimension == 128);
  Row row{main ? "attention, heads of " + std::to_string(dimension) + mask : "attention, other heads",
          fmt::format("gpu attention{}{}", mask, grouped),
          {tokens / length, heads, length},
          {1, 8, 130}};
  row.quick = length == 4096 && main;
  row.make = [=](stream const& order, std::vector<std::int64_t> const& extents, std::uint64_t seed, bool one_set) {
    AttentionForm form{extents.at(0), extents.at(1), extents.at(2), dimension, causal};
    form.group = group;
    return make_attention_of(order, form, seed, one_set);
  };
  auto const scale = static_cast<float>(std::numbers::log2e / std::sqrt(static_cast<double>(dimension)));
  row.sides = {{tiles, [=](Workload const& work, int set) {
                  return prepare(kernel, work.view<bf16, 3>(set, "Q"), work.view<bf16, 3>(set, "K"),
                                 work.view<bf16, 3>(set, "V"), work.view<bf16, 3>(set, "O"), scale, more...);
                }}};
  row.codes = {code(fmt::format("attention{}{}, d {}, {}", mask, grouped, dimension, tiles), kernel)};
  for (Peer const& peer : peers)
    if (main && peer.dimension == dimension && peer.length == length && peer.causal == causal)
      row.note = fmt::format("bar: {} {} TFLOP/s", peer.name, peer.rate);
  return row;
}

template <int D, int BM, int BN>
void add_main(std::vector<Row>& rows) {
  std::string const tiles = fmt::format("tiles of {} x {}", BM, BN);
  for (std::int64_t const length : {1024, 4096, 16384})
    rows.push_back(attention_row(D, length, false, 1, samples::attention<BM, BN, D>, tiles));
  for (std::int64_t const length : {1024, 4096, 16384})
    rows.push_back(attention_row(D, length, true, 1, causal_attention<BM, BN, D>, tiles));
}

template <int D, int BM, int BN>
void add_other(std::vector<Row>& rows) {
  std::string const tiles = fmt::format("tiles of {} x {}", BM, BN);
  rows.push_back(attention_row(D, 4096, false, 1, samples::attention<BM, BN, D>, tiles));
  rows.push_back(attention_row(D, 4096, true, 1, causal_attention<BM, BN, D>, tiles));
}

}  // namespace

std::vector<Row> attention_rows() {
  std::vector<Row> rows;
  add_main<128, 128, 128>(rows);
  add_main<64, 128, 128>(rows);
  add_other<32, 128, 128>(rows);
  add_other<96, 128, 128>(rows);
  add_other<192, 128, 64>(rows);
  add_other<256, 128, 64>(rows);
  for (std::int64_t const length : {4096, 16384})
    rows.push_back(attention_row(128, length, false, 8, grouped_attention<128, 128, 128>, "tiles of 128 x 128", 8));
  return rows;
}

}  // namespace tegula::bench
