// Tests PTX of the device code generator: patterns in the text, ptxas's report, and results. The PTX is run by
// PtxMachine, the IR as written by the simulator.
#include "codegen/nvptx/nvptx.hpp"
#include "codegen/ptx_cases.hpp"
#include "codegen/ptx_machine.hpp"
#include "codegen/ptxas.hpp"
#include "compiler/compile.hpp"
#include "sim/block/simulate.hpp"
#include "support/file_check.hpp"
#include "support/random.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

/// Runs all blocks of PTX text. Returns the error, or nothing.
std::string run_ptx(std::string const& ptx, CompiledKernel const& compiled, ir::Function const& kernel,
                    Launch& launch) {
  std::vector<std::uint64_t> slots = slots_of(kernel, launch);
  sim::Grid const grid = sim::launch_grid(kernel, simulator_arguments(kernel, launch));
  for (std::int64_t extent : grid) slots.push_back(static_cast<std::uint64_t>(extent));
  slots.push_back(host_multiprocessors);
  try {
    test::PtxMachine machine(ptx);
    for (TensorCase& tensor : launch.tensors)
      if (!tensor.extents.empty())
        machine.allow(tensor.aligned(tensor.for_ptx), tensor.size() * bytes(tensor.element),
                      tensor.direction != Direction::in);
    std::int64_t const blocks = grid[0] * grid[1] * grid[2];
    for (std::int64_t block = 0; block < blocks; ++block)
      machine.run_cta(compiled.threads_per_cta, compiled.shared_bytes, slots,
                      {static_cast<std::uint64_t>(block), 0, 0});
  } catch (std::runtime_error const& error) {
    return error.what();
  }
  return "";
}

void run_both(ir::Module const& module, std::string const& text, std::string const& shapes, std::mt19937_64& random) {
  INFO(shapes);
  ir::Function const& kernel = module.kernel();
  Launch launch = read_shapes(kernel, shapes);
  std::mt19937_64 same = random;
  fill(launch, random);
  CompileOptions options = cuda_options(text);
  for (TensorCase& tensor : launch.tensors)
    options.facts.push_back(tensor.extents.empty() ? TensorFacts() : tensor.facts());
  ir::Module const tiles = compiler::for_tiles(module, options);
  sim::Result const reference = sim::run(tiles.kernel(), simulator_arguments(tiles.kernel(), launch));
  INFO(reference.str());
  REQUIRE(reference.clean());

  // The passes change nothing: their result, run by the simulator warp by warp, is the reference.
  {
    Launch again = read_shapes(kernel, shapes);
    fill(again, same);
    ir::Module const lowered = compiler::lower(module, options);
    auto const result = sim::block::run(lowered.kernel(), simulator_arguments(lowered.kernel(), again));
    INFO(result.str());
    CHECK(result.clean());
    for (std::size_t i = 0; i < again.tensors.size(); ++i) {
      TensorCase &from = launch.tensors[i], &to = again.tensors[i];
      if (!to.extents.empty())
        std::memcpy(to.aligned(to.for_ptx), from.aligned(from.for_simulator),
                    static_cast<std::size_t>(to.size() * bytes(to.element)));
    }
    check_equal(text, again);
  }

  CompiledKernel const compiled = compiler::compile(module, options);
  INFO(compiled.image);
  CHECK(run_ptx(compiled.image, compiled, kernel, launch) == "");

  check_equal(text, launch);
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
    std::string const output =
        assemble(ptxas, compiler::compile(module, cuda_options(text, module.kernel().parameter_count())).image);
    INFO(output);
    CHECK(output.find("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads") != std::string::npos);
    CHECK(ptxas_complaints(output) == "");
  }
}

