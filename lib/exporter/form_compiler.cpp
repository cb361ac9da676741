#include "exporter/form_compiler.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "codegen/host/archive.hpp"
#include "compiler/compile.hpp"
#include "ir/core/op.hpp"
#include "runtime/cache/serialize.hpp"
#include "runtime/cuda/ptxas.hpp"
#include "support/options.hpp"
#include "trace/traced_kernel.hpp"

namespace tegula::exporter {
namespace {

/// Turns PTX into a cubin where ptxas is installed.
std::string assembled(CompiledKernel& kernel) {
  support::Options const& environment = support::options();
  if (runtime::cuda::find_ptxas(environment).empty()) return ", PTX";
  kernel.image = runtime::cuda::assemble(environment, kernel.image, kernel.architecture, kernel.name).cubin;
  kernel.image_kind = ImageKind::cubin;
  return ", cubin";
}

}  // namespace

CompiledForm FormCompiler::compile(FormPlace const& place, jit::Traced const& traced, CompileOptions options,
                                   std::string const& about) {
  bool const host = place.architecture == "host";
  options.target = host ? Target::host : Target::cuda;
  options.architecture = host ? place.cpu : place.architecture;
  ir::Module module = trace::module(traced.kernel).clone();
  std::size_t const number = objects_.size();
  module.kernel().set_name(fmt::format("{}.{}.{}", place.library, place.symbol, number));
  CompiledKernel kernel = compiler::compile(module, options);
  kernel.name = traced.kernel.name();
  CompiledForm result;
  result.target = fmt::format("{}, {}{}", kernel.architecture, about, host ? "" : assembled(kernel));
  result.code_bytes = kernel.image.size();
  if (host) {
    for (HostPhase const& phase : kernel.phases) result.entries.push_back(phase.entry);
    objects_.push_back({fmt::format("{}.{}.o", place.symbol, number), std::move(kernel.image)});
    kernel.image.clear();
  }
  result.serialised = runtime::serialize(kernel);
  std::printf("%s: %s, %zu bytes of code\n", place.symbol.c_str(), result.target.c_str(), result.code_bytes);
  return result;
}

void FormCompiler::write_archive(std::string const& path) const {
  std::vector<codegen::ArchiveMember> members;
  for (Object const& object : objects_) members.push_back({object.name, object.bytes});
  codegen::write_archive(path, members);
}

}  // namespace tegula::exporter
