// Tests that the facts of a descriptor stay with its parameter through every pass, down to the parameters of the PTX
// entry.
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "codegen/nvptx/nvptx.hpp"
#include "compiler/compile.hpp"
#include "ir/verify/verifier.hpp"
#include "kernels/box_kernels.hpp"
#include "support/golden.hpp"
#include "support/module.hpp"
#include "transform/pipeline.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

/// Describes one descriptor of a kernel, with the facts of its tensor parameter.
struct Descriptor {
  int parameter = -1;
  ir::TensorMapOp map;
  ir::ParameterAttributes attributes;
  ir::Type type;
};

/// Lists descriptors in the order of the text, which is that of the PTX parameters.
std::vector<Descriptor> descriptors_of(ir::Module const& module) {
  std::vector<Descriptor> result;
  ir::Function const& kernel = module.kernel();
  for (ir::Op const& op : kernel.body()) {
    if (!op.is<ir::TensorMapOp>()) continue;
    Descriptor found;
    for (int i = 0; i < kernel.parameter_count(); ++i)
      if (op.operand(0) == kernel.parameter(i)) found.parameter = i;
    REQUIRE(found.parameter >= 0);
    found.map = op.as<ir::TensorMapOp>();
    found.attributes = kernel.parameter_attributes()[static_cast<std::size_t>(found.parameter)];
    found.type = kernel.parameter(found.parameter)->type();
    result.push_back(found);
  }
  return result;
}

/// Names the difference; empty: none.
std::string difference(std::vector<Descriptor> const& before, std::vector<Descriptor> const& after) {
  if (before.size() != after.size()) return fmt::format("{} descriptors before, {} after", before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    std::string const start = fmt::format("descriptor {}: another ", i);
    if (before[i].parameter != after[i].parameter) return start + "parameter";
    if (before[i].map.box != after[i].map.box) return start + "box";
    if (before[i].map.swizzle != after[i].map.swizzle) return start + "swizzle";
    if (!(before[i].attributes == after[i].attributes)) return start + "set of parameter attributes";
    if (before[i].type != after[i].type) return start + "parameter type";
  }
  return {};
}

std::vector<std::string> kernels_with_descriptors() {
  std::vector<std::string> texts;
  for (auto const& entry : std::filesystem::directory_iterator(std::string(TEGULA_TEST_DIR) + "/ir/target"))
    texts.push_back(read_file(entry.path().string()));
  for (BoxKernel const& kernel : box_kernels()) texts.push_back(kernel.text);
  return texts;
}

CompileOptions for_cuda() {
  CompileOptions options;
  options.target = tegula::Target::cuda;
  return options;
}

/// Numbers of the arguments of the entry that are descriptors by value, from `define ... @entry(...)`.
std::vector<int> descriptor_arguments(std::string const& llvm) {
  std::size_t const begin = llvm.find("define ");
  std::size_t at = llvm.find('(', begin) + 1;
  std::vector<int> result;
  int depth = 1, number = 0;
  std::string argument;
  for (; depth > 0; ++at) {
    char const c = llvm[at];
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    if (depth == 0 || (depth == 1 && c == ',')) {
      if (argument.find("byval([128 x i8]) align 64") != std::string::npos &&
          argument.find("\"nvvm.grid_constant\"") != std::string::npos)
        result.push_back(number);
      argument.clear();
      ++number;
      continue;
    }
    argument += c;
  }
  return result;
}

}  // namespace

TEST_CASE("a descriptor keeps its parameter and attributes after every pass of the pipeline", "[D10]") {
  int checks = 0;
  for (std::string const& text : kernels_with_descriptors()) {
    ir::Module module = unverified(text);
    auto const first = descriptors_of(module);
    REQUIRE_FALSE(first.empty());
    for (transform::PassInfo const* pass : compiler::default_pipeline(module, for_cuda())) {
      transform::PassInfo const* const one[] = {pass};
      transform::run_pipeline(module, one, for_cuda(), support::options());
      INFO("@" << module.kernel().name() << " after " << pass->name);
      CHECK(difference(first, descriptors_of(module)) == "");
      ++checks;
    }
    REQUIRE(ir::verify(module).empty());
  }
  CHECK(checks >= 50);
}

TEST_CASE("a descriptor keeps its parameter and attributes after any pass that may run on it", "[D10]") {
  int checks = 0;
  for (std::string const& text : kernels_with_descriptors()) {
    ir::Module const module = unverified(text);
    auto const first = descriptors_of(module);
    for (transform::PassInfo const& pass : transform::passes()) {
      transform::PassInfo const* const one[] = {&pass};
      if (!transform::why_not_in_this_order(one, module).empty()) continue;
      ir::Module copy = module.clone();
      transform::run_pipeline(copy, one, for_cuda(), support::options());
      INFO("@" << module.kernel().name() << " after " << pass.name);
      CHECK(difference(first, descriptors_of(copy)) == "");
      ++checks;
    }
  }
  CHECK(checks >= 80);
}

TEST_CASE("descriptors are the last parameters of the PTX entry, in their order", "[D10]") {
  for (std::string const& text : kernels_with_descriptors()) {
    ir::Module const module = unverified(text);
    auto const first = descriptors_of(module);
    CompiledKernel const compiled = compiler::compile(module, for_cuda());
    INFO(compiled.name);
    REQUIRE(compiled.tensor_maps.size() == first.size());
    int slots = launch_slots;
    for (ParameterInfo const& parameter : compiled.parameters)
      slots += parameter.kind == ParameterKind::scalar ? 1 : 1 + 2 * parameter.rank;
    std::vector<int> numbers;
    for (std::size_t i = 0; i < first.size(); ++i) {
      TensorMapInfo const& map = compiled.tensor_maps[i];
      CHECK(map.parameter == first[i].parameter);
      CHECK(map.box == first[i].map.box);
      CHECK(swizzle_bytes(map.swizzle) == swizzle_bytes(static_cast<Swizzle>(first[i].map.swizzle)));
      CHECK(compiled.parameters[static_cast<std::size_t>(map.parameter)].facts == first[i].attributes.facts);
      numbers.push_back(slots + static_cast<int>(i));
      CHECK_THAT(compiled.image, ContainsSubstring(fmt::format(".param .align 64 .b8 {}_param_{}[128]", compiled.entry,
                                                               numbers.back())));
    }
    CHECK(descriptor_arguments(codegen::emit_device_llvm(compiler::lower(module, for_cuda()), for_cuda())) == numbers);
  }
}
