#include "compiler/cache_key.hpp"

#include <compiler_source_hash.hpp>

#include "codegen/host/target.hpp"
#include "codegen/version.hpp"
#include "support/key_text.hpp"
#include "abi/pass_options.hpp"
#include "abi/tensor_facts.hpp"

namespace tegula::compiler {
namespace {

std::string facts_text(std::vector<TensorFacts> const& facts) {
  std::string text;
  for (TensorFacts const& of_one : facts) text += (text.empty() ? "{" : " {") + to_string(of_one) + "}";
  return text;
}

}  // namespace

std::string cache_key(std::string_view ir_text, CompileOptions const& options) {
  support::KeyText key;
  key.add("tegula", TEGULA_SOURCE_HASH).add("llvm", codegen::llvm_version());
  if (options.target == Target::host) {
    auto const& target = codegen::host::HostTarget::get(options.architecture);
    key.add("target", "host").add("architecture", target.cpu).add("features", target.features);
  } else {
    key.add("target", "cuda").add("architecture", options.architecture);
  }
  abi::for_each_pass_option(
      options, [&](std::string_view name, std::string_view, auto value) { key.add(name, abi::to_text(value)); });
  key.add("asserts", abi::to_text(options.asserts)).add("pipeline", options.pipeline);
  key.add("facts", facts_text(options.facts)).add("ir", ir_text);
  return std::move(key).str();
}

}  // namespace tegula::compiler
