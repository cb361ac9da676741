#include "codegen/nvptx/ptx/sync.hpp"

#include <fmt/format.h>

namespace tegula::codegen::nvptx::ptx {
namespace {

void plain(Builder& b, std::string const& text) { Assembly(b).call(text, AsmEffect::convergent); }

void named(Builder& b, std::string const& opcode, llvm::Value* id, std::int64_t threads) {
  Assembly assembly(b);
  std::string const text = fmt::format("{} {}, {};", opcode, assembly.number(id), threads);
  assembly.call(text, AsmEffect::convergent);
}

}  // namespace

void fence_proxy_async(Builder& b, ProxySpace space) {
  switch (space) {
    case ProxySpace::shared:
      return plain(b, "fence.proxy.async.shared::cta;");
    case ProxySpace::shared_cluster:
      return plain(b, "fence.proxy.async.shared::cluster;");
    case ProxySpace::global:
      return plain(b, "fence.proxy.async.global;");
    case ProxySpace::all:
      return plain(b, "fence.proxy.async;");
  }
}

void barrier_cta(Builder& b) { plain(b, "bar.sync 0;"); }
void barrier_sync(Builder& b, llvm::Value* id, std::int64_t threads) { named(b, "bar.sync", id, threads); }
void barrier_arrive(Builder& b, llvm::Value* id, std::int64_t threads) { named(b, "bar.arrive", id, threads); }
void barrier_warp(Builder& b, std::uint32_t mask) { plain(b, fmt::format("bar.warp.sync {};", mask)); }

void cluster_arrive(Builder& b, bool release) {
  plain(b, release ? "barrier.cluster.arrive.release.aligned;" : "barrier.cluster.arrive.relaxed.aligned;");
}
void cluster_wait(Builder& b) { plain(b, "barrier.cluster.wait.acquire.aligned;"); }

void setmaxnreg(Builder& b, bool increase, int registers) {
  plain(b, fmt::format("setmaxnreg.{}.sync.aligned.u32 {};", increase ? "inc" : "dec", registers));
}

void launch_dependents(Builder& b) { plain(b, "griddepcontrol.launch_dependents;"); }
void wait_for_prerequisites(Builder& b) { plain(b, "griddepcontrol.wait;"); }

}  // namespace tegula::codegen::nvptx::ptx
