// Vectors, banks and matrix instructions, each replayed thread by thread against the layouts they were computed from.
#include "layout/shared_access.hpp"

#include "layout/fragment_layouts.hpp"
#include "target/matrix_access.hpp"
#include "layout/shared_layouts.hpp"
#include "support/catch.hpp"
#include "support/layouts.hpp"

using namespace tegula;
using namespace tegula::layout;
using namespace tegula::target;

namespace {

AccessMap map_of(Layout const* registers, Layout const* memory) {
  REQUIRE(registers != nullptr);
  REQUIRE(memory != nullptr);
  std::string why;
  auto const map = AccessMap::get(*registers, *memory, why);
  INFO(why);
  REQUIRE(map);
  return *map;
}

/// Composes the map from register, lane and warp to offset. Null when the repetitions of the two do not follow each
/// other in one input.
Layout const* composed(Layout const& registers, Layout const& memory) {
  Layout const* inverse = memory.surjective() && memory.injective() ? memory.inverse() : nullptr;
  return inverse != nullptr ? inverse->after(registers) : nullptr;
}

/// Checks that exactly one vector reaches each register of each thread (or it is a copy), where the memory has its
/// element.
bool reaches(VectorPlan const& plan, AccessMap const& map, Layout const& registers, Layout const& memory) {
  for (int w = 0; w < map.warps(); ++w)
    for (int l = 0; l < map.lanes(); ++l) {
      std::vector<int> seen(static_cast<std::size_t>(map.registers()), 0);
      for (VectorAccess const& access : plan.accesses) {
        auto const lane = map.of(Dim::lane, l), warp = map.of(Dim::warp, w);
        std::int64_t const first = (access.first.low ^ lane.low ^ warp.low) + access.first.high + lane.high + warp.high;
        if (first % plan.width != 0) return false;
        for (int i = 0; i < plan.width; ++i) {
          int const r = access.registers[static_cast<std::size_t>(i)];
          ++seen[static_cast<std::size_t>(r)];
          if (memory.part(Dim::offset, first + i) != registers.at(r, l, w)) return false;
        }
      }
      for (auto const& [copy, from] : plan.copies) {
        ++seen[static_cast<std::size_t>(copy)];
        if (registers.at(copy, l, w) != registers.at(from, l, w)) return false;
      }
      for (int count : seen)
        if (count != 1) return false;
    }
  return true;
}

/// Runs ldmatrix as the PTX ISA says: every 32-bit register of every lane gets the element that the layout gives it.
bool loads(target::MatrixPlan const& plan, AccessMap const& map, Layout const& registers, Layout const& memory,
           int bytes) {
  std::size_t moved = 0;
  for (int w = 0; w < map.warps(); ++w)
    for (target::MatrixStep const& step : plan.steps)
      for (int j = 0; j < plan.matrices; ++j)
        for (int l = 0; l < 32; ++l) {
          auto const& packed = step.registers[static_cast<std::size_t>(j)];
          if (packed.size() != static_cast<std::size_t>(4 / bytes)) return false;
          for (int i = 0; i < 4 / bytes; ++i) {
            int const row = plan.transposed ? 2 * (l % 4) + i : l / 4;
            int const byte = plan.transposed ? 2 * (l / 4) : 4 * (l % 4) + i * bytes;
            std::int64_t const begin = plan.row(step, 8 * j + row, map.of(Dim::warp, w)) * bytes;
            if (begin % 16 != 0) return false;
            if (memory.part(Dim::offset, (begin + byte) / bytes) !=
                registers.at(packed[static_cast<std::size_t>(i)], l, w))
              return false;
            ++moved;
          }
        }
  return moved == static_cast<std::size_t>(map.registers()) * 32 * static_cast<std::size_t>(map.warps());
}

Layout const* wgmma(Extents const& shape, int warps = 4) {
  std::string error;
  return wgmma_layout(shape, warps, error);
}
Layout const* swizzled(Extents const& shape, int bytes, int width) {
  std::string error;
  return swizzled_layout(shape, bytes, width, error);
}

}  // namespace

