// Reads kernels in IR text with the launches to run them with, for test/codegen and test/device.
//
// Each file of codegen/ptx is a kernel with CHECK lines for its PTX and SHAPES lines, one launch each:
//   // SHAPES: a=10x300/320+4 n:=7     a tensor of 10x300 with row stride 320, 4 elements after an aligned address; a
//   scalar
// `*2` after the extents gives the last axis stride 2. The facts of the tensors are the true ones, as for a launcher.
// Outputs are poisoned, and there is a copy of everything for each of two executors. `// EXACT` compares bits. A line
// `// ALIGNED` takes tensors of unit stride and 16-byte alignment for the CHECK lines; `// WARPS: 4` fixes the warps.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "../../samples/support/compare.hpp"
#include "ir/core/builder.hpp"
#include "ir/text/text.hpp"
#include "ir/verify/verifier.hpp"
#include "sim/interpreter.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "tegula/abi/compile_options.hpp"

namespace tegula::test {

inline std::vector<std::string> kernel_files(std::string const& folder = "codegen/ptx") {
  std::vector<std::string> files;
  for (auto const& entry : std::filesystem::directory_iterator(std::string(TEGULA_TEST_DIR) + "/" + folder))
    if (entry.path().extension() == ".tir") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

inline ir::Module read_module(std::string const& text) {
  auto parsed = ir::parse(text);
  INFO(parsed.diagnostics.str());
  REQUIRE(parsed.ok());
  auto const found = ir::verify(parsed.module, &parsed.positions);
  INFO(found.str());
  REQUIRE_FALSE(found.has_errors());
  return std::move(parsed.module);
}

inline std::vector<std::string> lines_after(std::string const& text, std::string const& mark) {
  std::vector<std::string> result;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    if (line.rfind("// " + mark, 0) == 0) result.push_back(line.substr(mark.size() + 3));
  return result;
}

inline CompileOptions cuda_options(std::string const& text, int aligned_parameters = 0) {
  CompileOptions options;
  options.target = Target::cuda;
  if (!lines_after(text, "ALIGNED").empty())
    options.facts.assign(static_cast<std::size_t>(aligned_parameters), {true, true});
  for (std::string const& line : lines_after(text, "WARPS: ")) options.warps = std::stoi(line);
  return options;
}

/// Holds a tensor of one launch: a copy for each executor, inside a larger allocation so that neighbours are checked
/// too.
struct TensorCase {
  Element element = Element::f32;
  Direction direction = Direction::in;
  Extents extents, strides;
  std::int64_t first = 0;  // elements before the view
  std::vector<std::uint8_t> for_ptx, for_simulator;

  std::uint8_t* aligned(std::vector<std::uint8_t>& memory) {
    auto const address = reinterpret_cast<std::uintptr_t>(memory.data());
    return memory.data() + (256 - address % 256) % 256;
  }
  std::uint8_t* view(std::vector<std::uint8_t>& memory) { return aligned(memory) + first * bytes(element); }
  std::int64_t size() const {
    std::int64_t last = 1;
    for (int i = 0; i < extents.size(); ++i) last += (extents[i] > 0 ? extents[i] - 1 : 0) * strides[i];
    return first + last + 64;
  }
  TensorFacts facts() {
    TensorFacts result;
    result.unit_inner_stride = strides.empty() || strides.back() == 1;
    result.aligned_16 = first * bytes(element) % 16 == 0;
    for (int i = 0; i + 1 < strides.size(); ++i)
      result.aligned_16 = result.aligned_16 && strides[i] * bytes(element) % 16 == 0;
    result.whole_16 = result.unit_inner_stride && result.aligned_16 && extents.size() > 1 &&
                      extents.back() * bytes(element) % 16 == 0;
    return result;
  }
};

inline void set_element(std::uint8_t* at, Element element, double value) {
  std::uint64_t const bits = ir::make_constant(element, value).bits;
  std::memcpy(at, &bits, static_cast<std::size_t>(bytes(element)));
}

inline double get_element(std::uint8_t const* at, Element element) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, static_cast<std::size_t>(bytes(element)));
  if (is_integer(element)) return ir::to_double(ir::make_constant(element, static_cast<std::int64_t>(bits)));
  return ir::to_double({element, bits});
}

/// Draws random numbers of moderate size; small ones for integers, so that products stay exact.
inline double draw(std::mt19937_64& random, Element element) {
  if (element == Element::boolean) return static_cast<double>(random() & 1);
  if (element == Element::i8) return static_cast<double>(static_cast<std::int64_t>(random() % 256) - 128);
  if (is_integer(element)) return static_cast<double>(static_cast<std::int64_t>(random() % 2001) - 1000);
  return std::uniform_real_distribution<double>(-4, 4)(random);
}

inline double tolerance(Element element) {
  switch (element) {
    case Element::e4m3:
      return 0.126;
    case Element::e5m2:
      return 0.251;
    case Element::f16:
      return 2e-3;
    case Element::bf16:
      return 1.6e-2;
    case Element::f32:
      return 5e-5;  // sums of a hundred elements of some tens, taken in another order
    case Element::f64:
      return 1e-12;
    default:
      return 0;
  }
}

struct Launch {
  std::vector<TensorCase> tensors;    // by parameter; unused for scalars
  std::vector<std::int64_t> scalars;  // by parameter
};

