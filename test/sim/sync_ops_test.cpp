// Tests synchronising ops by a table: the PTX that each becomes, with its semantics and scope, and the order that the
// simulator gives it. The two are pinned side by side, so that neither changes alone.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "codegen/nvptx/nvptx.hpp"
#include "codegen/ptxas.hpp"
#include "compiler/compile.hpp"
#include "ir/core/op_info.hpp"
#include "sim/block/simulate.hpp"
#include "support/host_tensor.hpp"
#include "support/module.hpp"
#include "support/mutate.hpp"
#include "tegula/target/target_info.hpp"

using namespace tegula;
using namespace tegula::test;
using sim::machine::ReportKind;

namespace {

/// Describes a kernel that is right, or wrong in one way, because of the op under test.
struct Row {
  std::string name;
  std::string kernel;
  std::vector<std::string> ptx;          ///< instructions that the op under test becomes
  std::optional<ReportKind> error = {};  ///< the report of the simulator; empty: clean
  bool dependent = false;                ///< the grid before may still run
};

/// Returns `text` with every `from` replaced, which must occur.
std::string with(std::string text, std::string const& from, std::string const& to) {
  REQUIRE(text.find(from) != std::string::npos);
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

/// Fills the types of tiles in. OWN and OTHER are tiles of 64 floats in two warps, LANES and TURNED of one warp. One
/// thread reads the bytes that another one writes.
std::string spelled(std::string text) {
  std::pair<char const*, char const*> const tiles[] = {
      {"OWN", "tile<64xf32, [lane (1) (2) (4) (8) (16), warp (32)]>"},
      {"OTHER", "tile<64xf32, [lane (32) (2) (4) (8) (16), warp (1)]>"},
      {"LANES", "tile<64xf32, [register (1), lane (2) (4) (8) (16) (32)]>"},
      {"TURNED", "tile<64xf32, [register (32), lane (1) (2) (4) (8) (16)]>"},
      {"PART", "tile<32xf32, [lane (1) (2) (4) (8) (16)]>"}};
  for (auto const& [name, type] : tiles)
    for (std::size_t at; (at = text.find(name)) != std::string::npos;) text.replace(at, std::string(name).size(), type);
  return text;
}

/// %x and %o have 64 floats, %m 64 x 16.
std::string kernel(std::string const& attributes, std::string const& body) {
  return "kernel @k(%x: inout tensor<?xf32> {unit_inner, aligned_16}, " +
         std::string("%o: inout tensor<?xf32> {unit_inner, aligned_16}, %m: inout tensor<?x?xf32>) ") + attributes +
         R"( {
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %2 = constant {value = 2 : i64} : i64
)" + body +
         "  return\n}\n";
}

std::string const two_warps = "warps = 2", pair_of_ctas = "warps = 1 cluster = 2";
std::string const buffer = R"(  %s = buffer_alloc {align = 128} : shared<64xf32, dense>
  %v = constant {value = 1 : f32} : OWN
)";
std::string barrier_of(std::string const& arrivals) {
  return "  %b = buffer_alloc {align = 8} : mbarrier\n  elect {\n    mbarrier_init %b {arrivals = " + arrivals +
         "}\n    fence_mbarrier_init\n    yield\n  }\n  barrier\n";
}

/// Lets all threads of a CTA write shared memory, and read each other's after `order`.
std::string across_warps(std::string const& order, std::string const& before = "") {
  return kernel(two_warps, buffer + before + "  buffer_store %s, %v\n" + order +
                               "  %w = buffer_load %s : OTHER\n  store %o, %w, %0\n");
}
/// Lets the first CTA of a pair write global memory, and the other read it: `send` and `receive` stand between.
std::string message(std::string const& begin, std::string const& send, std::string const& receive) {
  return kernel(pair_of_ctas, "  grid %2\n  %rank = cluster_rank : i64\n" + begin +
                                  "  %first = compare %rank, %0 {predicate = eq} : bool\n"
                                  "  %v = constant {value = 7 : f32} : LANES\n"
                                  "  if %first {\n    store %x, %v, %0\n    yield\n  } else {\n    yield\n  }\n" +
                                  send + receive +
                                  "  if %first {\n    yield\n  } else {\n    %w = load %x, %0 : LANES\n"
                                  "    store %o, %w, %0\n    yield\n  }\n");
}
std::string const published = R"(  %b = buffer_alloc {align = 8} : mbarrier
  elect {
    mbarrier_init %b
    fence_mbarrier_init
    yield
  }
)";
std::string const meet = "  cluster_arrive\n  cluster_wait\n";

