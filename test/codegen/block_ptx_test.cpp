// Tests every PTX form of the block ops, through LLVM's passes and the NVPTX back end: the text, and that ptxas
// assembles it.
#include <fmt/format.h>

#include "codegen/nvptx/ptx/clock.hpp"
#include "codegen/nvptx/ptx/cp_async.hpp"
#include "codegen/nvptx/ptx/math.hpp"
#include "codegen/nvptx/ptx/mbarrier.hpp"
#include "codegen/nvptx/ptx/mma.hpp"
#include "codegen/nvptx/ptx/sync.hpp"
#include "codegen/nvptx/ptx/tma.hpp"
#include "codegen/nvptx/ptx/warp.hpp"
#include "codegen/ptx_module.hpp"
#include "codegen/ptxas.hpp"
#include "support/file_check.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using namespace tegula::codegen::nvptx::ptx;
using tegula::test::ContainsSubstring;
using tegula::test::KernelValues;
using tegula::test::PtxModule;
using tegula::test::use;

namespace {

void check_text(std::string const& ptx, std::string const& checks) {
  auto const result = test::file_check(ptx, checks);
  INFO(ptx);
  INFO(result.message);
  CHECK(result.ok);
}

/// Returns ptxas's complaints; none if there is no ptxas.
std::string complaints(std::string const& ptx) {
  std::string const ptxas = test::find_ptxas();
  if (ptxas.empty()) {
    test::note_skipped("no ptxas on this machine: only the text was checked");
    return "";
  }
  std::string const output = test::assemble(ptxas, ptx);
  std::string const found = test::ptxas_complaints(output);
  return found.empty() ? "" : found + ptx;
}

/// Tests text and ptxas for one kernel.
void check_kernel(std::function<void(Builder&, KernelValues const&)> const& body, std::string const& checks,
                  int threads = 128, int cluster = 1) {
  PtxModule module;
  module.kernel("k", body, threads, cluster);
  std::string const ptx = module.ptx();
  check_text(ptx, checks);
  CHECK(complaints(ptx) == "");
}

Values zeros(Builder& b, MmaResult type, int count) {
  return Values(
      static_cast<std::size_t>(count),
      type == MmaResult::f32 ? static_cast<llvm::Value*>(llvm::ConstantFP::get(b.getFloatTy(), 0)) : b.getInt32(0));
}

}  // namespace

TEST_CASE("mbarrier instructions become their PTX", "[block-ptx]") {
  check_kernel(
      [](Builder& b, KernelValues const& k) {
        mbarrier_init(b, k.barrier, 2);
        fence_mbarrier_init(b);
        barrier_cta(b);
        mbarrier_arrive(b, k.barrier);
        mbarrier_arrive(b, k.barrier, 4);
        mbarrier_arrive_expect_tx(b, k.barrier, b.getInt32(32768));
        mbarrier_arrive_expect_tx(b, k.barrier, k.y);
        mbarrier_expect_tx(b, k.barrier, b.getInt32(64));
        cp_async_mbarrier_arrive(b, k.barrier, true);
        cp_async_mbarrier_arrive(b, k.barrier, false);
        mbarrier_inval(b, k.barrier);
      },
      R"(
CHECK: mbarrier.init.shared::cta.b64 [%r{{[0-9]+}}], 2;
CHECK: fence.mbarrier_init.release.cluster;
CHECK: bar.sync 0;
CHECK: mbarrier.arrive.shared::cta.b64 _, [%r{{[0-9]+}}];
CHECK: mbarrier.arrive.shared::cta.b64 _, [%r{{[0-9]+}}], 4;
CHECK: mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r{{[0-9]+}}], 32768;
CHECK: mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r{{[0-9]+}}], %r{{[0-9]+}};
CHECK: mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r{{[0-9]+}}], 64;
CHECK: cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r{{[0-9]+}}];
CHECK: cp.async.mbarrier.arrive.shared::cta.b64 [%r{{[0-9]+}}];
CHECK: mbarrier.inval.shared::cta.b64 [%r{{[0-9]+}}];
)");
}