TEST_CASE("PTX has the simulator's results at ragged extents, strides and offsets", "[ptx]") {
  std::mt19937_64 random(test::data_seed);
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

TEST_CASE("powers below 2^-126 become 0 in kernels with products, and stay with exact arithmetic", "[ptx]") {
  ir::Module const module = read_module(R"(tegula-ir 1

kernel @powers(%x: in tensor<?x?xf16> {unit_inner, aligned_16}, %y: out tensor<?x?xf32>) {
  %zero = constant {value = 0 : i64} : i64
  %a = load %x, %zero, %zero : tile<64x64xf16>
  %acc = constant {value = 0 : f32} : tile<64x64xf32>
  %product = dot %a, %a, %acc : tile<64x64xf32>
  %powers = exp2 %product : tile<64x64xf32>
  store %y, %powers, %zero, %zero
  return
}
)");
  CompileOptions options;
  options.target = Target::cuda;
  CHECK_THAT(compiler::compile(module, options).image, test::ContainsSubstring("ex2.approx.ftz.f32"));
  options.exact = true;
  std::string const exact = compiler::compile(module, options).image;
  CHECK_THAT(exact, test::ContainsSubstring("ex2.approx.f32"));
  CHECK(exact.find("ex2.approx.ftz") == std::string::npos);
}

TEST_CASE("quotients of f32 have 22 bits, those of exact arithmetic all", "[ptx]") {
  auto const kernel = [](std::string const& element, std::string const& behind) {
    return read_module("tegula-ir 1\n\nkernel @quotients(%x: in tensor<?xf32>, %y: out tensor<?x" + element + R"(>) {
  %zero = constant {value = 0 : i64} : i64
  %two = constant {value = 2 : f32} : tile<64xf32>
  %a = load %x, %zero : tile<64xf32>
  %e = sigmoid %a : tile<64xf32>
  %q = div %e, %a : tile<64xf32>
)" + behind + "  store %y, %r, %zero\n  return\n}\n");
  };
  std::string const product = "  %p = mul %q, %two : tile<64xf32>\n", cast = "  %r = cast %p : tile<64xbf16>\n",
                    sum = "  %p = add %q, %two : tile<64xf32>\n", kept = "  %r = mul %q, %two : tile<64xf32>\n";
  auto const branch = [](std::string const& result) {
    return "  %n = extent %x : i64\n  %some = compare %n, %zero {predicate = gt} : bool\n  " + result +
           " = if %some : tile<64xf32> {\n    yield %q\n  } else {\n    yield %a\n  }\n";
  };
  CompileOptions options;  // a thread holds two elements
  options.target = Target::cuda;
  auto const count = [&](ir::Module const& module, std::string const& word) {
    std::string const text = compiler::compile(module, options).image;
    int found = 0;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
    return found;
  };
  CHECK(count(kernel("bf16", product + cast), "div.full.f32") == 2);
  CHECK(count(kernel("bf16", product + cast), "rcp.approx.ftz.f32") == 2);  // of the sigmoid
  CHECK(count(kernel("bf16", product + cast), "div.rn.f32") == 0);
  CHECK(count(kernel("bf16", branch("%p") + cast), "div.full.f32") == 2);
  CHECK(count(kernel("bf16", branch("%p") + cast), "div.rn.f32") == 0);
  CHECK(count(kernel("f32", branch("%r")), "div.full.f32") == 2);
  CHECK(count(kernel("bf16", sum + cast), "div.full.f32") == 2);
  CHECK(count(kernel("f32", kept), "div.full.f32") == 2);
  CHECK(count(kernel("bf16", "  %r = cast %e : tile<64xbf16>\n"), "rcp.approx.ftz.f32") == 2);
  CHECK(count(kernel("bf16", "  %r = cast %e : tile<64xbf16>\n"), "div") == 0);
  options.exact = true;
  CHECK(count(kernel("bf16", product + cast), "div.full.f32") == 0);
  CHECK(count(kernel("bf16", product + cast), "div.rn.f32") == 2);  // the sigmoid keeps its bound without
}

