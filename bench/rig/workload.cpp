#include "rig/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>

namespace tegula::bench {

void Verdict::compare(HostTensor const& out, std::int64_t place, double reference, double tolerance) {
  double const difference = out.at(place) - reference;
  difference_ += difference * difference;
  size_ += reference * reference;
  entries.add(place, out.at(place), reference, tolerance, out.unwritten(place));
}

void Verdict::join(Verdict const& part) {
  entries.join(part.entries);
  difference_ += part.difference_;
  size_ += part.size_;
}

void Verdict::finish() { error = size_ > 0 ? std::sqrt(difference_ / size_) : std::sqrt(difference_); }

Verdict check_rows(HostTensor const& out, std::int64_t rows, std::int64_t cost, std::uint64_t seed,
                   std::function<void(Verdict&, std::int64_t row)> const& check_row) {
  bool const all = rows * cost <= std::int64_t{1} << 24;
  std::int64_t const count = all ? rows : 192;
  Verdict verdict;
  std::mutex lock;
  in_parallel(count, [&](std::int64_t first, std::int64_t last) {
    Verdict part;
    for (std::int64_t i = first; i < last; ++i) {
      std::int64_t row = i;
      if (!all && i == 0) row = rows - 1;
      if (!all && i > 0)
        row =
            static_cast<std::int64_t>((static_cast<std::uint64_t>(i) + seed % 1000003) * 0x9E3779B97F4A7C15ULL >> 11) %
            rows;
      check_row(part, row);
    }
    std::lock_guard const held(lock);
    verdict.join(part);
  });
  verdict.finish();
  verdict.unwritten = out.count_unwritten();
  return verdict;
}

std::string shape_text(std::vector<std::int64_t> const& extents) {
  std::string text;
  for (std::int64_t extent : extents) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text;
}

std::map<std::string, Argument> Workload::arguments(int set) const {
  std::map<std::string, Argument> result = scalars_;
  for (auto const& [name, tensor] : sets_[static_cast<std::size_t>(set)])
    result[name] = tensor->argument(name != output_name_);
  return result;
}

void Workload::upload(std::map<std::string, HostTensor const*> const& inputs, Element element,
                      std::vector<std::int64_t> const& output_extents, bool one_set) {
  constexpr std::int64_t beyond_cache = std::int64_t{256} << 20;
  std::int64_t bytes_per_set = 0;
  for (auto const& [name, values] : inputs) bytes_per_set += values->byte_count();
  int wanted = 1;
  do {
    Set set;
    for (auto const& [name, values] : inputs) {
      if (sets_.empty()) {
        set[name] = std::make_unique<DeviceTensor>(order_.where(), *values);
      } else {
        set[name] = std::make_unique<DeviceTensor>(order_.where(), values->element(), values->extents());
        set[name]->copy_from(order_, *sets_.front().at(name));
      }
    }
    set[output_name_] = std::make_unique<DeviceTensor>(order_.where(), element, output_extents);
    bytes_per_set += sets_.empty() ? set[output_name_]->byte_count() : 0;
    sets_.push_back(std::move(set));
    if (!one_set)
      wanted = static_cast<int>(
          std::clamp<std::int64_t>(beyond_cache / std::max<std::int64_t>(bytes_per_set, 1) + 1, 2, 128));
  } while (static_cast<int>(sets_.size()) < wanted);
  order_.synchronize();
}

std::vector<Family> const& families() {
  static std::vector<Family> const all = {
      {"gemm",
       false,
       {{1, 8, 8}, {128, 256, 64}, {127, 264, 72}, {130, 520, 200}, {300, 136, 1000}, {2000, 2056, 136}},
       {{2048, 2048, 2048},
        {4096, 4096, 4096},
        {8192, 8192, 8192},
        {4096, 4096, 16384},
        {4000, 4000, 4000},
        {8192, 1024, 4096}},
       {{4096, 4096, 4096}},
       "M x N x K",
       make_product},
      {"gemm_tf32",
       false,
       {{1, 8, 16}, {128, 256, 128}, {127, 264, 144}, {130, 520, 208}, {300, 136, 1008}, {2000, 2064, 144}},
       {{2048, 2048, 2048}, {4096, 4096, 4096}, {8192, 8192, 8192}, {4096, 4096, 16384}},
       {{4096, 4096, 4096}},
       "M x N x K, B stored N x K",
       make_product_of<Element::f32, Element::f32>},
      {"gemm_e4m3",
       false,
       {{1, 8, 16}, {128, 256, 128}, {127, 264, 144}, {130, 520, 208}, {300, 136, 1008}, {2000, 2064, 144}},
       {{2048, 2048, 2048}, {4096, 4096, 4096}, {8192, 8192, 8192}, {4096, 4096, 16384}},
       {{4096, 4096, 4096}},
       "M x N x K, B stored N x K",
       make_product_of<Element::e4m3, Element::bf16>},
      {"gemm_i8",
       false,
       {{1, 8, 16}, {128, 256, 128}, {127, 264, 144}, {130, 520, 208}, {300, 136, 1008}, {2000, 2064, 144}},
       {{2048, 2048, 2048}, {4096, 4096, 4096}, {8192, 8192, 8192}, {4096, 4096, 16384}},
       {{4096, 4096, 4096}},
       "M x N x K, B stored N x K",
       make_product_of<Element::i8, Element::i32>},
      {"gemm_m16",
       false,
       {{1, 8, 8}, {16, 32, 512}, {7, 40, 1032}, {16, 264, 2048}, {5, 4104, 1032}},
       {{16, 4096, 4096}, {16, 8192, 8192}, {16, 16384, 8192}, {16, 4096, 14336}},
       {{16, 8192, 8192}},
       "M x N x K",
       make_product},
      {"softmax",
       true,
       {{1, 4}, {5, 1000}, {29, 100}, {700, 4000}, {1000, 4096}},
       {{16384, 4096}, {65536, 4096}, {65536, 4000}},
       {{16384, 4096}},
       "rows x columns",
       make_softmax},
      {"layernorm",
       true,
       {{1, 8}, {9, 1000}, {57, 104}, {700, 4000}, {1000, 4096}},
       {{32768, 4096}, {131072, 4096}, {131072, 4000}},
       {{32768, 4096}},
       "rows x columns",
       make_layernorm},
      // The last number multiplies Q and K, so that the maximum of a row rises late and far.
      {"attention",
       false,
       {{1, 1, 1, 1}, {1, 2, 130, 1}, {1, 3, 257, 4}, {2, 1, 384, 1}, {2, 8, 1000, 4}},
       {{16, 16, 1024, 1}, {4, 16, 4096, 1}, {1, 16, 16384, 1}},
       {{4, 16, 4096, 1}},
       "batch x heads x sequence x amplitude, head dimension 128",
       make_attention<128, false>},
      {"attention_causal",
       false,
       {{1, 1, 1, 1}, {1, 2, 130, 1}, {1, 3, 257, 4}, {2, 1, 384, 1}, {2, 8, 1000, 4}},
       {{16, 16, 1024, 1}, {4, 16, 4096, 1}, {1, 16, 16384, 1}},
       {{4, 16, 4096, 1}},
       "batch x heads x sequence x amplitude, head dimension 128",
       make_attention<128, true>},
      {"attention_d64",
       false,
       {{1, 1, 1, 1}, {1, 2, 130, 1}, {1, 3, 257, 4}, {2, 1, 384, 1}, {2, 8, 1000, 4}},
       {{16, 32, 1024, 1}, {4, 32, 4096, 1}, {1, 32, 16384, 1}},
       {{4, 32, 4096, 1}},
       "batch x heads x sequence x amplitude, head dimension 64",
       make_attention<64, false>},
      {"attention_causal_d64",
       false,
       {{1, 1, 1, 1}, {1, 2, 130, 1}, {1, 3, 257, 4}, {2, 1, 384, 1}, {2, 8, 1000, 4}},
       {{16, 32, 1024, 1}, {4, 32, 4096, 1}, {1, 32, 16384, 1}},
       {{4, 32, 4096, 1}},
       "batch x heads x sequence x amplitude, head dimension 64",
       make_attention<64, true>},
  };
  return all;
}

}  // namespace tegula::bench