inline Launch read_shapes(ir::Function const& kernel, std::string const& line) {
  Launch launch;
  launch.tensors.resize(static_cast<std::size_t>(kernel.parameter_count()));
  launch.scalars.assign(static_cast<std::size_t>(kernel.parameter_count()), 0);
  std::istringstream stream(line);
  for (std::string token; stream >> token;) {
    std::size_t const equals = token.find('=');
    bool const scalar = token[equals - 1] == ':';
    std::string const name = token.substr(0, equals - (scalar ? 1 : 0));
    int number = 0;
    while (number < kernel.parameter_count() && kernel.parameter(number)->name() != name) ++number;
    INFO(token);
    REQUIRE(number < kernel.parameter_count());
    std::istringstream value(token.substr(equals + 1));
    if (scalar) {
      value >> launch.scalars[static_cast<std::size_t>(number)];
      continue;
    }
    TensorCase& tensor = launch.tensors[static_cast<std::size_t>(number)];
    tensor.element = kernel.parameter(number)->type().element();
    tensor.direction = kernel.parameter_attributes()[static_cast<std::size_t>(number)].direction;
    std::int64_t extent = 0, row = 0, inner = 1;
    value >> extent;
    tensor.extents.push_back(extent);
    char mark = 0;
    while (value >> mark) {
      std::int64_t amount = 0;
      value >> amount;
      if (mark == 'x') tensor.extents.push_back(amount);
      if (mark == '/') row = amount;
      if (mark == '+') tensor.first = amount;
      if (mark == '*') inner = amount;
    }
    int const rank = tensor.extents.size();
    REQUIRE(rank == kernel.parameter(number)->type().rank());
    for (int i = 0; i < rank; ++i) tensor.strides.push_back(inner);
    for (int i = rank - 2; i >= 0; --i)
      tensor.strides[i] =
          i == rank - 2 && row != 0 ? row : tensor.strides[i + 1] * std::max<std::int64_t>(tensor.extents[i + 1], 1);
  }
  return launch;
}

inline void fill(Launch& launch, std::mt19937_64& random) {
  for (TensorCase& tensor : launch.tensors) {
    if (tensor.extents.empty()) continue;
    std::size_t const size = static_cast<std::size_t>(tensor.size() * bytes(tensor.element)) + 256;
    unsigned char const poison = is_float(tensor.element) ? samples::poison_byte<float> : samples::poison_byte<int>;
    tensor.for_ptx.assign(size, poison);
    tensor.for_simulator.assign(size, poison);
    if (tensor.direction == Direction::out) continue;
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      double const value = draw(random, tensor.element);
      set_element(tensor.aligned(tensor.for_ptx) + i * bytes(tensor.element), tensor.element, value);
      set_element(tensor.aligned(tensor.for_simulator) + i * bytes(tensor.element), tensor.element, value);
    }
  }
}

/// Returns the argument slots of a launch on the copies for PTX, without the grid.
inline std::vector<std::uint64_t> slots_of(ir::Function const& kernel, Launch& launch) {
  std::vector<std::uint64_t> slots;
  for (int i = 0; i < kernel.parameter_count(); ++i) {
    auto const at = static_cast<std::size_t>(i);
    TensorCase& tensor = launch.tensors[at];
    ir::Type const& type = kernel.parameter(i)->type();
    if (type.is_scalar()) {
      slots.push_back(ir::make_constant(type.element(), static_cast<double>(launch.scalars[at])).bits);
      continue;
    }
    slots.push_back(reinterpret_cast<std::uint64_t>(tensor.view(tensor.for_ptx)));
    for (std::int64_t extent : tensor.extents) slots.push_back(static_cast<std::uint64_t>(extent));
    for (std::int64_t stride : tensor.strides) slots.push_back(static_cast<std::uint64_t>(stride));
  }
  return slots;
}

inline sim::Arguments simulator_arguments(ir::Function const& kernel, Launch& launch) {
  sim::Arguments arguments;
  for (int i = 0; i < kernel.parameter_count(); ++i) {
    auto const at = static_cast<std::size_t>(i);
    TensorCase& tensor = launch.tensors[at];
    ir::Type const& type = kernel.parameter(i)->type();
    if (type.is_scalar()) {
      arguments.emplace_back(ir::make_constant(type.element(), static_cast<double>(launch.scalars[at])));
      continue;
    }
    sim::Tensor view;
    view.data = tensor.view(tensor.for_simulator);
    view.element = tensor.element;
    view.extents = tensor.extents;
    view.strides = tensor.strides;
    arguments.emplace_back(view);
  }
  return arguments;
}

/// Checks that the tensors of both copies agree: bit by bit where the text says EXACT, else within the element's
/// tolerance.
inline void check_equal(std::string const& text, Launch& launch) {
  bool const exact = text.find("// EXACT") != std::string::npos;
  for (TensorCase& tensor : launch.tensors) {
    if (tensor.extents.empty()) continue;
    int const size = bytes(tensor.element);
    std::vector<std::uint8_t> const poison(static_cast<std::size_t>(size), is_float(tensor.element)
                                                                               ? samples::poison_byte<float>
                                                                               : samples::poison_byte<int>);
    samples::Comparison all(exact ? 0 : tolerance(tensor.element));
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      std::uint8_t const *a = tensor.aligned(tensor.for_ptx) + i * size,
                         *b = tensor.aligned(tensor.for_simulator) + i * size;
      if (std::memcmp(a, b, static_cast<std::size_t>(size)) == 0) continue;
      double const found = get_element(a, tensor.element), wanted = get_element(b, tensor.element);
      if (exact && found == wanted) FAIL_CHECK("element " << i << " is a zero of the other sign");
      all.add(i, found, wanted, std::max(1.0, std::abs(wanted)), std::memcmp(a, poison.data(), poison.size()) == 0);
    }
    CHECK((all.wrong() == 0 ? "" : all.str()) == "");
  }
}

}  // namespace tegula::test
