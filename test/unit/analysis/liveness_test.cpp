#include "analysis/liveness.hpp"

#include "analysis/shared_buffers.hpp"
#include "support/catch.hpp"
#include "support/module.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

std::string live(std::string const& text, analysis::Reuse reuse = analysis::Reuse::beside_loops) {
  auto const module = module_of(text);
  analysis::Uniformity const uniformity(module);
  return analysis::Liveness(module.kernel(), uniformity, reuse).str();
}

std::int64_t max_live(std::string const& text) {
  auto const module = module_of(text);
  analysis::Uniformity const uniformity(module);
  return analysis::Liveness(module.kernel(), uniformity).max_live_bytes();
}

constexpr char tile[] = "tile<64xf32, [register (1), lane (2) (4) (8) (16) (32)]>";

std::string kernel(std::string const& body, std::string const& warps = "1") {
  return "kernel @k(%o: out tensor<?xf32> {unit_inner, aligned_16}, %n: i64) warps = " + warps +
         " {\n  %k0 = constant {value = 0 : i64} : i64\n  %k1 = constant {value = 1 : i64} : i64\n  %x = constant "
         "{value "
         "= 1.0 : f32} : " +
         tile + "\n  %m = tensor_map %o {box = [64]} : tensor_map<64xf32>\n" + body + "  return\n}\n";
}

constexpr char a_and_b[] =
    "  %a = buffer_alloc {align = 128} : shared<64xf32, dense>\n"  // 4
    "  %b = buffer_alloc {align = 128} : shared<64xf32, dense>\n";

}  // namespace

TEST_CASE("liveness: from the first access to the last, by kind and name", "[F13]") {
  CHECK(live("function @f(%at: i64) shared = 96 {\n  return\n}\nkernel @k() warps = 2 {\n"
             "  %at = constant {value = 512 : i64} : i64\n"
             "  %x = constant {value = 1.0 : f32} : tile<64xf32, [lane (1) (2) (4) (8) (16), warp (32)]>\n"
             "  %a = buffer_alloc {offset = 64} : shared<64xf32, dense>\n"
             "  %b = buffer_alloc : shared<64xf32, dense>\n"
             "  buffer_store %a, %x\n"
             "  %s = reduce %x {scratch = 16} : tile<1xf32, [lane (0) (0) (0) (0) (0), warp (0)]>\n"
             "  call %at {callee = @f, virtual = 96}\n"
             "  buffer_store %a, %x\n  return\n}\n") ==
        "explicit %a: 256 bytes at 64, live 4..7\n"
        "explicit %b: 256 bytes, never live\n"
        "scratch of %s: 8 bytes at 16, live 5..5\n"
        "virtual call of @f: 96 bytes at 512, live 6..6\n");
}

TEST_CASE("liveness: a buffer lives through every loop that accesses it") {
  CHECK(live(kernel(std::string(a_and_b) +
                    "  for %i = %k0 to %n step %k1 {\n    buffer_store %a, %x\n    yield\n  }\n")) ==
        "explicit %a: 256 bytes, live 6..8\nexplicit %b: 256 bytes, never live\n");
}

TEST_CASE("liveness: buffers that each iteration writes anew may share memory in a loop") {
  auto const in_loop = [&](std::string const& body) {
    return live(kernel(std::string(a_and_b) + "  for %i = %k0 to %n step %k1 {\n" + body + "    yield\n  }\n"),
                analysis::Reuse::in_loops);
  };
  std::string const load = std::string(" : ") + tile + "\n";
  std::string const store_a = "    buffer_store %a, %x\n", load_a = "    %y = buffer_load %a" + load;
  std::string const store_b = "    buffer_store %b, %x\n", load_b = "    %z = buffer_load %b" + load;
  CHECK(in_loop(store_a + load_a + store_b + load_b) ==
        "explicit %a: 256 bytes, live 7..8\nexplicit %b: 256 bytes, live 9..10\n");
  // An iteration that reads before it writes reads what the one before left.
  CHECK(in_loop(load_a + store_a + store_b + load_b) ==
        "explicit %a: 256 bytes, live 6..11\nexplicit %b: 256 bytes, live 9..10\n");
  // A store that not every iteration reaches does not begin it.
  CHECK(in_loop("    elect {\n  " + store_a + "      yield\n    }\n" + load_a) ==
        "explicit %a: 256 bytes, live 6..11\nexplicit %b: 256 bytes, never live\n");
  // A copy that no wait of this iteration completes goes on in the next one.
  CHECK(in_loop(store_a + "    elect {\n      tma_store %m, %a, %k0\n      bulk_commit\n      yield\n    }\n")
            .starts_with("explicit %a: 256 bytes, live 6.."));
}

