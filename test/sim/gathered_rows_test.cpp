// Products of rows at indices: threads copy the rows into rings of stages, ahead of their use. Right on the host, as
// tiles and warp by warp, for depths that no iteration, one and several have.
#include "support/each_way.hpp"
#include "kernels/gathered_rows.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

template <class T, bool of_left, bool of_right>
void check_depths() {
  for (Executor const executor : executors_without_device)
    for (std::int64_t const depth : {0, 16, 64, 80, 320})
      check_rows_of_operands<T, of_left, of_right>(executor, 70, 66, depth);
}

/// Returns the row of a tensor that is read at indices; null: there is none.
AccessPath const* indexed_of(KernelFacts const& facts, char const* memory) {
  for (AccessPath const& row : facts.indexed)
    if (row.memory == memory) return &row;
  return nullptr;
}

/// Checks that rows of `memory` take the path of copies, and that the kernel has no other cost than one that loads.
void check_path(KernelFacts const& facts, char const* memory) {
  static KernelFacts const loads = tegula::facts(rows_of_operands<bf16, false, false>);
  INFO(facts.str());
  AccessPath const* const row = indexed_of(facts, memory);
  REQUIRE(row != nullptr);
  CHECK(row->bytes == 16);
  CHECK(row->reason == "threads copy rows to shared memory ahead of their use (cp.async)");
  for (DotPath const& dot : facts.dots) CHECK(dot.path == Path::wgmma);
  CHECK(facts.bank_conflicts() == loads.bank_conflicts());
  CHECK(facts.exposed_waits == loads.exposed_waits);
  CHECK(facts.spill_bytes <= 0);
  bool found = false;
  for (RingDepth const& ring : facts.rings)
    found = found || (ring.memory.find(memory) != std::string::npos && ring.used == 3);
  CHECK(found);
}

}  // namespace

TEST_CASE("gathered rows: left operands of 16-bit and 8-bit elements", "[sim]") {
  check_depths<bf16, true, false>();
  check_depths<f16, true, false>();
  check_depths<e4m3, true, false>();
}

TEST_CASE("gathered rows: right operands of 16-bit and 8-bit elements", "[sim]") {
  check_depths<bf16, false, true>();
  check_depths<f16, false, true>();
  check_depths<e4m3, false, true>();
}

TEST_CASE("gathered rows: both operands", "[sim]") {
  check_depths<bf16, true, true>();
  check_depths<e4m3, true, true>();
}

TEST_CASE("gathered rows: tiles of other sizes, numbers of warps and stages", "[sim]") {
  for (Executor const executor : executors_without_device) {
    check_rows_of_operands<bf16, true, true, 128, 128, 64, 2>(executor, 130, 129, 200);
    check_rows_of_operands<bf16, true, false, 128, 64, 128, 2>(executor, 130, 129, 264);
    check_rows_of_operands<bf16, true, true, 64, 64, 64, 1>(executor, 65, 66, 136);
    check_rows_of_operands<f16, true, false, 16, 64, 64, 4>(executor, 17, 65, 320);
    check_rows_of_operands<f16, false, true, 64, 16, 32, 4>(executor, 65, 17, 104);
    check_rows_of_operands<float, true, true, 64, 64, 32, 3>(executor, 65, 66, 100);
    check_rows_of_operands<bf16, true, true, 192, 96, 64, 2>(executor, 193, 97, 200);
    check_rows_of_operands<bf16, true, true, 64, 64, 96, 2>(executor, 65, 66, 296);
    check_rows_of_operands<bf16, true, true, 8, 64, 16, 3>(executor, 9, 65, 72);
    check_rows_of_operands<bf16, true, true, 16, 16, 512, 1>(executor, 17, 16, 1032);
  }
}

TEST_CASE("gathered rows: options for several CTAs, and for registers", "[sim]") {
  CompileOptions split, share, exact;
  split.split = 2, share.share = 2, exact.exact = true;
  for (CompileOptions const& options : {split, share, exact}) {
    check_rows_of_operands<bf16, true, true, 128, 64>(Executor::warps, 130, 66, 320, options);
    check_rows_of_operands<bf16, true, false, 128, 64>(Executor::warps, 260, 66, 320, options);
  }
}