TEST_CASE("a sum of a product that only sums meet is rounded once", "[ptx]") {
  auto const kernel = [](std::string const& sum, std::string const& element, std::string const& function = "exp2") {
    return read_module("tegula-ir 1\n\nkernel @powers(%x: in tensor<?xf32>, %y: out tensor<?x" + element + R"(>) {
  %zero = constant {value = 0 : i64} : i64
  %c = constant {value = 3 : f32} : tile<64xf32>
  %a = load %x, %zero : tile<64xf32>
  %b = load %x, %zero {pad = 1 : f32} : tile<64xf32>
  %d = load %x, %zero {pad = 2 : f32} : tile<64xf32>
  %m = mul %a, %c : tile<64xf32>
  %ab = mul %a, %b : tile<64xf32>
  %s = )" + sum + R"( : tile<64xf32>
  %e = )" + function + R"( %s : tile<64xf32>
  %r = cast %e : tile<64x)" +
                       element + ">\n  store %y, %r, %zero\n  return\n}\n");
  };
  CompileOptions options;  // a thread holds two elements
  options.target = Target::cuda;
  auto const fused = [&](ir::Module const& module) {
    std::string const text = compiler::compile(module, options).image;
    int found = 0;
    for (std::size_t at = text.find("fma.rn.f32"); at != std::string::npos; at = text.find("fma.rn.f32", at + 1))
      ++found;
    return found;
  };
  CHECK(fused(kernel("sub %m, %b", "bf16")) == 2);
  CHECK(fused(kernel("add %m, %b", "bf16")) == 2);
  CHECK(fused(kernel("sub %b, %m", "bf16")) == 2);
  CHECK(fused(kernel("add %ab, %a", "bf16")) == 2);
  CHECK(fused(kernel("add %ab, %d", "bf16")) == 2);
  CHECK(fused(kernel("sub %m, %b", "f32")) == 2);
  CHECK(fused(kernel("sub %m, %b", "f32", "neg")) == 2);
  CHECK(fused(kernel("sub %m, %b", "f32", "log")) == fused(kernel("sub %a, %b", "f32", "log")) + 2);
  CHECK(fused(kernel("add %m, %m", "f32")) == 0);
  options.contraction = Choice::off;
  CHECK(fused(kernel("sub %m, %b", "f32")) == 0);
  CHECK(fused(kernel("sub %m, %b", "bf16")) == 0);
  options = {};
  options.target = Target::cuda;
  options.exact = true;
  CHECK(fused(kernel("sub %m, %b", "f32", "fast_tanh")) == 0);
  CHECK(fused(kernel("sub %m, %b", "bf16")) == 0);
}

TEST_CASE("fast_tanh takes one instruction on the GPU, of f64 it is tanh", "[ptx]") {
  auto const kernel = [](std::string const& element) {
    return read_module(
        "tegula-ir 1\n\nkernel @hyperbolic(%x: in tensor<?x" + element + ">, %y: out tensor<?x" + element +
        R"(>) {
  %zero = constant {value = 0 : i64} : i64
  %a = load %x, %zero : tile<64x)" +
        element + ">\n  %t = fast_tanh %a : tile<64x" + element + ">\n  store %y, %t, %zero\n  return\n}\n");
  };
  CompileOptions options;
  options.target = Target::cuda;
  for (bool const exact : {false, true}) {
    options.exact = exact;
    for (char const* element : {"f32", "bf16", "f16"})
      CHECK_THAT(compiler::compile(kernel(element), options).image, test::ContainsSubstring("tanh.approx.f32"));
    CHECK(compiler::compile(kernel("f64"), options).image.find("tanh.approx") == std::string::npos);
  }
}

