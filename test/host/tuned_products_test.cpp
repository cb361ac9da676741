// The products that a sample ships with a table: the model of the cost beside what was measured.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "../../samples/tuned_products.hpp"
#include "jit/choose.hpp"
#include "jit/kernel_memo.hpp"
#include "jit/launch_options.hpp"
#include "runtime/tuned_table.hpp"
#include "support/catch.hpp"
#include "runtime/matrix_argument.hpp"
#include "tegula/target/target_info.hpp"
#include "tune/log.hpp"

using namespace tegula;

using tegula::runtime::matrix_argument;

TEST_CASE("the model's choices of products take at most a tenth more time than the measured ones", "[N15]") {
  // What bench/device/tune.cpp measured, every kernel at every problem.
  std::string const model = GENERATE("h200", "h100");
  std::vector<tuning::LogEntry> const log =
      tuning::read_log(std::string(TEGULA_TEST_DIR) + "/data/products_" + model + ".jsonl");
  REQUIRE(log.size() == 26);
  jit::KernelRef const kernels = jit::reference(samples::product_variants);
  double logs = 0;
  for (tuning::LogEntry const& entry : log) {
    std::vector<std::int64_t> const& p = entry.result.problem;
    Argument const arguments[] = {matrix_argument(Element::bf16, p[0], p[1]),
                                  matrix_argument(Element::bf16, p[2], p[3]),
                                  matrix_argument(Element::bf16, p[4], p[5])};
    std::string label, why;  // of the least estimate among the kernels that were measured
    double least = 0;
    for (int i = 0; i < kernels.members; ++i) {
      jit::KernelRef const member = kernels.member(kernels.kernel, i);
      if (std::ranges::find(entry.result.kernels, member.label, &TunedKernel::label) == entry.result.kernels.end())
        continue;
      jit::Estimate const estimate =
          jit::estimate(jit::traced(member)->kernel, arguments, {}, jit::chosen_options(member), {&sm_90a, 132});
      why += fmt::format("{}: {}\n", member.label, estimate.str());
      if (!label.empty() && estimate.seconds >= least) continue;
      least = estimate.seconds;
      label = member.label;
    }
    auto const timed = [&](std::string const& kernel) {
      auto const at = std::ranges::find(entry.result.kernels, kernel, &TunedKernel::label);
      REQUIRE(at != entry.result.kernels.end());
      REQUIRE(at->seconds > 0);
      return at->seconds;
    };
    double const best = entry.result.kernels[static_cast<std::size_t>(entry.result.best)].seconds;
    INFO(entry.result.str() << label << "\n" << why);
    CHECK(timed(label) < 1.5 * best);
    logs += std::log(timed(label) / best);
  }
  double const mean = std::exp(logs / static_cast<double>(log.size()));
  INFO(model << ": " << mean);
  CHECK(mean < 1.10);
}

TEST_CASE("the shipped tables name kernels of the sample, and each decides for its device", "[N15]") {
  jit::KernelRef const kernels = jit::reference(samples::products);
  std::vector<std::string> const labels = jit::labels_of(kernels);
  for (TunedTable const* const table : {&product_h200, &product_h100}) {
    INFO(table->device);
    REQUIRE(table->count == 26);
    for (int i = 0; i < table->count; ++i) CHECK(std::ranges::find(labels, table->choices[i].label) != labels.end());
    std::vector<TunedTable const*> const found =
        runtime::serving(kernels.tables, {table->architecture, table->device, true});
    REQUIRE(found.size() == 2);
    CHECK(found[0] == table);
  }
  using Tables = std::vector<TunedTable const*>;
  CHECK(runtime::serving(kernels.tables, {"sm_90a", "another GPU", true}) == Tables{&product_h200, &product_h100});
  CHECK(runtime::serving(kernels.tables, {"sm_100a", "NVIDIA H200", true}).empty());
  CHECK(runtime::serving(kernels.tables, {"sm_90a", "another CPU", false}).empty());
}
