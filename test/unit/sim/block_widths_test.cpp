// Tests buffers of different elements that have one place in shared memory, one after the other.
#include <fmt/format.h>

#include "block_support.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

/// Makes the lines that move a tile of 64 elements through a buffer at offset 0: reversed within pairs, and element 5.
std::string through_buffer(int number, std::string_view element) {
  return fmt::format(R"(  %a{0} = load %x{0}, %0 : tile<64x{1}, [register (32), lane (1) (2) (4) (8) (16)]>
  buffer_store %s{0}, %a{0}
  barrier
  %b{0} = buffer_load %s{0} : tile<64x{1}, [register (1), lane (2) (4) (8) (16) (32)]>
  %v{0} = view %s{0}, %5 : shared<1x{1}, dense of 64>
  %c{0} = buffer_load %v{0} : {1}
  store %y{0}, %b{0}, %0
  %d{0} = splat %c{0} : tile<1x{1}, [register, lane (0) (0) (0) (0) (0)]>
  store %z{0}, %d{0}, %0
  barrier
)",
                     number, element);
}

std::string kernel_of(std::vector<Element> const& elements) {
  std::string parameters, buffers, body;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    auto const element = tegula::name(elements[i]);
    parameters += fmt::format("{0}%x{1}: in tensor<?x{2}>, %y{1}: out tensor<?x{2}>, %z{1}: out tensor<?x{2}>",
                              i == 0 ? "" : ", ", i, element);
    buffers += fmt::format("  %s{} = buffer_alloc {{align = 128, offset = 0}} : shared<64x{}, dense>\n", i, element);
    body += through_buffer(static_cast<int>(i), element);
  }
  return "kernel @k(" + parameters + ") warps = 1 {\n  %0 = constant {value = 0 : i64} : i64\n" +
         "  %5 = constant {value = 5 : i64} : i64\n" + buffers + body + "  return\n}\n";
}

}  // namespace

TEST_CASE("buffers of other elements at one place have bytes of their own", "[sim][block][N1]") {
  for (std::vector<Element> const& elements :
       {std::vector{Element::i32, Element::i64}, std::vector{Element::f64, Element::u8, Element::f32},
        std::vector{Element::bf16, Element::boolean, Element::u64}}) {
    std::vector<HostTensor> tensors;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      bool const boolean = elements[i] == Element::boolean;
      for (std::int64_t const count : {64, 64, 1}) tensors.emplace_back(elements[i], Extents{count});
      for (int at = 0; at < 64; ++at) {
        int const number = boolean ? at % 3 % 2 : at + 1;
        if (is_float(elements[i]))
          tensors[3 * i].set_number(at, number);
        else
          tensors[3 * i].set_integer(at, number);
      }
    }
    std::vector<HostTensor*> arguments;
    for (HostTensor& tensor : tensors) arguments.push_back(&tensor);
    run_clean(kernel_of(elements), arguments);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      INFO(tegula::name(elements[i]));
      for (int at = 0; at < 64; ++at) REQUIRE(tensors[3 * i + 1].get(at) == tensors[3 * i].get(at));
      CHECK(tensors[3 * i + 2].get(0) == tensors[3 * i].get(5));
    }
  }
}