TEST_CASE("vectors reach every register, at their full width", "[layout][access]") {
  struct Case {
    Layout const* registers;
    Layout const* memory;
    int bytes;
    int width;
  };
  std::string error;
  for (Case const& test : std::vector<Case>{
           {wgmma({64, 64}), swizzled({64, 64}, 2, 128), 2, 2},
           {wgmma({64, 64}), swizzled({64, 64}, 4, 128), 4, 2},
           {wgmma({128, 176}), swizzled({128, 176}, 2, 32), 2, 2},
           {wgmma({192, 128}, 12), swizzled({192, 128}, 2, 128), 2, 2},
           {wgmma({192, 320}), swizzled({192, 320}, 2, 64), 2, 2},
           {wgmma({64, 64}), dense_transposed_layout({64, 64}), 2, 1},
           {wgmma({128, 64}), swizzled({4, 128, 64}, 2, 128), 2, 2},
           {wgmma({64, 64}), swizzled({4, 128, 64}, 2, 128), 2, 2},
           {Layout::blocked({64, 64}, {1, 8}, 4, {1, 0}), swizzled({64, 64}, 2, 128), 2, 8},
           {Layout::blocked({64, 64}, {1, 8}, 4, {1, 0}), dense_layout({64, 64}), 4, 4},
           {Layout::blocked({192, 176}, {1, 4}, 4, {1, 0}), swizzled({192, 176}, 2, 32), 2, 4},
           {Layout::blocked({192, 128}, {1, 8}, 4, {1, 0}), swizzled({192, 128}, 2, 128), 2, 8},
           {Layout::blocked({64, 64}, {8, 1}, 4, {0, 1}), dense_transposed_layout({64, 64}), 2, 8},
           {Layout::blocked({8}, {2}, 4, {0}), dense_layout({8}), 4, 2},
           {wgmma_a_layout({64, 64}, 1, 4, error), swizzled({64, 64}, 1, 64), 1, 4},
           {wgmma_a_layout({64, 64}, 4, 4, error), swizzled({64, 64}, 4, 128), 4, 1},
           {wgmma({64, 64})->sliced(1), dense_layout({64}), 4, 1},
           // Registers in an order of their own.
           {Layout::parse("[register (0,4) (0,1) (0,2), lane (0,8) (0,16) (0,32) (1,0) (2,0)]", error),
            swizzled({4, 64}, 2, 128), 2, 8},
           // A copy in a register.
           {Layout::parse("[register (0,1) (0,0), lane (0,2) (0,4) (1,0) (2,0) (4,0)]", error), dense_layout({8, 8}), 2,
            2},
       }) {
    AccessMap const map = map_of(test.registers, test.memory);
    INFO(test.registers->text() << " in " << test.memory->text());
    VectorPlan const plan = vector_plan(map, test.bytes);
    CHECK(plan.width == test.width);
    if (test.memory->rank() == test.registers->rank()) CHECK(reaches(plan, map, *test.registers, *test.memory));
    if (Layout const* whole = composed(*test.registers, *test.memory)) {
      bool same = true;
      for (int w = 0; w < map.warps(); ++w)
        for (int l = 0; l < map.lanes(); ++l)
          for (int r = 0; r < map.registers(); ++r) same &= whole->at(r, l, w)[0] == map.at(r, l, w);
      CHECK(same);
    }
    CHECK(vector_plan(map, test.bytes, test.bytes).width == 1);
    for (Layout const* wrong : test::spoiled(*test.registers)) {
      if (test.memory->rank() == 3 || wrong->shape() != test.registers->shape()) continue;
      AccessMap const other = map_of(wrong, test.memory);
      CHECK(reaches(vector_plan(other, test.bytes), other, *wrong, *test.memory));
      CHECK_FALSE(reaches(plan, map, *wrong, *test.memory));
    }
  }
}

TEST_CASE("banks: the reference's examples", "[layout][access]") {
  auto const cost = [](Layout const* registers, Layout const* memory, int bytes) {
    AccessMap const map = map_of(registers, memory);
    VectorPlan const plan = vector_plan(map, bytes);
    BankCost const all = bank_cost(map, plan, bytes);
    int const count = static_cast<int>(plan.accesses.size());
    REQUIRE(all.wavefronts % count == 0);
    return BankCost{all.wavefronts / count, all.min / count};
  };
  // Pairs of bf16 of an accumulator: rows of 128 bytes without a swizzle, then with each.
  CHECK(cost(wgmma({64, 64}), dense_layout({64, 64}), 2) == BankCost{8, 1});
  CHECK(cost(wgmma({64, 64}), swizzled({64, 64}, 2, 128), 2) == BankCost{1, 1});
  CHECK(cost(wgmma({64, 64}), swizzled({64, 64}, 2, 64), 2) == BankCost{1, 1});
  CHECK(cost(wgmma({64, 64}), swizzled({64, 64}, 2, 32), 2) == BankCost{1, 1});
  // Pairs of f32: lane bit 1 and row bit 0 meet on one address bit.
  CHECK(cost(wgmma({64, 64}), swizzled({64, 64}, 4, 128), 4) == BankCost{4, 2});
  CHECK(cost(Layout::blocked({64, 64}, {1, 8}, 4, {1, 0}), dense_layout({64, 64}), 2) == BankCost{4, 4});
  CHECK(cost(Layout::blocked({64, 64}, {1, 8}, 4, {1, 0}), swizzled({64, 64}, 2, 128), 2) == BankCost{4, 4});
  // Rows of 16 bytes, one below the other at 128 bytes: all in the same banks.
  std::vector<std::int64_t> rows, same(32, 64);
  for (std::int64_t i = 0; i < 8; ++i) rows.push_back(128 * i);
  CHECK(bank_cost(rows, 16) == BankCost{8, 1});
  CHECK(bank_cost(same, 4) == BankCost{1, 1});
  CHECK(bank_cost(same, 16) == BankCost{4, 4});
}

