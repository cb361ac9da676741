// Tests that kernels which warps cannot run are refused with a sentence that names values and a remedy, before or
// during a run.
#include <algorithm>

#include "block_support.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

void refused(std::string const& text, std::vector<HostTensor*> const& tensors, std::string const& sentence,
             block::Options const& options = {}) {
  INFO(text);
  auto const module = unverified(text);
  CHECK_THROWS_WITH(block::run(module.kernel(), views(tensors), BlockSchedule::seed(1), options),
                    ContainsSubstring(sentence));
}

constexpr auto product = R"(kernel @k(%x: in tensor<?x?xbf16>, %y: out tensor<?x?xf32>) warps = 4 {
  %0 = constant {value = 0 : i64} : i64
  %a = load %x, %0, %0 : tile<64x64xbf16, wgmma>
  %s = buffer_alloc {align = 1024, offset = OFFSET} : shared<64x64xbf16, A_LAYOUT>
  %t = buffer_alloc {align = 1024, offset = 8192} : shared<64x64xbf16, B_LAYOUT>
  buffer_store %s, %a
  buffer_store %t, %a
  fence_proxy_async
  barrier
  wgmma_fence
  %p = wgmma %s, %t : pending<64x64xf32, wgmma>
  wgmma_commit
  %d = wgmma_wait %p : tile<64x64xf32, wgmma>
  store %y, %d, %0, %0
  return
}
)";

std::string product_of(std::string const& a_layout, std::string const& b_layout, std::string const& offset = "0") {
  return with(with(with(product, "A_LAYOUT", a_layout), "B_LAYOUT", b_layout), "OFFSET", offset);
}

}  // namespace

TEST_CASE("shared operands that no descriptor reads are refused", "[sim][block]") {
  HostTensor x = small_tensor(Element::bf16, {64, 64}, 1), y(Element::f32, {64, 64});
  run_clean(product_of("swizzled(128)", "swizzled(64)"), {&x, &y});
  CHECK(first_wrong(y, [&](std::int64_t i) {
          double sum = 0;
          for (std::int64_t k = 0; k < 64; ++k) sum += x.number(i / 64 * 64 + k) * x.number(k * 64 + i % 64);
          return sum;
        }) == "");
  refused(product_of("dense", "swizzled(128)"), {&x, &y},
          "simulate: wgmma: no descriptor reads shared<64x64xbf16, dense>");
  refused(product_of("swizzled(128)", "dense"), {&x, &y}, "no descriptor reads");
  auto const module = unverified(with(product_of("swizzled(128)", "swizzled(128)", "128"), "align = 1024, offset = 128",
                                      "align = 128, offset = 17024"));
  auto const result = block::run(module.kernel(), views({&x, &y}));
  CHECK(result.has(ReportKind::misaligned));
  CHECK_THAT(result.str(), ContainsSubstring("starts at multiples of 1024"));
}

TEST_CASE("a tensor map that disagrees with the buffer's layout is refused", "[sim][block]") {
  HostTensor x = small_tensor(Element::bf16, {64, 64}, 2), wide = small_tensor(Element::bf16, {64, 60}, 2);
  std::string const text = R"(kernel @k(%x: in tensor<?x?xbf16>) warps = 1 {
  %0 = constant {value = 0 : i64} : i64
  %m = tensor_map %x {box = [64, 64], swizzle = b128} : tensor_map<64x64xbf16>
  %s = buffer_alloc {align = 1024} : shared<64x64xbf16, LAYOUT>
  %b = buffer_alloc {align = 8} : mbarrier
  elect {
    mbarrier_init %b
    fence_mbarrier_init
    mbarrier_expect %b {bytes = 8192}
    tma_load %m, %s, %b, %0, %0
    mbarrier_wait %b, %0
    yield
  }
  return
}
)";
  run_clean(with(text, "LAYOUT", "swizzled(128)"), {&x});
  refused(with(text, "LAYOUT", "dense"), {&x},
          "element 0 of row 1 of the box goes to byte 144 by the map, whose swizzle is b128");
  refused(with(text, "LAYOUT", "swizzled(128)"), {&wide},
          "axis 0 has a stride of 60 elements of 2 bytes, not a multiple of 16 bytes from 0 to below 2^40");
  HostTensor turned = HostTensor::transposed(Element::bf16, {64, 64});
  refused(with(text, "LAYOUT", "swizzled(128)"), {&turned}, "the last axis has stride 64");
}

