// Plans of TMA copies against what the hardware writes, byte by byte.
#include "target/tma_copies.hpp"

#include <algorithm>
#include <map>

#include "layout/element_offsets.hpp"
#include "layout/shared_layouts.hpp"
#include "support/catch.hpp"
#include "support/layouts.hpp"

using namespace tegula;
using namespace tegula::layout;
using namespace tegula::target;

namespace {

/// Runs the copies of a plan: which element (of the view) each byte offset gets. False when one is written twice, or a
/// layout has it elsewhere.
bool fills(TmaPlan const& plan, Extents const& view, Layout const& memory, int bytes) {
  std::string error;
  ElementOffsets const& offsets = *ElementOffsets::get(memory, error);
  std::map<std::int64_t, int> written;
  for (TmaCopy const& copy : plan.copies) {
    if (copy.offset.count % 128 != 0) return false;
    std::int64_t const row_pitch = plan.swizzle_bytes != 0 ? plan.swizzle_bytes : plan.box.back() * bytes;
    std::int64_t const rows = plan.box.product() / plan.box.back();
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < plan.box.back(); ++column) {
        std::int64_t address = copy.offset.count + row * row_pitch + column * bytes;
        if (plan.swizzle_bytes != 0) address ^= (address >> 7 & (plan.swizzle_bytes / 16 - 1)) << 4;
        Extents where = copy.origin;
        where[static_cast<int>(plan.axes.back())] += column;
        std::int64_t rest = row;
        for (int i = plan.box.size() - 2; i >= 0; --i) {
          where[static_cast<int>(plan.axes[i])] += rest % plan.box[i];
          rest /= plan.box[i];
        }
        if (in_bytes(offsets.at(where), bytes) != ByteOffset{address} || ++written[address] > 1) return false;
      }
  }
  return static_cast<std::int64_t>(written.size()) == view.product();
}

}  // namespace

TEST_CASE("a swizzled tile is filled by one copy per column block", "[layout][tma]") {
  for (int bytes : {1, 2, 4})
    for (int width : {128, 64, 32, 16})
      for (std::int64_t rows : {8, 176, 320})
        for (std::int64_t blocks : {1, 2, 3}) {
          std::int64_t const columns = blocks * width / bytes;
          INFO(bytes << " bytes, swizzle " << width << ", " << rows << "x" << columns);
          std::string error;
          Layout const* tile = swizzled_layout({2, rows, columns}, bytes, width, error);
          REQUIRE(tile != nullptr);
          TmaPlan const plan = tma_plan({rows, columns}, *tile, bytes);
          for (Finding const& broken : plan.broken) CHECK(broken.text().empty());
          REQUIRE(plan.legal());
          CHECK(fills(plan, {rows, columns}, *tile, bytes));
          CHECK(plan.copies.size() == static_cast<std::size_t>(blocks * (rows > 256 ? 2 : 1)));
          CHECK(plan.box == Extents{rows > 256 ? rows / 2 : rows, width / bytes});
          CHECK(plan.bytes == plan.box.product() * bytes);
          CHECK(plan.alignment == (width == 16 ? 128 : 8 * width));
          CHECK(plan.swizzle_bytes == (width == 16 ? 0 : width));
          CHECK(tma_plan({rows, columns}, *tile, bytes, {1, 0, 0}).copies.size() == plan.copies.size());
          // The other major order: the box runs along the tensor's axes.
          Layout const* transposed = tile->transposed({0, 2, 1});
          TmaPlan const other = tma_plan({columns, rows}, *transposed, bytes);
          REQUIRE(other.legal());
          CHECK(fills(other, {columns, rows}, *transposed, bytes));
          // A spoiled tile is refused, or (another swizzle, by chance) filled right.
          Layout const* flat = swizzled_layout({rows, columns}, bytes, width, error);
          for (Layout const* wrong : test::spoiled(*flat)) {
            TmaPlan const spoiled = tma_plan({rows, columns}, *wrong, bytes);
            if (spoiled.legal()) CHECK(fills(spoiled, {rows, columns}, *wrong, bytes));
            CHECK_FALSE(fills(plan, {rows, columns}, *wrong, bytes));
          }
        }
}

