// Tests live ranges, bytes and phases of mbarriers: the verifier's rules on a kernel that reuses an mbarrier's bytes,
// and on the hand-written kernels.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "compiler/compile.hpp"
#include "ir/memory/exchange.hpp"
#include "ir/text/text.hpp"
#include "ir/verify/verifier.hpp"
#include "sim/block/simulate.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/module.hpp"
#include "support/mutate.hpp"
#include "kernels/simulated.hpp"
#include "transform/pipeline.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

// Y = X[0:8] + X[8:16]. The result is staged where the barriers were.
constexpr char reuse[] = R"(tegula-ir 1

kernel @reuse(%X: in tensor<?x?xf32> {unit_inner, aligned_16}, %Y: out tensor<?x?xf32> {unit_inner, aligned_16}, %n: i64) warps = 1 {
  %k0 = constant {value = 0 : i64} : i64
  %k1 = constant {value = 1 : i64} : i64
  %k8 = constant {value = 8 : i64} : i64
  %some = compare %n, %k0 {predicate = gt} : bool
  %map_x = tensor_map %X {box = [8, 32]} : tensor_map<8x32xf32>
  %map_y = tensor_map %Y {box = [8, 32]} : tensor_map<8x32xf32>
  %full = buffer_alloc {align = 8, offset = 0} : mbarrier<2>
  %out = buffer_alloc {align = 128, offset = 0} : shared<8x32xf32, dense>
  %ring = buffer_alloc {align = 128, offset = 1024} : shared<2x8x32xf32, dense>
  %f0 = view %full, %k0 : mbarrier
  %f1 = view %full, %k1 : mbarrier
  %r0 = view %ring, %k0, %k0, %k0 : shared<8x32xf32, dense>
  %r1 = view %ring, %k1, %k0, %k0 : shared<8x32xf32, dense>
  elect {
    mbarrier_init %full
    fence_mbarrier_init
    yield
  }
  barrier
  elect {
    mbarrier_expect %f0 {bytes = 1024}
    tma_load %map_x, %r0, %f0, %k0, %k0
    mbarrier_expect %f1 {bytes = 1024}
    tma_load %map_x, %r1, %f1, %k8, %k0
    yield
  }
  mbarrier_wait %f0, %k0
  %a = buffer_load %r0 : tile<8x32xf32, [register (1,0) (2,0) (4,0), lane (0,1) (0,2) (0,4) (0,8) (0,16)]>
  mbarrier_wait %f1, %k0
  %b = buffer_load %r1 : tile<8x32xf32, [register (1,0) (2,0) (4,0), lane (0,1) (0,2) (0,4) (0,8) (0,16)]>
  %sum = add %a, %b : tile<8x32xf32, [register (1,0) (2,0) (4,0), lane (0,1) (0,2) (0,4) (0,8) (0,16)]>
  barrier
  elect {
    mbarrier_inval %full
    yield
  }
  barrier
  buffer_store %out, %sum
  fence_proxy_async
  barrier
  elect {
    tma_store %map_y, %out, %k0, %k0
    bulk_commit
    bulk_wait
    yield
  }
  return
}
)";

/// Returns `reuse` with one piece of its text replaced.
std::string with(std::string const& from, std::string const& to) {
  std::string text = reuse;
  std::size_t const at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string refusal(std::string const& text) { return ir::verify(unverified(text)).str(); }

std::string in_branch(std::string const& op) {
  return "if %some {\n      " + op + "\n      yield\n    } else {\n      yield\n    }";
}

struct TargetText {
  std::string name;
  ir::Module module;
};
std::vector<TargetText> target_modules() {
  std::vector<TargetText> result;
  for (auto const& entry : std::filesystem::directory_iterator(std::string(TEGULA_TEST_DIR) + "/ir/target"))
    result.push_back({entry.path().stem().string(), unverified(read_file(entry.path().string()))});
  REQUIRE(result.size() >= 6);
  return result;
}

void each_op(ir::Module const& module, std::function<void(ir::Op const&)> const& visit) {
  for (ir::Op const* op : test::detail::all_ops(module.kernel().body())) visit(*op);
}

ir::Op const* buffer_of(ir::Value const& value) {
  ir::Op const* op = value.defining_op();
  while (op != nullptr && (op->is<ir::ViewOp>() || op->is<ir::TransViewOp>())) op = op->operand(0)->defining_op();
  REQUIRE(op != nullptr);
  REQUIRE(op->is<ir::BufferAllocOp>());
  return op;
}

std::int64_t offset_of(ir::Op const& alloc) { return alloc.as<ir::BufferAllocOp>().offset; }

/// Lists the ops through which tensor maps move a buffer, and the operand that names it.
ir::Value const* copied(ir::Op const& op) {
  bool const copies = op.is<ir::TmaLoadOp>() || op.is<ir::TmaStoreOp>() || op.is<ir::TmaReduceOp>();
  return copies ? op.operand(1) : nullptr;
}

std::int64_t needed_alignment(ir::Op const& copy) {
  auto const swizzle = copy.operand(0)->defining_op()->as<ir::TensorMapOp>().swizzle;
  return swizzle == Swizzle::none ? 128 : 128 << static_cast<int>(swizzle);
}

}  // namespace