TEST_CASE("a wait for an mbarrier is a loop around try_wait without asm labels", "[block-ptx]") {
  check_kernel(
      [](Builder& b, KernelValues const& k) {
        mbarrier_wait(b, k.barrier, k.x);
        mbarrier_wait(b, k.barrier, k.y, Scope::cluster);
        use(b, k, {k.x});
      },
      R"(
CHECK: [[FIRST:\$L__BB0_[0-9]+]]:
CHECK: mbarrier.try_wait.parity.shared::cta.b64 [[P:%p[0-9]+]], [%r{{[0-9]+}}], %r{{[0-9]+}};
CHECK: @{{!?}}%p{{[0-9]+}} bra
CHECK: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64
CHECK: @{{!?}}%p{{[0-9]+}} bra
CHECK: st.global
)");
}

TEST_CASE("an mbarrier of another CTA is reached through mapa, and arrivals there release for the cluster",
          "[block-ptx]") {
  check_kernel(
      [](Builder& b, KernelValues const& k) {
        llvm::Value* const remote = mapa(b, k.barrier, k.x);
        mbarrier_arrive_remote(b, remote);
        mbarrier_arrive_remote(b, remote, 3);
        use(b, k, {mapa(b, k.barrier, b.getInt32(1))});
        cluster_arrive(b, false);
        cluster_wait(b);
        cluster_arrive(b, true);
        cluster_wait(b);
      },
      R"(
CHECK: mapa.shared::cluster.u32 [[R:%r[0-9]+]], %r{{[0-9]+}}, %r{{[0-9]+}};
CHECK: mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r{{[0-9]+}}];
CHECK: mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r{{[0-9]+}}], 3;
CHECK: mapa.shared::cluster.u32 %r{{[0-9]+}}, %r{{[0-9]+}}, 1;
CHECK: barrier.cluster.arrive.relaxed.aligned;
CHECK: barrier.cluster.wait.acquire.aligned;
CHECK: barrier.cluster.arrive.release.aligned;
CHECK: barrier.cluster.wait.acquire.aligned;
)",
      128, 2);
}

TEST_CASE("fences, named barriers and register reallocation become their PTX", "[block-ptx]") {
  check_kernel(
      [](Builder& b, KernelValues const& k) {
        setmaxnreg(b, false, 40);
        fence_proxy_async(b, ProxySpace::shared);
        fence_proxy_async(b, ProxySpace::shared_cluster);
        fence_proxy_async(b, ProxySpace::global);
        fence_proxy_async(b, ProxySpace::all);
        barrier_sync(b, b.getInt32(1), 128);
        barrier_sync(b, k.x, 128);
        barrier_arrive(b, b.getInt32(2), 256);
        barrier_warp(b);
        wait_for_prerequisites(b);
        launch_dependents(b);
        setmaxnreg(b, true, 232);
      },
      R"(
CHECK: .maxntid 384
CHECK: .minnctapersm 1
CHECK: setmaxnreg.dec.sync.aligned.u32 40;
CHECK: fence.proxy.async.shared::cta;
CHECK: fence.proxy.async.shared::cluster;
CHECK: fence.proxy.async.global;
CHECK: fence.proxy.async;
CHECK: bar.sync 1, 128;
CHECK: bar.sync %r{{[0-9]+}}, 128;
CHECK: bar.arrive 2, 256;
CHECK: bar.warp.sync 4294967295;
CHECK: griddepcontrol.wait;
CHECK: griddepcontrol.launch_dependents;
CHECK: setmaxnreg.inc.sync.aligned.u32 232;
)",
      384);
}

