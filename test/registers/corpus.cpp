#include "registers/corpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <utility>

#include "fuzz/pipeline_case.hpp"
#include "fuzz/product_extents.hpp"
#include "ir/text/text.hpp"
#include "kernels/gemm_kernel.hpp"
#include "support/files.hpp"
#include "support/key_text.hpp"
#include "tegula/support/error.hpp"
#include "transform/pipeline.hpp"

namespace tegula::registers {
namespace {
namespace fs = std::filesystem;

/// Draws which half a kernel belongs to.
constexpr std::string_view half_seed = "1";

fs::path folder() { return fs::path(TEGULA_SOURCE_TEST_DIR) / "registers/kernels"; }

ir::Module module_of(std::string const& text, std::string const& name) {
  auto parsed = ir::parse(text);
  support::throw_user_error(parsed.diagnostics, name);
  return std::move(parsed.module);
}

}  // namespace

std::vector<std::string> names_of_corpus() {
  std::vector<std::string> names;
  for (fs::directory_entry const& file : fs::directory_iterator(folder()))
    if (file.path().extension() == ".tir") names.push_back(file.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

CorpusKernel corpus_kernel(std::string const& name) {
  auto const text = support::read_file((folder() / (name + ".tir")).string());
  if (!text) throw UserError("registers: the corpus has no kernel " + name);
  return {name, module_of(*text, name), transform::read_replay(*text).options};
}

void draw_kernels(std::uint64_t seed, int count) {
  auto const keep = [](std::string const& name, ir::Module& module, CompileOptions const& options) {
    for (std::size_t i = 0; i < options.facts.size(); ++i)  // the text says what a launch would
      module.kernel().parameter_attributes()[i].facts = options.facts[i];
    std::ofstream((folder() / (name + ".tir"))) << transform::replay_text(module, "default", options);
  };
  auto const& products = fuzz::all_products();
  for (int i = 0; i < count; ++i) {
    std::uint64_t const drawn = seed + static_cast<std::uint64_t>(i);
    std::string const number = fmt::to_string(drawn);
    std::mt19937_64 random(drawn);
    test::GemmShape shape = products[random() % products.size()];
    shape.stages = static_cast<int>(random() % 2) * 3;
    ir::Module gemm = module_of(test::gemm_text(shape), number);
    keep("product_" + number, gemm, test::gemm_options());
    fuzz::PipelineCase one = fuzz::random_case(drawn);
    keep("pipeline_" + number, one.module, one.options);
  }
}

bool is_for_fit(std::string_view name) {
  return support::hash_hex(std::string(half_seed) + " " + std::string(name)).back() % 2 == 0;
}

}  // namespace tegula::registers