TEST_CASE("a kernel that initialises, invalidates and reuses its barriers' bytes is clean and right",
          "[sim][block][B4][B16]") {
  ir::Module const module = unverified(reuse);
  REQUIRE(ir::verify(module).str() == "");
  TargetArguments arguments = {target_detail::input("X", Element::f32, {16, 32}, 3),
                               target_detail::tensor("Y", Element::f32, {8, 32}, true),
                               {"n", false, Element::i64, {}, {}, 1}};
  sim::block::Simulation simulation(module.kernel(), simulated(arguments));
  auto const sweep = simulation.sweep(20);
  INFO(sweep.str());
  CHECK(sweep.clean());
  for (std::int64_t i = 0; i < 8 * 32; ++i)
    REQUIRE(arguments[1].number(i) ==
            static_cast<float>(arguments[0].number(i)) + static_cast<float>(arguments[0].number(i + 8 * 32)));
}

TEST_CASE("init dominates every use of an mbarrier", "[B4]") {
  CHECK_THAT(refusal(with("mbarrier_init %full", "")),
             ContainsSubstring("mbarrier_expect: no mbarrier_init of %full[0] comes before it"));
  CHECK_THAT(refusal(with("mbarrier_init %full", in_branch("mbarrier_init %full"))),
             ContainsSubstring("mbarrier_expect: %full[0] is initialised on some paths to here only"));
  CHECK_THAT(refusal(with("mbarrier_init %full", "mbarrier_init %f0")),
             ContainsSubstring("mbarrier_expect: no mbarrier_init of %full[1] comes before it"));
  CHECK_THAT(refusal(with("mbarrier_init %full", "mbarrier_expect %f0\n    mbarrier_init %full")),
             ContainsSubstring("mbarrier_expect: no mbarrier_init of %full[0] comes before it"));
  CHECK_THAT(refusal(with("mbarrier_init %full", "mbarrier_init %full\n    mbarrier_init %f1")),
             ContainsSubstring("mbarrier_init: %full[1] is initialised already"));
}

TEST_CASE("init dominates every use in the hand-written kernels, and each kernel needs it", "[B4]") {
  for (TargetText const& target : target_modules()) {
    CHECK(ir::verify(target.module).str() == "");
    auto const without = mutations(target.module, [](ir::Op const& op) { return op.is<ir::MbarrierInitOp>(); });
    CHECK_FALSE(without.empty());
    for (Mutation const& mutation : without) {
      INFO(target.name << " without " << mutation.without);
      CHECK_THAT(ir::verify(mutation.module).str(), ContainsSubstring("no mbarrier_init of %"));
    }
  }
}

TEST_CASE("invalidation comes after every use, on every path", "[B4]") {
  CHECK_THAT(refusal(with("mbarrier_inval %full", in_branch("mbarrier_inval %full"))),
             ContainsSubstring("mbarrier_inval: %full[0] is invalidated on some paths only"));
  CHECK_THAT(refusal(with("  mbarrier_wait %f1, %k0",
                          "  elect {\n    mbarrier_inval %full\n    yield\n  }\n"
                          "  mbarrier_wait %f1, %k0")),
             ContainsSubstring("mbarrier_wait: %full[1] was invalidated before"));
  CHECK_THAT(refusal(with("  return", "  mbarrier_wait %f0, %k1\n  return")),
             ContainsSubstring("mbarrier_wait: %full[0] was invalidated before"));
  CHECK_THAT(refusal(with("mbarrier_inval %full", "mbarrier_inval %full\n    mbarrier_inval %full")),
             ContainsSubstring("mbarrier_inval: %full[0] was invalidated before"));
}