TEST_CASE("tensor copies of every rank take the map from the kernel's parameter", "[block-ptx]") {
  PtxModule module;
  module.kernel("k", [](Builder& b, KernelValues const& k) {
    prefetch_tensor_map(b, k.map);
    Values coordinates;
    llvm::Value* const hint = cache_policy(b, CachePolicy::evict_first);
    for (int rank = 1; rank <= 5; ++rank) {
      coordinates.push_back(rank == 1 ? b.getInt32(0) : k.x);
      tma_load(b, k.shared, k.map, coordinates, k.barrier);
      tma_load(b, k.shared, k.map, coordinates, k.barrier, {nullptr, hint});
      tma_load(b, k.shared, k.map, coordinates, k.barrier, {b.getInt16(3), hint});
      tma_load(b, k.shared, k.map, coordinates, k.barrier, {b.CreateTrunc(k.y, b.getInt16Ty()), nullptr});
      tma_prefetch(b, k.map, coordinates);
      tma_store(b, k.map, coordinates, k.shared);
      tma_store(b, k.map, coordinates, k.shared, cache_policy(b, CachePolicy::evict_last));
      for (BulkReduce operation : {BulkReduce::add, BulkReduce::min, BulkReduce::max, BulkReduce::inc, BulkReduce::dec,
                                   BulkReduce::bit_and, BulkReduce::bit_or, BulkReduce::bit_xor})
        tma_reduce(b, operation, k.map, coordinates, k.shared);
    }
    bulk_commit(b);
    bulk_wait(b, 1, true);
    bulk_wait(b, 0, false);
  });
  std::string const ptx = module.ptx();
  // The map's address is its parameter's, made generic once; no copy in local memory.
  check_text(ptx, R"(
CHECK: .visible .entry k(
CHECK: .param .align 64 .b8 [[MAP:[a-z0-9_]+]][128]
CHECK-NOT: .local
CHECK: mov.b64 %rd{{[0-9]+}}, [[MAP]];
CHECK: cvta.param.u64 [[G:%rd[0-9]+]], %rd{{[0-9]+}};
CHECK: prefetch.tensormap {{\[}}[[G]]{{\]}};
CHECK: createpolicy.fractional.L2::evict_first.b64 [[HINT:%rd[0-9]+]], 1.0;
CHECK: cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r{{[0-9]+}}], {{\[}}[[G]], {0}], [%r{{[0-9]+}}];
CHECK: bytes.L2::cache_hint [%r{{[0-9]+}}], {{\[}}[[G]], {0}], [%r{{[0-9]+}}], [[HINT]];
CHECK: bytes.multicast::cluster.L2::cache_hint [%r{{[0-9]+}}], {{\[}}[[G]], {0}], [%r{{[0-9]+}}], %rs{{[0-9]+}}, [[HINT]];
CHECK: bytes.multicast::cluster [%r{{[0-9]+}}], {{\[}}[[G]], {0}], [%r{{[0-9]+}}], %rs{{[0-9]+}};
CHECK: cp.async.bulk.prefetch.tensor.1d.L2.global {{\[}}[[G]], {0}];
CHECK: cp.async.bulk.tensor.1d.global.shared::cta.bulk_group {{\[}}[[G]], {0}], [%r{{[0-9]+}}];
CHECK: cp.async.bulk.tensor.1d.global.shared::cta.bulk_group.L2::cache_hint {{\[}}[[G]], {0}], [%r{{[0-9]+}}], %rd{{[0-9]+}};
CHECK: cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group {{\[}}[[G]], {0}], [%r{{[0-9]+}}];
CHECK: cp.reduce.async.bulk.tensor.1d.global.shared::cta.min.bulk_group
CHECK: cp.reduce.async.bulk.tensor.1d.global.shared::cta.max.bulk_group
CHECK: cp.reduce.async.bulk.tensor.1d.global.shared::cta.inc.bulk_group
CHECK: cp.reduce.async.bulk.tensor.1d.global.shared::cta.dec.bulk_group
CHECK: cp.reduce.async.bulk.tensor.1d.global.shared::cta.and.bulk_group
CHECK: cp.reduce.async.bulk.tensor.1d.global.shared::cta.or.bulk_group
CHECK: cp.reduce.async.bulk.tensor.1d.global.shared::cta.xor.bulk_group
CHECK: cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%r{{[0-9]+}}], {{\[}}[[G]], {0, [[X:%r[0-9]+]], [[X]], [[X]], [[X]]}], [%r{{[0-9]+}}];
CHECK: cp.async.bulk.tensor.5d.global.shared::cta.bulk_group
CHECK: cp.async.bulk.commit_group;
CHECK: cp.async.bulk.wait_group.read 1;
CHECK: cp.async.bulk.wait_group 0;
)");
  CHECK(complaints(ptx) == "");
  PtxModule wrong;
  CHECK_THROWS_AS(wrong.kernel("k", [](Builder& b, KernelValues const& k) { tma_prefetch(b, k.map, {}); }),
                  InternalError);
}

