// Tests facts(kernel) of kernels as users write them.
#include <limits>
#include <optional>
#include <string>

#include "runtime/cache/serialize.hpp"
#include "support/catch.hpp"
#include "support/count_allocations.hpp"
#include "tegula/dsl/dsl.hpp"
#include "tegula/jit/launch.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;

namespace {

inline constexpr auto vadd = kernel("vadd", [](in<float, 1> a, in<float, 1> b, out<float, 1> c) {
  auto g = grid_over(c, shape<1024>);
  store(c, shape<1024>, load(a, shape<1024>, g[0]) + load(b, shape<1024>, g[0]), g[0]);
});

inline constexpr auto softmax = kernel("softmax", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, 4096>);
  tile v = load(x, shape<1, 4096>, g[0], 0, pad(-std::numeric_limits<float>::infinity()));
  tile e = exp(v - max(v, axis<1>));
  store(y, shape<1, 4096>, e / sum(e, axis<1>), g[0], 0);
});

template <class T, int N>
inline constexpr auto transposed = kernel("transposed", [](in<T, 2> x, out<T, 2> y) {
  auto g = grid_over(y, shape<N, N>);
  store(y, shape<N, N>, trans(load(x, shape<N, N>, g[1], g[0])), g[0], g[1]);
});

/// Checks a transposition: wide accesses to global memory, one exchange in words and without conflicts.
void check_transposition(KernelFacts const& facts, int narrowest) {
  INFO(facts.str());
  REQUIRE(facts.accesses.size() == 3);
  CHECK(facts.narrowest_access() == narrowest);
  CHECK(facts.wasted_sectors() == 0);
  CHECK(facts.accesses[1].kind == MemoryAccessFacts::Kind::exchange);
  CHECK(facts.accesses[1].memory == "convert_layout");
  CHECK(facts.accesses[1].bytes >= 4);
  CHECK(facts.bank_conflicts() == 0);
}

}  // namespace

TEST_CASE("facts: dense vectors move 16 bytes a thread in whole sectors", "[N14]") {
  KernelFacts const facts = tegula::facts(vadd);
  REQUIRE(facts.accesses.size() == 3);
  CHECK(facts.narrowest_access() == 16);
  CHECK(facts.wasted_sectors() == 0);
  CHECK(facts.bank_conflicts() == 0);
  CHECK(facts.exposed_waits == 0);
  CHECK(facts.accesses[0].where.known());
  CHECK_THAT(facts.str(), test::ContainsSubstring("16 bytes a thread"));
  // Without what the launcher checks, single elements.
  CompileOptions strided;
  strided.facts.resize(3);
  CHECK(tegula::facts(vadd, strided).narrowest_access() == 4);
  CHECK(tegula::facts(vadd, strided).wasted_sectors() != 0);
}

TEST_CASE("facts: one warp is written as one") {
  CompileOptions one;
  one.warps = 1;
  CHECK_THAT(tegula::facts(vadd, one).str(), test::ContainsSubstring("\n1 warp, "));
}

TEST_CASE("facts: a row kernel's registers follow its warps, estimated and assembled", "[N14]") {
  CompileOptions few, many;
  few.warps = 4;
  many.warps = 16;
  KernelFacts const narrow = tegula::facts(softmax, many), wide = tegula::facts(softmax, few);
  CHECK(narrow.warps == 16);
  CHECK(narrow.registers_estimated < wide.registers_estimated);
  CHECK(wide.registers_estimated >= 32);  // 4096 elements on 128 threads
  CHECK(wide.shared_bytes > 0);           // the warps' parts of maximum and sum
  if (wide.registers < 0) {
    WARN("no ptxas here: registers and spills are not known");
  } else {
    CHECK(wide.registers >= wide.registers_estimated / 2);
    CHECK(wide.registers > narrow.registers);
    CHECK(wide.spill_bytes == 0);
  }
}

TEST_CASE("facts are those of what compile makes, with the tile that takes most registers", "[N14]") {
  CompileOptions options;
  options.target = Target::cuda;
  CompiledKernel const compiled = compile(softmax, options);
  KernelFacts const found = tegula::facts(softmax);
  CHECK(compiled.largest.tile == found.largest.tile);
  CHECK(compiled.largest.line == found.largest.line);
  CHECK(compiled.largest.tile == "1x4096xf32");
  CHECK(compiled.largest.op >= 0);
  CHECK_THAT(compiled.largest.file, test::ContainsSubstring("facts_test.cpp"));
  REQUIRE(compiled.parameters.size() == found.plan.arguments.size());
  for (std::size_t i = 0; i < compiled.parameters.size(); ++i) {
    CHECK(compiled.parameters[i] == found.plan.arguments[i].type);
    CHECK(compiled.parameters[i].facts == TensorFacts{true, true, true});
  }
  std::optional<CompiledKernel> const read = runtime::deserialize(runtime::serialize(compiled));
  REQUIRE(read);
  CHECK(read->largest == compiled.largest);
  CHECK(*read == compiled);
}