TEST_CASE("gathered rows: indices that are computed, in each CTA and ahead of everything", "[sim]") {
  CompileOptions alone;
  alone.persistence = Choice::off;
  for (std::int64_t const depth : {0, 64, 320}) {
    check_computed_rows(Executor::host, 70, 72, depth);
    check_computed_rows(Executor::warps, 70, 72, depth);
    check_computed_rows(Executor::warps, 70, 72, depth, alone);
  }
  alone.specialization = Choice::off;
  check_computed_rows(Executor::warps, 70, 72, 320, alone);
}

TEST_CASE("gathered rows: products that add to one sum share rings of one kind", "[sim]") {
  for (Executor const executor : executors_without_device)
    for (std::int64_t const depth : {0, 64, 80, 320}) {
      check_added_products<false>(executor, 70, 72, depth);
      check_added_products<true>(executor, 70, 72, depth);
    }
}

TEST_CASE("gathered rows: rows that are converted in registers", "[sim]") {
  for (Executor const executor : executors_without_device)
    for (std::int64_t const depth : {0, 16, 64, 80, 320}) check_converted_rows(executor, 70, 72, depth);
}

TEST_CASE("gathered rows: warps that multiply copy rows, too, where warps have no roles", "[sim]") {
  CompileOptions options;
  options.specialization = Choice::off;
  for (Choice const persistence : {Choice::off, Choice::on})
    for (std::int64_t const depth : {0, 64, 320}) {
      options.persistence = persistence;
      check_rows_of_operands<bf16, true, false>(Executor::warps, 70, 66, depth, options);
      check_rows_of_operands<bf16, true, true, 128, 128>(Executor::warps, 130, 66, depth, options);
      check_rows_of_operands<bf16, false, true, 16, 64>(Executor::warps, 17, 66, depth, options);
    }
  options.epilogue = Choice::off;
  check_rows_of_operands<bf16, true, true>(Executor::warps, 70, 66, 320, options);
}

TEST_CASE("gathered rows: rows end within a chunk", "[sim]") {
  constexpr std::int64_t rows = 40, depth = 83, pitch = 88, m = 65, n = 66;
  auto const a = drawn<bf16>(rows * pitch, 5), b = drawn<bf16>(n * pitch, 6);
  view<bf16 const, 2> const left(a.data(), {rows, depth}, {pitch, 1}), right(b.data(), {n, depth}, {pitch, 1});
  std::vector<int> const taken = drawn_rows(m, rows, 7), all(static_cast<std::size_t>(n));
  each_way<float>(
      static_cast<std::size_t>(m * n),
      [&](auto const& way, float* c) {
        way(rows_of_operands<bf16, true, false>, left, right, view(taken.data(), m), view(all.data(), n),
            view(c, m, n));
      },
      [&](std::vector<float> const& found) {
        double worst = 0;
        for (std::int64_t i = 0; i < m; ++i)
          for (std::int64_t j = 0; j < n; ++j) {
            double sum = 0;
            int const row = taken[static_cast<std::size_t>(i)];
            for (std::int64_t k = 0; k < depth && row >= 0 && row < rows; ++k)
              sum += at(a, row * pitch + k) * at(b, j * pitch + k);
            worst = std::max(worst, std::fabs(at(found, i * n + j) - sum));
          }
        CHECK(worst <= 1e-4);
      });
}

TEST_CASE("gathered rows: rows change in every iteration, by a list and by pages", "[sim]") {
  for (Executor const executor : executors_without_device)
    for (std::int64_t const length : {0, 8, 64, 72, 264}) {
      check_summed_rows<bf16, false>(executor, 70, 72, length);
      check_summed_rows<f16, true>(executor, 70, 72, length);
    }
}

TEST_CASE("gathered rows: two products of an iteration, of which one runs late", "[sim]") {
  for (Executor const executor : executors_without_device)
    for (std::int64_t const length : {0, 1, 64, 65, 200, 330}) check_chosen_keys(executor, 70, length);
}

TEST_CASE("gathered rows: facts name the path, 16 bytes at once and the stages", "[sim]") {
  check_path(facts(rows_of_operands<bf16, true, false>), "in0");
  check_path(facts(rows_of_operands<bf16, false, true>), "in1");
  check_path(facts(rows_of_operands<bf16, true, true>), "in0");
  check_path(facts(rows_of_operands<bf16, true, true>), "in1");
  check_path(facts(summed_rows<bf16, false>), "in1");
  check_path(facts(summed_rows<f16, true>), "in1");
  check_path(facts(computed_rows), "in0");
}