TEST_CASE("linear bulk copies and cp.async become their PTX", "[block-ptx]") {
  check_kernel(
      [](Builder& b, KernelValues const& k) {
        bulk_prefetch(b, k.in, k.y, k.flag);
        bulk_load(b, k.shared, k.in, b.getInt32(1024), k.barrier);
        bulk_load(b, k.shared, k.in, k.y, k.barrier, {b.getInt16(1), cache_policy(b, CachePolicy::evict_normal)});
        bulk_store(b, k.out, k.shared, k.y);
        bulk_commit(b);
        bulk_wait(b, 0, false);
        for (int size : {4, 8, 16}) {
          cp_async(b, k.shared, k.in, size);
          cp_async(b, k.shared, k.in, size, k.y);
        }
        cp_async_commit(b);
        cp_async_wait(b, 2);
      },
      R"(
CHECK: @%p{{[0-9]+}} cp.async.bulk.prefetch.L2.global [%rd{{[0-9]+}}], %r{{[0-9]+}};
CHECK: cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r{{[0-9]+}}], [%rd{{[0-9]+}}], 1024, [%r{{[0-9]+}}];
CHECK: bytes.multicast::cluster.L2::cache_hint [%r{{[0-9]+}}], [%rd{{[0-9]+}}], %r{{[0-9]+}}, [%r{{[0-9]+}}], %rs{{[0-9]+}}, %rd{{[0-9]+}};
CHECK: cp.async.bulk.global.shared::cta.bulk_group [%rd{{[0-9]+}}], [%r{{[0-9]+}}], %r{{[0-9]+}};
CHECK: cp.async.ca.shared.global [%r{{[0-9]+}}], [%rd{{[0-9]+}}], 4;
CHECK: cp.async.ca.shared.global [%r{{[0-9]+}}], [%rd{{[0-9]+}}], 4, %r{{[0-9]+}};
CHECK: cp.async.ca.shared.global [%r{{[0-9]+}}], [%rd{{[0-9]+}}], 8;
CHECK: cp.async.cg.shared.global [%r{{[0-9]+}}], [%rd{{[0-9]+}}], 16;
CHECK: cp.async.cg.shared.global [%r{{[0-9]+}}], [%rd{{[0-9]+}}], 16, %r{{[0-9]+}};
CHECK: cp.async.commit_group;
CHECK: cp.async.wait_group 2;
)",
      128, 2);
}

