// Tests the bytes that a kernel finds in its parameter space against hand-written ones.
#include "runtime/argument_pack.hpp"

#include <cstring>
#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace tegula;
using namespace tegula::runtime;

namespace {

constexpr std::uintptr_t first_address = 0x7f0011223340, second_address = 0x7f5566778800,
                         plain_address = 0x7f0000000004;

Argument scalar(Element element, std::int64_t value) {
  Argument argument;
  argument.kind = ParameterKind::scalar;
  argument.element = element;
  argument.scalar = value;
  return argument;
}

Argument matrix(std::uintptr_t address, std::int64_t rows, std::int64_t columns, std::int64_t pitch) {
  Argument argument;
  argument.element = Element::bf16;
  argument.rank = 2;
  argument.address = reinterpret_cast<void*>(address);
  argument.extents[0] = rows;
  argument.extents[1] = columns;
  argument.strides[0] = pitch;
  argument.strides[1] = 1;
  return argument;
}

ParameterInfo info_of(Argument const& argument, Direction direction) {
  ParameterInfo info;
  info.kind = argument.kind;
  info.direction = direction;
  info.element = argument.element;
  info.rank = argument.rank;
  return info;
}

TensorMapInfo map_of(std::int32_t parameter, Extents const& box) {
  TensorMapInfo map;
  map.parameter = parameter;
  map.box = box;
  return map;
}

/// Stands for the driver: 128 bytes of which each tells the map and its place.
void number_bytes(int, cuda::TensorMapRequest const& request, cuda::TensorMap& map) {
  for (int i = 0; i < 128; ++i) map.bytes[i] = static_cast<std::byte>(static_cast<int>(request.box[0]) + i);
}

/// Copies the arguments as the launch does: each at its own alignment, 8 for slots, 64 for tensor maps (`.param .align
/// 64`).
std::vector<std::byte> parameter_space(ArgumentPack const& pack) {
  std::vector<std::byte> space;
  for (std::size_t i = 0; i < pack.parameter_count(); ++i) {
    bool const map = i >= pack.slots().size();
    std::size_t const size = map ? 128 : 8, alignment = map ? 64 : 8;
    space.resize((space.size() + alignment - 1) / alignment * alignment);
    auto const* const from = static_cast<std::byte const*>(pack.parameters()[i]);
    space.insert(space.end(), from, from + size);
  }
  return space;
}

/// Converts "0123.." to bytes; blanks are skipped.
std::vector<std::byte> bytes_of(std::string const& hex) {
  std::vector<std::byte> result;
  std::string digits;
  for (char const c : hex)
    if (c != ' ' && c != '\n') digits += c;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    result.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  return result;
}

}  // namespace

TEST_CASE("scalars before, between and after descriptors reach their bytes", "[D11]") {
  float const half = 0.5f;
  std::uint32_t half_bits = 0;
  std::memcpy(&half_bits, &half, sizeof half_bits);
  std::vector<Argument> const arguments = {scalar(Element::f32, half_bits),    scalar(Element::i32, -2),
                                           matrix(first_address, 100, 64, 72), scalar(Element::i64, 0x1122334455667788),
                                           matrix(plain_address, 3, 5, 5),     matrix(second_address, 1, 32, 999),
                                           scalar(Element::boolean, 1)};
  CompiledKernel kernel;
  kernel.name = "k";
  for (Argument const& argument : arguments)
    kernel.parameters.push_back(info_of(argument, &argument == &arguments[5] ? Direction::out : Direction::in));
  // Two descriptors of the first matrix around the one of the second; the matrix between has none.
  kernel.tensor_maps = {map_of(2, {8, 16}), map_of(5, {1, 32}), map_of(2, {8, 64})};

  std::string expected =
      "0000003f00000000"                   // 0.5f
      "feffffffffffffff"                   // -2, sign-extended
      "403322110 07f0000"                  // the first matrix: address,
      "6400000000000000 4000000000000000"  // 100 x 64,
      "4800000000000000 0100000000000000"  // steps of 72 and 1
      "8877665544332211"                   // the number between
      "04000000007f0000"                   // the matrix without a descriptor
      "0300000000000000 0500000000000000"
      "0500000000000000 0100000000000000"
      "0088776655 7f0000"  // the second matrix: one row,
      "0100000000000000 2000000000000000"
      "0000000000000000 0100000000000000"                   // whose step is never used
      "0100000000000000"                                    // true
      "0500000000000000 0200000000000000 0100000000000000"  // the grid
      "8400000000000000";                                   // 132 multiprocessors
  std::vector<std::byte> image = bytes_of(expected);
  REQUIRE(image.size() == 23 * 8);
  image.resize(192);  // the first multiple of 64
  for (int const first : {16, 32, 64})
    for (int i = 0; i < 128; ++i) image.push_back(static_cast<std::byte>(first + i));

  cuda::TensorMapCache cache(&number_bytes);
  ArgumentPack pack;
  std::int64_t const grid[3] = {5, 2, 1};
  for (int again = 0; again < 2; ++again) {
    pack.fill(kernel, arguments, grid, 132, 0, cache);
    CHECK(pack.parameter_count() == 26);
    CHECK((parameter_space(pack) == image));
  }
}
