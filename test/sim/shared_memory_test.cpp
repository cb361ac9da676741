// Tests shared-memory allocation by running kernels. They give the same results with overlapping buffers as with
// separate ones, and no two buffers that are live at one time overlap.
#include <fmt/format.h>

#include <cstdio>

#include "analysis/liveness.hpp"
#include "ir/text/text.hpp"
#include "ir/verify/verifier.hpp"
#include "sim/block/simulate.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/host_tensor.hpp"
#include "support/module.hpp"
#include "kernels/random_shared.hpp"
#include "kernels/targets.hpp"
#include "transform/pipeline.hpp"

using namespace tegula;
using namespace tegula::test;
namespace block = sim::block;

namespace {

/// Returns the output of a run, which must be clean.
HostTensor output_of(ir::Module const& module, RandomShared const& program) {
  HostTensor in(Element::i32, {program.loads, RandomShared::row_width}),
      out(Element::i32, {program.rows, RandomShared::row_width});
  for (std::int64_t i = 0; i < in.count(); ++i) in.set_integer(i, -i);
  for (std::int64_t i = 0; i < out.count(); ++i) out.set_integer(i, 7);
  block::Simulation simulation(module.kernel(),
                               {in.view(), out.view(), ir::make_constant(Element::i64, std::int64_t{1})});
  auto const sweep = simulation.sweep(2);
  INFO(ir::print(module));
  INFO(sweep.str());
  REQUIRE(sweep.clean());
  return out;
}

bool same(HostTensor const& a, HostTensor const& b) {
  for (std::int64_t i = 0; i < a.count(); ++i)
    if (a.integer(i) != b.integer(i)) return false;
  return true;
}

/// Names two users that are live at one time and overlap; empty: none.
std::string overlapping(ir::Module const& module) {
  analysis::Uniformity const uniformity(module);
  for (auto const& function : module.functions()) {
    analysis::Liveness const live(*function, uniformity);
    auto const& users = live.users();
    for (std::size_t a = 0; a < users.size(); ++a)
      for (std::size_t b = a + 1; b < users.size(); ++b)
        if (live.together(a, b) && users[a].offset < users[b].end() && users[b].offset < users[a].end())
          return ir::to_string(users[a]) + " and " + ir::to_string(users[b]);
  }
  return {};
}

struct Size {
  std::int64_t bytes = 0;
  std::int64_t live = 0;
  [[nodiscard]] double ratio() const { return live == 0 ? 1 : static_cast<double>(bytes) / static_cast<double>(live); }
};
Size size_of(ir::Module const& module) {
  analysis::Uniformity const uniformity(module);
  analysis::Liveness const live(module.kernel(), uniformity);
  return {ir::frame_bytes(live.users()), live.max_live_bytes()};
}

}  // namespace

TEST_CASE("random kernels compute the same when their buffers share shared memory", "[sim][block]") {
  int sharing = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    RandomSharedOptions options;
    options.warps = 1 << seed % 3;
    options.copies = seed % 2 == 0;
    auto const program = SharedGenerator(seed, options).make();
    auto module = module_of(program.text);
    auto const expected = output_of(module, program);
    transform::run_pipeline(module, "allocate-shared-memory", {});
    INFO("seed " << seed << "\n" << ir::print(module));
    CHECK(overlapping(module) == "");
    CHECK(same(output_of(module, program), expected));
    auto const users = ir::shared_users(module.kernel());
    std::int64_t sum = 0;
    for (auto const& user : users) sum += user.bytes;
    sharing += ir::frame_bytes(users) < sum ? 1 : 0;
  }
  CHECK(sharing > 30);  // else nothing was at stake
}

