#include "rig/kernel_file.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "compiler/compile.hpp"
#include "ir/text.hpp"
#include "ir/verifier.hpp"
#include "runtime/cuda/ptxas.hpp"
#include "runtime/cuda/ptxas_log.hpp"
#include "support/options.hpp"
#include "tegula/support/error.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::bench {
namespace {

namespace fs = std::filesystem;

ir::Module read(fs::path const& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw UserError("cannot read " + path.string());
  ir::ParseResult parsed = ir::parse(std::string(std::istreambuf_iterator<char>(stream), {}));
  if (parsed.ok()) parsed.diagnostics.append(ir::verify(parsed.module, &parsed.positions));
  if (parsed.diagnostics.has_errors()) support::throw_user_error(parsed.diagnostics, path.filename().string());
  return std::move(parsed.module);
}

}  // namespace

fs::path target_folder() {
  if (char const* given = std::getenv("TEGULA_TEST_DIR")) return fs::path(given) / "ir/target";
  std::error_code error;
  fs::path const beside = fs::read_symlink("/proc/self/exe", error).parent_path() / "test/ir/target";
  if (!error && fs::exists(beside, error)) return beside;
  return fs::path(TEGULA_BENCH_SOURCE_DIR) / "test/ir/target";
}

KernelFile::KernelFile(fs::path const& path) : label_(path.filename().string()) {
  ir::Module const module = read(path);
  CompileOptions options;
  options.target = Target::cuda;
  options.architecture = gpu_targets.front()->architecture;
  compiled_ = compiler::compile(module, options);
  ir::Function const& kernel = module.kernel();
  for (int i = 0; i < kernel.parameter_count(); ++i)
    parameters_.push_back({kernel.parameter(i)->name(), compiled_.parameters[static_cast<std::size_t>(i)]});
}

std::string KernelFile::resources() const {
  support::Options const& options = support::options();
  if (runtime::cuda::find_ptxas(options).empty()) return "no ptxas in PATH";
  auto const assembly = runtime::cuda::assemble(options, compiled_.image, compiled_.architecture, compiled_.name);
  auto const report = runtime::cuda::parse_assembly_log(assembly.log);
  std::string text = fmt::format("{} threads, {} registers, {} bytes of shared memory, {} bytes of spills and stack",
                                 compiled_.threads_per_cta, report.registers, compiled_.shared_bytes,
                                 report.stack_bytes + report.spill_store_bytes + report.spill_load_bytes);
  for (auto const& note : report.notes) text += fmt::format("; {} {}", note.code, note.text);
  return text;
}

void KernelFile::load(device where) { loaded_ = runtime::load_on(compiled_, where); }

std::function<void(stream const&)> KernelFile::prepare(std::map<std::string, Argument> const& arguments) const {
  std::vector<Argument> given;
  auto const counters = std::make_shared<std::vector<std::unique_ptr<DeviceTensor>>>();
  for (Parameter const& parameter : parameters_) {
    auto const found = arguments.find(parameter.name);
    if (found != arguments.end()) {
      given.push_back(found->second);
    } else if (parameter.info.kind == ParameterKind::tensor && is_integer(parameter.info.element)) {
      std::vector<std::int64_t> const one(static_cast<std::size_t>(parameter.info.rank), 1);
      counters->push_back(std::make_unique<DeviceTensor>(loaded_->where, parameter.info.element, one));
      counters->back()->zero();
      given.push_back(counters->back()->argument(false));
    } else {
      throw UserError(fmt::format("{}: the bench has no argument for parameter %{}", label_, parameter.name));
    }
  }
  auto const prepared = std::make_shared<runtime::PreparedLaunch>(loaded_, given);
  return [prepared, counters](stream const& order) { prepared->run(order); };
}

}  // namespace tegula::bench
