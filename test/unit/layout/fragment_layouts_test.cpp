// Compares the fragments with the formulas that the PTX ISA gives per lane and register, element by element.
#include "layout/fragment_layouts.hpp"

#include <functional>
#include <set>

#include "support/catch.hpp"
#include "support/layouts.hpp"

using namespace tegula;
using namespace tegula::layout;

namespace {

using Place = std::function<Extents(std::int64_t reg, std::int64_t lane, std::int64_t warp)>;

bool same(Layout const& layout, Extents const& shape, std::int64_t registers, std::int64_t warps, Place const& place) {
  if (layout.shape() != shape || layout.registers() != registers || layout.lanes() != 32 || layout.warps() != warps)
    return false;
  for (std::int64_t w = 0; w < warps; ++w)
    for (std::int64_t l = 0; l < 32; ++l)
      for (std::int64_t r = 0; r < registers; ++r)
        if (layout.at(r, l, w) != place(r, l, w)) return false;
  return true;
}

void check(Layout const* layout, Extents const& shape, std::int64_t registers, std::int64_t warps, Place const& place) {
  REQUIRE(layout != nullptr);
  INFO(layout->text());
  CHECK(same(*layout, shape, registers, warps, place));
  CHECK(layout->surjective());
  for (Layout const* wrong : test::spoiled(*layout)) CHECK_FALSE(same(*wrong, shape, registers, warps, place));
}

/// Returns (row, k) of element i of a 16-row A fragment.
Extents a_element(int bytes, std::int64_t i, std::int64_t l) {
  std::int64_t const g = l / 4, q = l % 4;
  if (bytes >= 4) return {g + 8 * (i % 2), q + 4 * (i / 2)};
  std::int64_t const per = 4 / bytes, a = i / per;  // elements per 32-bit register
  return {g + 8 * (a % 2), per * q + i % per + 4 * per * (a / 2)};
}

}  // namespace

TEST_CASE("wgmma accumulators have the instruction's layout", "[layout][fragments]") {
  for (Extents const& shape : std::vector<Extents>{
           {64, 8}, {64, 64}, {64, 176}, {64, 256}, {128, 320}, {128, 24}, {192, 128}, {256, 40}, {384, 96}})
    for (int warps : {4, 8, 12}) {
      if (shape[0] % (16 * warps) != 0) continue;
      std::int64_t const per_block = shape[1] / 2;
      std::string error;
      check(wgmma_layout(shape, warps, error), shape, per_block * shape[0] / (16 * warps), warps,
            [&](std::int64_t r, std::int64_t l, std::int64_t w) {
              std::int64_t const block = r / per_block, i = r % per_block;
              return Extents{16 * warps * block + 16 * w + l / 4 + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * (l % 4) + i % 2};
            });
    }
}

TEST_CASE("wgmma A operands in registers have the instruction's layout", "[layout][fragments]") {
  for (int bytes : {1, 2, 4})
    for (Extents const& shape : std::vector<Extents>{{64, 32}, {64, 96}, {128, 64}, {192, 160}, {256, 352}})
      for (int warps : {4, 8, 12}) {
        if (shape[0] % (16 * warps) != 0) continue;
        std::int64_t const k_step = 32 / bytes, per_step = 16 / bytes, per_block = shape[1] / k_step * per_step;
        std::string error;
        check(wgmma_a_layout(shape, bytes, warps, error), shape, per_block * shape[0] / (16 * warps), warps,
              [&](std::int64_t r, std::int64_t l, std::int64_t w) {
                Extents const in = a_element(bytes, r % per_step, l);
                return Extents{in[0] + 16 * w + 16 * warps * (r / per_block),
                               in[1] + k_step * (r % per_block / per_step)};
              });
      }
}

TEST_CASE("mma fragments have the layout of mma.sync", "[layout][fragments]") {
  for (WarpGrid grid : {WarpGrid{1, 1}, WarpGrid{4, 1}, WarpGrid{2, 2}, WarpGrid{2, 4}, WarpGrid{3, 2}})
    for (Extents const& shape : std::vector<Extents>{{96, 64}, {192, 176}, {96, 320}, {384, 96}}) {
      std::int64_t const rows = 16 * grid.rows, columns = shape[1] / grid.columns;
      if (shape[0] % rows != 0 || columns % 8 != 0) continue;
      std::string error;
      std::int64_t const per_block = columns / 8 * 4;
      check(mma_layout(shape, grid, error), shape, per_block * shape[0] / rows, grid.warps(),
            [&](std::int64_t r, std::int64_t l, std::int64_t w) {
              std::int64_t const i = r % 4;
              return Extents{rows * (r / per_block) + 16 * (w % grid.rows) + l / 4 + 8 * (i / 2),
                             columns * (w / grid.rows) + 8 * (r % per_block / 4) + 2 * (l % 4) + i % 2};
            });
      for (int bytes : {1, 2, 4, 8}) {
        std::int64_t const k_step = 32 / bytes, a_step = 16 / bytes, b_step = 8 / bytes;
        Extents const a_shape{shape[0], 3 * k_step}, b_shape{5 * k_step, shape[1]};
        check(mma_a_layout(a_shape, bytes, grid, error), a_shape, 3 * a_step * shape[0] / rows, grid.warps(),
              [&](std::int64_t r, std::int64_t l, std::int64_t w) {
                Extents const in = a_element(bytes, r % a_step, l);
                return Extents{in[0] + 16 * (w % grid.rows) + rows * (r / (3 * a_step)),
                               in[1] + k_step * (r / a_step % 3)};
              });
        std::int64_t const blocks = columns / 8;
        check(mma_b_layout(b_shape, bytes, grid, error), b_shape, 5 * b_step * blocks, grid.warps(),
              [&](std::int64_t r, std::int64_t l, std::int64_t w) {
                std::int64_t const i = r % b_step, g = l / 4, q = l % 4;
                std::int64_t const per = bytes >= 4 ? 1 : 4 / bytes;
                return Extents{per * q + i % per + 4 * per * (i / per) + k_step * (r / b_step / blocks),
                               g + 8 * (r / b_step % blocks) + columns * (w / grid.rows)};
              });
      }
    }
}

