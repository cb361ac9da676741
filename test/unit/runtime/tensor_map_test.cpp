// Tests tensor maps without a driver: the rules of TMA in words, the driver's arguments, the cache, and packing in
// place.
#include <cstring>
#include <limits>
#include <vector>

#include "runtime/argument_check.hpp"
#include "runtime/argument_pack.hpp"
#include "runtime/cuda/tensor_map.hpp"
#include "runtime/prepared_launch.hpp"
#include "support/catch.hpp"
#include "tegula/support/error.hpp"
#include "tegula/target/tma_rules.hpp"

using namespace tegula;
using namespace tegula::runtime;
using namespace tegula::runtime::cuda;
using tegula::test::ContainsSubstring;

namespace {

constexpr std::uintptr_t base = 0x7f0000000000;

Argument tensor(std::vector<std::int64_t> extents, std::vector<std::int64_t> strides, Element element = Element::bf16,
                std::uintptr_t address = base) {
  Argument argument;
  argument.element = element;
  argument.rank = static_cast<int>(extents.size());
  argument.address = reinterpret_cast<void*>(address);
  for (std::size_t axis = 0; axis < extents.size() && axis < max_rank; ++axis) {
    argument.extents[axis] = extents[axis];
    argument.strides[axis] = strides[axis];
  }
  return argument;
}

Argument dense(std::vector<std::int64_t> extents, Element element = Element::bf16) {
  std::vector<std::int64_t> strides(extents.size(), 1);
  for (std::size_t axis = extents.size() - 1; axis > 0; --axis) strides[axis - 1] = strides[axis] * extents[axis];
  return tensor(extents, strides, element);
}

ParameterInfo parameter_of(Argument const& argument, Direction direction = Direction::in) {
  ParameterInfo info;
  info.kind = argument.kind;
  info.direction = direction;
  info.element = argument.element;
  info.rank = argument.rank;
  return info;
}

TensorMapRequest request(Argument const& argument, TensorMapInfo map, Direction direction = Direction::in) {
  std::vector<ParameterInfo> const parameters = {parameter_of(argument, direction)};
  return describe("gemm", map, parameters, std::vector{argument});
}

std::string refusal(Argument const& argument, TensorMapInfo const& map, Direction direction = Direction::in) {
  try {
    request(argument, map, direction);
  } catch (UserError const& error) {
    return error.what();
  }
  return "accepted";
}

TensorMapInfo box(Extents extents, Swizzle swizzle = Swizzle::none) {
  TensorMapInfo map;
  map.box = extents;
  map.swizzle = swizzle;
  return map;
}

/// Stands for the driver: the first bytes of a map are the number of the call, then the address.
int calls = 0;
void fake_encode(int, TensorMapRequest const& of, TensorMap& map) {
  ++calls;
  if (of.address == base + 0xbad0) throw DriverError("cuda driver: cuTensorMapEncodeTiled failed", 1);
  std::memcpy(map.bytes, &calls, sizeof calls);
  std::memcpy(map.bytes + 8, &of.address, sizeof of.address);
}

int number_of(TensorMap const& map) {
  int number = 0;
  std::memcpy(&number, map.bytes, sizeof number);
  return number;
}

}  // namespace

TEST_CASE("a tensor map turns axes around and strides into bytes") {
  TensorMapRequest const found = request(tensor({7, 300, 64}, {30000, 72, 1}), box({1, 128, 64}, Swizzle::b128));
  CHECK(found.element == Element::bf16);
  CHECK(found.rank == 3);
  CHECK(found.address == base);
  CHECK(found.extents == std::array<std::uint64_t, 5>{64, 300, 7, 0, 0});
  CHECK(found.strides == std::array<std::uint64_t, 4>{144, 60000, 0, 0});
  CHECK(found.box == std::array<std::uint32_t, 5>{64, 128, 1, 0, 0});
  CHECK(found.swizzle == Swizzle::b128);
  CHECK(found.l2_promotion == L2Promotion::b128);
  CHECK(found.stand_in == StandIn::none);
  CHECK(to_string(found) ==
        "bf16 box 64x128x1 of 64x300x7 at 0x7f0000000000, innermost axis first, strides in bytes 144, 60000, swizzle "
        "b128");
}

