// Tests compile-time facts: shapes, elements, host scalars.
#include "support/catch.hpp"
#include "tegula/dsl/dsl.hpp"

using namespace tegula;

namespace {

template <class R>
using shape_of = detail::shape_t<R>;
template <class R>
using element_of_recipe = detail::element_t<R>;

template <class T, class S>
tile<T, S>& any();  // never called

using t64 = tile<float, Shape<64>>;
using t8x64 = tile<float, Shape<8, 64>>;

constexpr int middle(int rank) { return rank / 2; }

// Shapes of results.
static_assert(std::is_same_v<shape_of<decltype(any<float, Shape<8, 64>>() + any<float, Shape<8, 1>>())>, Shape<8, 64>>);
static_assert(std::is_same_v<shape_of<decltype(any<float, Shape<8, 1>>() * any<float, Shape<1, 64>>())>, Shape<8, 64>>);
static_assert(std::is_same_v<shape_of<decltype(sum(any<float, Shape<8, 64>>(), axis<1>))>, Shape<8, 1>>);
static_assert(
    std::is_same_v<shape_of<decltype(sum(any<float, Shape<8, 64>>(), axis<-2>, order::pairwise))>, Shape<1, 64>>);
static_assert(std::is_same_v<shape_of<decltype(trans(any<float, Shape<8, 64>>()))>, Shape<64, 8>>);
static_assert(std::is_same_v<shape_of<decltype(trans(any<float, Shape<2, 3, 4>>(), axis<2, 0, 1>))>, Shape<4, 2, 3>>);
static_assert(
    std::is_same_v<shape_of<decltype(dot(any<bf16, Shape<8, 32>>(), any<bf16, Shape<32, 16>>()))>, Shape<8, 16>>);
static_assert(
    std::is_same_v<element_of_recipe<decltype(dot(any<bf16, Shape<8, 32>>(), any<bf16, Shape<32, 16>>()))>, float>);
static_assert(
    std::is_same_v<element_of_recipe<decltype(dot(any<double, Shape<8, 8>>(), any<double, Shape<8, 8>>()))>, double>);
static_assert(
    std::is_same_v<element_of_recipe<decltype(dot(any<std::int8_t, Shape<8, 8>>(), any<std::int8_t, Shape<8, 8>>()))>,
                   std::int32_t>);
static_assert(
    std::is_same_v<element_of_recipe<decltype(dot(any<e4m3, Shape<8, 8>>(), any<e5m2, Shape<8, 8>>()))>, float>);
static_assert(std::is_same_v<shape_of<decltype(dot(any<float, Shape<8, 4>>(), any<float, Shape<4, 16>>(),
                                                   any<float, Shape<8, 16>>(), tf32))>,
                             Shape<8, 16>>);
static_assert(std::is_same_v<element_of_recipe<decltype(full<e4m3>(shape<4>, 1))>, e4m3>);
static_assert(std::is_same_v<element_of_recipe<decltype(full(shape<4>, std::int8_t{3}))>, std::int8_t>);
static_assert(std::is_same_v<element_of_recipe<decltype(full(shape<4>, e5m2(0.5)))>, e5m2>);
static_assert(std::is_same_v<element_of_recipe<decltype(any<bf16, Shape<8>>() < 0)>, bool>);
static_assert(std::is_same_v<element_of_recipe<decltype(any<bf16, Shape<8>>() * 0.5)>, bf16>);
static_assert(std::is_same_v<element_of_recipe<decltype(full(shape<4>, -inf))>, float>);
static_assert(std::is_same_v<element_of_recipe<decltype(full(shape<4>, true))>, bool>);
static_assert(std::is_same_v<element_of_recipe<decltype(iota(shape<4>, axis<0>))>, std::int64_t>);

// Recipes are move-only, tiles are flat and copyable.
using recipe = decltype(any<float, Shape<64>>() + 1);
static_assert(!std::is_copy_constructible_v<recipe> && std::is_move_constructible_v<recipe>);
static_assert(std::is_copy_constructible_v<t64> && sizeof(t64) == 12);

}  // namespace

TEST_CASE("expand_dims has a static shape", "[F23]") {
  STATIC_REQUIRE(std::is_same_v<shape_of<decltype(expand_dims(any<float, Shape<64>>(), axis<0>))>, Shape<1, 64>>);
  STATIC_REQUIRE(std::is_same_v<shape_of<decltype(expand_dims(any<float, Shape<64>>(), axis<1>))>, Shape<64, 1>>);
  auto const k = kernel("expand", [](in<float, 1> x, out<float, 2> y) {
    auto g = grid_over(y, shape<1, 64>);
    store(y, shape<1, 64>, expand_dims(load(x, shape<64>, g[1]), axis<0>), g[0], g[1]);
  });
  CHECK_THAT(k.trace().text(), test::ContainsSubstring("expand_dims %6 {axes = [0]} : tile<1x64xf32>"));
}

