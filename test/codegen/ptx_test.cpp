// PTX of the device code generator: patterns in the text, what ptxas says of it, and what it computes.
//
// Each file of codegen/ptx is a kernel with CHECK lines for its PTX and SHAPES lines, one launch each:
// A line `// ALIGNED` checks the text for tensors of unit stride and 16-byte alignment, `// WARPS: 4` fixes the warps.
//   // SHAPES: a=10x300/320+4 n:=7     a tensor of 10x300 with row stride 320, 4 elements after an aligned address; a scalar
// `*2` after the extents gives the last axis stride 2. The facts of the tensors are those that hold, as for a launcher. The
// PTX is run by PtxMachine, the IR as written by the simulator; outputs are poisoned before. `// EXACT` compares bits.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "codegen/nvptx/nvptx.hpp"
#include "codegen/ptx_machine.hpp"
#include "compiler/compile.hpp"
#include "ir/builder.hpp"
#include "ir/text.hpp"
#include "ir/verifier.hpp"
#include "sim/interpreter.hpp"
#include "support/catch.hpp"
#include "support/file_check.hpp"
#include "support/golden.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;

namespace {

std::vector<std::string> kernel_files() {
  std::vector<std::string> files;
  for (auto const& entry : std::filesystem::directory_iterator(std::string(TEGULA_TEST_DIR) + "/codegen/ptx"))
    if (entry.path().extension() == ".tir") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

ir::Module read_module(std::string const& text) {
  auto parsed = ir::parse(text);
  INFO(parsed.diagnostics.str());
  REQUIRE(parsed.ok());
  auto const found = ir::verify(parsed.module, &parsed.positions);
  INFO(found.str());
  REQUIRE_FALSE(found.has_errors());
  return std::move(parsed.module);
}

std::vector<std::string> lines_after(std::string const& text, std::string const& mark) {
  std::vector<std::string> result;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    if (line.rfind("// " + mark, 0) == 0) result.push_back(line.substr(mark.size() + 3));
  return result;
}

CompileOptions cuda_options(std::string const& text, int aligned_parameters = 0) {
  CompileOptions options;
  options.target = Target::cuda;
  if (!lines_after(text, "ALIGNED").empty()) options.facts.assign(static_cast<std::size_t>(aligned_parameters), {true, true});
  for (std::string const& line : lines_after(text, "WARPS: ")) options.warps = std::stoi(line);
  return options;
}

std::string find_ptxas() {
  for (std::string const& path : {std::string("/usr/local/cuda/bin/ptxas"), std::string("/usr/bin/ptxas")})
    if (std::filesystem::exists(path)) return path;
  std::istringstream path(std::getenv("PATH") != nullptr ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(path, folder, ':');)
    if (std::filesystem::exists(folder + "/ptxas")) return folder + "/ptxas";
  return "";
}

/// What ptxas prints for the text with -v.
std::string assemble(std::string const& ptxas, std::string const& ptx) {
  std::string const file = (std::filesystem::temp_directory_path() / ("tegula_ptx_test_" + std::to_string(std::random_device()()) + ".ptx")).string();
  std::ofstream(file) << ptx;
  std::string output;
  std::FILE* pipe = ::popen((ptxas + " -arch=sm_90a -v " + file + " -o /dev/null 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  for (char buffer[4096]; std::fgets(buffer, sizeof buffer, pipe) != nullptr;) output += buffer;
  int const status = ::pclose(pipe);
  std::filesystem::remove(file);
  return output + (status == 0 ? "" : "ptxas failed\n");
}

/// A tensor of one launch: a copy for each executor, inside a larger allocation so that neighbours are checked too.
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
    for (int i = 0; i + 1 < strides.size(); ++i) result.aligned_16 = result.aligned_16 && strides[i] * bytes(element) % 16 == 0;
    return result;
  }
};

void set_element(std::uint8_t* at, Element element, double value) {
  std::uint64_t const bits = ir::make_constant(element, value).bits;
  std::memcpy(at, &bits, static_cast<std::size_t>(bytes(element)));
}

double get_element(std::uint8_t const* at, Element element) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, static_cast<std::size_t>(bytes(element)));
  if (element == Element::i32) bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(bits)));
  return ir::to_double({element, bits});
}

/// Random numbers of moderate size; small ones for integers, so that products stay exact.
double draw(std::mt19937_64& random, Element element) {
  if (element == Element::boolean) return static_cast<double>(random() & 1);
  if (is_integer(element)) return static_cast<double>(static_cast<std::int64_t>(random() % 2001) - 1000);
  return std::uniform_real_distribution<double>(-4, 4)(random);
}