TEST_CASE("buffers of an iteration share memory where they need more than there is", "[sim][block]") {
  // Four buffers of 64 KiB, through which elements change threads, one after the other.
  std::string const across =
      "tile<16384xi32, [register (128) (256) (512) (1024) (2048) (4096) (8192), lane (1) (2) (4) (8) (16), warp (32) "
      "(64)]>";
  std::string const along =
      "tile<16384xi32, [register (1) (2) (4) (8) (16) (32) (64), lane (128) (256) (512) (1024) (2048), warp (4096) "
      "(8192)]>";
  std::string text =
      "kernel @k(%in: in tensor<?x?xi32> {unit_inner, aligned_16}, %out: out tensor<?x?xi32> {unit_inner, aligned_16}, "
      "%n: i64) warps = 4 {\n  %k0 = constant {value = 0 : i64} : i64\n  %k1 = constant {value = 1 : i64} : i64\n";
  for (char const name : {'a', 'b', 'c', 'd'})
    text += std::string("  %") + name + " = buffer_alloc {align = 128} : shared<16384xi32, dense>\n";
  text += "  for %i = %k0 to %n step %k1 {\n    %v0 = load %in, %i, %k0 : " + across + "\n";
  int value = 0;
  for (char const name : {'a', 'b', 'c', 'd'}) {
    std::string const& to = value % 2 == 0 ? along : across;
    std::string const from = fmt::to_string(value), next = fmt::to_string(value + 1);
    text += std::string("    buffer_store %") + name + ", %v" + from + "\n    %v" + next + " = buffer_load %" + name +
            " : " + to + "\n";
    ++value;
  }
  text += "    store %out, %v4, %i, %k0\n    yield\n  }\n  return\n}\n";
  auto module = module_of(text);
  transform::run_pipeline(module, "allocate-shared-memory,insert-barriers", {});
  auto const users = ir::shared_users(module.kernel());
  CHECK(ir::frame_bytes(users) <= 2 * 65536);
  HostTensor in(Element::i32, {3, 16384}), out(Element::i32, {3, 16384});
  for (std::int64_t i = 0; i < in.count(); ++i) in.set_integer(i, 7 * i + 1);
  block::Simulation simulation(module.kernel(),
                               {in.view(), out.view(), ir::make_constant(Element::i64, std::int64_t{3})});
  auto const sweep = simulation.sweep(3);
  INFO(ir::print(module) << sweep.str());
  CHECK(sweep.clean());
  CHECK(same(in, out));
}

TEST_CASE("random kernels use little more shared memory than is live at one time", "[sim][block]") {
  double sum = 0, worst = 0;
  std::uint64_t worst_seed = 0;
  int counted = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    RandomSharedOptions options;
    options.buffers = 16;
    options.statements = 40;
    options.warps = 4;
    options.max_words = 12;
    auto module = module_of(SharedGenerator(seed, options).make().text);
    transform::run_pipeline(module, "allocate-shared-memory", {});
    CHECK(overlapping(module) == "");
    Size const size = size_of(module);
    if (size.live <= 8192) continue;  // there exchanges get places of their own
    ++counted;
    sum += size.ratio();
    if (size.ratio() > worst) worst = size.ratio(), worst_seed = seed;
  }
  std::printf(
      "shared memory of %d random kernels: %.4f of the bytes live at one time in the mean, at worst %.4f (seed "
      "%llu)\n",
      counted, sum / counted, worst, static_cast<unsigned long long>(worst_seed));
  CHECK(counted > 100);
  CHECK(sum / counted <= 1.1);
}

TEST_CASE("the buffers of the hand-written kernels fit after their offsets are removed", "[sim][block]") {
  for (test::Target const& target : targets()) {
    auto module =
        module_of(read_file(std::string(TEGULA_TEST_DIR) + "/ir/target/" + std::string(target.name) + ".tir"));
    auto const offsets = [&] {
      std::vector<std::int64_t> found;
      for (ir::Op const& op : module.kernel().body())
        if (op.is<ir::BufferAllocOp>()) found.push_back(op.as<ir::BufferAllocOp>().offset);
      return found;
    };
    auto const hand_written = offsets();
    transform::run_pipeline(module, "allocate-shared-memory", {});
    CHECK(offsets() == hand_written);  // a placed buffer keeps its place
    CHECK(overlapping(module) == "");
    for (ir::Op& op : module.kernel().body())
      if (op.is<ir::BufferAllocOp>()) op.as<ir::BufferAllocOp>().offset = -1;
    transform::run_pipeline(module, "allocate-shared-memory", {});
    auto const found = size_of(module);
    INFO(target.name);
    CHECK(overlapping(module) == "");
    CHECK(found.ratio() <= 1.1);
  }
}

