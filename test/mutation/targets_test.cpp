// Proves by deletion the synchronising ops of the hand-written kernels of test/ir/target, as they are and with their
// barriers and fences erased and inserted anew.
#include "ir/text/text.hpp"
#include "support/deletion.hpp"
#include "support/golden.hpp"
#include "transform/pipeline.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

/// Checks a kernel of test/ir/target. `factor` scales the first tensor: of attention 16, so that later blocks raise the
/// row maxima by far.
void check_target(std::string const& name, std::vector<Extents> const& shapes, std::size_t min, double factor = 1) {
  auto parsed = ir::parse(read_file(std::string(TEGULA_TEST_DIR) + "/ir/target/" + name + ".tir"));
  REQUIRE(parsed.ok());
  auto const target =
      std::find_if(targets().begin(), targets().end(), [&](auto const& row) { return row.name == name; });
  REQUIRE(target != targets().end());
  std::vector<TargetArguments> launches;
  for (Extents const& shape : shapes) {
    TargetArguments& launch = launches.emplace_back(target->arguments(shape, 5));
    for (std::int64_t i = 0; i < launch[0].extents.product(); ++i)
      launch[0].set_number(i, launch[0].number(i) * factor);
  }
  CHECK(check_each_op_counts(parsed.module, launches) >= min);
  transform::run_pipeline(parsed.module, "allocate-shared-memory", {});
  (void)strip(parsed.module.kernel());
  transform::run_pipeline(parsed.module, "insert-barriers,insert-proxy-fences", {});
  CHECK(check_each_op_counts(parsed.module, launches) >= min);
}

}  // namespace

TEST_CASE("deletion: the hand-written gemm needs each of its synchronising ops", "[sim][block][N1]") {
  check_target("gemm", {{256, 256, 384}, {40, 72, 8}}, 30);
}
TEST_CASE("deletion: the hand-written softmax needs each of its synchronising ops", "[sim][block][N1]") {
  check_target("softmax", {{29, 100}, {29, 4096}}, 12);
}
TEST_CASE("deletion: the hand-written layernorm needs each of its synchronising ops", "[sim][block][N1]") {
  check_target("layernorm", {{57, 104}, {11, 4096}}, 8);
}
TEST_CASE("deletion: the hand-written product for M = 16 needs each of its synchronising ops", "[sim][block][N1]") {
  check_target("gemm_m16", {{5, 72, 1544}}, 11);
}
TEST_CASE("deletion: the hand-written attention needs each of its synchronising ops", "[sim][block][N1]") {
  check_target("attention", {{2, 300}, {3, 100}}, 50, 16);
}
TEST_CASE("deletion: the hand-written causal attention needs each of its synchronising ops", "[sim][block][N1]") {
  check_target("attention_causal", {{2, 300}, {3, 100}}, 50, 16);
}
TEST_CASE("deletion: the hand-written attention of narrow heads needs each of its synchronising ops",
          "[sim][block][N1]") {
  check_target("attention_d64", {{2, 550}, {3, 60}}, 40, 16);
}
TEST_CASE("deletion: the hand-written causal attention of narrow heads needs each of its synchronising ops",
          "[sim][block][N1]") {
  check_target("attention_causal_d64", {{2, 550}, {3, 60}}, 40, 16);
}
