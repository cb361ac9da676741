// Tests that elements and bytes of shared memory are two types. Requirements test the expressions that must not
// compile.
#include "layout/offsets.hpp"

#include <type_traits>

#include "layout/element_offsets.hpp"
#include "layout/shared_layouts.hpp"
#include "target/tma_copies.hpp"
#include "support/catch.hpp"

using namespace tegula;
using namespace tegula::layout;
using namespace tegula::target;

namespace {

template <class A, class B>
concept Adds = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Subtracts = requires(A a, B b) {
  a - b;
};
template <class A, class B>
concept Compares = requires(A a, B b) {
  a == b;
};
template <class A, class B>
concept Orders = requires(A a, B b) {
  a < b;
};
template <class A, class B>
constexpr bool mixes = Adds<A, B> || Adds<B, A> || Subtracts<A, B> || Subtracts<B, A> || Compares<A, B> ||
                       Orders<A, B> || std::is_convertible_v<A, B> || std::is_convertible_v<B, A>;

static_assert(Adds<ByteOffset, ByteOffset> && Subtracts<ElementOffset, ElementOffset>);
static_assert(!mixes<ElementOffset, ByteOffset>);
static_assert(!mixes<ElementOffset, std::int64_t> && !mixes<ByteOffset, std::int64_t>);

// The two meet here: a layout counts elements; swizzles and copies count bytes.
template <class Address>
concept Swizzles = requires(Address at) {
  swizzled_address(at, 128);
};
static_assert(Swizzles<ByteOffset> && !Swizzles<ElementOffset> && !Swizzles<std::int64_t>);
static_assert(std::is_same_v<decltype(std::declval<ElementOffsets const&>().at({})), ElementOffset>);
static_assert(std::is_same_v<decltype(target::TmaCopy::offset), ByteOffset>);

}  // namespace

TEST_CASE("elements become bytes by their size alone", "[tma][B27][N9]") {
  CHECK(in_bytes(ElementOffset{24}, 2) == ByteOffset{48});
  CHECK(in_bytes(ElementOffset{24}, 2) - in_bytes(ElementOffset{8}, 4) == ByteOffset{16});
  std::string why;
  Layout const* const tile = swizzled_layout({64, 64}, 2, 128, why);
  REQUIRE(tile != nullptr);
  ElementOffsets const& offsets = *ElementOffsets::get(*tile, why);
  // Element (1, 0) lies 64 elements on, in the 16-byte chunk that the swizzle exchanges with the first.
  CHECK(offsets.at({1, 0}) == ElementOffset{64 + 8});
  CHECK(swizzled_address(in_bytes(offsets.at({1, 0}), 2), 128) == ByteOffset{128});
}