double tolerance(Element element) {
  switch (element) {
    case Element::f16: return 2e-3;
    case Element::bf16: return 1.6e-2;
    case Element::f32: return 1e-5;
    case Element::f64: return 1e-12;
    default: return 0;
  }
}

struct Launch {
  std::vector<TensorCase> tensors;              // by parameter; unused for scalars
  std::vector<std::int64_t> scalars;            // by parameter
};

Launch read_shapes(ir::Function const& kernel, std::string const& line) {
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
    for (int i = rank - 2; i >= 0; --i) tensor.strides[i] = i == rank - 2 && row != 0 ? row : tensor.strides[i + 1] * std::max<std::int64_t>(tensor.extents[i + 1], 1);
  }
  return launch;
}

void fill(Launch& launch, std::mt19937_64& random) {
  for (TensorCase& tensor : launch.tensors) {
    if (tensor.extents.empty()) continue;
    std::size_t const size = static_cast<std::size_t>(tensor.size() * bytes(tensor.element)) + 256;
    tensor.for_ptx.assign(size, 0xA5);  // poison
    tensor.for_simulator.assign(size, 0xA5);
    if (tensor.direction == Direction::out) continue;
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      double const value = draw(random, tensor.element);
      set_element(tensor.aligned(tensor.for_ptx) + i * bytes(tensor.element), tensor.element, value);
      set_element(tensor.aligned(tensor.for_simulator) + i * bytes(tensor.element), tensor.element, value);
    }
  }
}

/// The argument slots of a launch on the copies for PTX, without the grid.
std::vector<std::uint64_t> slots_of(ir::Function const& kernel, Launch& launch) {
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

sim::Arguments simulator_arguments(ir::Function const& kernel, Launch& launch) {
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

/// Runs all blocks of PTX text; what went wrong, or nothing.
std::string run_ptx(std::string const& ptx, CompiledKernel const& compiled, ir::Function const& kernel, Launch& launch) {
  std::vector<std::uint64_t> slots = slots_of(kernel, launch);
  sim::Grid const grid = sim::launch_grid(kernel, simulator_arguments(kernel, launch));
  for (std::int64_t extent : grid) slots.push_back(static_cast<std::uint64_t>(extent));
  try {
    test::PtxMachine machine(ptx);
    for (TensorCase& tensor : launch.tensors)
      if (!tensor.extents.empty()) machine.allow(tensor.aligned(tensor.for_ptx), tensor.size() * bytes(tensor.element), tensor.direction != Direction::in);
    std::int64_t const blocks = grid[0] * grid[1] * grid[2];
    for (std::int64_t block = 0; block < blocks; ++block)
      machine.run_cta(compiled.threads_per_cta, compiled.shared_bytes, slots, {static_cast<std::uint64_t>(block), 0, 0});
  } catch (std::runtime_error const& error) {
    return error.what();
  }
  return "";
}

void run_both(ir::Module const& module, std::string const& text, std::string const& shapes, std::mt19937_64& random) {
  INFO(shapes);
  ir::Function const& kernel = module.kernel();
  Launch launch = read_shapes(kernel, shapes);
  fill(launch, random);
  CompileOptions options = cuda_options(text);
  for (TensorCase& tensor : launch.tensors) options.facts.push_back(tensor.extents.empty() ? TensorFacts() : tensor.facts());
  sim::Result const reference = sim::run(kernel, simulator_arguments(kernel, launch));
  INFO(reference.str());
  REQUIRE(reference.clean());

  CompiledKernel const compiled = compiler::compile(module, options);
  INFO(compiled.image);
  CHECK(run_ptx(compiled.image, compiled, kernel, launch) == "");

  bool const exact = text.find("// EXACT") != std::string::npos;
  for (TensorCase& tensor : launch.tensors) {
    if (tensor.extents.empty()) continue;
    int const size = bytes(tensor.element);
    std::int64_t different = 0;
    std::string first;
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      std::uint8_t const *a = tensor.aligned(tensor.for_ptx) + i * size, *b = tensor.aligned(tensor.for_simulator) + i * size;
      if (std::memcmp(a, b, static_cast<std::size_t>(size)) == 0) continue;
      double const found = get_element(a, tensor.element), wanted = get_element(b, tensor.element);
      if (std::isnan(found) && std::isnan(wanted)) continue;
      if (!exact && std::abs(found - wanted) <= tolerance(tensor.element) * std::max(1.0, std::abs(wanted))) continue;
      if (different++ == 0) first = "element " + std::to_string(i) + " is " + std::to_string(found) + ", not " + std::to_string(wanted);
    }
    INFO(first);
    CHECK(different == 0);
  }
}

}  // namespace

