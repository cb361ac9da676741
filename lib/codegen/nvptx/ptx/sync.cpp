#include "codegen/nvptx/ptx/sync.hpp"

namespace tegula::codegen::nvptx::ptx {
namespace {

void plain(Builder& b, std::string const& text) { Assembly(b).call(text, AsmEffect::convergent); }

void named(Builder& b, std::string const& opcode, llvm::Value* id, std::int64_t threads) {
  Assembly assembly(b);
  std::string const text = opcode + " " + assembly.number(id) + ", " + std::to_string(threads) + ";";
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
void barrier_warp(Builder& b, std::uint32_t mask) { plain(b, "bar.warp.sync " + std::to_string(mask) + ";"); }

void cluster_arrive(Builder& b, bool release) {
  plain(b, release ? "barrier.cluster.arrive.release.aligned;" : "barrier.cluster.arrive.relaxed.aligned;");
}
void cluster_wait(Builder& b) { plain(b, "barrier.cluster.wait.acquire.aligned;"); }

void setmaxnreg(Builder& b, bool increase, int registers) {
  plain(b, std::string("setmaxnreg.") + (increase ? "inc" : "dec") + ".sync.aligned.u32 " + std::to_string(registers) +
               ";");
}

void launch_dependents(Builder& b) { plain(b, "griddepcontrol.launch_dependents;"); }
void wait_for_prerequisites(Builder& b) { plain(b, "griddepcontrol.wait;"); }

}  // namespace tegula::codegen::nvptx::ptx