TEST_CASE("a tensor map takes every element, rank and odd but legal shape") {
  for (ElementInfo const& element : element_table) {
    int const size = bytes(element.element);
    TensorMapRequest const found = request(dense({5, 64}, element.element), box({2, 16 / size}));
    CHECK(found.strides[0] == static_cast<std::uint64_t>(64 * size));
  }
  CHECK(request(tensor({1000}, {1}), box({256})).extents[0] == 1000);
  CHECK(request(dense({2, 2, 2, 2, 8}), box({1, 1, 2, 2, 8})).rank == 5);
  CHECK(request(tensor({4, 100, 8}, {8, 32, 1}), box({1, 4, 8})).strides[0] == 64);  // permuted
  CHECK(request(tensor({4, 100, 8}, {8, 32, 1}), box({1, 4, 8})).strides[1] == 16);
  CHECK(request(tensor({100, 64}, {0, 1}), box({8, 64})).strides[0] == 0);  // repeated rows
  CHECK(request(tensor({3, 8}, {8, 1}), box({256, 64})).extents[1] == 3);   // box beyond the tensor
  CHECK(request(tensor({2146435072}, {1}, Element::boolean), box({256})).extents[0] == 2146435072);
  CHECK(refusal(tensor({2, 8}, {(std::int64_t{1} << 39) - 8, 1}), box({1, 8})) == "accepted");
}

TEST_CASE("the stride of an axis of one element is ignored") {
  constexpr std::int64_t any = std::numeric_limits<std::int64_t>::min();
  CHECK(request(tensor({1, 40}, {any, 1}), box({1, 8})).strides[0] == 80);
  CHECK(request(tensor({1, 13}, {-3, 1}), box({1, 8})).strides[0] == 32);  // rounded up to 16 bytes
  CHECK(request(tensor({9, 1}, {40, 7}), box({1, 8})).extents[0] == 1);
  CHECK(request(tensor({1, 2, 8}, {5, std::int64_t{1} << 38, 1}), box({1, 1, 8})).strides[1] ==
        (std::uint64_t{1} << 40) - 16);  // kept below the limit
}

TEST_CASE("tensors that TMA cannot copy are refused with value and remedy") {
  TensorMapInfo const tile = box({16, 64}, Swizzle::b128);
  CHECK(refusal(dense({100, 64}), tile) == "accepted");
  CHECK(refusal(tensor({100, 64}, {64, 1}, Element::bf16, base + 8), tile) ==
        "gemm: argument 1: TMA copies from addresses that are multiples of 16 bytes but 0x7f0000000008 is 8 past one; "
        "begin the view at a multiple of 8 elements or copy it to a separate buffer");
  CHECK(refusal(tensor({100, 64}, {128, 2}), tile) ==
        "gemm: argument 1: TMA needs adjacent elements along the last axis but it steps by 2 elements; copy the "
        "view to a buffer, or transpose view and kernel");
  CHECK(refusal(tensor({100, 64}, {65, 1}), tile) ==
        "gemm: argument 1: TMA steps by multiples of 16 bytes but axis 0 steps by 65 elements of bf16, 130 bytes; pad "
        "it to a multiple of 8 elements");
  CHECK(refusal(tensor({100, 64}, {-64, 1}), tile) ==
        "gemm: argument 1: TMA cannot step backwards but axis 0 steps by -64 elements; copy the view to a buffer");
  CHECK(refusal(tensor({2, 64}, {std::int64_t{1} << 39, 1}), tile) ==
        "gemm: argument 1: TMA steps by less than 1099511627776 bytes but axis 0 steps by 549755813888 elements of "
        "bf16; pass slices of it");
  CHECK_THAT(refusal(tensor({2, 64}, {std::numeric_limits<std::int64_t>::max(), 1}), tile),
             ContainsSubstring("steps by less than"));
  CHECK(refusal(tensor({2146435073}, {1}, Element::boolean), box({256})) ==
        "gemm: argument 1: TMA addresses 2146435072 elements along an axis but axis 0 has 2146435073; pass slices of "
        "it");
  CHECK(refusal(dense({1, 1, 1, 1, 1, 8}), box({1, 1, 1, 1, 1, 8})) ==
        "gemm: argument 1: TMA copies tensors of 1 to 5 axes but this one has 6; pass a view of fewer axes");
}

TEST_CASE("the facts of an argument allow TMA exactly when its tensor map is valid") {
  constexpr std::int64_t far = std::int64_t{1} << 40, min = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t max = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> const strides = {0,  1,   4,   8,       16,          64,       65,  -1,
                                             -8, -64, far, far / 2, far / 2 - 8, far - 16, min, max - 15};
  int legal = 0;
  for (Element const element : {Element::bf16, Element::i8, Element::f64})
    for (std::int64_t const outer : strides)
      for (std::int64_t const inner : strides)
        for (std::int64_t const rows : {1, 2, 100})
          for (std::uintptr_t const address : {base, base + 8}) {
            Argument const argument = tensor({3, rows, 64}, {outer, inner, 1}, element, address);
            bool const accepted = refusal(argument, box({1, 1, 16})) == "accepted";
            INFO(outer << ", " << inner << ", " << rows << " rows of " << name(element));
            CHECK(facts_of(argument).aligned_16 == accepted);
            legal += accepted ? 1 : 0;
          }
  CHECK(legal > 100);
  for (std::int64_t const extent : {tma_rule::max_extent, tma_rule::max_extent + 1, std::int64_t{1} << 40}) {
    bool const fits = extent == tma_rule::max_extent;
    Argument const rows = tensor({extent, 64}, {64, 1}, Element::i8), row = tensor({extent}, {1}, Element::i8);
    CHECK((refusal(rows, box({1, 16})) == "accepted") == fits);
    CHECK((refusal(row, box({16})) == "accepted") == fits);
    CHECK(facts_of(rows).aligned_16 == fits);
    CHECK(facts_of(row).aligned_16 == fits);
  }
}

