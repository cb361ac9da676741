// Tests descriptors, decoded back into the bytes that the hardware reads, against the places of a tile's elements, core
// matrix by core matrix. Tests their fields against the reference's tables.
#include <algorithm>

#include "target/wgmma_operand.hpp"

#include "layout/element_offsets.hpp"
#include "layout/shared_layouts.hpp"
#include "support/catch.hpp"
#include "support/layouts.hpp"

using namespace tegula;
using namespace tegula::layout;
using namespace tegula::target;

namespace {

/// Computes the shared address of element (mn, k) of one instruction. 8 rows x 16 bytes make a core matrix; a
/// descriptor places each; the XOR acts on the address at the end.
std::int64_t read_address(std::uint64_t descriptor, bool mn_major, int bytes, std::int64_t mn, std::int64_t k) {
  auto const field = [&](int at, int bits) {
    return static_cast<std::int64_t>(descriptor >> at & ((std::uint64_t{1} << bits) - 1));
  };
  std::int64_t const start = field(0, 14) << 4, lbo = field(16, 14) << 4, sbo = field(32, 14) << 4;
  int const mode = static_cast<int>(field(62, 2));
  int const width = mode == 0 ? 16 : mode == 1 ? 128 : mode == 2 ? 64 : 32;
  std::int64_t const chunks = width / 16;
  std::int64_t const contiguous = (mn_major ? mn : k) * bytes, other = mn_major ? k : mn;
  std::int64_t const i = other / 8, row = other % 8;               // 8-row group, row
  std::int64_t const j = contiguous / 16, byte = contiguous % 16;  // 16-byte chunk, byte
  std::int64_t address = start + row * width + byte;
  if (mode == 0)
    address += mn_major ? j * sbo + i * lbo : i * sbo + j * lbo;
  else
    address += i * sbo + (j / chunks) * lbo + (j % chunks) * 16;
  std::int64_t const bits = mode == 0 ? 0 : chunks - 1;
  return address ^ ((address >> 7 & bits) << 4);
}

/// Checks that every element of every instruction is read where the layout has it.
bool reads(WgmmaOperand const& operand, Extents const& view, Layout const& memory, int bytes, WgmmaRole role,
           Extents const& origin, std::uint32_t base) {
  std::string error;
  ElementOffsets const& offsets = *ElementOffsets::get(memory, error);
  int const mn_axis = role == WgmmaRole::a ? 0 : 1;
  for (std::int64_t mn = 0; mn < view[mn_axis]; ++mn)
    for (std::int64_t k = 0; k < view[1 - mn_axis]; ++k) {
      Extents where = origin;
      where[where.size() - 2 + mn_axis] += mn;
      where[where.size() - 1 - mn_axis] += k;
      std::int64_t const start = base + in_bytes(offsets.at(origin), bytes).count +
                                 operand.k_starts[static_cast<std::size_t>(k / operand.k_per_step)] +
                                 operand.mn_starts[static_cast<std::size_t>(mn / operand.mn_per_step)];
      std::int64_t const address = read_address(operand.descriptor(static_cast<std::uint32_t>(start)), operand.mn_major,
                                                bytes, mn % operand.mn_per_step, k % operand.k_per_step);
      if (address != base + in_bytes(offsets.at(where), bytes).count) return false;
    }
  return true;
}

struct Case {
  Extents tile;  // as stored: rows, contiguous
  int bytes;
  int width;
};

}  // namespace