TEST_CASE("elections, shuffles, votes and matrix moves become their PTX", "[block-ptx]") {
  check_kernel(
      [](Builder& b, KernelValues const& k) {
        Values results = {elect(b),
                          shuffle_idx(b, k.x, b.getInt32(0)),
                          shuffle_idx(b, k.x, k.y),
                          shuffle_xor(b, k.x, 16),
                          vote_any(b, k.flag),
                          vote_all(b, k.flag)};
        for (int matrices : {1, 2, 4})
          for (bool transposed : {false, true}) {
            Values const loaded = ldmatrix(b, k.shared, matrices, transposed);
            stmatrix(b, k.barrier, loaded, transposed);
            results.insert(results.end(), loaded.begin(), loaded.end());
          }
        use(b, k, results);
        use(b, k, {global_timer(b), clock(b)});
      },
      R"(
CHECK: elect.sync _|%p{{[0-9]+}}, -1;
CHECK: shfl.sync.idx.b32 %r{{[0-9]+}}, %r{{[0-9]+}}, 0, 31, -1;
CHECK: shfl.sync.idx.b32 %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, 31, -1;
CHECK: shfl.sync.bfly.b32 %r{{[0-9]+}}, %r{{[0-9]+}}, 16, 31, -1;
CHECK: vote.sync.any.pred %p{{[0-9]+}}, %p{{[0-9]+}}, -1;
CHECK: vote.sync.all.pred %p{{[0-9]+}}, %p{{[0-9]+}}, -1;
CHECK: ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r{{[0-9]+}}}, [%r{{[0-9]+}}];
CHECK: stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r{{[0-9]+}}], {%r{{[0-9]+}}};
CHECK: ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16
CHECK: stmatrix.sync.aligned.m8n8.x1.trans.shared.b16
CHECK: ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r{{[0-9]+}}, %r{{[0-9]+}}}, [%r{{[0-9]+}}];
CHECK: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
CHECK: stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%r{{[0-9]+}}], {%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}};
CHECK: mov.u64 %rd{{[0-9]+}}, %globaltimer;
CHECK: mov.u32 %r{{[0-9]+}}, %clock;
)");
}

TEST_CASE("approximate reciprocals and packed conversions become their PTX", "[block-ptx]") {
  check_kernel(
      [](Builder& b, KernelValues const& k) {
        llvm::Value *const x = b.CreateSIToFP(k.x, b.getFloatTy()), *const y = b.CreateSIToFP(k.y, b.getFloatTy());
        use(b, k, {rcp_approx(b, x), pack_bf16(b, x, y), pack_f16(b, x, y)});
      },
      R"(
CHECK: ld.param.{{[a-z]}}32 [[X:%r[0-9]+]], [k_param_3];
CHECK: cvt.rn.f32.s32 [[FX:%[a-z]+[0-9]+]], [[X]];
CHECK-DAG: rcp.approx.ftz.f32 %{{[a-z]+[0-9]+}}, [[FX]];
CHECK-DAG: cvt.rn.bf16x2.f32 %r{{[0-9]+}}, %{{[a-z]+[0-9]+}}, [[FX]];
CHECK-DAG: cvt.rn.f16x2.f32 %r{{[0-9]+}}, %{{[a-z]+[0-9]+}}, [[FX]];
)");
}

TEST_CASE("mma.sync of every element pair becomes its PTX", "[block-ptx]") {
  struct Case {
    Element a, b;
    char const* text;
  };
  PtxModule module(84);
  std::string checks;
  for (Case const& c : {Case{Element::f16, Element::f16, "m16n8k16.row.col.f32.f16.f16.f32"},
                        Case{Element::bf16, Element::bf16, "m16n8k16.row.col.f32.bf16.bf16.f32"},
                        Case{Element::f32, Element::f32, "m16n8k8.row.col.f32.tf32.tf32.f32"},
                        Case{Element::i8, Element::i8, "m16n8k32.row.col.s32.s8.s8.s32"},
                        Case{Element::u8, Element::i8, "m16n8k32.row.col.s32.u8.s8.s32"},
                        Case{Element::e4m3, Element::e5m2, "m16n8k32.row.col.f32.e4m3.e5m2.f32"}}) {
    module.kernel(fmt::format("k_{}{}", static_cast<int>(c.a), static_cast<int>(c.b)),
                  [&](Builder& b, KernelValues const& k) {
                    Values const a = ldmatrix(b, k.shared, 4, false), other = ldmatrix(b, k.barrier, 2, true);
                    MmaResult const result = c.a == Element::i8 || c.a == Element::u8 ? MmaResult::s32 : MmaResult::f32;
                    Values d = mma_sync(b, c.a, c.b, a, other, zeros(b, result, 4), true);
                    use(b, k, mma_sync(b, c.a, c.b, a, other, d, true));
                  });
    std::string const line = std::string("CHECK: mma.sync.aligned.") + c.text + " {[[D0:%[a-z]+[0-9]+]], ";
    checks += line +
              "{{.*}} {%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}}, {%r{{[0-9]+}}, %r{{[0-9]+}}}, "
              "{[[D0]], ";
    checks += "\n";
  }
  std::string const ptx = module.ptx();
  check_text(ptx, checks);
  CHECK(complaints(ptx) == "");
}