TEST_CASE("operands of mma with a run give each product the same elements of K", "[layout][fragments]") {
  for (int bytes : {1, 2, 4})
    for (std::int64_t const depth : {128, 192, 320})
      for (int const run : mma_runs(bytes, depth)) {
        std::string error;
        Layout const* const a = mma_a_layout({32, depth}, bytes, {2, 1}, error, run);
        Layout const* const b = mma_b_layout({depth, 24}, bytes, {2, 1}, error, run);
        REQUIRE(a != nullptr);
        REQUIRE(b != nullptr);
        CHECK(a->shape() == Extents{32, depth});
        CHECK(b->shape() == Extents{depth, 24});
        int const in_run = steps_of_run(bytes, run), own = 8 / bytes, columns = 3;
        std::int64_t const steps = depth / (32 / bytes);
        std::set<std::int64_t> all;
        for (std::int64_t lane = 0; lane < 32; ++lane)
          for (std::int64_t step = 0; step < steps; ++step)
            for (int i = 0; i < own; ++i) {
              // A has both rows of a word before the next word.
              std::int64_t const word = i / (own / 2), in_word = i % (own / 2);
              std::int64_t const of_a = step * 2 * own + word * own + in_word;
              std::int64_t const of_b = ((step / in_run * columns + 1) * in_run + step % in_run) * own + i;
              Extents const left = a->at(of_a, lane, 0), right = b->at(of_b, lane, 0);
              CHECK(left[1] == right[0]);
              CHECK(left[0] == lane / 4);
              CHECK(right[1] == 8 + lane / 4);
              if (run != 0 && i > 0) CHECK(left[1] == a->at(step * 2 * own, lane, 0)[1] + i);
              if (lane < 4) all.insert(left[1]);
            }
        CHECK(static_cast<std::int64_t>(all.size()) == depth);
      }
  std::string error;
  CHECK(mma_a_layout({16, 96}, 2, {1, 1}, error, 16) == nullptr);
  CHECK(error == "mma_a: no lanes have runs of 16 in a depth of 96");
  CHECK(mma_runs(8, 64) == std::vector<int>{0});
  CHECK(mma_runs(2, 96) == std::vector<int>{0, 4, 8});
}

TEST_CASE("fragments are the rows of the table", "[layout][fragments]") {
  std::string error;
  CHECK(wgmma_layout({64, 64}, 4, error)->text() ==
        "[register (0,1) (8,0) (0,8) (0,16) (0,32), lane (0,2) (0,4) (1,0) (2,0) (4,0), warp (16,0) (32,0)]");
  CHECK(wgmma_a_layout({64, 16}, 2, 4, error)->text() ==
        "[register (0,1) (8,0) (0,8), lane (0,2) (0,4) (1,0) (2,0) (4,0), warp (16,0) (32,0)]");
  CHECK(wgmma_a_layout({64, 8}, 4, 4, error)->text() ==
        "[register (8,0) (0,4), lane (0,1) (0,2) (1,0) (2,0) (4,0), warp (16,0) (32,0)]");
  CHECK(wgmma_a_layout({64, 32}, 1, 4, error)->text() ==
        "[register (0,1) (0,2) (8,0) (0,16), lane (0,4) (0,8) (1,0) (2,0) (4,0), warp (16,0) (32,0)]");
  CHECK(mma_layout({16, 8}, {1, 1}, error)->text() == "[register (0,1) (8,0), lane (0,2) (0,4) (1,0) (2,0) (4,0)]");
  CHECK(mma_b_layout({16, 8}, 2, {1, 1}, error)->text() ==
        "[register (1,0) (8,0), lane (2,0) (4,0) (0,1) (0,2) (0,4)]");
  CHECK(wgmma_layout({64, 176}, 4, error)->text() ==
        "[register (0,1) (8,0) (0,8) 11*(0,16), lane (0,2) (0,4) (1,0) (2,0) (4,0), warp (16,0) (32,0)]");
  CHECK(wgmma_layout({192, 128}, 12, error)->warps() == 12);
  // A product's accumulator is the next product's 16-bit A operand.
  for (Extents const& shape : std::vector<Extents>{{64, 128}, {128, 176}, {192, 320}})
    CHECK(wgmma_layout(shape, 4, error) == wgmma_a_layout(shape, 2, 4, error));
}
