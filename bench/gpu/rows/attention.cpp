// Lists the attention of the table.
#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "../../../samples/attention_kernels.hpp"
#include "gpu/rows/kernels.hpp"
#include "gpu/rows/row.hpp"

namespace tegula::bench {
namespace {

/// Holds the rate that a library gave on an H200 (bench/results).
struct Peer {
  char const* work;  ///< name_of
  std::int64_t dimension, length;
  char const* name;
  int rate;  ///< TFLOP/s
};

constexpr Peer peers[] = {
    {"attention", 128, 1024, "cuDNN", 624},
    {"attention", 128, 4096, "cuDNN", 684},
    {"attention", 128, 16384, "cuDNN", 700},
    {"attention, causal", 128, 1024, "cuDNN", 449},
    {"attention, causal", 128, 4096, "cuDNN", 583},
    {"attention, causal", 128, 16384, "cuDNN", 643},
    {"attention", 64, 1024, "FlashAttention-3", 391},
    {"attention", 64, 4096, "FlashAttention-3", 532},
    {"attention", 64, 16384, "FlashAttention-3", 597},
    {"attention, causal", 64, 1024, "FlashAttention-3", 310},
    {"attention, causal", 64, 4096, "FlashAttention-3", 496},
    {"attention, causal", 64, 16384, "FlashAttention-3", 578},
    {"attention, e4m3", 128, 4096, "cuDNN", 976},
    {"attention, e4m3", 128, 16384, "cuDNN", 1027},
    {"attention backward", 64, 1024, "cuDNN", 371},
    {"attention backward", 64, 4096, "cuDNN", 459},
    {"attention backward", 64, 16384, "cuDNN", 475},
    {"attention backward", 128, 1024, "cuDNN", 444},
    {"attention backward", 128, 4096, "cuDNN", 572},
    {"attention backward", 128, 16384, "cuDNN", 593},
    {"attention backward, causal", 64, 1024, "cuDNN", 251},
    {"attention backward, causal", 64, 4096, "cuDNN", 388},
    {"attention backward, causal", 64, 16384, "cuDNN", 455},
    {"attention backward, causal", 128, 1024, "cuDNN", 319},
    {"attention backward, causal", 128, 4096, "cuDNN", 489},
    {"attention backward, causal", 128, 16384, "cuDNN", 584},
};

constexpr std::int64_t tokens = 16384;

/// Returns batches and heads for 16 Ki tokens; the heads together are 2048 wide, or 1536 where that is no whole number.
AttentionForm form_of(std::int64_t dimension, std::int64_t length, bool causal, int group = 1) {
  AttentionForm form{tokens / length, (2048 % dimension == 0 ? 2048 : 1536) / dimension, length, dimension, causal};
  form.group = group;
  return form;
}

std::string name_of(AttentionForm const& form) {
  if (form.element == Element::e4m3) return "attention, e4m3";
  if (form.backward) return std::string("attention backward") + (form.causal ? ", causal" : "");
  std::string const groups = form.group == 1 ? "" : fmt::format(", {} heads of queries to one of keys", form.group);
  return "attention" + std::string(form.causal ? ", causal" : "") + groups;
}

/// Returns the rows that share a table with this one.
std::string group_of(AttentionForm const& form) {
  if (form.backward) return "attention, gradients";
  if (form.element == Element::e4m3) return "attention, e4m3";
  bool const frequent = form.group == 1 && (form.dimension == 64 || form.dimension == 128);
  return frequent ? fmt::format("attention, heads of {}{}", form.dimension, form.causal ? ", causal" : "")
                  : "attention, other heads";
}

/// Makes a row without sides.
Row row_of(AttentionForm const& form) {
  Row row{group_of(form),
          "gpu " + name_of(form),
          {form.batch, form.heads, form.length, form.dimension},
          {1, 8, 130, form.dimension}};
  bool const frequent = row.group.find("heads of") != std::string::npos;
  row.quick = frequent && form.length == 4096;
  row.make = [form](stream const& order, std::vector<std::int64_t> const& extents, std::uint64_t seed, bool one_set) {
    AttentionForm here = form;
    here.batch = extents.at(0);
    here.heads = extents.at(1);
    here.length = extents.at(2);
    return (form.backward ? make_attention_backward : make_attention_of)(order, here, seed, one_set);
  };
  for (Peer const& peer : peers)
    if (name_of(form) == peer.work && peer.dimension == form.dimension && peer.length == form.length)
      row.bar = Bar{peer.name, static_cast<double>(peer.rate)};
  return row;
}

template <class K, class... More>
void add_side(Row& row, AttentionForm const& form, std::string const& tiles, CompileOptions const& options,
              K const& kernel, More... more) {
  auto const scale = static_cast<float>(std::numbers::log2e / std::sqrt(static_cast<double>(form.dimension)));
  row.sides.push_back({tiles, [=](Workload const& work, int set) {
                         return prepare(with(options), kernel, work.view<bf16, 3>(set, "Q"),
                                        work.view<bf16, 3>(set, "K"), work.view<bf16, 3>(set, "V"),
                                        work.view<bf16, 3>(set, "O"), scale, more...);
                       }});
  row.codes.push_back(code(fmt::format("{}, d {}, {}", name_of(form), form.dimension, tiles), kernel, options));
}

/// Adds attention of e4m3, whose V is transposed.
template <int D, int BM, int BN>
void add_e4m3(Row& row, AttentionForm const& form) {
  std::string const tiles = fmt::format("tiles of {} x {}", BM, BN);
  auto const& kernel = samples::e4m3_attention<BM, BN, D>;
  float const scale = 1 / std::sqrt(static_cast<float>(D));
  row.sides.push_back({tiles, [=](Workload const& work, int set) {
                         return prepare(kernel, work.view<e4m3, 3>(set, "Q"), work.view<e4m3, 3>(set, "K"),
                                        work.view<e4m3, 3>(set, "V"), work.view<bf16, 3>(set, "O"), scale, 1.F);
                       }});
  row.codes.push_back(code(fmt::format("{}, d {}, {}", name_of(form), D, tiles), kernel));
}

/// Holds the tensors of a way back.
struct BackwardTensors {
  BackwardTensors(Workload const& work, int set)
      : Q(work.view<bf16, 3>(set, "Q")),
        K(work.view<bf16, 3>(set, "K")),
        V(work.view<bf16, 3>(set, "V")),
        O(work.view<bf16, 3>(set, "O")),
        dO(work.view<bf16, 3>(set, "dO")),
        dQ(part(work, set, 0)),
        dK(part(work, set, 1)),
        dV(part(work, set, 2)),
        lse(work.view<float, 2>(set, "lse")),
        delta(work.view<float, 2>(set, "delta")),
        sums(work.view<float, 3>(set, "sums")) {}
  tensor_view<bf16, 3> Q, K, V, O, dO, dQ, dK, dV;
  tensor_view<float, 2> lse, delta;
  tensor_view<float, 3> sums;