TEST_CASE("a quotient by a constant plus an exponential takes two instructions of the special units", "[ptx]") {
  auto const kernel = [](std::string const& constant, std::string const& element) {
    return read_module("tegula-ir 1\n\nkernel @raised(%x: in tensor<?xf32>, %y: out tensor<?x" + element + R"(>) {
  %zero = constant {value = 0 : i64} : i64
  %minus = constant {value = -2 : f32} : tile<64xf32>
  %c = constant {value = )" +
                       constant +
                       R"( : f32} : tile<64xf32>
  %a = load %x, %zero : tile<64xf32>
  %m = mul %a, %minus : tile<64xf32>
  %e = exp %m : tile<64xf32>
  %s = add %e, %c : tile<64xf32>
  %q = div %a, %s : tile<64xf32>
  %r = cast %q : tile<64x)" +
                       element + ">\n  store %y, %r, %zero\n  return\n}\n");
  };
  CompileOptions options;  // a thread holds two elements
  options.target = Target::cuda;
  auto const count = [&](ir::Module const& module, std::string const& word) {
    std::string const text = compiler::compile(module, options).image;
    int found = 0;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
    return found;
  };
  ir::Module const half = kernel("1", "bf16"), whole = kernel("1", "f32"), tiny = kernel("1e-35", "bf16");
  CHECK(count(half, "ex2.approx.ftz.f32") == 2);
  CHECK(count(half, "rcp.approx.ftz.f32") == 2);
  CHECK(count(half, "div") == 0);
  CHECK(count(half, "mul.rn.f32") == 6);  // by -2 log2(e) at once, by a quarter, and by the reciprocal
  // Powers below 2^-126 do not change the sum, whatever is kept of it.
  CHECK(count(whole, "ex2.approx.ftz.f32") == 2);
  CHECK(count(whole, "div.full.f32") == 2);
  // They do change a sum with a constant as small.
  CHECK(count(tiny, "ex2.approx.ftz.f32") == 0);
  CHECK(count(tiny, "div.full.f32") == 2);
  options.exact = true;
  CHECK(count(half, "rcp.approx") == 0);
  CHECK(count(half, "div.rn.f32") == 2);
}

TEST_CASE("a quotient that feeds an exponential of which 16 bits are kept has 22 bits", "[ptx]") {
  auto const kernel = [](std::string const& between, std::string const& element) {
    return read_module("tegula-ir 1\n\nkernel @tempered(%x: in tensor<?xf32>, %y: out tensor<?x" + element + R"(>) {
  %zero = constant {value = 0 : i64} : i64
  %three = constant {value = 3 : f32} : tile<64xf32>
  %a = load %x, %zero : tile<64xf32>
  %b = abs %a : tile<64xf32>
  %c = add %b, %three : tile<64xf32>
  %q = div %a, %c : tile<64xf32>
)" + between + "  %e = exp %p : tile<64xf32>\n  %r = cast %e : tile<64x" +
                       element + ">\n  store %y, %r, %zero\n  return\n}\n");
  };
  CompileOptions options;
  options.target = Target::cuda;
  // The divisor is at least 3: a quotient of which 16 bits are kept takes its reciprocal.
  auto const divides = [&](std::string const& between, std::string const& element, std::string const& word) {
    return compiler::compile(kernel(between, element), options).image.find(word) != std::string::npos;
  };
  std::string const scaled = "  %p = mul %q, %three : tile<64xf32>\n",
                    shifted = "  %p = sub %q, %three : tile<64xf32>\n", raised = "  %p = exp %q : tile<64xf32>\n";
  CHECK_FALSE(divides(scaled, "bf16", "div"));
  CHECK(divides(scaled, "f32", "div.full.f32"));
  CHECK(divides(shifted, "bf16", "div.full.f32"));  // cancels
  CHECK(divides(raised, "bf16", "div.full.f32"));   // an exponential of an exponential
  options.exact = true;
  CHECK(divides(scaled, "bf16", "div.rn.f32"));
}

