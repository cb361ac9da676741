// Proves by deletion that the passes' synchronising ops are needed in kernels of the fuzzer. These are the kept ones
// and the first hundred random ones. ./dev fuzz draws others.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>

#include "fuzz/deletion.hpp"
#include "fuzz/generators.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "ir/core/builder.hpp"
#include "support/mutate.hpp"

using namespace tegula;

namespace {

/// Collects ops of several kernels, by the kind of proof.
struct Count {
  std::size_t kernels = 0, ops = 0, rare = 0, unsettled = 0, kernels_unsettled = 0;
  std::map<fuzz::Reason, std::size_t> excused;

  void add(fuzz::Deletions const& found) {
    ++kernels;
    ops += found.ops();
    rare += found.rare.size();
    unsettled += found.unsettled.size();
    kernels_unsettled += found.unsettled.empty() ? 0 : 1;
    for (fuzz::Excused const& each : found.excused) ++excused[each.reason];
  }
  [[nodiscard]] std::string str() const {
    std::string text = fmt::format("{} kernels, {} ops, {} executed too rarely, {} unsettled in {} kernels", kernels,
                                   ops, rare, unsettled, kernels_unsettled);
    for (auto const& [reason, count] : excused)
      text += fmt::format(", {} not missed: {}", count, fuzz::reasons[static_cast<std::size_t>(reason)]);
    return text;
  }
};

/// Reports each op that is not missed for no reason.
fuzz::Deletions check_each(std::string const& name, fuzz::PipelineCase const& one,
                           double max_computed = fuzz::any_number) {
  fuzz::Deletions found = fuzz::without_each_op(one, {}, max_computed);
  std::printf("%s: %zu ops, %zu executed too rarely, %zu not missed%s\n", name.c_str(), found.ops(), found.rare.size(),
              found.excused.size(), found.refused.empty() ? "" : ", refused");
  for (fuzz::Excused const& each : found.excused)
    std::printf("  %s: %s\n", std::string(fuzz::reasons[static_cast<std::size_t>(each.reason)]).c_str(),
                each.op.c_str());
  for (std::string const& op : found.unsettled) std::printf("  unsettled: %s\n", op.c_str());
  for (std::string const& silent : found.silent) {
    INFO(name << ", without " << silent << "\n" << found.module);
    CHECK(silent.empty());
  }
  return found;
}

/// Bounds the kernels with unsettled ops: five standard deviations above their share, which is 16 of 600 kernels from
/// seed 5000000 on. Ops of one kernel count once, because most are unsettled for one cause.
std::size_t max_unsettled(std::size_t kernels) {
  double const expected = 16.0 / 600 * static_cast<double>(kernels);
  return static_cast<std::size_t>(expected + 5 * std::sqrt(expected));
}
constexpr std::uint64_t parts = 4, kinds = 8;  // see random_case for the kinds

/// Draws eight seeds of 32, for kernels of all kinds, until enough of them pass the pipeline.
void check_random(std::uint64_t part) {
  constexpr std::uint64_t begin = 1, all = 100;
  std::uint64_t const wanted = (all + parts - 1 - part) / parts;
  Count count;
  for (std::uint64_t seed = begin; count.kernels < wanted; ++seed) {
    if ((seed - begin) / kinds % parts != part) continue;
    auto const found = check_each(fmt::format("seed {}", seed), fuzz::random_case(seed, fuzz::Trips::twice_and_more),
                                  fuzz::of_seconds);
    if (found.refused.empty()) count.add(found);
  }
  std::printf("%s\n", count.str().c_str());
  INFO(count.str());
  CHECK(count.kernels_unsettled <= max_unsettled(count.kernels));
  CHECK(2 * count.rare <= count.ops);
}

/// Counts the ops that are not missed, by kernel and reason; there are no others. Take off an op that is missed again.
using NotMissed = std::map<std::string, std::map<fuzz::Reason, std::size_t>>;

Count check_folder(std::string const& folder, NotMissed const& not_missed) {
  std::vector<std::string> files;
  for (auto const& entry : std::filesystem::directory_iterator(std::string(TEGULA_TEST_DIR) + folder))
    files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  Count all;
  for (std::string const& file : files) {
    std::string const name = std::filesystem::path(file).stem().string();
    fuzz::KeptCase const kept = fuzz::read_kept(test::read_file(file));
    if (kept.text.find("// replay: target=cuda") == std::string::npos) continue;  // not a kernel for the passes
    fuzz::Deletions const found = check_each(name, fuzz::read_case(kept.text));
    Count count;
    count.add(found);
    auto const expected = not_missed.find(name);
    INFO(name << ": " << count.str());
    CHECK(count.unsettled == 0);
    CHECK(count.excused == (expected == not_missed.end() ? NotMissed::mapped_type() : expected->second));
    all.add(found);
  }
  std::printf("%s\n", all.str().c_str());
  return all;
}

/// Puts a copy of the last op of a kind after it.
template <class OpStruct>
void put_twice(ir::Module& module) {
  auto const ops = test::detail::all_ops(module);
  auto const last = std::find_if(ops.rbegin(), ops.rend(), [](ir::Op const* op) { return op->is<OpStruct>(); });
  REQUIRE(last != ops.rend());
  ir::Builder::after(**last).op((*last)->template as<OpStruct>(), {}, {});
}

fuzz::PipelineCase kept(std::string const& name) {
  return fuzz::read_case(test::read_file(std::string(TEGULA_TEST_DIR) + "/fuzz/kept/" + name + ".tir"));
}

}  // namespace