TEST_CASE("facts: a computed right operand is stored as its threads hold it", "[N14]") {
  // Bytes that lie along K, with a scale for each row: the operand of wgmma is (N, K), and wide stores fill it.
  auto const kernel =
      tegula::kernel("computed", [](in<bf16, 2> x, in<std::uint8_t, 2> q, in<bf16, 2> scales, out<bf16, 2> y) {
        auto g = grid_over(y, shape<64, 128>);
        tile sums = loop(
            x.extent(1) / 128, zeros<float>(shape<64, 128>),
            [&](auto k, auto sum) {
              tile scale = cast<float>(load(scales, shape<128, 1>, g[1], k));
              tile w = cast<bf16>(cast<float>(load(q, shape<128, 128>, g[1], k)) * scale);
              return dot(load(x, shape<64, 128>, g[0], k), trans(w), sum);
            },
            stages<3>);
        store(y, shape<64, 128>, cast<bf16>(sums), g[0], g[1]);
      });
  KernelFacts const found = facts(kernel);
  REQUIRE(found.dots.size() == 1);
  CHECK(found.dots.front().path == Path::wgmma);
  CHECK(found.bank_conflicts() == 0);
}

TEST_CASE("facts: a tile that meets results of a product in a loop is read without bank conflicts", "[N14]") {
  // A bias of each score, a mask of 8 bits and a gate of f16: rows of 256 and of 128 bytes.
  auto const kernel = tegula::kernel("biased", [](in<bf16, 2> q, in<bf16, 2> k, in<bf16, 2> bias,
                                                  in<std::int8_t, 2> mask, in<f16, 2> gate, out<float, 2> y) {
    auto g = grid_over(y, shape<128, 1>);
    tile a = load(q, shape<128, 64>, g[0], 0);
    tile sums = loop(
        ceil_div(k.extent(0), 128), zeros<float>(shape<128, 1>),
        [&](auto j, auto total) {
          tile scores = dot(a, trans(load(k, shape<128, 64>, j, 0))) * 0.125F;
          tile biased = scores + cast<float>(load(bias, shape<128, 128>, g[0], j));
          tile seen = select(cast<int>(load(mask, shape<128, 128>, g[0], j)) != 0, biased, 0);
          return total + sum(seen * cast<float>(load(gate, shape<128, 128>, g[0], j)), axis<1>);
        },
        stages<2>);
    store(y, shape<128, 1>, sums, g[0], 0);
  });
  KernelFacts const found = facts(kernel);
  INFO(found.str());
  CHECK(found.bank_conflicts() == 0);
  REQUIRE(found.loads.size() == 5);
  for (AccessPath const& load : found.loads) CHECK(load.path == Path::tma);
}

TEST_CASE("facts: transpositions access 16 bytes and exchange words without bank conflicts", "[N14]") {
  check_transposition(tegula::facts(transposed<float, 32>), 16);
  check_transposition(tegula::facts(transposed<float, 64>), 16);
  check_transposition(tegula::facts(transposed<bf16, 32>), 16);
  check_transposition(tegula::facts(transposed<bf16, 64>), 16);
  check_transposition(tegula::facts(transposed<bf16, 128>), 16);
  check_transposition(tegula::facts(transposed<f16, 128>), 16);
  check_transposition(tegula::facts(transposed<std::int8_t, 128>), 16);
  // 16 elements a thread: two rows of 8 bytes.
  check_transposition(tegula::facts(transposed<std::int8_t, 64>), 8);
}

TEST_CASE("facts refuses what compile refuses, for the same reason and before it counts anything") {
  auto const large = kernel("large", [](in<float, 2> x, out<float, 2> y) {  // not to be cut: its sums need all of it
    auto g = grid_over(y, shape<2048, 512>);
    tile e = exp(load(x, shape<2048, 512>, g[0], g[1]));
    store(y, shape<2048, 512>, e / sum(e, axis<1>), g[0], g[1]);
  });
  CompileOptions options;
  options.target = Target::cuda;
  options.warps = 32;
  options.exactly = true;  // else it is compiled, with a warning
  options.facts.assign(2, {true, true});
  std::string reason;
  auto const refused = [&] {
    try {
      static_cast<void>(compile(large, options));
    } catch (UserError const& error) {
      reason = error.what();
    }
  };
  refused();  // what both need once
  test::Allocations const to_refuse = test::allocations_of(refused);
  CHECK_THAT(reason, test::ContainsSubstring("registers"));
  test::Allocations const made = test::allocations_of([&] { CHECK_THROWS_WITH(facts(large, options), reason); });
  INFO(made.count << " allocations, " << to_refuse.count << " of compile");
  CHECK(2 * made.count < 3 * to_refuse.count);
}