TEST_CASE("boxes that TMA cannot copy are refused with value and remedy") {
  Argument const x = dense({1000, 1000});
  CHECK(refusal(x, box({257, 64})) ==
        "gemm: argument 1: a TMA box has 1 to 256 elements along an axis but 257 are requested along axis 0; split the "
        "tile");
  CHECK_THAT(refusal(x, box({0, 64})), ContainsSubstring("0 are requested along axis 0"));
  CHECK(refusal(x, box({8, 12})) ==
        "gemm: argument 1: the rows of a TMA box are multiples of 16 bytes but 12 elements of bf16 have 24; choose a "
        "multiple of 8 elements along the last axis");
  CHECK(refusal(x, box({8, 72}, Swizzle::b128)) ==
        "gemm: argument 1: the rows of a TMA box fit the swizzle's span of 128 bytes but 72 elements of bf16 have 144; "
        "choose at most 64 elements along the last axis or a wider swizzle");
  CHECK_THAT(refusal(x, box({8, 40}, Swizzle::b64)), ContainsSubstring("span of 64 bytes"));
  CHECK_THAT(refusal(x, box({8, 24}, Swizzle::b32)), ContainsSubstring("span of 32 bytes"));
  for (Swizzle const mode : {Swizzle::b32, Swizzle::b64, Swizzle::b128})
    CHECK(refusal(x, box({8, swizzle_bytes(mode) / 2}, mode)) == "accepted");
  TensorMapInfo nan = box({8, 8});
  nan.nan_fill = true;
  CHECK(refusal(x, nan) == "accepted");
  CHECK(refusal(dense({8, 8}, Element::i32), nan) ==
        "gemm: argument 1: NaN is requested outside the tensor but i32 has none; fill with zeros");
  CHECK_THROWS_AS(request(x, box({8})), InternalError);
  TensorMapInfo elsewhere = box({8});
  elsewhere.parameter = 1;
  CHECK_THROWS_AS(request(x, elsewhere), InternalError);
  Argument scalar;
  scalar.kind = ParameterKind::scalar;
  CHECK_THROWS_AS(request(scalar, box({8})), InternalError);
}

TEST_CASE("a tensor map of a tensor without elements gets other memory") {
  Argument const empties[] = {dense({0, 64}), dense({100, 0}), tensor({0, 64}, {-3, 17}, Element::bf16, base + 1)};
  for (Argument const& empty : empties) {
    TensorMapRequest const loaded = request(empty, box({16, 64}));
    CHECK(loaded.stand_in == StandIn::zeros);
    CHECK(loaded.address == 0);
    CHECK(loaded.extents == std::array<std::uint64_t, 5>{1, 1, 0, 0, 0});
    CHECK(loaded.strides[0] == 16);
    TensorMapInfo nan = box({16, 64});
    nan.nan_fill = true;
    CHECK(request(empty, nan).stand_in == StandIn::nans);
    CHECK(request(empty, box({16, 64}), Direction::out).stand_in == StandIn::sink);
    CHECK_THAT(refusal(empty, box({16, 64}), Direction::inout), ContainsSubstring("skip the launch"));
  }
}

TEST_CASE("encoded maps are shared by request and device, and the cache is bounded", "[H10][H11]") {
  TensorMapCache cache(&fake_encode, 8);
  TensorMapRequest const first = request(dense({100, 64}), box({16, 64}));
  calls = 0;
  TensorMap a, b;
  cache.get(0, first, a);
  cache.get(0, first, b);
  CHECK(calls == 1);
  CHECK(std::memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0);
  auto const other = [&](auto change) {
    TensorMapRequest changed = first;
    change(changed);
    int const before = calls;
    cache.get(0, changed, b);
    return calls == before + 1 && number_of(b) == calls;
  };
  CHECK(other([](TensorMapRequest& r) { r.address += 16; }));
  CHECK(other([](TensorMapRequest& r) { r.extents[1] = 99; }));
  CHECK(other([](TensorMapRequest& r) { r.strides[0] += 16; }));
  CHECK(other([](TensorMapRequest& r) { r.box[1] = 8; }));
  CHECK(other([](TensorMapRequest& r) { r.element = Element::f16; }));
  CHECK(other([](TensorMapRequest& r) { r.swizzle = Swizzle::b128; }));
  CHECK(other([](TensorMapRequest& r) { r.l2_promotion = L2Promotion::none; }));
  CHECK(other([](TensorMapRequest& r) { r.nan_fill = true; }));
  CHECK(other([](TensorMapRequest& r) { r.stand_in = StandIn::zeros; }));
  int const before = calls;
  cache.get(1, first, b);
  CHECK(calls == before + 1);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    TensorMapRequest many = first;
    many.address += 16 * i;
    cache.get(0, many, b);
    std::uint64_t address = 0;
    std::memcpy(&address, b.bytes + 8, sizeof address);
    REQUIRE(address == many.address);
  }
}