TEST_CASE("tiles that warps cannot hold are refused", "[sim][block]") {
  HostTensor x = small_tensor(Element::f32, {64, 64}, 3), y(Element::f32, {64, 64});
  std::string const copy = R"(kernel @k(%x: in tensor<?x?xf32>, %y: out tensor<?x?xf32>) WARPS{
  %0 = constant {value = 0 : i64} : i64
  %a = load %x, %0, %0 : tile<64x64xf32LAYOUT>
  store %y, %a, %0, %0
  return
}
)";
  refused(with(with(copy, "WARPS", "warps = 4 "), "LAYOUT", ""), {&x, &y}, "has no layout; run assign-layouts first");
  refused(with(with(copy, "WARPS", "warps = 2 "), "LAYOUT", ", wgmma"), {&x, &y}, "laid out over 4 warps, but 2 run");
  refused(with(with(copy, "WARPS", "warps = 4 "), "LAYOUT", ", wgmma"), {&x}, "1 arguments but takes 2");
  block::Options options;
  options.grid = sim::Grid{100000, 1, 1};
  refused(with(with(copy, "WARPS", "warps = 4 "), "LAYOUT", ", wgmma"), {&x, &y}, "more than the 60000 warps", options);
  options.grid = sim::Grid{3, 1, 1};
  options.cluster = 2;
  refused(with(with(copy, "WARPS", "warps = 4 "), "LAYOUT", ", wgmma"), {&x, &y},
          "a grid of 3 CTAs is not a multiple of the cluster of 2", options);
}

TEST_CASE("an exchange between warps inside warp_specialize is refused", "[sim][block]") {
  HostTensor y(Element::f32, {1});
  std::string const text = R"(kernel @k(%y: out tensor<?xf32>) warps = 4 {
  %0 = constant {value = 0 : i64} : i64
  %a = constant {value = 1 : f32} : tile<64xf32, [lane (1) (2) (4) (8) (16), warp (32) (0)]>
  SPECIALIZE
    %r = reduce %a {axis = 0, combine = sum} : tile<1xf32, [lane (0) (0) (0) (0) (0), warp (0) (0)]>
    store %y, %r, %0
  END
  return
}
)";
  run_clean(with(with(text, "SPECIALIZE", ""), "END", ""), {&y});
  CHECK(y.number(0) == 64);
  refused(with(with(text, "SPECIALIZE", "warp_specialize {warps = [4], replicas = [1], registers = [0]} (%p: i64) {"),
               "END", "yield\n  }"),
          {&y}, "reduce exchanges elements between warps by the barrier of the CTA, which cannot be reached inside");
}

TEST_CASE("float64 and exact precision are near each other warp by warp", "[sim][block]") {
  HostTensor x = small_tensor(Element::bf16, {64, 64}, 4), y(Element::f32, {64, 64});
  std::mt19937_64 random(5);
  x.fill(random);
  auto const module = module_of(product_of("swizzled(128)", "swizzled(128)"));
  block::Options options;
  CHECK(block::run(module.kernel(), views({&x, &y}), BlockSchedule::seed(1), options).clean());
  std::vector<double> exact;
  for (std::int64_t i = 0; i < y.count(); ++i) exact.push_back(y.number(i));
  options.precision = sim::Precision::float64;
  HostTensor near(Element::f32, {64, 64});
  CHECK(block::run(module.kernel(), views({&x, &near}), BlockSchedule::seed(1), options).clean());
  double largest = 0;
  for (double const value : exact) largest = std::max(largest, std::abs(value));
  samples::Comparison all(1e-5);
  for (std::int64_t i = 0; i < y.count(); ++i)
    all.add(i, near.number(i), exact[static_cast<std::size_t>(i)], largest, near.unwritten(i));
  CHECK(all.failure() == "");
}

