// Tests that integers of few bits become floats by additions, that extents that a type fixes are constants, and that
// random numbers of places in a row share counters.
#include <algorithm>
#include <string>
#include <vector>

#include "compiler/compile.hpp"
#include "support/catch.hpp"
#include "support/module.hpp"
#include "tegula/dsl/dsl.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

template <class K>
std::string ptx_of(K const& k, std::vector<TensorFacts> const& facts = {}) {
  CompileOptions options;
  options.facts = facts;
  options.target = Target::cuda;
  auto module = module_of(k.trace().text());
  return compiler::compile(module, options).image;
}

int count(std::string const& text, std::string const& word) {
  int result = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++result;
  return result;
}

template <class T>
constexpr auto floats = kernel("floats", [](in<T, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<128>);
  store(y, shape<128>, cast<float>(load(x, shape<128>, g[0])), g[0]);
});

constexpr auto nibbles = kernel("nibbles", [](in<std::uint32_t, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<128>);
  store(y, shape<128>, cast<float>((load(x, shape<128>, g[0]) >> 8U) & 15U), g[0]);
});

/// Makes floats of nibble `shift` / 4 of each word.
template <unsigned shift, class T>
constexpr auto one_nibble = kernel("one_nibble", [](in<T, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<128>);
  tile word = load(x, shape<128>, g[0]);
  if constexpr (std::is_same_v<T, int>)
    store(y, shape<128>, cast<float>((word << (28 - shift)) >> 28), g[0]);
  else
    store(y, shape<128>, cast<float>((word >> shift) & 15U), g[0]);
});

template <class P>
constexpr auto halves = kernel("halves", [](in<typename P::unpacked, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<256>);
  store(y, shape<256>, cast<float>(unpack<P>(load(x, shape<128>, g[0]))), g[0]);
});

template <class... Facts>
constexpr auto rows = kernel("rows", [](in<float, 2, Facts...> x, out<float, 1> y) {
  auto g = grid_over(y, shape<16>);
  store(y, shape<16>, squeeze(sum(load(x, shape<16, 18>, g[0], 0), axis<1>), axis<1>), g[0]);
});

/// Drops elements at places that count up along a row from a multiple of `step`, or everywhere.
template <class T, int step>
constexpr auto dropped = kernel("dropped", [](in<T, 2> x, out<T, 2> y, arg<int> seed) {
  auto g = grid_over(y, shape<1, 1024>);
  auto row = [&] {
    if constexpr (step == 4)
      return g[0] * 1024;
    else
      return g[0] * x.extent(1);
  }();
  tile place = iota(shape<1024>, axis<0>) * (step == 0 ? 2 : 1) + row;
  store(y, shape<1024>, select(random_uniform(seed, place) < 0.5F, load(x, shape<1024>, g[0], 0), 0), g[0], 0);
});

/// Counts the products of Philox for eight elements of a thread.
template <class T, int step>
double products_of_philox() {
  std::string const text = ptx_of(dropped<T, step>, {{true, true}, {true, true}, {}});
  double products = 0;
  for (char const* const factor : {"-766435501", "3528531795", "-845247145", "3449720151"})
    products += count(text, std::string(", ") + factor + ";");
  return 8 * products / count(text, ", 0f33800000;");  // each word becomes a float once
}

}  // namespace

TEST_CASE("random numbers of four places in a row share a counter") {
  // A counter takes at most 19 products: two in each round but the first. Eight elements have two counters, three if
  // they begin within one, and eight if they do not count up.
  CHECK(products_of_philox<bf16, 4>() <= 2 * 19);
  CHECK(products_of_philox<bf16, 1>() <= 3 * 19);
  CHECK(products_of_philox<float, 4>() <= 2 * 19);
  CHECK(products_of_philox<bf16, 0>() >= 8 * 16);
}

TEST_CASE("integers of at most 23 bits become floats without a conversion") {
  CHECK(count(ptx_of(floats<std::uint8_t>), "cvt.rn.f32") == 0);
  CHECK(count(ptx_of(floats<std::int8_t>), "cvt.rn.f32") == 0);
  CHECK(count(ptx_of(floats<std::int16_t>), "cvt.rn.f32") == 0);
  CHECK(count(ptx_of(nibbles), "cvt.rn.f32") == 0);
  CHECK(count(ptx_of(floats<int>), "cvt.rn.f32") > 0);
}

TEST_CASE("a load does not test coordinates within an extent that the type fixes") {
  CHECK(count(ptx_of(rows<along<1, fixed<18>>>), "and.pred") < count(ptx_of(rows<>), "and.pred"));
}

TEST_CASE("bits above the lowest ones become floats where they stand, by one operation of bits and one of floats") {
  for (std::string const& text : {ptx_of(one_nibble<4U, std::uint32_t>), ptx_of(one_nibble<16U, std::uint32_t>),
                                  ptx_of(one_nibble<4U, int>), ptx_of(one_nibble<12U, int>)}) {
    CHECK(count(text, "shr.") == count(ptx_of(one_nibble<0U, std::uint32_t>), "shr."));
    CHECK(count(text, "shl.b32") == count(ptx_of(one_nibble<0U, std::uint32_t>), "shl.b32"));
    CHECK(count(text, "fma.rn.f32") > 0);
  }
  CHECK(count(ptx_of(halves<u4>), "fma.rn.f32") > 0);
  CHECK(count(ptx_of(halves<i4>), "fma.rn.f32") > 0);
}
