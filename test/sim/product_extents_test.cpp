// Tests products of every extent that tensor cores count in, through the passes, ptxas and the simulator. Each is
// right, or refused for a reason that is confirmed by itself. ./dev fuzz draws others.
#include "fuzz/product_extents.hpp"

#include "fuzz/generators.hpp"
#include "support/catch.hpp"

using namespace tegula;
using namespace tegula::fuzz;
using test::GemmElements;
using test::GemmShape;

namespace {

constexpr GemmElements f16{Element::f16, Element::f16, Element::f16}, tf32{Element::f32, Element::f32, Element::f32},
    e4m3{Element::e4m3, Element::e4m3, Element::bf16}, i8{Element::i8, Element::i8, Element::i32};

/// Lists each way in which a product was refused or became another one.
std::vector<GemmShape> corners() {
  return {product(32, 96, 48),       product(96, 96, 48),           product(48, 48, 48),
          product(16, 48, 16),       product(48, 80, 32, {}, true), product(8, 48, 32),
          product(40, 16, 64),       product(24, 40, 32),           product(72, 64, 64),
          product(8, 256, 64),       product(200, 64, 32),          product(256, 192, 64),
          product(192, 256, 64),     product(256, 256, 64),         product(256, 144, 32),
          product(240, 240, 16),     product(64, 248, 16),          product(32, 96, 64, tf32, true),
          product(48, 96, 64, e4m3), product(80, 48, 64, i8, true), product(16, 96, 32, tf32),
          product(32, 184, 128),     product(136, 192, 64, tf32)};
}

void check_all(std::vector<GemmShape> const& shapes) {
  for (GemmShape const& shape : shapes) {
    bool refused = false;
    INFO(text_of(shape));
    CHECK(error_of(shape, refused) == "");
  }
}

}  // namespace

TEST_CASE("products of extents at every corner are right, or refused for a true reason", "[sim][B1][F27]") {
  check_all(corners());
}

TEST_CASE("products that nearly fill registers or shared memory are right", "[sim][B1]") {
  // 15 warps share both axes of the transposed result.
  check_all({product(200, 144, 16), product(200, 144, 32, f16), product(200, 144, 32, tf32), product(200, 144, 48),
             product(200, 144, 64)});
  // One stage of the operands fits, two do not.
  check_all({product(128, 168, 128, tf32, true), product(64, 232, 128, tf32, true), product(192, 104, 128, tf32, true),
             product(256, 40, 128, tf32, true)});
  // Two stages leave little for the staging of the result.
  check_all({product(192, 224, 128, f16, true), product(192, 240, 128, {}, true)});
}

TEST_CASE("products whose stages do not fit get fewer of them", "[sim][B19]") {
  auto const with = [](GemmShape shape, int stages) {
    shape.stages = stages;
    return shape;
  };
  // The ring alone is too large, then the ring beside the staging of the result.
  check_all({with(product(192, 104, 128, tf32, true), 2), with(product(128, 256, 64), 8),
             with(product(64, 384, 128), 8), with(product(256, 128, 64, f16, true), 4),
             with(product(200, 192, 96, f16), 8)});
}

TEST_CASE("products of extents drawn once are right, or refused for a true reason", "[sim][B1][N2]") {
  Generator const& products = generator_named("products");
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    std::string const text = products.draw(seed);
    Verdict const found = products.judge(text);
    INFO(text << found.reason);
    CHECK(!found.wrong());
  }
}