TEST_CASE("wgmma of every shape and element pair becomes its PTX", "[block-ptx]") {
  PtxModule module(84);
  int number = 0;
  std::string checks;
  auto const add = [&](WgmmaForm const& form, bool a_in_registers, std::string const& text) {
    module.kernel(fmt::format("k{}", number++), [&](Builder& b, KernelValues const& k) {
      llvm::Value* const descriptor = matrix_descriptor(b, k.shared, {16, 1024, 128});
      Values a;
      if (a_in_registers) a = ldmatrix(b, k.barrier, 4, false);
      Values d = wgmma_fence(b, zeros(b, form.d, wgmma_registers(form)));
      if (a_in_registers) a = wgmma_fence(b, a);
      WgmmaGroup group{.form = form, .b_descriptor = descriptor, .results = {d}, .accumulate = k.flag};
      if (!a_in_registers) group.a_descriptor = descriptor;
      WgmmaStep step;
      if (a_in_registers) step.a = a;
      group.steps = {step, step};
      group.steps[1].a_bytes = group.steps[1].b_bytes = 32;
      d = wgmmas(b, group)[0];
      wgmma_commit(b);
      Values live = d;
      if (a_in_registers) live.insert(live.end(), a.begin(), a.end());
      live = wgmma_wait(b, 0, live);
      live.resize(d.size());
      use(b, k, live);
    });
    checks += "CHECK: wgmma.mma_async.sync.aligned." + text + "\nCHECK: wgmma.mma_async.sync.aligned." + text +
              "\nCHECK: wgmma.commit_group.sync.aligned;\nCHECK: wgmma.wait_group.sync.aligned 0;\n";
  };
  std::string const list = " {{[{].*[}]}}, ";
  std::string const shared_a = list + "{{%rd[0-9]+, %rd[0-9]+|%da, %db}}, ";
  std::string const register_a = list + "{%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}}, {{%rd[0-9]+|%db}}, ";
  for (int n : {8, 24, 176, 256})
    add({.n = n}, false, fmt::format("m64n{}k16.f32.bf16.bf16{}{{{{%p[0-9]+|1}}}}, 1, 1, 0, 0;", n, shared_a));
  add({.n = 64, .a = Element::f16, .b = Element::f16, .a_transposed = true, .b_transposed = true}, false,
      "m64n64k16.f32.f16.f16" + shared_a + "{{%p[0-9]+|1}}, 1, 1, 1, 1;");
  add({.n = 64, .b_transposed = true, .scale_a = -1}, true,
      "m64n64k16.f32.bf16.bf16" + register_a + "{{%p[0-9]+|1}}, -1, 1, 1;");
  add({.n = 64, .a = Element::f16, .b = Element::f16, .d = MmaResult::f16}, false,
      "m64n64k16.f16.f16.f16" + shared_a + "{{%p[0-9]+|1}}, 1, 1, 0, 0;");
  for (bool registers : {false, true}) {
    std::string const& a = registers ? register_a : shared_a;
    add({.n = 32, .a = Element::f32, .b = Element::f32}, registers,
        "m64n32k8.f32.tf32.tf32" + a + "{{%p[0-9]+|1}}, 1, 1;");
    add({.n = 32, .a = Element::e4m3, .b = Element::e5m2}, registers,
        "m64n32k32.f32.e4m3.e5m2" + a + "{{%p[0-9]+|1}}, 1, 1;");
    add({.n = 32, .a = Element::e5m2, .b = Element::e5m2, .d = MmaResult::f16}, registers,
        "m64n32k32.f16.e5m2.e5m2" + a + "{{%p[0-9]+|1}}, 1, 1;");
    add({.n = 32, .a = Element::i8, .b = Element::i8, .d = MmaResult::s32}, registers,
        "m64n32k32.s32.s8.s8" + a + "{{%p[0-9]+|1}};");
    add({.n = 48, .a = Element::u8, .b = Element::i8, .d = MmaResult::s32, .saturate = true}, registers,
        "m64n48k32.s32.u8.s8.satfinite" + a + "{{%p[0-9]+|1}};");
  }
  std::string const ptx = module.ptx();
  check_text(ptx, checks);
  CHECK(complaints(ptx) == "");
}

