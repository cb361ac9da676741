#include "target/box_rows.hpp"

#include "support/catch.hpp"

using tegula::Extents;
using namespace tegula::target;

TEST_CASE("axes of a box but the last are the rows of a tile", "[target]") {
  CHECK(tile_of_box({1, 8, 16, 64}) == Extents{128, 64});
  CHECK(tile_of_box({128, 64}) == Extents{128, 64});
  CHECK(stated_rows({1, 8, 16, 64}) == Extents{1, 1, 128, 64});
  CHECK(stated_rows({128, 64}) == Extents{128, 64});
}

TEST_CASE("rows are a box if they divide one axis and take those after it whole", "[target]") {
  CHECK(box_of_rows({128, 64}, 64) == Extents{64, 64});
  CHECK(box_of_rows({16, 4, 128}, 64) == Extents{16, 4, 128});
  CHECK(box_of_rows({2, 3, 8, 16, 64}, 64) == Extents{1, 1, 4, 16, 64});
  CHECK(box_of_rows({2, 64, 128}, 64) == Extents{1, 64, 128});
  CHECK(box_of_rows({4, 1, 32, 1, 8}, 64) == Extents{2, 1, 32, 1, 8});
  CHECK(box_of_rows({3, 512, 8}, 256) == Extents{1, 256, 8});
  CHECK_FALSE(box_of_rows({32, 6, 64}, 64));  // 6 does not divide 64
  CHECK_FALSE(box_of_rows({6, 16, 64}, 64));  // 4 does not divide 6
  CHECK_FALSE(box_of_rows({32, 64}, 64));     // there are fewer
  CHECK_FALSE(box_of_rows({1024, 8}, 512));   // TMA takes 256
}