std::vector<Row> cluster_rows() {
  std::string const arrives_at_peer =
      with(with(message(published + meet, "", ""), "  if %first {\n    yield\n", R"(  if %first {
    warp_barrier
    elect {
      mbarrier_arrive %b, %1
      yield
    }
    yield
)"),
           "    %w = load", "    mbarrier_wait %b, %0 {scope = cluster}\n    %w = load");
  std::string const waits_for_peer = with(arrives_at_peer, "  return\n", meet + "  return\n");
  std::string const begins = kernel(pair_of_ctas, "  grid %2\n  %rank = cluster_rank : i64\n" + published +
                                                      R"(  %s = buffer_alloc {align = 128} : shared<32xf32, dense>
  cluster_arrive {relaxed = true}
  cluster_wait
  %first = compare %rank, %0 {predicate = eq} : bool
  %v = constant {value = 7 : f32} : PART
  if %first {
    peer_store %s, %v, %b, %1
    yield
  } else {
    elect {
      mbarrier_expect %b {bytes = 128}
      yield
    }
    mbarrier_wait %b, %0 {scope = cluster}
    %w = buffer_load %s : PART
    store %o, %w, %0
    yield
  }
  cluster_arrive
  cluster_wait
)");
  std::string const release = "barrier.cluster.arrive.release.aligned;",
                    acquire = "barrier.cluster.wait.acquire.aligned;",
                    relaxed = "barrier.cluster.arrive.relaxed.aligned;";
  return {
      {"a cluster barrier", message("", meet, ""), {release, acquire}},
      {"a relaxed cluster barrier",
       message("", with(meet, "arrive", "arrive {relaxed = true}"), ""),
       {relaxed, acquire},
       ReportKind::race_raw},
      {"a write between the halves of a cluster barrier",
       with(with(message("", meet, ""), "  if %first {\n    store", "  cluster_arrive\n  if %first {\n    store"), meet,
            "  cluster_wait\n"),
       {release, acquire},
       ReportKind::race_raw},
      {"a relaxed cluster barrier within a CTA",
       across_warps("  cluster_arrive {relaxed = true}\n  cluster_wait\n"),
       {relaxed},
       ReportKind::race_raw},
      {"a relaxed cluster barrier publishes mbarriers and that peers have begun",
       begins,
       {relaxed, "fence.mbarrier_init.release.cluster;", "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32"}},
      {"mbarriers without their fence",
       with(begins, "    fence_mbarrier_init\n", ""),
       {relaxed},
       ReportKind::use_before_init},
      {"a store to a peer that no wait of the cluster's scope takes over",
       with(begins, " {scope = cluster}", ""),
       {"st.async.shared::cluster", "mbarrier.try_wait.parity.shared::cta.b64"},
       ReportKind::wrong_scope},
      {"an arrival at a peer",
       waits_for_peer,
       {"mapa.shared::cluster.u32", "mbarrier.arrive.release.cluster.shared::cluster.b64 _,",
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64"}},
      {"an arrival at a peer that waits with the scope of a CTA",
       with(waits_for_peer, " {scope = cluster}", ""),
       {"mbarrier.arrive.release.cluster.shared::cluster.b64 _,", "mbarrier.try_wait.parity.shared::cta.b64"},
       ReportKind::wrong_scope},
      {"a relaxed arrival at a peer does not release the accesses of its own warp",
       with(waits_for_peer, "mbarrier_arrive %b, %1", "mbarrier_arrive %b, %1 {relaxed = true}"),
       {"mbarrier.arrive.shared::cluster.b64 _,"},
       ReportKind::race_raw},
      {"an arrival at a peer in one phase, waits with the scope of a CTA in the next",
       with(waits_for_peer, "    %w = load", R"(    elect {
      mbarrier_arrive %b
      yield
    }
    mbarrier_wait %b, %1
    %w = load)"),
       {"mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64", "mbarrier.try_wait.parity.shared::cta.b64"}},
      {"an arrival at a peer in the second phase that waits with the scope of a CTA",
       with(with(waits_for_peer, "    mbarrier_wait %b, %0 {scope = cluster}\n", R"(    elect {
      mbarrier_arrive %b
      yield
    }
    mbarrier_wait %b, %0
    cluster_arrive
    cluster_wait
    mbarrier_wait %b, %1
)"),
            "    warp_barrier\n", "    cluster_arrive\n    cluster_wait\n"),
       {},
       ReportKind::wrong_scope},
      {"an arrival at the CTA's own mbarrier is nothing to a peer",
       with(waits_for_peer, "mbarrier_arrive %b, %1", "mbarrier_arrive %b"),
       {"mbarrier.arrive.shared::cta.b64 _,"},
       ReportKind::deadlock},
  };
}