TEST_CASE("deletion: the kept kernels of the fuzzer need each synchronising op", "[sim][block][N1]") {
  using enum fuzz::Reason;
  Count const all =
      check_folder("/fuzz/kept", {{"arrival_at_another_slot", {{one_iteration, 1}}},
                                  {"chain_runs_ahead_by_iterations", {{others_order, 1}}},
                                  {"inner_loop_of_no_turns", {{one_iteration, 1}}},
                                  {"last_products_of_kept_ring", {{bounds_products, 2}, {others_order, 1}}}});
  CHECK(all.ops > 300);
  CHECK(4 * all.rare < all.ops);
}

TEST_CASE("deletion: every op that can be deleted has a known reason", "[sim][block][N1]") {
  using enum fuzz::Reason;
  (void)check_folder("/mutation/not_missed", {{"fence_behind_a_fence", {{others_order, 2}}},
                                              {"release_behind_another_ring", {{others_order, 2}}},
                                              {"release_of_either_ring", {{each_other_orders, 2}}}});
}

TEST_CASE("deletion: a commit is as needed as the wait after it", "[sim][block][N1]") {
  std::string const file = std::string(TEGULA_TEST_DIR) + "/mutation/unsettled/commit_of_a_wait.tir";
  auto const unsettled = check_each("commit_of_a_wait", fuzz::read_case(test::read_file(file))).unsettled;
  for (std::string const op : {"wgmma_wait", "wgmma_commit"}) {
    INFO(op);
    CHECK(std::any_of(unsettled.begin(), unsettled.end(),
                      [&](std::string const& each) { return each.find(op) != std::string::npos; }));
  }
}

TEST_CASE("deletion: a duplicated op is found", "[sim][block][N1]") {
  for (std::string const name : {"wait_in_inner_loop", "last_products_of_kept_ring"}) {
    INFO(name);
    CHECK(fuzz::without_each_op(kept(name), put_twice<ir::BarrierOp>).unsettled.size() == 2);
    CHECK(fuzz::without_each_op(kept(name), put_twice<ir::FenceProxyAsyncOp>).unsettled.size() == 2);
  }
}

TEST_CASE("deletion: quarter 1 of the random kernels needs each synchronising op", "[sim][block][N1]") {
  check_random(0);
}
TEST_CASE("deletion: quarter 2 of the random kernels needs each synchronising op", "[sim][block][N1]") {
  check_random(1);
}
TEST_CASE("deletion: quarter 3 of the random kernels needs each synchronising op", "[sim][block][N1]") {
  check_random(2);
}
TEST_CASE("deletion: quarter 4 of the random kernels needs each synchronising op", "[sim][block][N1]") {
  check_random(3);
}