TEST_CASE("expand_dims takes several axes, negative ones too", "[F24]") {
  STATIC_REQUIRE(
      std::is_same_v<shape_of<decltype(expand_dims(any<float, Shape<64>>(), axis<0, -1>))>, Shape<1, 64, 1>>);
  STATIC_REQUIRE(
      std::is_same_v<shape_of<decltype(expand_dims(any<float, Shape<8, 64>>(), axis<-2, 0>))>, Shape<1, 8, 1, 64>>);
}

TEST_CASE("expand_dims takes axes computed at compile time", "[F25]") {
  STATIC_REQUIRE(
      std::is_same_v<shape_of<decltype(expand_dims(any<float, Shape<8, 64>>(), axis<middle(3)>))>, Shape<8, 1, 64>>);
  STATIC_REQUIRE(std::is_same_v<shape_of<decltype(expand_dims(any<float, Shape<8, 64>>(), 1_c))>, Shape<8, 1, 64>>);
  STATIC_REQUIRE(
      std::is_same_v<shape_of<decltype(expand_dims(any<float, Shape<8, 64>>(), std::integral_constant<int, -1>()))>,
                     Shape<8, 64, 1>>);
}

TEST_CASE("squeeze undoes expand_dims and drops a reduced axis", "[F26]") {
  STATIC_REQUIRE(
      std::is_same_v<shape_of<decltype(squeeze(expand_dims(any<float, Shape<8, 64>>(), axis<0, -1>), axis<0, -1>))>,
                     Shape<8, 64>>);
  STATIC_REQUIRE(
      std::is_same_v<shape_of<decltype(squeeze(sum(any<float, Shape<8, 64>>(), axis<1>), axis<1>))>, Shape<8>>);
  STATIC_REQUIRE(std::is_same_v<
                 shape_of<decltype(expand_dims(squeeze(sum(any<float, Shape<8, 64>>(), axis<1>), axis<1>), axis<1>))>,
                 Shape<8, 1>>);
}

namespace {

constexpr auto bias_relu = [](auto acc, auto b) { return max(acc + b, 0); };
constexpr auto gelu_like = [](auto x) {
  auto t = let(x * 0.5f);
  return select(t > 0, t * t, cast<float>(round(t)));
};

}  // namespace

TEST_CASE("an epilogue object runs on the host at compile time", "[N12]") {
  STATIC_REQUIRE(bias_relu(host(2.F), host(-3.F)) == 0.F);
  STATIC_REQUIRE(bias_relu(host(2.F), host(3.F)) == 5.F);
  STATIC_REQUIRE(gelu_like(host(4.F)) == 4.F);
  STATIC_REQUIRE(gelu_like(host(-3.F)) == -2.F);
  // The same object in a kernel.
  auto const k = kernel("fused", [](in<float, 1> x, out<float, 1> y) {
    auto g = grid_over(y, shape<64>);
    tile v = load(x, shape<64>, g[0]);
    store(y, shape<64>, bias_relu(v, let(gelu_like(v))), g[0]);
  });
  CHECK_THAT(k.trace().text(), test::ContainsSubstring("max"));
}

