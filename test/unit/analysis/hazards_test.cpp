#include <fmt/format.h>

#include "analysis/hazards.hpp"

#include "ir/text/text.hpp"
#include "support/catch.hpp"
#include "support/module.hpp"

using namespace tegula;
using namespace tegula::test;
using analysis::Level;

namespace {

constexpr char own[] = "tile<64xi32, [lane (1) (2) (4) (8) (16), warp (32)]>";
constexpr char other[] = "tile<64xi32, [lane (32) (2) (4) (8) (16), warp (1)]>";

/// Prints "kind: later after earlier, at level, before op" of the first hazard; "none".
std::string hazard(std::string const& body, std::string const& parameters = "") {
  auto const module = module_of("kernel @k(" + parameters +
                                ") warps = 2 {\n  %k0 = constant {value = 0 : i64} : i64\n"
                                "  %s = buffer_alloc {align = 128, offset = 0} : shared<64xi32, dense>\n"
                                "  %b = buffer_alloc {align = 8, offset = 256} : mbarrier\n"
                                "  %x = constant {value = 1 : i32} : " +
                                std::string(own) + "\n" + body + "  return\n}\n");
  analysis::Uniformity const uniformity(module), replicas(module, true);
  analysis::Hazards hazards(module.kernel(), uniformity, replicas);
  auto const found = hazards.first();
  if (!found) return "none";
  return std::string(name(found->kind())) + ": " + std::string(found->later->op->info().mnemonic) + " after " +
         std::string(found->earlier->op->info().mnemonic) + ", " + std::string(name(found->level)) + ", before " +
         std::string(found->before->info().mnemonic);
}

std::string load(char const* layout) { return std::string("  %y = buffer_load %s : ") + layout + "\n"; }
constexpr char store[] = "  buffer_store %s, %x\n";

}  // namespace

TEST_CASE("hazards: the order that an access needs depends on the holder of the bytes") {
  CHECK(hazard(store + load(own)) == "none");
  CHECK(hazard(store + load(other)) == "RAW: buffer_load after buffer_store, group, before buffer_load");
  CHECK(hazard(load(own) + load(other).replace(2, 2, "%z")) == "none");
  CHECK(hazard(load(other) + store) == "WAR: buffer_store after buffer_load, group, before buffer_store");
}

TEST_CASE("hazards: a copy out ends for its lane at the wait that counts its group") {
  std::string const map = "  %m = tensor_map %o {box = [64]} : tensor_map<64xi32>\n";
  std::string const parameters = "%o: out tensor<?xi32> {unit_inner, aligned_16}";
  auto const copy = [](std::string const& wait) {
    return "  elect {\n    tma_store %m, %s, %k0\n    bulk_commit\n    yield\n  }\n  elect {\n    " + wait +
           "\n    yield\n  }\n";
  };
  // Under way, no barrier helps; over, the others have to hear of it.
  CHECK(hazard(map + copy("bulk_wait {pending = 1, read = true}") + store, parameters) == "none");
  CHECK(hazard(map + copy("bulk_wait {read = true}") + store, parameters) ==
        "WAR: buffer_store after tma_store, group, before buffer_store");
  CHECK(hazard(map + copy("bulk_wait {read = true}") + "  barrier\n" + store, parameters) == "none");
}

TEST_CASE("hazards: iterations of a loop are followed to a fixed point") {
  auto const copies = [](int open) {
    return fmt::format(
        "  %m = tensor_map %o {{box = [64]}} : tensor_map<64xi32>\n"
        "  %k1 = constant {{value = 1 : i64}} : i64\n"
        "  for %i = %k0 to %n step %k1 {{\n"
        "  {}    barrier\n"
        "    elect {{\n"
        "      tma_store %m, %s, %k0\n"
        "      bulk_commit\n"
        "      bulk_wait {{pending = {}, read = true}}\n"
        "      yield\n"
        "    }}\n"
        "    yield\n"
        "  }}\n",
        store, open);
  };
  // A store of one lane so many iterations ago is over for that lane alone.
  for (int const open : {0, 1, 6, 7})
    CHECK(hazard(copies(open), "%o: out tensor<?xi32> {unit_inner, aligned_16}, %n: i64") ==
          "WAR: buffer_store after tma_store, group, before buffer_store");
}

TEST_CASE("hazards: a summary holds the open accesses of a call") {
  auto const module = module_of("function @f(%t: inout tensor<?xi32>, %x: " + std::string(own) +
                                ", %shared: i64) warps = 2 shared = 256 {\n  %k0 = constant {value = 0 : i64} : i64\n"
                                "  %s = buffer_alloc {offset = 0} : shared<64xi32, dense>\n" +
                                store + "  barrier\n" + load(other) + "  store %t, %y, %k0\n  return\n}\n");
  analysis::Uniformity const uniformity(module), replicas(module, true);
  analysis::Hazards hazards(*module.find("f"), uniformity, replicas);
  CHECK(hazards.none());
  auto const summary = hazards.summary();
  CHECK(summary.meets);
  REQUIRE(summary.first.size() == 1);
  CHECK(summary.first[0]->op->is<ir::BufferStoreOp>());
  REQUIRE(summary.last.size() == 2);
  CHECK(summary.last[0]->op->is<ir::BufferLoadOp>());
  CHECK(summary.last[1]->op->is<ir::StoreOp>());
}