TEST_CASE("wgmma of every n from 8 to 256 assembles", "[block-ptx]") {
  PtxModule module;
  for (int n = 8; n <= 256; n += 8)
    module.kernel(fmt::format("n{}", n), [&](Builder& b, KernelValues const& k) {
      llvm::Value* const descriptor = matrix_descriptor(b, k.shared, {16, 1024, 128});
      WgmmaGroup const group{.form = {.n = n},
                             .a_descriptor = descriptor,
                             .b_descriptor = descriptor,
                             .steps = {{}},
                             .results = {{}},
                             .fence = true};
      Values const d = wgmmas(b, group)[0];
      wgmma_commit(b);
      use(b, k, wgmma_wait(b, 0, d));
    });
  CHECK(complaints(module.ptx()) == "");
}

TEST_CASE("wgmmas of a group share accumulators and advance descriptors after one fence", "[block-ptx]") {
  check_kernel(
      [](Builder& b, KernelValues const& k) {
        llvm::Value* const descriptor = matrix_descriptor(b, k.shared, {16, 1024, 128});
        WgmmaGroup group{.form = {.n = 8},
                         .a_descriptor = descriptor,
                         .b_descriptor = descriptor,
                         .steps = {},
                         .results = {{}, {}},
                         .fence = true};
        for (std::int64_t step = 0; step < 2; ++step)
          for (std::size_t result = 0; result < 2; ++result)
            group.steps.push_back({{}, 64 * step, 32 * step + (result == 0 ? 0 : 1024), result});
        std::vector<Values> d = wgmmas(b, group);
        wgmma_commit(b);
        d[0].insert(d[0].end(), d[1].begin(), d[1].end());
        use(b, k, wgmma_wait(b, 0, d[0]));
      },
      R"(
CHECK: and.b32 %r{{[0-9]+}}, %r{{[0-9]+}}, {{[0-9]+}};
CHECK: wgmma.fence.sync.aligned;
CHECK: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 [[A:[{].*[}]]], [[AT:%rd[0-9]+]], [[BT:%rd[0-9]+]], 0, 1, 1, 0, 0;
CHECK-NOT: fence
CHECK: add.s64 %db, [[BT]], 64;
CHECK: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 [[B:[{].*[}]]], [[AT]], %db, 0, 1, 1, 0, 0;
CHECK: add.s64 %da, [[AT]], 4;
CHECK: add.s64 %db, [[BT]], 2;
CHECK: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 [[A]], %da, %db, 1, 1, 1, 0, 0;
CHECK: add.s64 %db, [[BT]], 66;
CHECK: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 [[B]], %da, %db, 1, 1, 1, 0, 0;
CHECK-NOT: mov.b32
CHECK: wgmma.commit_group.sync.aligned;
CHECK: wgmma.wait_group.sync.aligned 0;
)");
}