TEST_CASE("host scalars follow the tiles' rules", "[N12]") {
  // Numbers take the element and never widen it: 1 + 2^-9 is a tie in bf16 and rounds to even.
  STATIC_REQUIRE(host(bf16(1.0)) + 0.001953125 == bf16(1.0));
  STATIC_REQUIRE(host(f16(2048.0)) + 1 == f16(2048.0));
  STATIC_REQUIRE(host(1.F) + 0.1 == 1.1F);
  STATIC_REQUIRE(std::is_same_v<decltype(host(1) + 2)::host_element, int>);
  // Integers wrap and divide totally.
  STATIC_REQUIRE(host(2147483647) + 1 == -2147483647 - 1);
  STATIC_REQUIRE(host(7) / 0 == 0);
  STATIC_REQUIRE(host(7) % 0 == 7);
  STATIC_REQUIRE(host(std::int64_t{-7}) / 2 == -3);
  STATIC_REQUIRE((host(1) << 40) == 0);
  // Floats as the kernels have them, at compile time too.
  STATIC_REQUIRE(host(1.F) / 0 == inf);
  STATIC_REQUIRE(max(host(-1.F) / 0, -2.F) == -2.F);
  STATIC_REQUIRE(exp2(host(3.F)) == 8.F);
  STATIC_REQUIRE(sqrt(host(9.0)) == 3.0);
  STATIC_REQUIRE(rsqrt(host(0.25F)) == 2.F);
  STATIC_REQUIRE(1 / rsqrt(host(-0.0)) == 0.0);
  STATIC_REQUIRE(floor(host(-0.5F)) == -1.F);
  STATIC_REQUIRE(ceil(host(-1.5F)) == -1.F);
  STATIC_REQUIRE(trunc(host(f16(-1.5))) == f16(-1.0));
  STATIC_REQUIRE(sin(host(1e22)) == -0.8522008497671888);
  STATIC_REQUIRE(cos(host(1e30F)) == -0.6116047854178966F);
  STATIC_REQUIRE(tanh(host(bf16(0.5))) == bf16(0.4621171572600098));
  STATIC_REQUIRE(fast_tanh(host(bf16(0.5))) == tanh(host(bf16(0.5))));  // coarse on a GPU alone
  STATIC_REQUIRE(erf(host(0.5F)) == 0.5204998778130465F);
  STATIC_REQUIRE(abs(host(-3)) == 3);
  STATIC_REQUIRE(cast<int>(host(2.9F)) == 2);
  STATIC_REQUIRE(cast<bf16>(host(1.00390625F)) == bf16(1.0));
  STATIC_REQUIRE(cast<float>(host(true)) == 1.F);
  STATIC_REQUIRE(cast<std::int8_t>(host(300)).value() == 44);
  STATIC_REQUIRE(cast<std::int8_t>(host(-1e9F)).value() == -128);
  STATIC_REQUIRE(cast<int>(host(std::int8_t{-7})) == -7);
  STATIC_REQUIRE(cast<e4m3>(host(1e9F)).value() == e4m3(448));
  STATIC_REQUIRE(cast<e5m2>(host(e4m3(448))).value().bits() == 0x5F);
  STATIC_REQUIRE(cast<e5m2>(host(std::int64_t{9217})).value() == e5m2(10240));
  // Just above a tie, which a detour by f32 or f64 would make it.
  STATIC_REQUIRE(cast<e4m3>(host(1 + 0x1p-4 + 0x1p-40)).value() == e4m3(1.125));
  STATIC_REQUIRE(cast<float>(host(e5m2::from_bits(0x7C))) == inf);
  STATIC_REQUIRE(cast<bool>(host(true)) == true);
  STATIC_REQUIRE(select(host(true), host(e4m3(2)), 3).value() == e4m3(2));
  STATIC_REQUIRE(-host(2) == -2);
  STATIC_REQUIRE((!(host(1) < 2)) == host(false));
  STATIC_REQUIRE(select(host(1) < 2, host(5), 6) == 5);
}

TEST_CASE("a mask stays one bit and a bool keeps its type", "[F45]") {
  STATIC_REQUIRE(
      std::is_same_v<element_of_recipe<decltype((any<float, Shape<8>>() > 0) & (any<float, Shape<8>>() < 1))>, bool>);
  STATIC_REQUIRE(std::is_same_v<element_of_recipe<decltype(any<bool, Shape<8>>() == true)>, bool>);
  auto const k = kernel("masks", [](in<bool, 1> m, in<int, 1> x, out<bool, 1> y) {
    auto g = grid_over(y, shape<64>);
    tile mask = load(m, shape<64>, g[0], pad(true));
    store(y, shape<64>, (mask & (load(x, shape<64>, g[0]) > 3)) | false, g[0]);
  });
  std::string const text = k.trace().text();
  CHECK_THAT(text, test::ContainsSubstring("{pad = true : bool} : tile<64xbool>"));
  CHECK_THAT(text, test::ContainsSubstring("and %5, %8 : tile<64xbool>"));
  CHECK_THAT(text, test::ContainsSubstring("constant {value = false : bool} : tile<64xbool>"));
}

namespace {

struct Point {
  in<float, 1> x, y;
};
struct Twenty {
  in<float, 1> a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17;
  Point point;
  arg<float> scale;
  out<float, 1> y;
};

}  // namespace

TEST_CASE("a parameter struct has up to 32 members, in their order") {
  auto const k = kernel("twenty", [](Twenty p) {
    auto g = grid_over(p.y, shape<64>);
    store(p.y, shape<64>, load(p.a17, shape<64>, g[0]) * p.scale + load(p.point.y, shape<64>, g[0]), g[0]);
  });
  STATIC_REQUIRE(decltype(k)::parameters::size == 21);
  std::string const text = k.trace().text();
  INFO(text);
  CHECK_THAT(text, test::ContainsSubstring("load %in16"));
  CHECK_THAT(text, test::ContainsSubstring("load %in18"));
  CHECK_THAT(text, test::ContainsSubstring("splat %arg19"));
  CHECK_THAT(text, test::ContainsSubstring("store %out20"));
}