TEST_CASE("dense tiles are filled by few copies", "[layout][tma]") {
  struct Dense {
    Extents shape;
    int bytes;
    std::size_t copies;
  };
  for (Dense const& dense : std::vector<Dense>{{{64, 64}, 4, 1},
                                               {{1024}, 4, 4},
                                               {{4096}, 2, 16},
                                               {{4, 8, 16}, 4, 1},
                                               {{1, 512}, 4, 2},
                                               {{2, 512}, 4, 4},
                                               {{300, 32}, 4, 2},
                                               {{2, 300, 32}, 4, 4}}) {
    INFO(shape_text(dense.shape));
    TmaPlan const plan = tma_plan(dense.shape, *dense_layout(dense.shape), dense.bytes);
    for (Finding const& broken : plan.broken) CHECK(broken.text().empty());
    CHECK(plan.copies.size() == dense.copies);
    CHECK(fills(plan, dense.shape, *dense_layout(dense.shape), dense.bytes));
    CHECK(plan.alignment == 128);
  }
  // A whole ring of stages with one column block each is one box of three axes.
  std::string error;
  Layout const* ring = swizzled_layout({4, 64, 64}, 2, 128, error);
  CHECK(tma_plan({4, 64, 64}, *ring, 2).copies.size() == 1);
  CHECK(fills(tma_plan({4, 64, 64}, *ring, 2), {4, 64, 64}, *ring, 2));
  // With two column blocks the stages do not follow each other.
  ring = swizzled_layout({4, 64, 128}, 2, 128, error);
  CHECK(tma_plan({4, 64, 128}, *ring, 2).copies.size() == 8);
  CHECK(fills(tma_plan({4, 64, 128}, *ring, 2), {4, 64, 128}, *ring, 2));
}

TEST_CASE("several copies of an explicit box fill a view", "[layout][tma]") {
  std::string error;
  Layout const* tile = swizzled_layout({4, 64, 256}, 2, 128, error);
  for (Extents const& box : std::vector<Extents>{{64, 64}, {32, 64}, {8, 64}, {1, 64, 64}}) {
    INFO(shape_text(box));
    TmaPlan plan = tma_copies(box, 128, {64, 256}, *tile, 2);
    for (Finding const& broken : plan.broken) CHECK(broken.text().empty());
    CHECK(plan.copies.size() == static_cast<std::size_t>(64 * 256 / box.product()));
    CHECK(plan.alignment == 1024);
    CHECK(std::is_sorted(plan.copies.begin(), plan.copies.end(),
                         [](TmaCopy const& a, TmaCopy const& b) { return a.offset < b.offset; }));
    if (box.size() == 2) CHECK(fills(plan, {64, 256}, *tile, 2));
  }
}

