// Tests the census of synchronising instructions: silent if LLVM keeps them, an error if one is duplicated or lost.
#include "codegen/nvptx/ptx/mbarrier.hpp"
#include "codegen/nvptx/ptx/sync.hpp"
#include "codegen/ptx_module.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using namespace tegula::codegen::nvptx;
using codegen::nvptx::ptx::Builder;
using tegula::test::ContainsSubstring;
using tegula::test::KernelValues;
using tegula::test::PtxModule;

namespace {

/// Defines a kernel whose two paths meet in a barrier, which a careless optimiser would copy into both.
void diamond(PtxModule& module) {
  module.kernel("k", [](Builder& b, KernelValues const& k) {
    llvm::Function* const function = b.GetInsertBlock()->getParent();
    llvm::LLVMContext& context = b.getContext();
    llvm::BasicBlock *const then_block = llvm::BasicBlock::Create(context, "then", function),
                            *const else_block = llvm::BasicBlock::Create(context, "else", function),
                            *const join = llvm::BasicBlock::Create(context, "join", function);
    b.CreateCondBr(k.flag, then_block, else_block);
    b.SetInsertPoint(then_block);
    ptx::mbarrier_arrive(b, k.barrier);
    b.CreateBr(join);
    b.SetInsertPoint(else_block);
    ptx::mbarrier_arrive(b, k.barrier);
    b.CreateBr(join);
    b.SetInsertPoint(join);
    ptx::barrier_sync(b, b.getInt32(1), 128);
  });
}

std::string with_text(std::string text, std::string const& from, std::string const& to) {
  std::size_t const at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("LLVM keeps every synchronising instruction once, and the marks leave no trace", "[block-ptx]") {
  PtxModule module;
  diamond(module);
  SyncCensus const census(module.module());
  CHECK(census.lowered() == std::map<std::string, int>{{"bar.sync", 1}, {"mbarrier.arrive.shared::cta.b64", 2}});
  optimize(module.module(), module.machine());
  std::string const marked = print_ptx(module.module(), module.machine());
  std::string const ptx = census.checked(marked, "k");
  CHECK(ptx.find("//#") == std::string::npos);
  CHECK(ptx.find("bar.sync 1, 128;\n") != std::string::npos);

  std::size_t const at = marked.find("bar.sync 1, 128; //#");
  REQUIRE(at != std::string::npos);
  std::string const line = marked.substr(at, marked.find('\n', at) - at);
  CHECK_THROWS_WITH(census.checked(with_text(marked, line, line + "\n" + line), "k"),
                    ContainsSubstring("changed the synchronisation of @k: bar.sync 1 lowered, 2 in the PTX"));
  // Two arrivals of two blocks that became one: one of them is not dead code, as its block's only mark it may be.
  CHECK_NOTHROW(census.checked(with_text(marked, line, ""), "k"));
}

TEST_CASE("a synchronising instruction lost from a block that still runs is reported", "[block-ptx]") {
  PtxModule module;
  module.kernel("k", [](Builder& b, KernelValues const& k) {
    ptx::mbarrier_arrive(b, k.barrier);
    ptx::fence_proxy_async(b, ptx::ProxySpace::shared);
    ptx::barrier_cta(b);
  });
  SyncCensus const census(module.module());
  std::string const marked = print_ptx(module.module(), module.machine());
  CHECK_NOTHROW(census.checked(marked, "k"));
  CHECK_THROWS_WITH(census.checked(with_text(marked, "fence.proxy.async.shared::cta; //#1", ""), "k"),
                    ContainsSubstring("fence.proxy.async.shared::cta 1 lowered, 0 in the PTX"));
}

TEST_CASE("code that LLVM proves dead may take its synchronisation with it", "[block-ptx]") {
  PtxModule module;
  module.kernel("k", [](Builder& b, KernelValues const& k) {
    llvm::Function* const function = b.GetInsertBlock()->getParent();
    llvm::BasicBlock *const never = llvm::BasicBlock::Create(b.getContext(), "never", function),
                            *const end = llvm::BasicBlock::Create(b.getContext(), "end", function);
    b.CreateCondBr(b.CreateICmpSLT(b.CreateAnd(k.x, b.getInt32(7)), b.getInt32(0)), never, end);
    b.SetInsertPoint(never);
    ptx::barrier_cta(b);
    ptx::barrier_cta(b);
    b.CreateBr(end);
    b.SetInsertPoint(end);
    ptx::barrier_sync(b, b.getInt32(1), 128);
  });
  std::string const ptx = module.ptx();
  CHECK(ptx.find("bar.sync 0") == std::string::npos);
  CHECK(ptx.find("bar.sync 1, 128;") != std::string::npos);
}
