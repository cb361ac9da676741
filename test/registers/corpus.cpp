#include "registers/corpus.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <random>
#include <utility>

#include "fuzz/pipeline_case.hpp"
#include "fuzz/product_extents.hpp"
#include "ir/text.hpp"
#include "support/gemm_kernel.hpp"
#include "support/files.hpp"
#include "support/key_text.hpp"
#include "tegula/support/error.hpp"
#include "transform/pipeline.hpp"

namespace tegula::registers {
namespace {
namespace fs = std::filesystem;

constexpr int products = 60, cases = 60;
constexpr std::string_view product = "product ", pipeline = "pipeline ";
/// Draws which half a kernel belongs to.
constexpr std::string_view half_seed = "1";

fs::path folder() { return fs::path(TEGULA_SOURCE_TEST_DIR) / "registers/kernels"; }

ir::Module module_of(std::string const& text, std::string const& name) {
  auto parsed = ir::parse(text);
  support::throw_user_error(parsed.diagnostics, name);
  return std::move(parsed.module);
}

CorpusKernel drawn_product(std::string const& name, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  auto const& all = fuzz::all_products();
  test::GemmShape shape = all[random() % all.size()];
  shape.stages = static_cast<int>(random() % 2) * 3;
  return {name, module_of(test::gemm_text(shape), name), test::gemm_options()};
}

CorpusKernel drawn_case(std::string const& name, std::uint64_t seed) {
  fuzz::PipelineCase one = fuzz::random_case(seed);
  return {name, std::move(one.module), one.options};
}

}  // namespace

std::vector<std::string> names_of_corpus() {
  std::vector<std::string> names;
  for (fs::directory_entry const& file : fs::directory_iterator(folder()))
    if (file.path().extension() == ".tir") names.push_back(file.path().stem().string());
  std::sort(names.begin(), names.end());
  for (int i = 1; i <= products; ++i) names.push_back(std::string(product) + std::to_string(i));
  for (int i = 1; i <= cases; ++i) names.push_back(std::string(pipeline) + std::to_string(i));
  return names;
}

CorpusKernel corpus_kernel(std::string const& name) {
  if (name.starts_with(product)) return drawn_product(name, std::stoull(name.substr(product.size())));
  if (name.starts_with(pipeline)) return drawn_case(name, std::stoull(name.substr(pipeline.size())));
  auto const text = support::read_file((folder() / (name + ".tir")).string());
  if (!text) throw UserError("registers: the corpus has no kernel " + name);
  return {name, module_of(*text, name), transform::read_replay(*text).options};
}

bool is_for_fit(std::string_view name) {
  return support::hash_hex(std::string(half_seed) + " " + std::string(name)).back() % 2 == 0;
}

}  // namespace tegula::registers