std::vector<Row> cta_rows() {
  std::string const one = "  mbarrier_arrive %b\n  mbarrier_wait %b, %0\n";
  std::string const named = "  barrier %1 {threads = 64}\n";
  std::string const half = kernel(two_warps, R"(  %s = buffer_alloc {align = 128} : shared<32xf32, dense>
  %v = constant {value = 1 : f32} : PART
  %warp = warp_index : i64
  %early = compare %warp, %0 {predicate = eq} : bool
  if %early {
    buffer_store %s, %v
    barrier_arrive %1 {threads = 64}
    yield
  } else {
    barrier %1 {threads = 64}
    %w = buffer_load %s : PART
    store %o, %w, %0
    yield
  }
)");
  std::string const lanes = kernel("warps = 1", R"(  %s = buffer_alloc {align = 128} : shared<64xf32, dense>
  %v = constant {value = 1 : f32} : LANES
  buffer_store %s, %v
  warp_barrier
  %w = buffer_load %s : TURNED
  store %o, %w, %0
)");
  std::string const atomic = R"(  elect {warp = -1} {
    %n = constant {value = 1 : f32} : f32
    %old = atomic %o, %n, %0 : f32
    yield
  }
)";
  std::string const reused = kernel(two_warps, R"(  %b = buffer_alloc {align = 8, offset = 0} : mbarrier
  %s = buffer_alloc {align = 128, offset = 0} : shared<64xf32, dense>
  %v = constant {value = 1 : f32} : OWN
  elect {
    mbarrier_init %b
    mbarrier_inval %b
    yield
  }
  barrier
  buffer_store %s, %v
)");
  return {
      {"no barrier", across_warps(""), {}, ReportKind::race_raw},
      {"the barrier of the CTA", across_warps("  barrier\n"), {"bar.sync 0;"}},
      {"a named barrier", across_warps(named), {"bar.sync 1, 64;"}},
      {"an arrival at a named barrier", half, {"bar.arrive 1, 64;", "bar.sync 1, 64;"}},
      {"an arrival at a named barrier is no wait",
       with(half, "    barrier %1", "    barrier_arrive %1"),
       {},
       ReportKind::race_raw},
      {"the lanes of a warp", lanes, {"bar.warp.sync"}},
      {"lanes without a barrier", with(lanes, "  warp_barrier\n", ""), {}, ReportKind::race_raw},
      {"warps that only their lanes' barrier stands between",
       across_warps("  warp_barrier\n"),
       {"bar.warp.sync"},
       ReportKind::race_raw},
      {"an mbarrier",
       across_warps(one, barrier_of("64")),
       {"mbarrier.arrive.shared::cta.b64 _,", "mbarrier.try_wait.parity.shared::cta.b64"}},
      {"an mbarrier whose wait has the cluster's scope",
       across_warps(with(one, ", %0", ", %0 {scope = cluster}"), barrier_of("64")),
       {"mbarrier.arrive.shared::cta.b64 _,", "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64"}},
      {"an arrival before the write", across_warps("", barrier_of("64") + one), {}, ReportKind::race_raw},
      {"an atomic orders nothing but itself",
       across_warps(atomic),
       {"atom.relaxed.gpu.global.add.f32"},
       ReportKind::race_raw},
      {"an mbarrier's bytes after its end",
       reused,
       {"mbarrier.init.shared::cta.b64", "mbarrier.inval.shared::cta.b64"}},
      {"an mbarrier's bytes while it lives", with(reused, "    mbarrier_inval %b\n", ""), {}, ReportKind::dead_barrier},
      {"a write of the grid before",
       kernel(two_warps, "  wait_dependencies\n  %w = load %x, %0 : OWN\n  store %o, %w, %0\n"),
       {"griddepcontrol.wait;"},
       {},
       true},
      {"launch_dependents waits for nothing",
       kernel(two_warps, "  launch_dependents\n  %w = load %x, %0 : OWN\n  store %o, %w, %0\n"),
       {"griddepcontrol.launch_dependents;"},
       ReportKind::race_raw,
       true},
  };
}