TEST_CASE("hazards: accesses print with their boxes, bytes and holders") {
  auto const module = module_of(
      "kernel @k(%n: i64) warps = 2 {\n  %k0 = constant {value = 0 : i64} : i64\n  %k32 = constant {value = 32 : i64} "
      ": "
      "i64\n  %w = warp_index : i64\n  %at = mul %w, %k32 : i64\n"
      "  %s = buffer_alloc {offset = 128} : shared<2x64xi32, dense>\n  %v = view %s, %n, %at : shared<32xi32, dense of "
      "64>\n  %x = constant {value = 1 : i32} : tile<32xi32, [lane (1) (2) (4) (8) (16)]>\n  buffer_store %v, %x\n  "
      "return\n}\n");
  analysis::SharedAccesses accesses(module.kernel(), 2);
  CHECK(accesses.str() == "buffer_store writes %s [0 + 1 %n, 1] [0 + 32 warp, 32] in bytes 128..640, the owners\n");
}

TEST_CASE("hazards: the accesses of an op are those of its record") {
  auto const module = module_of(R"(kernel @k(%x: inout tensor<?xf32>, %y: in tensor<?xf32>, %f: f32) {
  %0 = constant {value = 0 : i64} : i64
  %phase = constant {value = 0 : i32} : i32
  %all = tensor_map %x {box = [64]} : tensor_map<64xf32>
  %constant = tensor_map %y {box = [64]} : tensor_map<64xf32>
  %s = buffer_alloc {align = 128, offset = 0} : shared<64xf32, dense>
  %b = buffer_alloc {align = 8, offset = 256} : mbarrier<1>
  %one = view %b, %0 : mbarrier
  mbarrier_init %b {arrivals = 1}
  elect {warp = 0} {
    mbarrier_expect %one {bytes = 256}
    tma_load %all, %s, %one, %0
    tma_load %constant, %s, %one, %0
    bulk_load %x, %s, %one, %0
    tma_store %all, %s, %0
    tma_reduce %all, %s, %0
    bulk_store %x, %s, %0
    %old = atomic %x, %f, %0 : f32
    yield
  }
  cp_async %x, %s, %0 {vector = 4}
  cp_async_arrive %one
  mbarrier_wait %one, %phase
  mbarrier_arrive %one
  mbarrier_arrive %one, %phase
  %v = buffer_load %s : tile<64xf32, [register (1), lane (2) (4) (8) (16) (32)]>
  buffer_store %s, %v
  peer_store %s, %v, %one, %phase
  %l = load %x, %0 : tile<64xf32, [register (1), lane (2) (4) (8) (16) (32)]>
  %c = load %y, %0 : tile<64xf32, [register (1), lane (2) (4) (8) (16) (32)]>
  store %x, %l, %0
  %i = iota {axis = 0} : tile<64xi32, [register (1), lane (2) (4) (8) (16) (32)]>
  %g = gather %x, %i : tile<64xf32, [register (1), lane (2) (4) (8) (16) (32)]>
  scatter %x, %g, %i
  %u = atomic_update %x, %g, %i : tile<64xf32, [register (1), lane (2) (4) (8) (16) (32)]>
  return
}
)");
  analysis::SharedAccesses accesses(module.kernel(), 1);
  CHECK(accesses.str() == R"(mbarrier_init writes %b [0, 1] in bytes 256..264, every thread
mbarrier_expect reads %b [0, 1] in bytes 256..264, one lane
tma_load reads %b [0, 1] in bytes 256..264, one lane
tma_load reads %x [0, 64], one lane, async
tma_load writes %s [0, 64] in bytes 0..256, one lane, async
tma_load reads %b [0, 1] in bytes 256..264, one lane
tma_load writes %s [0, 64] in bytes 0..256, one lane, async
bulk_load reads %b [0, 1] in bytes 256..264, one lane
bulk_load reads %x [0, 64], one lane, async
bulk_load writes %s [0, 64] in bytes 0..256, one lane, async
tma_store reads %s [0, 64] in bytes 0..256, one lane, async
tma_store writes %x [0, 64], one lane, async
tma_reduce reads %s [0, 64] in bytes 0..256, one lane, async
tma_reduce writes %x [0, 64], one lane, async
bulk_store reads %s [0, 64] in bytes 0..256, one lane, async
bulk_store writes %x [0, 64], one lane, async
atomic writes %x [0, 1], one lane
cp_async reads %x [0, 64], every thread
cp_async writes %s [0, 64] in bytes 0..256, chunk by chunk
cp_async_arrive reads %b [0, 1] in bytes 256..264, every thread
mbarrier_wait reads %b [0, 1] in bytes 256..264, every thread
mbarrier_arrive reads %b [0, 1] in bytes 256..264, every thread
buffer_load reads %s [0, 64] in bytes 0..256, the layout's threads
buffer_store writes %s [0, 64] in bytes 0..256, the owners
load reads %x [0, 64], the layout's threads
store writes %x [0, 64], the owners
gather reads %x somewhere, the layout's threads
scatter writes %x somewhere, the owners
atomic_update writes %x somewhere, the owners
)");
}