TEST_CASE("a normalisation of which 16 bits are kept has one instruction for its root and no exact quotient", "[ptx]") {
  auto const kernel = [](std::string const& epsilon) {
    return read_module(R"(tegula-ir 1

kernel @norm(%x: in tensor<?x?xbf16>, %y: out tensor<?x?xbf16>, %given: f32) {
  %n = extent %x {axis = 1} : i64
  %zero = constant {value = 0 : i64} : i64
  %a16 = load %x, %zero, %zero : tile<1x1024xbf16>
  %a = cast %a16 : tile<1x1024xf32>
  %squares = mul %a, %a : tile<1x1024xf32>
  %sum = reduce %squares {axis = 1} : tile<1x1xf32>
  %count = cast %n : f32
  %counts = splat %count : tile<1x1xf32>
  %mean = div %sum, %counts : tile<1x1xf32>
)" + epsilon + R"(  %above = add %mean, %least : tile<1x1xf32>
  %scale = rsqrt %above : tile<1x1xf32>
  %scales = broadcast %scale : tile<1x1024xf32>
  %r = mul %a, %scales : tile<1x1024xf32>
  %r16 = cast %r : tile<1x1024xbf16>
  store %y, %r16, %zero, %zero
  return
}
)");
  };
  CompileOptions options;
  options.target = Target::cuda;
  auto const has = [&](std::string const& epsilon, std::string const& word) {
    return compiler::compile(kernel(epsilon), options).image.find(word) != std::string::npos;
  };
  std::string const constant = "  %least = constant {value = 1e-5 : f32} : tile<1x1xf32>\n",
                    argument = "  %least = splat %given : tile<1x1xf32>\n";
  CHECK(has(constant, "rsqrt.approx.f32"));
  CHECK(has(constant, "div.full.f32"));
  CHECK_FALSE(has(constant, "div.rn.f32"));
  CHECK_FALSE(has(constant, "sqrt.rn.f32"));
  CHECK(has(argument, "div.full.f32"));
  CHECK(has(argument, "rsqrt.approx.f32"));
  options.exact = true;
  CHECK(has(constant, "div.rn.f32"));
  CHECK(has(constant, "sqrt.rn.f32"));
  CHECK_FALSE(has(constant, "rsqrt.approx"));
}

TEST_CASE("rows of whole pieces of 16 bytes are accessed by them alone, without a branch", "[ptx]") {
  auto const text =
      "tegula-ir 1\nkernel @copy(%x: in tensor<?x?xbf16>, %y: out tensor<?x?xbf16>) {\n"
      "  %n = extent %x {axis = 1} : i64\n  %zero = constant {value = 0 : i64} : i64\n"
      "  %width = constant {value = 256 : i64} : i64\n  %m = ceil_div %n, %width : i64\n  grid %m\n"
      "  %b = block_index : i64\n  %at = mul %b, %width : i64\n"
      "  %tile = load %x, %zero, %at : tile<8x256xbf16>\n  store %y, %tile, %zero, %at\n  return\n}\n";
  auto const count = [](std::string const& in, std::string const& word) {
    int found = 0;
    for (std::size_t at = in.find(word); at != std::string::npos; at = in.find(word, at + 1)) ++found;
    return found;
  };
  auto const ptx = [&](bool whole) {
    CompileOptions options;
    options.target = Target::cuda;
    options.facts = {{true, true, whole}, {true, true, whole}};
    return compiler::compile(read_module(text), options).image;
  };
  std::string const any = ptx(false), whole = ptx(true);
  CHECK(count(any, "ld.global.nc.b16") > 0);
  CHECK(count(any, "st.global.b16") > 0);
  CHECK(count(whole, "ld.global.nc.b16") + count(whole, "st.global.b16") == 0);
  CHECK(count(whole, "ld.global.nc.v4.b32") == count(any, "ld.global.nc.v4.b32"));
  CHECK(count(whole, "bra") < count(any, "bra"));
}

TEST_CASE("an unknown GPU architecture is refused", "[ptx]") {
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
      std::string error;
      for (std::string const& line : shapes) {
        if (line.find_first_of("/+*") != std::string::npos) continue;
        Launch launch = read_shapes(module.kernel(), line);
        fill(launch, random);
        error += run_ptx(without, compiler::compile(module, options), module.kernel(), launch);
      }
      INFO("without the barrier at byte " << at);
      CHECK_THAT(error, test::ContainsSubstring("without a barrier between") ||
                            test::ContainsSubstring("before it is written"));
      ++deleted;
    }
  }
  CHECK(deleted > 10);
}