std::vector<Row> copy_rows() {
  std::string const load = buffer + barrier_of("1") + R"(  store %x, %v, %0
  fence_proxy_async {space = global}
  barrier
  elect {
    mbarrier_expect %b {bytes = 256}
    bulk_load %x, %s, %b, %0
    yield
  }
  mbarrier_wait %b, %0
  %w = buffer_load %s : OWN
  store %o, %w, %0
)";
  std::string const copied = kernel(two_warps, load);
  std::string const store = kernel(two_warps, buffer + R"(  buffer_store %s, %v
  fence_proxy_async
  barrier
  elect {
    bulk_store %o, %s, %0
    bulk_commit
    bulk_wait {read = true}
    yield
  }
  barrier
  buffer_store %s, %v
)");
  std::string const reads_result = with(store, "  barrier\n  buffer_store %s, %v\n  return",
                                        "  barrier\n  %w = load %o, %0 : OWN\n  store %x, %w, %0\n  return");
  std::string const by_threads = kernel(two_warps, buffer + R"(  cp_async %x, %s, %0 {vector = 4}
  cp_async_commit
  cp_async_wait
  barrier
  %w = buffer_load %s : OWN
  store %o, %w, %0
)");
  std::string const handed = kernel(two_warps, buffer + barrier_of("64") + R"(  cp_async %x, %s, %0 {vector = 4}
  cp_async_arrive %b
  mbarrier_wait %b, %0
  %w = buffer_load %s : OWN
  store %o, %w, %0
)");
  std::string const multicast =
      kernel(pair_of_ctas, "  grid %2\n" + std::string("  %map = tensor_map %x {box = [32]} : tensor_map<32xf32>\n") +
                               published + R"(  %s = buffer_alloc {align = 128} : shared<32xf32, dense>
  cluster_arrive
  cluster_wait
  %rank = cluster_rank : i64
  %first = compare %rank, %0 {predicate = eq} : bool
  prefetch %x, %0 {box = [32]}
  elect {
    prefetch_tensor_map %map
    tma_prefetch %map, %0
    mbarrier_expect %b {bytes = 128}
    yield
  }
  if %first {
    elect {
      tma_load %map, %s, %b, %0 {multicast = 3}
      yield
    }
    yield
  } else {
    yield
  }
  mbarrier_wait %b, %0
  %w = buffer_load %s : PART
  %32 = constant {value = 32 : i64} : i64
  %at = mul %rank, %32 : i64
  store %o, %w, %at
  cluster_arrive
  cluster_wait
)");
  std::string const fence = "fence_proxy_async", wait = "cp.async.bulk.wait_group";
  auto const space = [](std::string const& name) { return "fence_proxy_async {space = " + name + "}"; };
  return {
      {"a copy in, fenced and waited for",
       copied,
       {"fence.proxy.async.global;", "mbarrier.arrive.expect_tx.shared::cta.b64 _,",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
        "mbarrier.try_wait.parity.shared::cta.b64"}},
      {"a copy in after a fence of all spaces", with(copied, space("global"), space("all")), {"fence.proxy.async;"}},
      {"a copy in after a fence of shared memory",
       with(copied, space("global"), fence),
       {"fence.proxy.async.shared::cta;"},
       ReportKind::missing_proxy_fence},
      {"a copy in that nobody waits for", with(copied, "  mbarrier_wait %b, %0\n", ""), {}, ReportKind::race_raw},
      {"bytes expected without an arrival",
       with(copied, "{bytes = 256}", "{bytes = 256, arrive = false}"),
       {"mbarrier.expect_tx.relaxed.cta.shared::cta.b64"},
       ReportKind::deadlock},
      {"bytes expected without an arrival, which comes after",
       with(with(copied, "{bytes = 256}", "{bytes = 256, arrive = false}"), "    bulk_load %x, %s, %b, %0\n",
            "    bulk_load %x, %s, %b, %0\n    mbarrier_arrive %b\n"),
       {"mbarrier.expect_tx.relaxed.cta.shared::cta.b64", "mbarrier.arrive.shared::cta.b64 _,"}},
      {"bytes expected after the only arrival, when they may have come",
       with(with(copied, "    mbarrier_expect %b {bytes = 256}\n", ""), "    bulk_load %x, %s, %b, %0\n",
            "    bulk_load %x, %s, %b, %0\n    mbarrier_arrive %b\n    mbarrier_expect %b {bytes = 256, arrive = "
            "false}\n"),
       {},
       ReportKind::phase_error},
      {"more bytes expected after the only arrival, before their copy begins",
       with(with(copied, "{bytes = 256}", "{bytes = 128}"), "    bulk_load %x, %s, %b, %0\n",
            "    mbarrier_expect %b {bytes = 128, arrive = false}\n    bulk_load %x, %s, %b, %0\n"),
       {}},
      {"a copy in to both CTAs of a pair",
       multicast,
       {"cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster",
        "cp.async.bulk.prefetch.L2.global", "prefetch.tensormap", "cp.async.bulk.prefetch.tensor.1d.L2.global",
        "mbarrier.try_wait.parity.shared::cta.b64"}},
      {"a source that is used again",
       store,
       {"fence.proxy.async.shared::cta;", "cp.async.bulk.global.shared::cta.bulk_group", "cp.async.bulk.commit_group;",
        wait + ".read 0;"}},
      {"a source after a fence of all spaces", with(store, fence, space("all")), {"fence.proxy.async;"}},
      {"a source after a fence of global memory",
       with(store, fence, space("global")),
       {"fence.proxy.async.global;"},
       ReportKind::missing_proxy_fence},
      {"a result whose source alone was read", reads_result, {wait + ".read 0;"}, ReportKind::race_raw},
      {"a result that is written", with(reads_result, " {read = true}", ""), {wait + " 0;"}},
      {"a wait that leaves the group open",
       with(store, "{read = true}", "{pending = 1, read = true}"),
       {wait + ".read 1;"},
       ReportKind::race_war},
      {"a copy that is in no group", with(store, "    bulk_commit\n", ""), {}, ReportKind::race_war},
      {"a copy by threads",
       by_threads,
       {"cp.async.cg.shared.global", "cp.async.commit_group;", "cp.async.wait_group 0;"}},
      {"a copy by threads that is left open",
       with(by_threads, "cp_async_wait", "cp_async_wait {pending = 1}"),
       {"cp.async.wait_group 1;"},
       ReportKind::race_raw},
      {"a copy by threads without a barrier", with(by_threads, "  barrier\n", ""), {}, ReportKind::race_raw},
      {"a copy by threads, counted", handed, {"cp.async.mbarrier.arrive.noinc.shared::cta.b64"}},
      {"a copy by threads, not counted",
       with(handed, "  cp_async_arrive %b\n", "  cp_async_arrive %b {counted = false}\n  mbarrier_arrive %b\n"),
       {"cp.async.mbarrier.arrive.shared::cta.b64"}},
      {"a copy by threads, counted, and arrivals beyond the count",
       with(handed, "  cp_async_arrive %b\n", "  cp_async_arrive %b\n  mbarrier_arrive %b\n"),
       {},
       ReportKind::phase_error},
  };
}