TEST_CASE("a matrix descriptor holds 18 address bits, both offsets and the mode", "[block-ptx]") {
  llvm::LLVMContext context;
  Builder b(context);
  auto const bits = [&](std::uint32_t address, DescriptorFields const& fields) {
    llvm::Value* const value = matrix_descriptor(b, b.getInt32(address), fields);
    return llvm::cast<llvm::ConstantInt>(value)->getZExtValue();
  };
  CHECK(bits(0x400, {16, 1024, 128}) == (0x40u | 1ull << 16 | 64ull << 32 | 1ull << 62));
  CHECK(bits(0x400, {8192, 1024, 128}) == (0x40u | 512ull << 16 | 64ull << 32 | 1ull << 62));
  CHECK(bits(0x800, {2048, 512, 64}) == (0x80u | 128ull << 16 | 32ull << 32 | 2ull << 62));
  CHECK(bits(0x800, {2048, 256, 32}) == (0x80u | 128ull << 16 | 16ull << 32 | 3ull << 62));
  CHECK(bits(0x800, {2048, 128, 16}) == (0x80u | 128ull << 16 | 8ull << 32));
  // The shared window of CTA 3 of a cluster starts at 3 << 24.
  CHECK(bits(0x3000400, {16, 1024, 128}) == bits(0x400, {16, 1024, 128}));
  CHECK_THROWS_WITH(bits(0, {8, 1024, 128}), ContainsSubstring("leading offset of 8"));
  CHECK_THROWS_WITH(bits(0, {16, 262144, 128}), ContainsSubstring("stride of 262144"));
}

TEST_CASE("a wgmma that Hopper does not have is refused with its reason", "[block-ptx]") {
  PtxModule module;
  module.kernel("k", [](Builder& b, KernelValues const& k) {
    llvm::Value* const descriptor = matrix_descriptor(b, k.shared, {16, 1024, 128});
    auto const why = [&](WgmmaForm const& form, bool registers = false, std::int64_t b_bytes = 0) -> std::string {
      try {
        WgmmaGroup group{.form = form, .b_descriptor = descriptor, .steps = {{}}, .results = {{}}};
        if (registers)
          group.steps[0].a = Values(4, k.x);
        else
          group.a_descriptor = descriptor;
        group.steps[0].b_bytes = b_bytes;
        wgmmas(b, group);
      } catch (InternalError const& error) {
        return error.what();
      }
      return "";
    };
    CHECK_THAT(why({.n = 16}, false, 8), ContainsSubstring("multiples of 16 bytes, not 8"));
    CHECK_THAT(why({.n = 12}), ContainsSubstring("n must be a multiple of 8 up to 256"));
    CHECK_THAT(why({.n = 264}), ContainsSubstring("n must be a multiple of 8 up to 256"));
    CHECK_THAT(why({.n = 40, .a = Element::i8, .b = Element::i8, .d = MmaResult::s32}),
               ContainsSubstring("multiple of 16"));
    CHECK_THAT(why({.a = Element::f16}), ContainsSubstring("do not go together"));
    CHECK_THAT(why({.d = MmaResult::f16}), ContainsSubstring("f16 results"));
    CHECK_THAT(why({.d = MmaResult::s32}), ContainsSubstring("s32"));
    CHECK_THAT(why({.a = Element::f32, .b = Element::f32, .b_transposed = true}), ContainsSubstring("16-bit"));
    CHECK_THAT(why({.a_transposed = true}, true), ContainsSubstring("A in registers"));
    CHECK_THAT(why({.saturate = true}), ContainsSubstring("saturates"));
  });
}