TEST_CASE("liveness: an asynchronous access ends at the wait that counts its group") {
  std::string const issue = "    tma_store %m, %a, %k0\n    bulk_commit\n    tma_store %m, %b, %k0\n    bulk_commit\n";
  // Positions: elect 6, stores 7 and 9, yield 11; the next elect 12 with its wait 13.
  auto const ranges = [&](std::string const& wait, std::string const& lane = "") {
    return live(kernel(std::string(a_and_b) + "  elect {\n" + issue + "    yield\n  }\n  elect " + lane + "{\n    " +
                       wait + "\n    yield\n  }\n"));
  };
  CHECK(ranges("bulk_wait {pending = 1, read = true}") ==
        "explicit %a: 256 bytes, live 6..14\nexplicit %b: 256 bytes, live 6..15\n");
  CHECK(ranges("bulk_wait") == "explicit %a: 256 bytes, live 6..14\nexplicit %b: 256 bytes, live 6..14\n");
  // Another lane's wait says nothing of these groups.
  CHECK(ranges("bulk_wait", "{warp = -1} ") ==
        "explicit %a: 256 bytes, live 6..15\nexplicit %b: 256 bytes, live 6..15\n");
}

TEST_CASE("liveness: a copy in ends at the wait for its mbarrier") {
  CHECK(
      live(
          "kernel @k(%o: in tensor<?xf32> {unit_inner, aligned_16}) warps = 1 {\n"
          "  %k0 = constant {value = 0 : i64} : i64\n"
          "  %m = tensor_map %o {box = [64]} : tensor_map<64xf32>\n"
          "  %a = buffer_alloc {align = 128} : shared<64xf32, dense>\n"
          "  %f = buffer_alloc {align = 8} : mbarrier\n"
          "  elect {\n    mbarrier_init %f\n    fence_mbarrier_init\n    mbarrier_expect %f {bytes = 256}\n"
          "    tma_load %m, %a, %f, %k0\n    yield\n  }\n"
          "  mbarrier_wait %f, %k0\n  warp_barrier\n  elect {\n    mbarrier_inval %f\n    yield\n  }\n  return\n}\n") ==
      "explicit %a: 256 bytes, live 4..10\nexplicit %f: 8 bytes, live 4..14\n");
}

TEST_CASE("liveness: partitions run at the same time") {
  std::string const text =
      kernel(std::string(a_and_b) +
                 "  warp_specialize {warps = [1, 1], replicas = [1, 1], registers = [0, 0]} (%p: i64) "
                 "{\n    buffer_store %a, %x\n    yield\n  } and (%q: i64) {\n    buffer_store %b, "
                 "%x\n    yield\n  }\n",
             "2");
  auto const module = module_of(text);
  analysis::Uniformity const uniformity(module);
  analysis::Liveness const ranges(module.kernel(), uniformity);
  CHECK(ranges.str() == "explicit %a: 256 bytes, live 7..7\nexplicit %b: 256 bytes, live 9..9\n");
  CHECK(ranges.together(0, 1));
  CHECK(ranges.max_live_bytes() == 512);
  CHECK(max_live(kernel(std::string(a_and_b) + "  buffer_store %a, %x\n  buffer_store %b, %x\n")) == 256);
}

TEST_CASE("uniformity: values that differ between warps, and the branches and loops that they decide") {
  auto const module = module_of(
      "function @same(%x: i64) -> (i64) {\n  return %x\n}\n"
      "kernel @k(%n: i64) warps = 4 {\n  %k0 = constant {value = 0 : i64} : i64\n  %k1 = constant {value = 1 : i64} : "
      "i64\n"
      "  %w = warp_index : i64\n  %b = block_index : i64\n  %u = add %b, %n : i64\n  %d = add %w, %n : i64\n"
      "  %called = call %d {callee = @same} : i64\n"
      "  %q = compare %u, %k0 : bool\n  %z = if %q : i64 {\n    yield %k0\n  } else {\n    yield %k1\n  }\n"
      "  %p = compare %called, %k0 : bool\n  %y = if %p : i64 {\n    yield %k0\n  } else {\n    yield %k1\n  }\n"
      "  for %i = %k0 to %n step %k1 {\n    yield\n  }\n"
      "  %r = for %j = %k0 to %y step %k1 carry (%c = %k0) : i64 {\n    yield %c\n  }\n"
      "  return\n}\n");
  analysis::Uniformity const uniformity(module);
  CHECK(uniformity.str(module.kernel()) ==
        "%w differs between warps\n%d differs between warps\n%called differs between warps\n%p differs between warps\n"
        "if: warps take different paths\n%y differs between warps\nfor: warps take different paths\n%r differs between "
        "warps\n");
}