// @k calls @b and @c, both call @d: four sites. Each function holds a buffer of its own over its call, so that a frame
// in a wrong place would destroy later reads.
TEST_CASE("each call of a diamond has its own offset in shared memory", "[sim][block][F14][F15]") {
  std::string const tile = "tile<128xi32, [lane (1) (2) (4) (8) (16), warp (32) (64)]>";
  auto const holding = [&](std::string const& name, std::string const& size, std::string const& inside) {
    return "function @" + name + "(%x: " + tile + ") -> (" + tile +
           ") noinline warps = 4 {\n  %k0 = constant {value = 0 : i64} : i64\n" +
           "  %kept = buffer_alloc {align = 128} : shared<" + size +
           "x128xi32, dense>\n  %v = view %kept, %k0, %k0 : shared<128xi32, dense>\n  buffer_store %v, %x\n  "
           "barrier\n" +
           inside + "  barrier\n  %then = buffer_load %v : " + tile + "\n  %r = add %y, %then : " + tile +
           "\n  barrier\n  return %r\n}\n";
  };
  std::string const text =
      "tegula-ir 1\n" +
      holding("d", "1", "  %one = constant {value = 1 : i32} : " + tile + "\n  %y = add %x, %one : " + tile + "\n") +
      holding("b", "2", "  %y = call %x {callee = @d} : " + tile + "\n") +
      holding("c", "3",
              "  %ten = constant {value = 10 : i32} : " + tile + "\n  %x10 = add %x, %ten : " + tile +
                  "\n  %y = call %x10 {callee = @d} : " + tile + "\n") +
      "kernel @k(%o: out tensor<?xi32>) warps = 4 {\n  %k0 = constant {value = 0 : i64} : i64\n  %k1 = constant {value "
      "= "
      "1 : i64} : i64\n  grid %k1\n  %cta = block_index : i64\n  %mine = buffer_alloc {align = 128} : shared<128xi32, "
      "dense>\n  %i = iota : " +
      tile + "\n  buffer_store %mine, %i\n  barrier\n  %first = compare %cta, %k0 : bool\n  %z = if %first : " + tile +
      " {\n    %z1 = call %i {callee = @b} : " + tile + "\n    %z2 = call %z1 {callee = @c} : " + tile +
      "\n    yield %z2\n  } else {\n    %z3 = call %i {callee = @c} : " + tile +
      "\n    yield %z3\n  }\n  barrier\n  %i2 = buffer_load %mine : " + tile + "\n  %sum = add %z, %i2 : " + tile +
      "\n  store %o, %sum, %k0\n  return\n}\n";
  auto module = module_of(text);
  transform::run_pipeline(module, "allocate-shared-memory", {});
  INFO(ir::print(module));
  REQUIRE(ir::verify(module).str() == "");

  // One size per callee at all sites; places that differ by path.
  CHECK(module.find("d")->shared == 512);
  CHECK(module.find("b")->shared == 1536);
  CHECK(module.find("c")->shared == 2048);
  std::vector<std::int64_t> sizes, places;
  for (auto const& function : module.functions())
    for (auto const& user : ir::shared_users(*function))
      if (user.kind == ir::BufferKind::virtual_buffer) sizes.push_back(user.bytes), places.push_back(user.offset);
  CHECK(sizes == std::vector<std::int64_t>{512, 512, 1536, 2048, 2048});
  CHECK(places == std::vector<std::int64_t>{1024, 1536, 0, 0, 0});
  CHECK(overlapping(module) == "");

  HostTensor out(Element::i32, {128});
  block::Simulation simulation(module.kernel(), {out.view()});
  auto const sweep = simulation.sweep(8);
  INFO(sweep.str());
  CHECK(sweep.clean());
  for (std::int64_t i = 0; i < 128; ++i) {
    // @d returns 2 x + 1, @b x more, @c of x returns 2 (x + 10) + 1 + x.
    std::int64_t const b = 3 * i + 1, c = 3 * b + 21;
    REQUIRE(out.integer(i) == c + i);
  }
}