TEST_CASE("each broken rule of TMA gives a sentence with values", "[layout][tma]") {
  std::string error;
  auto const only = [](std::vector<Finding> const& errors) {
    CHECK(errors.size() == 1);
    // As it comes back from the data that an op holds.
    return errors.empty() ? std::string() : Finding::from_data(errors[0].data()).text();
  };
  CHECK(tma_box_errors({128, 64}, 128, 2).empty());
  CHECK(only(tma_box_errors({512, 64}, 128, 2)) ==
        "tma: box: axis 0 of box 512x64 has 512 elements; 1 to 256 are possible");
  CHECK(only(tma_box_errors({64, 128}, 128, 2)) ==
        "tma: swizzle: the last axis of box 64x128 has 256 bytes, more than the swizzle of 128 bytes");
  CHECK(only(tma_box_errors({64, 32}, 128, 2)) ==
        "tma: swizzle: the last axis of box 64x32 has 64 bytes, less than the swizzle of 128 bytes; take a smaller "
        "swizzle");
  CHECK(only(tma_box_errors({64, 10}, 0, 2)) ==
        "tma: row: the last axis of box 64x10 has 20 bytes, not a multiple of 16");
  CHECK(only(tma_box_errors({1, 1, 1, 1, 1, 8}, 0, 2)) == "tma: rank: a box of 6 axes; 1 to 5 are possible");
  CHECK(only(tma_box_errors({8}, 48, 2)) == "tma: swizzle: a swizzle of 48 bytes; none, 32, 64 or 128 are possible");
  CHECK(only(tma_box_errors({16}, 0, 3)) == "tma: element: elements of 3 bytes; 1, 2, 4 or 8 are possible");

  Layout const* tile = swizzled_layout({128, 64}, 2, 128, error);
  CHECK(tma_copy_errors({128, 64}, 128, {128, 64}, *tile, 2).empty());
  CHECK(tma_copy_errors({1, 128, 64}, 128, {128, 64}, *tile, 2).empty());
  CHECK(tma_copy_errors({64, 64}, 128, {64, 64}, *tile, 2, {}, {64, 0}).empty());
  CHECK(tma_copy_errors({128, 64}, 128, {64, 128}, *tile->transposed({1, 0}), 2, {1, 0}).empty());
  CHECK(only(tma_copy_errors({128, 64}, 0, {128, 64}, *tile, 2)) ==
        "tma: placement: a copy with no swizzle and box 128x64 puts element (1, 0) at byte 128 of the tile, its layout "
        "has it at "
        "byte 144");
  CHECK(only(tma_copy_errors({64, 64}, 128, {128, 64}, *tile, 2)) ==
        "tma: box: a box of 64x64 does not fill a view of 128x64");
  CHECK(only(tma_copy_errors({48, 64}, 128, {128, 64}, *tile, 2)) ==
        "tma: box: boxes of 48x64 do not make up a view of 128x64");
  CHECK(only(tma_copies({128, 32}, 64, {128, 64}, *tile, 2).broken) ==
        "tma: placement: a copy with swizzle 64 and box 128x32 puts element (1, 0) at byte 64 of the tile, its layout "
        "has it at "
        "byte 144");
  CHECK(only(tma_copy_errors({2, 64, 64}, 128, {64, 64}, *tile, 2)) ==
        "tma: box: axis 0 of box 2x64x64 has 2 elements but no axis in a view of 64x64");
  CHECK(only(tma_copy_errors({128, 64}, 128, {128, 64}, *tile, 2, {}, {64, 0})) ==
        "tma: placement: a view of 128x64 at (64, 0) leaves the tile of 128x64");
  CHECK(only(tma_copy_errors({8, 16}, 32, {8, 16}, *tile, 2, {}, {0, 16})) ==
        "tma: placement: a copy begins at byte 32 of the tile; it must be a multiple of 128");
  for (Layout const* wrong : test::spoiled(*tile))
    CHECK_FALSE(tma_copy_errors({128, 64}, 128, {128, 64}, *wrong, 2).empty());

  CHECK(only(tma_plan({8, 10}, *dense_layout({8, 10}), 2).broken) ==
        "tma: row: the last axis of box 8x10 has 20 bytes, not a multiple of 16");
  CHECK(only(tma_plan({1, 1, 1, 1, 1, 8}, *dense_layout({1, 1, 1, 1, 1, 8}), 2).broken) ==
        "tma: rank: a tile of 6 axes; 1 to 5 are possible");
  CHECK_FALSE(tma_plan({3, 24}, *dense_layout({3, 24}), 2, {0, 8}).legal());
  CHECK_FALSE(tma_plan({64, 64}, *Layout::dense({64, 64}, {0, 1}), 2).legal() == false);

  TmaTensor tensor;
  std::vector<std::string> texts;
  for (Finding const& broken : tma_tensor_errors(tensor, 2)) texts.push_back(broken.text());
  CHECK(texts ==
        std::vector<std::string>{
            "tma: contiguous: the tensor's last axis is not known to be contiguous",
            "tma: address: the tensor's address is known to be a multiple of 1 bytes, not of 16",
            "tma: stride: the stride of the tensor's rows is known to be a multiple of 1 bytes, not of 16",
            "tma: coordinate: the start of a copy along the tensor's last axis is known to be a multiple of 2 bytes, "
            "not of 16"});
  tensor = {2, true, 16, 32, 8};
  CHECK(tma_tensor_errors(tensor, 2).empty());
  tensor.rank = 6;
  CHECK(only(tma_tensor_errors(tensor, 2)) == "tma: rank: a tensor of 6 axes; 1 to 5 are possible");
}