TEST_CASE("a pack holds slots, then maps aligned to 128 bytes, and encodes only what changes") {
  CompiledKernel kernel;
  kernel.name = "gemm";
  Argument a = dense({100, 64}), b = dense({64, 64});
  Argument scalar;
  scalar.kind = ParameterKind::scalar;
  scalar.scalar = 42;
  kernel.parameters = {parameter_of(a), parameter_of(scalar), parameter_of(b, Direction::out)};
  TensorMapInfo second = box({1, 8});
  second.parameter = 2;
  kernel.tensor_maps = {second, box({16, 64}), box({32, 64})};
  TensorMapCache cache(&fake_encode);
  ArgumentPack pack;
  std::int64_t const grid[3] = {5, 2, 1};
  calls = 0;
  auto const fill = [&] { pack.fill(kernel, std::vector{a, scalar, b}, grid, 132, 0, cache); };
  fill();
  CHECK(calls == 3);
  auto const slot = [](void const* address) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address));
  };
  std::vector<std::int64_t> const expected = {
      slot(a.address), 100, 64, 64, 1, 42, slot(b.address), 64, 64, 64, 1, 5, 2, 1, 132};
  CHECK(std::vector(pack.slots().begin(), pack.slots().end()) == expected);
  CHECK(pack.parameter_count() == expected.size() + 3);
  for (std::size_t i = 0; i < pack.parameter_count(); ++i) {
    void const* const at = pack.parameters()[i];
    if (i < expected.size()) {
      CHECK(*static_cast<std::int64_t const*>(at) == expected[i]);
    } else {
      CHECK(reinterpret_cast<std::uintptr_t>(at) % 128 == 0);
      CHECK(at == &pack.tensor_maps()[i - expected.size()]);
      CHECK(number_of(*static_cast<TensorMap const*>(at)) == static_cast<int>(i - expected.size()) + 1);
    }
  }

  fill();
  CHECK(calls == 3);
  a.address = reinterpret_cast<void*>(base + 4096);
  fill();
  CHECK(calls == 5);
  CHECK(number_of(pack.tensor_maps()[0]) == 1);
  CHECK(number_of(pack.tensor_maps()[1]) == 4);
  CHECK(number_of(pack.tensor_maps()[2]) == 5);
  CHECK(pack.slots()[0] == slot(a.address));

  // A failing call changes nothing, whether a rule or the driver refuses it.
  for (std::uintptr_t const bad : {base + 8, base + 0xbad0}) {
    a.address = reinterpret_cast<void*>(bad);
    CHECK_THROWS_AS(fill(), Error);
    CHECK(pack.slots()[0] == static_cast<std::int64_t>(base + 4096));
    CHECK(number_of(pack.tensor_maps()[1]) == 4);
  }
  // Nothing runs, nothing is encoded, for all tensors.
  int const before = calls;
  std::int64_t const none[3] = {0, 2, 1};
  pack.fill(kernel, std::vector{a, scalar, b}, none, 132, 0, cache);
  CHECK(calls == before);
}

TEST_CASE("blocks of a CUDA grid are bounded and fill whole clusters") {
  CompiledKernel kernel;
  kernel.name = "gemm";
  CHECK(cuda_blocks(kernel, {5, 3, 2}) == 30);
  CHECK(cuda_blocks(kernel, {2147483647, 1, 1}) == 2147483647);
  CHECK_THROWS_WITH(cuda_blocks(kernel, {1 << 16, 1 << 15, 1}),
                    ContainsSubstring("gemm: grid 65536x32768x1 has more blocks than the limit of 2147483647"));
  CHECK_THROWS_AS(cuda_blocks(kernel, {std::int64_t{1} << 40, std::int64_t{1} << 40, 1}), UserError);
  kernel.cluster = 4;
  CHECK(cuda_blocks(kernel, {6, 2, 1}) == 12);
  CHECK_THROWS_WITH(cuda_blocks(kernel, {6, 1, 1}),
                    "gemm: grid 6x1x1 has 6 blocks, not a multiple of the cluster of 4; round the grid up to a "
                    "multiple of 4");
}