 private:
  static tensor_view<bf16, 3> part(Workload const& work, int set, std::int64_t i) {
    auto const all = work.view<bf16, 3>(set, "gradients");
    std::int64_t const heads = all.extent(0) / 3;
    return all.slice(0, i * heads, (i + 1) * heads);
  }
};

using Steps = std::vector<std::function<void(stream const&)>>;

/// Adds a way back in several kernels; `prepare_all(tensors)` returns their Steps.
template <class PrepareAll>
void add_backward_side(Row& row, std::string const& variant, PrepareAll const& prepare_all) {
  row.sides.push_back({variant, [=](Workload const& work, int set) -> std::function<void(stream const&)> {
                         return [steps = prepare_all(BackwardTensors(work, set))](stream const& order) {
                           for (auto const& step : steps) step(order);
                         };
                       }});
}

/// Adds the way back in three kernels: deltas; gradients of keys and values by blocks of BN keys and queries_at_once
/// queries; gradients of queries by blocks of BM queries and keys_at_once keys.
template <int D, int queries_at_once, int BN, int BM, int keys_at_once, bool causal>
void add_backward(Row& row, AttentionForm const& form) {
  auto const& deltas = samples::attention_delta<BM, D>;
  auto const& keys = samples::attention_keys_backward<queries_at_once, BN, D, causal>;
  auto const& queries = samples::attention_queries_backward<BM, keys_at_once, D, causal>;
  float const scale = 1 / std::sqrt(static_cast<float>(D));
  add_backward_side(row, fmt::format("tiles of {} x {}, {} x {}", queries_at_once, BN, BM, keys_at_once),
                    [=](BackwardTensors const& of) {
                      return Steps{prepare(deltas, of.O, of.dO, of.delta),
                                   prepare(keys, of.Q, of.K, of.V, of.dO, of.lse, of.delta, of.dK, of.dV, scale),
                                   prepare(queries, of.Q, of.K, of.V, of.dO, of.lse, of.delta, of.dQ, scale)};
                    });
  std::string const name = fmt::format("{}, d {}, ", name_of(form), D);
  row.codes.push_back(code(name + "deltas", deltas));
  row.codes.push_back(code(fmt::format("{}keys, tiles of {} x {}", name, queries_at_once, BN), keys));
  row.codes.push_back(code(fmt::format("{}queries, tiles of {} x {}", name, BM, keys_at_once), queries));
}

/// Adds the way back by blocks of BM queries and BN keys, which adds the parts of dQ in memory.
template <int D, int BM, int BN, bool causal>
void add_backward_by_sums(Row& row, AttentionForm const& form) {
  auto const& start = samples::attention_backward_start<64, D>;
  auto const& gradients = samples::attention_backward<BM, BN, D, causal>;
  auto const& end = samples::attention_backward_end<64, D>;
  float const scale = 1 / std::sqrt(static_cast<float>(D));
  add_backward_side(row, fmt::format("sums in memory, tiles of {} x {}", BM, BN), [=](BackwardTensors const& of) {
    return Steps{prepare(start, of.O, of.dO, of.delta, of.sums),
                 prepare(gradients, of.Q, of.K, of.V, of.dO, of.lse, of.delta, of.sums, of.dK, of.dV, scale),
                 prepare(end, of.sums, of.dQ, scale)};
  });
  row.sides.back().any_order = true;
  std::string const name = fmt::format("{}, d {}, ", name_of(form), D);
  row.codes.push_back(code(name + "deltas and sums", start));
  row.codes.push_back(code(fmt::format("{}tiles of {} x {}", name, BM, BN), gradients));
  row.codes.push_back(code(name + "rounding", end));
}

/// Adds blocks of BM queries and BN keys; `stages` replaces the two of the kernel's text.
template <int D, int BM, int BN>
void add_tiles(Row& row, AttentionForm const& form, int stages = 2) {
  std::string const tiles = fmt::format("tiles of {} x {}", BM, BN);
  CompileOptions options;
  if (stages != 2) options.stages = stages;
  if (form.causal)
    add_side(row, form, tiles, options, causal_attention<BM, BN, D>);
  else if (form.group > 1)
    add_side(row, form, tiles, options, grouped_attention<BM, BN, D>, static_cast<int>(form.group));
  else
    add_side(row, form, tiles, options, samples::attention<BM, BN, D>);
}

}  // namespace

std::vector<Row> attention_rows() {
  std::vector<Row> rows;
  auto const add = [&](AttentionForm const& form, auto const& add_sides) {
    rows.push_back(row_of(form));
    add_sides(rows.back(), form);
  };
  for (bool const causal : {false, true})
    for (std::int64_t const length : {1024, 4096, 16384})
      add(form_of(128, length, causal),
          [](Row& row, AttentionForm const& form) { add_tiles<128, 128, 128>(row, form); });
  for (bool const causal : {false, true})
    for (std::int64_t const length : {1024, 4096, 16384})
      add(form_of(64, length, causal), [](Row& row, AttentionForm const& form) {
        add_tiles<64, 256, 64>(row, form, 4);
        add_tiles<64, 192, 128>(row, form);
      });
  for (bool const causal : {false, true}) {
    add(form_of(32, 4096, causal), [](Row& row, AttentionForm const& form) {
      add_tiles<32, 256, 64>(row, form, 4);
      add_tiles<32, 192, 128>(row, form);
    });
    add(form_of(96, 4096, causal), [](Row& row, AttentionForm const& form) {
      add_tiles<96, 128, 128>(row, form);
      add_tiles<96, 128, 64>(row, form);
    });
    add(form_of(192, 4096, causal), [](Row& row, AttentionForm const& form) {
      add_tiles<192, 128, 96>(row, form);
      add_tiles<192, 128, 64>(row, form);
    });
    add(form_of(256, 4096, causal), [](Row& row, AttentionForm const& form) {
      add_tiles<256, 128, 64>(row, form);
      add_tiles<256, 128, 48>(row, form);
    });
  }
  for (std::int64_t const length : {4096, 16384})
    add(form_of(128, length, false, 8),
        [](Row& row, AttentionForm const& form) { add_tiles<128, 128, 128>(row, form); });
  for (std::int64_t const length : {4096, 16384}) {
    AttentionForm form = form_of(128, length, false);
    form.element = Element::e4m3;
    add(form, [](Row& row, AttentionForm const& given) {
      add_e4m3<128, 128, 128>(row, given);
      add_e4m3<128, 128, 160>(row, given);
    });
  }
  auto const add_gradients = [&]<bool causal>(std::bool_constant<causal>) {
    for (std::int64_t const dimension : {64, 128})
      for (std::int64_t const length : {1024, 4096, 16384}) {
        AttentionForm form = form_of(dimension, length, causal);
        form.backward = true;
        add(form, [&](Row& row, AttentionForm const& given) {
          if (dimension == 64) {
            add_backward<64, 128, 128, 128, 128, causal>(row, given);
            add_backward_by_sums<64, 128, 128, causal>(row, given);
          } else {
            add_backward<128, 64, 128, 128, 128, causal>(row, given);
            add_backward_by_sums<128, 64, 128, causal>(row, given);
          }
        });
      }
  };
  add_gradients(std::false_type());
  add_gradients(std::true_type());
  return rows;
}

}  // namespace tegula::bench