TEST_CASE("a run is replayed by its schedule, and its trace names every action and warp", "[sim][block]") {
  HostTensor x = small_tensor(Element::bf16, {64, 64}, 6), y(Element::f32, {64, 64});
  auto const module = module_of(with(product_of("swizzled(128)", "swizzled(128)"), "  fence_proxy_async\n", ""));
  block::Options options;
  options.trace = true;
  auto const first = block::run(module.kernel(), views({&x, &y}), BlockSchedule::seed(9), options);
  REQUIRE(first.has(ReportKind::missing_proxy_fence));
  CHECK(first.schedule == "seed:9");
  auto const again =
      block::run(module.kernel(), views({&x, &y}), sim::machine::parse_schedule(first.reports[0].schedule), options);
  CHECK(again.str() == first.str());
  CHECK(again.trace == first.trace);
  CHECK(first.trace.size() == first.steps);
  CHECK_THAT(first.trace.front(), ContainsSubstring("barrier at ir"));
}

TEST_CASE("a grid that one machine cannot hold runs in batches", "[sim][block]") {
  HostTensor y(Element::i64, {70000});
  auto const module = module_of(R"(kernel @k(%y: out tensor<?xi64>) warps = 1 {
  %n = extent %y : i64
  grid %n
  %b = block_index : i64
  %t = splat %b : tile<1xi64, [lane (0) (0) (0) (0) (0)]>
  store %y, %t, %b
  return
}
)");
  block::Options options;
  CHECK_THROWS_WITH(block::run(module.kernel(), views({&y}), BlockSchedule::seed(1), options),
                    ContainsSubstring("or run in batches"));
  options.batch = 999;
  auto const result = block::run(module.kernel(), views({&y}), BlockSchedule::seed(1), options);
  INFO(result.str());
  CHECK(result.clean());
  CHECK(first_wrong(y, [](std::int64_t i) { return static_cast<double>(i); }) == "");
}

TEST_CASE("every schedule of a small kernel is tried", "[sim][block]") {
  HostTensor y(Element::f32, {2});
  std::string const text = R"(kernel @k(%y: out tensor<?xf32>) warps = 2 {
  %0 = constant {value = 0 : i64} : i64
  %w = warp_index : i64
  %s = buffer_alloc : shared<2xf32, dense>
  %mine = view %s, %w : shared<1xf32, dense of 2>
  elect {warp = -1} {
    %v = cast %w : f32
    buffer_store %mine, %v
    yield
  }
  barrier
  %1 = constant {value = 1 : i64} : i64
  %other = sub %1, %w : i64
  %theirs = view %s, %other : shared<1xf32, dense of 2>
  %r = buffer_load %theirs : f32
  %t = splat %r : tile<1xf32, [lane (0) (0) (0) (0) (0)]>
  store %y, %t, %w
  return
}
)";
  auto const sound = module_of(text);
  block::Simulation simulation(sound.kernel(), views({&y}));
  auto const all = simulation.exhaust(10000);
  INFO(all.str());
  CHECK(all.clean());
  CHECK(all.complete);
  CHECK(all.runs >= 2);
  CHECK(y.number(0) == 1);
  CHECK(y.number(1) == 0);
  auto const racy = module_of(with(text, "  barrier\n", ""));
  block::Simulation other(racy.kernel(), views({&y}));
  CHECK_FALSE(other.exhaust(10000).clean());
}