TEST_CASE("invalidation covers all initialised mbarriers", "[B11]") {
  CHECK(refusal(with("mbarrier_inval %full", "mbarrier_inval %f0\n    mbarrier_inval %f1")) == "");
  for (char const* some : {"%f0", "%f1"})
    CHECK_THAT(
        refusal(with("mbarrier_inval %full", std::string("mbarrier_inval ") + some)),
        ContainsSubstring("mbarrier_inval: 1 of the 2 initialised objects of %full are invalidated; all or none"));
  // A loop over the stages counts as the stages that it covers.
  auto const loop = [](std::string const& to) {
    return "for %s = %k0 to " + to +
           " step %k1 {\n      %fs = view %full, %s : mbarrier\n      mbarrier_inval %fs\n      yield\n    }";
  };
  CHECK(refusal(with("  %k8 =", "  %k2 = constant {value = 2 : i64} : i64\n  %k8 =")) == "");
  std::string whole = with("mbarrier_inval %full", loop("%k2"));
  whole.replace(whole.find("  %k8 ="), 7, "  %k2 = constant {value = 2 : i64} : i64\n  %k8 =");
  CHECK(refusal(whole) == "");
  CHECK_THAT(refusal(with("mbarrier_inval %full", loop("%k1"))),
             ContainsSubstring("1 of the 2 initialised objects of %full are invalidated"));
}

TEST_CASE("an access to the bytes of a live mbarrier is refused", "[B16]") {
  // Never invalidated, or the buffer touched too early.
  CHECK_THAT(
      refusal(with("mbarrier_inval %full", "")),
      ContainsSubstring("buffer_store: %out at bytes 0 to 1024 overlaps %full[0], which lives until mbarrier_inval"));
  CHECK_THAT(refusal(with("  barrier\n  elect {\n    mbarrier_inval",
                          "  buffer_store %out, %sum\n  barrier\n  elect {\n"
                          "    mbarrier_inval")),
             ContainsSubstring("buffer_store: %out at bytes 0 to 1024 overlaps %full[0]"));
  CHECK_THAT(refusal(with("{align = 128, offset = 1024}", "{align = 128, offset = 0}")),
             ContainsSubstring("tma_load: %ring at bytes 0 to 2048 overlaps %full[0]"));
  // After the barriers nothing has to be invalidated.
  std::string apart = with("    mbarrier_inval %full\n", "");
  apart.replace(apart.find("offset = 0} : mbarrier"), 10, "offset = 3072");
  CHECK(refusal(apart) == "");
  // The hand-written kernels reuse no barrier's bytes, and none of their buffers may move over one.
  for (TargetText const& target : target_modules()) {
    ir::Module copy = target.module.clone();
    ir::Op* buffer = nullptr;
    ir::Op const* barrier = nullptr;
    for (ir::Op& op : copy.kernel().body()) {
      if (!op.is<ir::BufferAllocOp>()) continue;
      if (op.result()->type().is_mbarrier())
        barrier = &op;
      else if (buffer == nullptr)
        buffer = &op;
    }
    REQUIRE(buffer != nullptr);
    REQUIRE(barrier != nullptr);
    auto& place = buffer->as<ir::BufferAllocOp>();
    place.offset = offset_of(*barrier) / place.align * place.align;
    INFO(target.name);
    CHECK_THAT(ir::verify(copy).str(), ContainsSubstring("which lives until mbarrier_inval"));
  }
}

TEST_CASE("barriers and TMA buffers are aligned as the hardware asks", "[B9]") {
  CHECK_THAT(refusal(with("{align = 8, offset = 0} : mbarrier", "{align = 4, offset = 0} : mbarrier")),
             ContainsSubstring("buffer_alloc: mbarriers are aligned to 8 bytes"));
  CHECK_THAT(refusal(with("{align = 128, offset = 1024}", "{align = 64, offset = 1024}")),
             ContainsSubstring("tma_load: %ring is aligned to 64 bytes, but its layout needs align = 128 here"));
  CHECK_THAT(refusal(with("offset = 1024}", "offset = 1088}")),
             ContainsSubstring("offset 1088 is not a multiple of align 128"));
  std::string swizzled = reuse;
  for (std::string const from : {"8x32xf32, dense>", "{box = [8, 32]}"})
    for (std::size_t at = 0; (at = swizzled.find(from, at)) != std::string::npos;)
      swizzled.replace(at, from.size(),
                       from[0] == '8' ? "8x32xf32, swizzled(128)>" : "{box = [8, 32], swizzle = b128}");
  CHECK_THAT(refusal(swizzled),
             ContainsSubstring("tma_load: %ring is aligned to 128 bytes, but its layout needs align = 1024 here"));
  for (TargetText const& target : target_modules()) {
    INFO(target.name);
    int copies = 0;
    each_op(target.module, [&](ir::Op const& op) {
      if (op.is<ir::BufferAllocOp>() && op.result()->type().is_mbarrier()) CHECK(offset_of(op) % 8 == 0);
      if (copied(op) == nullptr) return;
      ++copies;
      CHECK(offset_of(*buffer_of(*copied(op))) % needed_alignment(op) == 0);
    });
    CHECK(copies >= 2);
  }
}