TEST_CASE("matrix instructions: fragments to and from swizzled tiles", "[layout][access]") {
  std::string error;
  struct Case {
    Layout const* registers;
    Layout const* memory;
    int bytes;
    bool transposed;
    int matrices;
    bool free_of_conflicts;
  };
  for (Case const& test : std::vector<Case>{
           {wgmma({64, 64}), swizzled({64, 64}, 2, 128), 2, false, 4, true},
           {wgmma({64, 64}), dense_layout({64, 64}), 2, false, 4, false},
           {wgmma({128, 176}), swizzled({128, 176}, 2, 32), 2, false, 4, true},
           {wgmma({64, 24}), swizzled({64, 24}, 2, 16), 2, false, 2, true},
           {wgmma({64, 8}), swizzled({64, 8}, 2, 16), 2, false, 2, true},
           {wgmma({192, 128}, 12), swizzled({192, 128}, 2, 128), 2, false, 4, true},
           {wgmma({192, 320}, 4), swizzled({192, 320}, 2, 128), 2, false, 4, true},
           {wgmma({64, 64}), swizzled({64, 64}, 2, 128)->transposed({1, 0}), 2, true, 4, true},
           {mma_a_layout({64, 64}, 2, {2, 2}, error), swizzled({64, 64}, 2, 128), 2, false, 4, true},
           {mma_a_layout({64, 64}, 1, {4, 1}, error), swizzled({64, 64}, 1, 64), 1, false, 4, true},
           {mma_a_layout({64, 32}, 4, {4, 1}, error), swizzled({64, 32}, 4, 128), 4, false, 4, true},
           // B (K x N) stored as N x K (K contiguous): plain; stored as K x N: transposed.
           {mma_b_layout({64, 64}, 2, {4, 1}, error), swizzled({64, 64}, 2, 128)->transposed({1, 0}), 2, false, 4,
            true},
           {mma_b_layout({64, 64}, 2, {2, 2}, error), swizzled({64, 64}, 2, 128), 2, true, 4, true},
           {mma_b_layout({48, 176}, 2, {2, 1}, error), swizzled({48, 176}, 2, 32), 2, true, 4, true},
           {mma_b_layout({64, 64}, 1, {4, 1}, error), swizzled({64, 64}, 1, 64)->transposed({1, 0}), 1, false, 4, true},
           {mma_b_layout({16, 8}, 2, {1, 1}, error), dense_layout({16, 8}), 2, true, 2, true},
       }) {
    REQUIRE(test.registers != nullptr);
    INFO(test.registers->text() << " in " << test.memory->text());
    AccessMap const map = map_of(test.registers, test.memory);
    auto const plan = target::matrix_plan(map, test.bytes, test.transposed, error);
    INFO(error);
    REQUIRE(plan);
    CHECK(plan->matrices == test.matrices);
    CHECK(loads(*plan, map, *test.registers, *test.memory, test.bytes));
    BankCost const cost = bank_cost(map, *plan, test.bytes);
    CHECK((cost.wavefronts == cost.min) == test.free_of_conflicts);
    CHECK_FALSE(target::matrix_plan(map, test.bytes, !test.transposed, error));
    for (Layout const* wrong : test::spoiled(*test.registers)) {
      CHECK_FALSE(loads(*plan, map, *wrong, *test.memory, test.bytes));
      AccessMap const other = map_of(wrong, test.memory);
      if (auto const still = target::matrix_plan(other, test.bytes, test.transposed, error))
        CHECK(loads(*still, other, *wrong, *test.memory, test.bytes));
    }
  }
  auto const why = [&](Layout const* registers, Layout const* memory, int bytes, bool transposed) {
    CHECK_FALSE(target::matrix_plan(map_of(registers, memory), bytes, transposed, error));
    return error;
  };
  CHECK(why(Layout::blocked({64, 64}, {1, 8}, 4, {1, 0}), swizzled({64, 64}, 2, 128), 2, false) ==
        "matrix access: lane 1 would reach 4 bytes beyond lane 0, its element lies 16 bytes beyond");
  CHECK(why(wgmma({64, 64}), swizzled({64, 64}, 4, 128), 4, true) == "matrix access .trans: elements of 4 bytes");
  CHECK(why(wgmma({64, 64}), swizzled({64, 64}, 4, 128), 4, false) ==
        "matrix access: lane 1 would reach 4 bytes beyond lane 0, its element lies 8 bytes beyond");
}

TEST_CASE("access maps of tiles that do not fit are refused", "[layout][access]") {
  std::string error;
  CHECK_FALSE(AccessMap::get(*wgmma({128, 64}), *swizzled({64, 64}, 2, 128), error));
  CHECK(error == "view: 128x64 is not a part of a tile of 64x64");
  CHECK_FALSE(AccessMap::get(*wgmma({64, 64}), *wgmma({64, 64}), error));
  // A repetition that carries: 4 lanes x 3 registers along 12 elements, in memory as 2 x 6.
  Layout const* registers = Layout::parse("[register 3*(4), lane (1) (2)]", error);
  Layout const* memory = Layout::parse("[offset 3*(1) (3) (6)]", error);
  if (registers != nullptr && memory != nullptr) CHECK_FALSE(AccessMap::get(*registers, *memory, error));
}