std::vector<Row> product_rows() {
  std::string const product = kernel("warps = 4", R"(  %a = constant {value = 1 : bf16} : tile<64x16xbf16, wgmma_a>
  %b = buffer_alloc {align = 1024} : shared<16x16xbf16, swizzled(32)>
  %z = constant {value = 1 : bf16} : tile<16x16xbf16, [register (1,0), lane (2,0) (4,0) (8,0) (0,1) (0,2), warp (0,4) (0,8)]>
  buffer_store %b, %z
  fence_proxy_async
  barrier
  %f = wgmma_fence %a : tile<64x16xbf16, wgmma_a>
  %p = wgmma %f, %b : pending<64x16xf32, wgmma>
  wgmma_commit
  %r = wgmma_wait %p : tile<64x16xf32, wgmma>
  store %m, %r, %0, %0
)");
  return {{"a product",
           product,
           {"wgmma.fence.sync.aligned;", "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"}},
          {"a product without its fence",
           with(with(product, "  %f = wgmma_fence %a : tile<64x16xbf16, wgmma_a>\n", ""), "%f,", "%a,"),
           {},
           ReportKind::missing_wgmma_fence},
          {"a product that is left open",
           with(product, "wgmma_wait %p :", "wgmma_wait %p {pending = 1} :"),
           {"wgmma.wait_group.sync.aligned 1;"},
           ReportKind::race_raw}};
}