TEST_CASE("K-major descriptors read the tile and are the table's", "[layout][wgmma]") {
  for (int bytes : {1, 2, 4})
    for (int width : {128, 64, 32, 16})
      for (std::int64_t rows : {64, 128, 192, 256})
        for (std::int64_t blocks : {1, 2, 3}) {
          std::int64_t const columns = blocks * std::max(width, 32) / bytes;
          INFO(bytes << " bytes, swizzle " << width << ", " << rows << "x" << columns);
          std::string error;
          Layout const* tile = swizzled_layout({2, rows, columns}, bytes, width, error);
          REQUIRE(tile != nullptr);
          auto const a = wgmma_operand({rows, columns}, *tile, bytes, WgmmaRole::a, error);
          INFO(error);
          REQUIRE(a);
          CHECK(reads(*a, {rows, columns}, *tile, bytes, WgmmaRole::a, {0, 0, 0}, 0));
          CHECK(reads(*a, {rows, columns}, *tile, bytes, WgmmaRole::a, {1, 0, 0}, 4096));
          CHECK_FALSE(a->mn_major);
          if (width == 16 && rows * 16 == 128) continue;
          CHECK(a->mode() == (width == 128 ? 1 : width == 64 ? 2 : width == 32 ? 3 : 0));
          CHECK(a->stride == 8 * width);
          if (width == 16) CHECK(a->leading == rows * 16);
          CHECK(a->k_per_step == 32 / bytes);
          for (std::size_t j = 0; j < a->k_starts.size(); ++j) {
            std::int64_t const step = static_cast<std::int64_t>(j), w = std::max(width, 32);
            std::int64_t const expected = width == 16 ? 2 * step * rows * 16 : 32 * step / w * rows * w + 32 * step % w;
            CHECK(a->k_starts[j] == expected);
          }
          for (std::size_t b = 0; b < a->mn_starts.size(); ++b)
            CHECK(a->mn_starts[b] == 64 * width * static_cast<std::int64_t>(b));
          // The same memory as B: K x N, with K contiguous.
          Layout const* transposed = tile->transposed({0, 2, 1});
          for (int n : {0, 8, 24, 64}) {
            if (n != 0 && rows % n != 0) continue;
            auto const b = wgmma_operand({columns, rows}, *transposed, bytes, WgmmaRole::b, error, n);
            REQUIRE(b);
            CHECK(reads(*b, {columns, rows}, *transposed, bytes, WgmmaRole::b, {0, 0, 0}, 1024));
            CHECK(b->mn_per_step == (n == 0 ? rows : n));
            CHECK(b->mn_starts.size() == static_cast<std::size_t>(rows / b->mn_per_step));
          }
          for (Layout const* wrong : test::spoiled(*swizzled_layout({rows, columns}, bytes, width, error))) {
            auto const spoiled = wgmma_operand({rows, columns}, *wrong, bytes, WgmmaRole::a, error);
            // Accepted operands must still be read right.
            CHECK_FALSE(reads(*a, {rows, columns}, *wrong, bytes, WgmmaRole::a, {0, 0}, 0));
            if (spoiled) CHECK(reads(*spoiled, {rows, columns}, *wrong, bytes, WgmmaRole::a, {0, 0}, 0));
          }
        }
}

TEST_CASE("MN-major descriptors read the tile and are the table's", "[layout][wgmma]") {
  for (int width : {128, 64, 32, 16})
    for (std::int64_t k : {16, 32, 48, 64, 128})
      for (std::int64_t mn : {64, 128, 192, 256}) {
        INFO("swizzle " << width << ", K " << k << ", MN " << mn);
        std::string error;
        Layout const* tile = swizzled_layout({k, mn}, 2, width, error);
        REQUIRE(tile != nullptr);
        auto const b = wgmma_operand({k, mn}, *tile, 2, WgmmaRole::b, error);
        INFO(error);
        REQUIRE(b);
        CHECK(reads(*b, {k, mn}, *tile, 2, WgmmaRole::b, {0, 0}, 0));
        CHECK(b->mn_major);
        CHECK(b->swizzle_bytes == width);
        CHECK(b->stride == (width == 16 ? k * 16 : 8 * width));
        if (width == 16)
          CHECK(b->leading == 128);
        else if (mn * 2 > width)
          CHECK(b->leading == k * width);
        for (std::size_t j = 0; j < b->k_starts.size(); ++j)
          CHECK(b->k_starts[j] == static_cast<std::int64_t>(j) * 16 * width);
        Layout const* transposed = tile->transposed({1, 0});
        auto const a = wgmma_operand({mn, k}, *transposed, 2, WgmmaRole::a, error);
        REQUIRE(a);
        CHECK(reads(*a, {mn, k}, *transposed, 2, WgmmaRole::a, {0, 0}, 2048));
        for (std::size_t i = 0; i < a->mn_starts.size(); ++i)
          CHECK(a->mn_starts[i] == static_cast<std::int64_t>(i) * 128 / width * k * width);
        for (Layout const* wrong : test::spoiled(*tile)) {
          auto const spoiled = wgmma_operand({k, mn}, *wrong, 2, WgmmaRole::b, error);
          CHECK_FALSE(reads(*b, {k, mn}, *wrong, 2, WgmmaRole::b, {0, 0}, 0));
          if (spoiled) CHECK(reads(*spoiled, {k, mn}, *wrong, 2, WgmmaRole::b, {0, 0}, 0));
        }
      }
}