TEST_CASE("the allocator keeps alignments and takes 8 bytes a barrier, two barriers a stage", "[B9][B10]") {
  for (int stages : {1, 2, 3, 5, 7}) {
    std::string const count = fmt::to_string(stages);
    std::string const text = R"(tegula-ir 1

kernel @ring(%X: in tensor<?x?xf32> {unit_inner, aligned_16}, %n: i64) warps = 1 {
  %k0 = constant {value = 0 : i64} : i64
  %map = tensor_map %X {box = [1, 4]} : tensor_map<1x4xf32>
  %swizzled_map = tensor_map %X {box = [8, 32], swizzle = b128} : tensor_map<8x32xf32>
  %full = buffer_alloc {align = 8} : mbarrier<)" +
                             count + R"(>
  %small = buffer_alloc {align = 128} : shared<4xf32, dense>
  %empty = buffer_alloc {align = 8} : mbarrier<)" +
                             count + R"(>
  %ring = buffer_alloc {align = 1024} : shared<)" +
                             count + R"(x8x32xf32, swizzled(128)>
  %last = buffer_alloc {align = 8} : mbarrier
  elect {
    mbarrier_init %full
    mbarrier_init %empty
    mbarrier_init %last
    tma_load %map, %small, %last, %k0, %k0
    for %s = %k0 to %n step %n {
      %f = view %full, %s : mbarrier
      %stage = view %ring, %s, %k0, %k0 : shared<8x32xf32, swizzled(128)>
      tma_load %swizzled_map, %stage, %f, %s, %k0
      yield
    }
    yield
  }
  return
}
)";
    ir::Module module = unverified(text);
    REQUIRE(ir::verify(module).str() == "");
    CompileOptions options;
    options.target = tegula::Target::cuda;
    transform::run_pipeline(module, "allocate-shared-memory", options);
    CHECK(ir::verify(module).str() == "");
    std::int64_t barriers = 0, next = 0;
    std::vector<std::int64_t> places;
    std::vector<std::pair<std::int64_t, std::int64_t>> taken;
    for (ir::Op const& op : module.kernel().body()) {
      if (!op.is<ir::BufferAllocOp>()) continue;
      std::int64_t const size = ir::buffer_bytes(op.result()->type());
      CHECK(offset_of(op) % op.as<ir::BufferAllocOp>().align == 0);
      if (op.result()->type().is_mbarrier()) barriers += size;
      for (auto const& [begin, end] : taken) CHECK((offset_of(op) >= end || offset_of(op) + size <= begin));
      taken.emplace_back(offset_of(op), offset_of(op) + size);
      next = std::max(next, offset_of(op) + size);
      places.push_back(offset_of(op));
    }
    CHECK(barriers == 8 * (2 * stages + 1));
    CHECK(places[3] % 1024 == 0);
    CHECK(compiler::compile(unverified(text), options).shared_bytes == next);
  }
}

TEST_CASE("the hand-written kernels have one barrier per stage and no more", "[B10]") {
  for (TargetText const& target : target_modules()) {
    INFO(target.name);
    std::set<ir::Op const*> filled;
    each_op(target.module, [&](ir::Op const& op) {
      if (!op.is<ir::TmaLoadOp>() && !op.is<ir::BulkLoadOp>()) return;
      ir::Type const& buffer = buffer_of(*op.operand(1))->result()->type();
      ir::Op const* const barrier = buffer_of(*op.operand(2));
      filled.insert(barrier);
      std::int64_t const count = barrier->result()->type().elements();
      std::int64_t const stages = buffer.rank() > op.operand(1)->type().rank() ? buffer.shape()[0] : 1;
      CHECK((count == stages || count == 1));
    });
    CHECK_FALSE(filled.empty());
    for (ir::Op const& op : target.module.kernel().body()) {
      if (!op.is<ir::BufferAllocOp>() || !op.result()->type().is_mbarrier()) continue;
      CHECK(ir::buffer_bytes(op.result()->type()) == 8 * op.result()->type().elements());
      for (ir::Op const& other : target.module.kernel().body()) {
        if (!other.is<ir::BufferAllocOp>() || &other == &op) continue;
        CHECK((offset_of(other) >= offset_of(op) + ir::buffer_bytes(op.result()->type()) ||
               offset_of(other) + ir::buffer_bytes(other.result()->type()) <= offset_of(op)));
      }
    }
  }
}