/// Copies a slice through a descriptor that the kernel builds.
std::vector<Row> descriptor_rows() {
  std::string const copied = kernel(two_warps, R"(  grid %1
  %eight = constant {value = 8 : i64} : i64
  %end = constant {value = 20 : i64} : i64
  %map = tensor_map %m {box = [8, 16]} : tensor_map<8x16xf32>
  %s = slice %m, %eight, %end : tensor<?x?xf32>
  %d = buffer_alloc {align = 128} : shared<8x16xf32, dense>
  %full = buffer_alloc {align = 8} : mbarrier
  %home = buffer_alloc {align = 8} : shared<1xi64, dense>
  elect {
    mbarrier_init %full
    fence_mbarrier_init
    build_tensor_map %map, %s, %home
    release_tensor_maps
    yield
  }
  barrier
  %t = device_tensor_map %map, %s, %home : tensor_map<8x16xf32>
  acquire_tensor_map %t
  elect {
    mbarrier_expect %full {bytes = 512}
    tma_load %t, %d, %full, %0, %0
    yield
  }
  mbarrier_wait %full, %0
  %w = buffer_load %d : tile<8x16xf32, [register (4,0), lane (0,1) (0,2) (0,4) (0,8) (1,0), warp (2,0)]>
  store %m, %w, %0, %0
  buffer_dealloc %d
  barrier
  elect {
    free_tensor_map %t
    yield
  }
)");
  return {
      {"a descriptor of a slice",
       copied,
       {"tensormap.replace.tile.global_address.global.b1024.b64", "fence.proxy.tensormap::generic.release.gpu;",
        "fence.proxy.tensormap::generic.acquire.gpu"}},
      {"a descriptor that is not released", with(copied, "    release_tensor_maps\n", ""), {}, ReportKind::descriptor},
      {"a descriptor that is not acquired", with(copied, "  acquire_tensor_map %t\n", ""), {}, ReportKind::descriptor}};
}