TEST_CASE("a part of a tile is a valid operand", "[layout][wgmma]") {
  std::string error;
  Layout const* tile = swizzled_layout({3, 128, 128}, 2, 128, error);
  for (std::int64_t row : {0, 64})
    for (std::int64_t column : {0, 16, 48, 64, 112}) {
      Extents const origin{2, row, column}, view{64, column == 0 ? 128 : 16};
      auto const part = wgmma_operand(view, *tile, 2, WgmmaRole::a, error, 0, origin);
      INFO(error);
      REQUIRE(part);
      CHECK(reads(*part, view, *tile, 2, WgmmaRole::a, origin, 8192));
    }
  auto const first = wgmma_operand({64, 64}, *tile, 2, WgmmaRole::a, error);
  REQUIRE(first);
  CHECK(first->descriptor(0x12340) ==
        (std::uint64_t{1} << 62 | std::uint64_t{64} << 32 | std::uint64_t{1} << 16 | 0x1234));
  // More columns than one instruction takes: equal parts.
  Layout const* broad = swizzled_layout({64, 320}, 2, 128, error);
  auto const halves = wgmma_operand({64, 320}, *broad, 2, WgmmaRole::b, error);
  REQUIRE(halves);
  CHECK(halves->mn_per_step == 64);  // parts of 160 would start within a column block
  CHECK(reads(*halves, {64, 320}, *broad, 2, WgmmaRole::b, {0, 0}, 0));
  auto const parts =
      wgmma_operand({64, 352}, *swizzled_layout({352, 64}, 2, 128, error)->transposed({1, 0}), 2, WgmmaRole::b, error);
  REQUIRE(parts);
  CHECK(parts->mn_per_step == 176);
  // Extents without a power of two: N = 176 in column blocks of 32 bytes, 192 rows of K.
  Layout const* odd = swizzled_layout({192, 176}, 2, 32, error);
  auto const b = wgmma_operand({192, 176}, *odd, 2, WgmmaRole::b, error);
  REQUIRE(b);
  CHECK(reads(*b, {192, 176}, *odd, 2, WgmmaRole::b, {0, 0}, 0));
}

TEST_CASE("operands without a descriptor are refused with values", "[layout][wgmma]") {
  std::string error;
  auto const refused = [&](Extents const& view, Layout const* memory, int bytes, WgmmaRole role, int n = 0,
                           Extents const& origin = {}) {
    REQUIRE(memory != nullptr);
    error.clear();
    CHECK_FALSE(wgmma_operand(view, *memory, bytes, role, error, n, origin));
    return error;
  };
  Layout const* tile = swizzled_layout({128, 64}, 2, 128, error);
  Layout const* wide = swizzled_layout({128, 64}, 4, 128, error);
  CHECK(refused({64, 24}, tile, 2, WgmmaRole::a) ==
        "wgmma: operand A of 64x24 has a K of 24, not a multiple of the 16 that one instruction takes");
  CHECK(refused({32, 64}, tile, 2, WgmmaRole::a) == "wgmma: operand A of 32x64 has 32 rows, not a multiple of 64");
  CHECK(refused({128, 64}, wide, 4, WgmmaRole::b) ==
        "wgmma: operand B has N contiguous and elements of 4 bytes; only 16-bit elements can be transposed, others "
        "need K contiguous");
  CHECK(refused({64, 20}, swizzled_layout({64, 128}, 2, 128, error), 2, WgmmaRole::b) ==
        "wgmma: operand B of 64x20 is read 20 columns at a time; one instruction takes a multiple of 8 up to 256");
  CHECK(refused({256, 64}, tile, 2, WgmmaRole::a) == "view: 256x64 is not a part of a tile of 128x64");
  CHECK(refused({4, 64, 64}, swizzled_layout({4, 64, 64}, 2, 128, error), 2, WgmmaRole::a) ==
        "wgmma: operand A is a tile of 3 axes, not of 2; take one stage of it");
  CHECK(refused({64, 64}, tile, 8, WgmmaRole::a) == "wgmma: operand A has elements of 8 bytes; 1, 2 or 4 are possible");
  CHECK(refused({64, 64}, dense_layout({64, 64}), 2, WgmmaRole::a) ==
        "wgmma: operand A is not laid out as wgmma reads it: with a swizzle of none it reads byte 16 for element 0 of "
        "K in row 1, which lies at byte 128");
  CHECK(refused({64, 64}, tile, 2, WgmmaRole::a, 0, {4, 0}) ==
        "wgmma: operand A is not laid out as wgmma reads it: with a swizzle of 128 bytes an instruction would start at "
        "byte 512, not in the first row of a pattern of 1024 bytes");
  CHECK(refused({64, 64}, tile, 2, WgmmaRole::a, 0, {96, 0}) ==
        "wgmma: operand A begins at 96 of axis 0, beyond the tile of 128x64");
  CHECK(refused({64, 64}, Layout::blocked({64, 64}, {1, 8}, 4, {1, 0}), 2, WgmmaRole::a) ==
        "layout: a tile in shared memory is a map from offset, not from register");
}
