// Compares the PTX of the hand-written kernels with their references, run by AsyncMachine at borders and at every trip
// count of their rings.
#include <fmt/format.h>

#include <filesystem>

#include "codegen/run_target.hpp"
#include "compiler/compile.hpp"
#include "ir/text/text.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "kernels/targets.hpp"
#include "tegula/abi/compile_options.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("PTX of the hand-written kernels computes their references on the CPU", "[block-ptx][D12]") {
  int kernels = 0;
  for (test::Target const& target : targets()) {
    std::string const file = std::string(TEGULA_TEST_DIR) + "/ir/target/" + std::string(target.name) + ".tir";
    if (!std::filesystem::exists(file)) continue;
    auto const parsed = ir::parse(read_file(file));
    REQUIRE(parsed.ok());
    CompileOptions options;
    options.target = tegula::Target::cuda;
    CompiledKernel const compiled = compiler::compile(parsed.module, options);
    ++kernels;
    // The signature follows the text, tensor maps included, and survives being printed and read.
    TargetArguments const signature = target.arguments(target.small[0], 3);
    REQUIRE(compiled.parameters.size() == signature.size());
    for (std::size_t i = 0; i < signature.size(); ++i) {
      CHECK((compiled.parameters[i].kind == ParameterKind::tensor) == signature[i].is_tensor());
      CHECK(compiled.parameters[i].element == signature[i].element);
      CHECK(compiled.parameters[i].rank == signature[i].extents.size());
    }
    CHECK_FALSE(compiled.tensor_maps.empty());
    auto const again = ir::parse(ir::print(parsed.module));
    REQUIRE(again.ok());
    CHECK((compiler::compile(again.module, options) == compiled));
    for (Extents const& shape : target.small) {
      std::string shown = std::string(target.name);
      for (std::int64_t extent : shape) shown += fmt::format(" {}", extent);
      INFO(shown);
      TargetArguments arguments = target.arguments(shape, 3);
      AsyncMachine machine(compiled.image);
      CHECK(run_target(machine, compiled, parsed.module.kernel(), arguments) == "");
      CHECK(target_error(target, shape, arguments) == "");
    }
  }
  CHECK(kernels >= 4);
}
