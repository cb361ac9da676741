// Compares swizzled tiles with the hardware's XOR on byte addresses, element by element.
#include "layout/shared_layouts.hpp"

#include "layout/element_offsets.hpp"
#include "layout/layout_picture.hpp"
#include "support/catch.hpp"
#include "support/layouts.hpp"

using namespace tegula;
using namespace tegula::layout;

namespace {

std::int64_t swizzle(std::int64_t a, int width) {
  if (width == 128) return a ^ (((a >> 7) & 7) << 4);
  if (width == 64) return a ^ (((a >> 7) & 3) << 4);
  if (width == 32) return a ^ (((a >> 7) & 1) << 4);
  return a;
}

/// Checks column blocks of `width` bytes, each with all rows.
bool same(Layout const& layout, std::int64_t stages, std::int64_t rows, std::int64_t columns, int bytes, int width) {
  if (layout.shape() != Extents{stages, rows, columns}) return false;
  for (std::int64_t s = 0; s < stages; ++s)
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c) {
        std::int64_t const along = c * bytes;
        std::int64_t const address =
            swizzle(s * rows * columns * bytes + along / width * rows * width + r * width + along % width, width);
        if (layout.part(Dim::offset, address / bytes) != Extents{s, r, c}) return false;
      }
  return true;
}

}  // namespace

TEST_CASE("swizzled tiles have the layout that TMA writes", "[layout][shared]") {
  for (int bytes : {1, 2, 4, 8})
    for (int width : {128, 64, 32, 16})
      for (Extents const& shape : std::vector<Extents>{{1, 64, 128}, {2, 96, 384}, {4, 8, 256}, {1, 176, 128}}) {
        INFO(bytes << " bytes, swizzle " << width << ", " << shape_text(shape));
        std::string error;
        Layout const* layout = swizzled_layout(shape, bytes, width, error);
        REQUIRE(layout != nullptr);
        CHECK(same(*layout, shape[0], shape[1], shape[2], bytes, width));
        CHECK(layout->injective());
        ElementOffsets const* offsets = ElementOffsets::get(*layout, error);
        REQUIRE(offsets != nullptr);
        bool inverse = true;
        for (std::int64_t o = 0; o < shape.product(); ++o)
          inverse &= offsets->at(layout->part(Dim::offset, o)).count == o;
        CHECK(inverse);
        Layout const* transposed = swizzled_transposed_layout({shape[0], shape[2], shape[1]}, bytes, width, error);
        REQUIRE(transposed != nullptr);
        CHECK(transposed->transposed({0, 2, 1}) == layout);
        for (Layout const* wrong : test::spoiled(*layout))
          CHECK_FALSE(same(*wrong, shape[0], shape[1], shape[2], bytes, width));
      }
}

TEST_CASE("swizzled tiles are the rows of the table", "[layout][shared]") {
  std::string error;
  CHECK(swizzled_layout({64, 128}, 2, 128, error)->text() ==
        "[offset (0,1) (0,2) (0,4) (0,8) (0,16) (0,32) (1,8) (2,16) (4,32) (8,0) (16,0) (32,0) (0,64)]");
  CHECK(swizzled_layout({16, 32}, 2, 64, error)->text() ==
        "[offset (0,1) (0,2) (0,4) (0,8) (0,16) (1,0) (2,8) (4,16) (8,0)]");
  CHECK(swizzled_layout({16, 16}, 2, 32, error)->text() == "[offset (0,1) (0,2) (0,4) (0,8) (1,0) (2,0) (4,8) (8,0)]");
  CHECK(swizzled_layout({16, 32}, 4, 128, error)->text() ==
        "[offset (0,1) (0,2) (0,4) (0,8) (0,16) (1,4) (2,8) (4,16) (8,0)]");
  CHECK(swizzled_layout({16, 128}, 1, 128, error)->text() ==
        "[offset (0,1) (0,2) (0,4) (0,8) (0,16) (0,32) (0,64) (1,16) (2,32) (4,64) (8,0)]");
  CHECK(swizzled_transposed_layout({16, 16}, 2, 32, error)->text() ==
        "[offset (1,0) (2,0) (4,0) (8,0) (0,1) (0,2) (8,4) (0,8)]");
  CHECK(swizzled_layout({4, 64}, 2, 128, error)->text() ==
        "[offset (0,1) (0,2) (0,4) (0,8) (0,16) (0,32) (1,8) (2,16)]");
}

