#include "compiler/cache_key.hpp"

#include <compiler_source_hash.hpp>

#include <set>

#include "codegen/host/target.hpp"
#include "codegen/version.hpp"
#include "support/key_text.hpp"
#include "abi/pass_options.hpp"
#include "abi/tensor_facts.hpp"
#include "target/gpu_target.hpp"
#include "tegula/config.hpp"
#include "transform/check_options.hpp"
#include "transform/pipeline.hpp"

namespace tegula::compiler {
namespace {

std::string facts_text(std::vector<TensorFacts> const& facts) {
  std::string text;
  for (TensorFacts const& of_one : facts) text += (text.empty() ? "{" : " {") + to_string(of_one) + "}";
  return text;
}

/// Lists the constants of an IR text once each, in its order: values that a lambda captured are among them.
std::string constants_of(std::string_view ir_text) {
  constexpr std::string_view begin = "constant {value = ";
  std::string text;
  std::set<std::string_view> seen;
  for (std::size_t at = ir_text.find(begin); at != std::string_view::npos; at = ir_text.find(begin, at)) {
    at += begin.size();
    std::string_view const value = ir_text.substr(at, ir_text.find('}', at) - at);
    if (seen.insert(value).second) text += (text.empty() ? "" : ", ") + std::string(value);
  }
  return text;
}

/// Names the passes that a target runs, one line for each of its pipelines: a kernel takes one of them.
std::string passes_of(CompileOptions const& options) {
  if (!options.pipeline.empty()) return options.pipeline;
  if (options.target == Target::host) return transform::to_string(transform::host_pipeline());
  return transform::to_string(transform::cuda_pipeline()) + "\n" + transform::to_string(transform::block_pipeline());
}

}  // namespace

std::string cache_key(std::string_view ir_text, CompileOptions const& options, std::string_view ir_hash) {
  transform::check_options(options);
  support::KeyText key;
  key.add("tegula", TEGULA_SOURCE_HASH).add("llvm", codegen::llvm_version());
  if (options.target == Target::host) {
    auto const& target = codegen::host::HostTarget::get(options.architecture);
    key.add("target", "host").add("architecture", target.cpu).add("features", target.features);
  } else {
    key.add("target", "cuda").add("architecture", target::gpu_target(options).architecture);
  }
  abi::for_each_pass_option(
      options, [&](std::string_view name, std::string_view, auto value) { key.add(name, abi::to_text(value)); });
  key.add("asserts", abi::to_text(options.asserts)).add("passes", passes_of(options));
  key.add("facts", facts_text(options.facts)).add("constants", constants_of(ir_text));
  key.add("ir_hash", ir_hash.empty() ? support::hash_hex(ir_text) : std::string(ir_hash)).add("ir", ir_text);
  return std::move(key).str();
}

bool shows_places(CompileOptions const& options) {
  return options.lines || options.checks.any() || options.profile.compiler;
}

std::string compiler_version() {
  constexpr std::size_t shown = 12;  // digits of the hash
  return std::string(TEGULA_VERSION " ") + std::string(std::string_view(TEGULA_SOURCE_HASH).substr(0, shown)) +
         ", LLVM " + std::string(codegen::llvm_version());
}

}  // namespace tegula::compiler