std::vector<Row> rows() {
  std::vector<Row> result;
  for (auto const& part : {cluster_rows(), cta_rows(), copy_rows(), product_rows(), descriptor_rows()})
    result.insert(result.end(), part.begin(), part.end());
  for (Row& row : result) row.kernel = spelled(row.kernel);
  return result;
}

sim::block::Sweep simulated(ir::Module const& module, bool dependent) {
  HostTensor x(Element::f32, {64}), o(Element::f32, {64}), m(Element::f32, {64, 16});
  sim::block::Options options;
  options.dependent = dependent;
  sim::block::Simulation simulation(module.kernel(), {x.view(), o.view(), m.view()}, options);
  return simulation.sweep(4, false);
}

}  // namespace

TEST_CASE("each synchronising op gives the order in the simulator that its PTX gives", "[sim][block][N1]") {
  std::string const ptxas = find_ptxas();
  for (Row const& row : rows()) {
    INFO(row.name << "\n" << row.kernel);
    ir::ParseResult const parsed = ir::parse("tegula-ir 1\n" + row.kernel);
    INFO(parsed.diagnostics.str());
    REQUIRE(parsed.ok());
    auto const sweep = simulated(parsed.module, row.dependent);
    INFO(sweep.str());
    if (row.error) {
      CHECK(sweep.has(*row.error));
    } else {
      CHECK(sweep.clean());
    }
    if (row.ptx.empty()) continue;
    CompileOptions options;
    options.target = Target::cuda;
    options.architecture = gpu_targets.front()->architecture;
    options.pipeline = "allocate-shared-memory";  // and no barrier or fence more
    std::string const ptx = codegen::emit_ptx(compiler::lower(parsed.module, options), options).image;
    for (std::string const& instruction : row.ptx) CHECK_THAT(ptx, ContainsSubstring(instruction));
    if (ptxas.empty()) continue;
    std::string const said = assemble(ptxas, ptx);
    CHECK_THAT(said, !ContainsSubstring("ptxas failed"));
    if (!row.error) CHECK(ptxas_complaints(said) == "");
  }
}

TEST_CASE("the table of synchronising ops has each of them with each of its modes", "[sim][block][N1]") {
  std::set<std::string> found;
  for (Row const& row : rows()) {
    ir::ParseResult const parsed = ir::parse("tegula-ir 1\n" + row.kernel);
    REQUIRE(parsed.ok());
    for (ir::Op const* op : test::detail::all_ops(parsed.module)) {
      std::string const name(op->info().mnemonic);
      found.insert(name);
      for (ir::FieldRef const& field : ir::fields_of(op->kind(), op->attributes())) {
        if (field.kind == ir::FieldKind::boolean)
          found.insert(name + " " + std::string(field.name) + (*static_cast<bool const*>(field.data) ? " 1" : " 0"));
        if (!field.enum_names.empty())
          found.insert(fmt::format("{} {} {}", name, field.name, *static_cast<std::uint8_t const*>(field.data)));
      }
    }
  }
  for (int number = 0; number < ir::op_kind_count; ++number) {
    auto const kind = static_cast<ir::OpKind>(number);
    ir::OpInfo const& info = ir::op_info(kind);
    if (info.family != ir::Family::synchronisation) continue;
    std::string const name(info.mnemonic);
    INFO(name);
    CHECK(found.count(name) == 1);
    for (ir::FieldRef const& field : ir::fields_of(kind, const_cast<void*>(info.defaults))) {
      if (field.name == "purpose") continue;
      std::size_t const modes = field.kind == ir::FieldKind::boolean ? 2 : field.enum_names.size();
      for (std::size_t i = 0; i < modes; ++i) {
        INFO(field.name << " " << i);
        CHECK(found.count(fmt::format("{} {} {}", name, field.name, i)) == 1);
      }
    }
  }
}