TEST_CASE("a view is movable unless it cuts through the pattern", "[layout][shared]") {
  std::string error;
  ElementOffsets const& tile = *ElementOffsets::get(*swizzled_layout({4, 128, 128}, 2, 128, error), error);
  CHECK(tile.movable({128, 128}, error));
  CHECK(tile.movable({64, 128}, error));
  CHECK(tile.movable({64, 64}, error));
  CHECK(tile.movable({8, 64}, error));
  CHECK(tile.movable({2, 128, 128}, error));
  CHECK_FALSE(tile.movable({128, 32}, error));
  CHECK(error ==
        "view: 128x32 of 4x128x128 cuts through the swizzle pattern, so parts of it do not lie alike in memory");
  CHECK_FALSE(tile.movable({4, 64}, error));
  CHECK(tile.stride(0, 1) == 128 * 128);
  CHECK(tile.stride(1, 64) == 64 * 64);
  CHECK(tile.stride(1, 8) == 8 * 64);
  CHECK(tile.stride(2, 64) == 128 * 64);
  CHECK(tile.stride(1, 128) == 0);
  CHECK_FALSE(tile.stride(2, 32));
  CHECK_FALSE(tile.stride(1, 1));
  ElementOffsets const& dense = *ElementOffsets::get(*dense_layout({48, 40}), error);
  CHECK(dense.movable({3, 5}, error));
  CHECK(dense.at({7, 11}).count == 7 * 40 + 11);
  CHECK(dense.at({11}).count == 11);

  CHECK(ElementOffsets::get(*Layout::blocked({16, 64}, {1, 8}, 4, {1, 0}), error) == nullptr);
  CHECK(error == "layout: a tile in shared memory is a map from offset, not from register");
  CHECK(ElementOffsets::get(*Layout::parse("[offset (1) (0)]", error), error) == nullptr);
  CHECK_FALSE(fits({5, 128, 128}, *swizzled_layout({4, 128, 128}, 2, 128, error), error));
  CHECK(error == "view: 5x128x128 is not a part of a tile of 4x128x128");
}

TEST_CASE("movable means that offsets add, at every origin", "[layout][shared]") {
  std::string error;
  int moved = 0, fixed = 0;
  for (int width : {128, 64, 32, 16})
    for (bool transposed : {false, true}) {
      Extents const shape{24, 192};
      Layout const* layout = transposed ? swizzled_transposed_layout({192, 24}, 2, width, error)->transposed({1, 0})
                                        : swizzled_layout(shape, 2, width, error);
      REQUIRE(layout != nullptr);
      ElementOffsets const& offsets = *ElementOffsets::get(*layout, error);
      for (std::int64_t rows : {1, 2, 3, 4, 6, 8, 12, 24})
        for (std::int64_t columns : {1, 2, 4, 8, 16, 24, 32, 64, 96, 192}) {
          bool adds = true;
          for (std::int64_t r0 = 0; r0 < 24; r0 += rows)
            for (std::int64_t c0 = 0; c0 < 192; c0 += columns)
              for (std::int64_t r = 0; r < rows; ++r)
                for (std::int64_t c = 0; c < columns; ++c)
                  adds &= offsets.at({r0 + r, c0 + c}) == offsets.at({r0, c0}) + offsets.at({r, c});
          INFO(rows << "x" << columns << " of swizzle " << width);
          bool const said = offsets.movable({rows, columns}, error);
          CHECK((!said || adds));
          moved += said ? 1 : 0;
          fixed += adds ? 0 : 1;
        }
    }
  CHECK(moved > 50);
  CHECK(fixed > 50);
}

TEST_CASE("a shared tile's picture shows offsets and banks", "[layout][shared]") {
  std::string error;
  CHECK(shared_picture(*swizzled_layout({8, 32}, 2, 64, error), 2) ==
        "| 0:0    | 8:4    | 16:8   | 24:12  |\n"
        "| 32:16  | 40:20  | 48:24  | 56:28  |\n"
        "| 72:4   | 64:0   | 88:12  | 80:8   |\n"
        "| 104:20 | 96:16  | 120:28 | 112:24 |\n"
        "| 144:8  | 152:12 | 128:0  | 136:4  |\n"
        "| 176:24 | 184:28 | 160:16 | 168:20 |\n"
        "| 216:12 | 208:8  | 200:4  | 192:0  |\n"
        "| 248:28 | 240:24 | 232:20 | 224:16 |\n");
  CHECK(shared_picture(*dense_transposed_layout({2, 4, 3}), 8) ==
        "at 0\n"
        "| 0:0   | 4:8   | 8:16  |\n"
        "| 2:4   | 6:12  | 10:20 |\n"
        "at 1\n"
        "| 12:24 | 16:0  | 20:8  |\n"
        "| 14:28 | 18:4  | 22:12 |\n");
  CHECK(shared_picture(*dense_layout({8}), 4) == "| 0:0 | 4:4 |\n");
  CHECK(shared_picture(*dense_layout({}), 4) == "| 0:0 |\n");
  CHECK(shared_picture(*Layout::blocked({8}, {2}, 4, {0}), 4) ==
        "layout: a tile in shared memory is a map from offset, not from register\n");
}