TEST_CASE("PTX of every kernel has the promised patterns", "[ptx]") {
  for (std::string const& file : kernel_files()) {
    INFO(file);
    std::string const text = test::read_file(file);
    ir::Module const module = read_module(text);
    CompiledKernel const compiled = compiler::compile(module, cuda_options(text, module.kernel().parameter_count()));
    CHECK(compiled.architecture == "sm_90a");
    CHECK(compiled.image_kind == ImageKind::ptx);
    CHECK(compiled.threads_per_cta % 32 == 0);
    auto const result = test::file_check(compiled.image, text);
    INFO(compiled.image);
    INFO(result.message);
    CHECK(result.ok);
  }
}

TEST_CASE("ptxas takes every kernel for sm_90a without spills or stack", "[ptx]") {
  std::string const ptxas = find_ptxas();
  if (ptxas.empty()) TEGULA_SKIP("no ptxas on this machine");
  for (std::string const& file : kernel_files()) {
    INFO(file);
    std::string const text = test::read_file(file);
    ir::Module const module = read_module(text);
    std::string const output = assemble(ptxas, compiler::compile(module, cuda_options(text, module.kernel().parameter_count())).image);
    INFO(output);
    CHECK(output.find("ptxas failed") == std::string::npos);
    CHECK(output.find("error") == std::string::npos);
    CHECK(output.find("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads") != std::string::npos);
    CHECK(output.find("warning") == std::string::npos);
  }
}

TEST_CASE("PTX computes what the simulator computes, at ragged extents, strides and offsets", "[ptx]") {
  std::mt19937_64 random(std::random_device{}());
  int launches = 0;
  for (std::string const& file : kernel_files()) {
    INFO(file);
    std::string const text = test::read_file(file);
    ir::Module const module = read_module(text);
    for (std::string const& shapes : lines_after(text, "SHAPES: ")) {
      run_both(module, text, shapes, random);
      ++launches;
    }
  }
  CHECK(launches > 30);
}

TEST_CASE("dot is refused on the device with its source line", "[ptx]") {
  ir::Module module = read_module(R"(tegula-ir 1

kernel @product(%a: in tensor<?x?xbf16>, %c: out tensor<?x?xf32>) {
  %zero = constant {value = 0 : i64} : i64
  %x = load %a, %zero, %zero : tile<64x64xbf16>
  %acc = constant {value = 0 : f32} : tile<64x64xf32>
  %d = dot %x, %x, %acc : tile<64x64xf32> loc("product.cpp":7)
  store %c, %d, %zero, %zero
  return
}
)");
  CompileOptions options;
  options.target = Target::cuda;
  std::string message;
  try {
    compiler::compile(module, options);
  } catch (UserError const& error) {
    message = error.what();
  }
  CHECK_THAT(message, test::ContainsSubstring("product.cpp:7") && test::ContainsSubstring("dot: matrix products on the device"));
}

TEST_CASE("a GPU architecture that is not known is refused", "[ptx]") {
  CompileOptions options;
  options.target = Target::cuda;
  options.architecture = "sm_10";
  ir::Module const module = read_module(test::read_file(kernel_files().front()));
  CHECK_THROWS_AS(compiler::compile(module, options), UserError);
}

TEST_CASE("each barrier is needed: without any one of them two threads meet at one byte", "[ptx]") {
  std::mt19937_64 random(1);
  int deleted = 0;
  for (std::string const& file : kernel_files()) {
    INFO(file);
    std::string const text = test::read_file(file);
    ir::Module const module = read_module(text);
    std::vector<std::string> const shapes = lines_after(text, "SHAPES: ");
    REQUIRE_FALSE(shapes.empty());
    CompileOptions const options = cuda_options(text, module.kernel().parameter_count());
    std::string const whole = compiler::compile(module, options).image;
    for (std::size_t at = whole.find("bar.sync 0;"); at != std::string::npos; at = whole.find("bar.sync 0;", at + 1)) {
      std::string without = whole;
      without.erase(at, 11);
      std::string trouble;
      for (std::string const& line : shapes) {
        if (line.find_first_of("/+*") != std::string::npos) continue;
        Launch launch = read_shapes(module.kernel(), line);
        fill(launch, random);
        trouble += run_ptx(without, compiler::compile(module, options), module.kernel(), launch);
      }
      INFO("without the barrier at byte " << at);
      CHECK_THAT(trouble, test::ContainsSubstring("without a barrier between") || test::ContainsSubstring("before it is written"));
      ++deleted;
    }
  }
  CHECK(deleted > 10);
}
