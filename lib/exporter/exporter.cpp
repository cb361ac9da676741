// Compiles the exported kernels for the targets of the command line, and writes header, source and archive.
//
// Exit status: 0; 1 for a mistake in the command line or in a kernel; 2 for an internal error.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <set>

#include "exporter/form_compiler.hpp"
#include "exporter/generated_text.hpp"
#include "exporter/recorded_launches.hpp"
#include "jit/choose.hpp"
#include "jit/kernel_memo.hpp"
#include "jit/launch_options.hpp"
#include "jit/recording.hpp"
#include "runtime/cuda/described_device.hpp"
#include "support/files.hpp"
#include "support/identifier.hpp"
#include "support/locks.hpp"
#include "target/gpu_target.hpp"
#include "tegula/exporter/exporter.hpp"
#include "tegula/support/error.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula {
namespace exporter {
namespace {

struct Export {
  std::string name;
  std::vector<jit::ExportedForm> forms;
  std::vector<TunedTable const*> tables;
  std::string mistake;  ///< found while the program began, when nothing could catch an exception
};

/// Lists the exported kernels in the order in which their objects are made.
std::vector<Export>& exports() {
  static constinit support::Lasting<std::vector<Export>> list;
  return list.get();
}

/// Lists the functions whose launches are recorded.
std::vector<void (*)(device)>& launch_functions() {
  static constinit support::Lasting<std::vector<void (*)(device)>> list;
  return list.get();
}

struct Arguments {
  std::string library, header, source, archive;
  std::string cpu = "x86-64-v3";
  std::vector<std::string> architectures;
};

/// Compiles the kernels that objects `exported` name.
class Exporter {
 public:
  explicit Exporter(Arguments const& arguments) : arguments_(arguments) {}

  CompiledExport compiled(Export const& kernel) {
    CompiledExport result;
    result.name = kernel.name;
    result.tables = kernel.tables;
    for (jit::ExportedForm const& form : kernel.forms) {
      std::shared_ptr<jit::Traced const> const traced = jit::traced(form.kernel);
      result.parameters = traced->kernel.parameters();
      check_limits(kernel.name, form, result.parameters);
      CompiledConfiguration configuration;
      configuration.label = form.label;
      configuration.limits = form.limits;
      for (std::string const& architecture : arguments_.architectures)
        for (bool const dense : {true, false})
          add_form(kernel.name, *traced, form, architecture, dense, configuration.forms);
      result.configurations.push_back(std::move(configuration));
    }
    return result;
  }

  FormCompiler& compiler() { return compiler_; }

 private:
  static void check_limits(std::string const& name, jit::ExportedForm const& form,
                           std::vector<ParameterInfo> const& parameters) {
    for (jit::ExportLimit const& limit : form.limits) {
      auto const count = static_cast<int>(parameters.size());
      bool const tensor = limit.parameter >= 0 && limit.parameter < count &&
                          parameters[static_cast<std::size_t>(limit.parameter)].kind == ParameterKind::tensor;
      if (!tensor || limit.axis < 0 || limit.axis >= parameters[static_cast<std::size_t>(limit.parameter)].rank)
        throw UserError(
            fmt::format("{}: up_to({}, {}, {}): the kernel has no tensor parameter {} with an axis {}; both "
                        "count from 0",
                        name, limit.parameter, limit.axis, limit.max, limit.parameter, limit.axis));
    }
  }

  /// Compiles for a target: for dense tensors, which TMA copies, or for any.
  void add_form(std::string const& name, jit::Traced const& traced, jit::ExportedForm const& form,
                std::string const& architecture, bool dense, std::vector<CompiledForm>& forms) {
    CompileOptions options = form.options;
    bool const host = architecture == "host";
    options.facts.clear();
    bool any_tensor = false;
    for (ParameterInfo const& parameter : traced.kernel.parameters()) {
      TensorFacts facts;
      bool const tensor = parameter.kind == ParameterKind::tensor;
      facts.unit_inner_stride = tensor && dense;
      facts.aligned_16 = tensor && dense && !host;
      facts.whole_16 = facts.aligned_16 && parameter.rank > 1;
      any_tensor = any_tensor || tensor;
      options.facts.push_back(facts);
    }
    if (!dense && !any_tensor) return;
    forms.push_back(compiler_.compile({arguments_.library, name, architecture, arguments_.cpu}, traced, options,
                                      dense ? "dense tensors" : "any tensors"));
  }

  Arguments const& arguments_;
  FormCompiler compiler_;
};

void write(std::string const& path, std::string const& text) {
  if (!support::write_named_file(path, text))
    throw UserError(fmt::format("cannot write {}: {}; name a file that can be written", path, std::strerror(errno)));
}

/// Calls the functions for each architecture. None of it need be here: launches are taken, and do not run.
void record(std::vector<std::string> const& architectures, RecordedLaunches& launches) {
  if (launch_functions().empty()) return;
  for (std::string const& architecture : architectures) {
    device where;
    if (architecture != "host") {
      TargetInfo const* const target = find_target(architecture);
      if (target == nullptr)
        throw UserError(
            fmt::format("--arch {}: kernels can be compiled for host, {}", architecture, target::known_targets()));
      runtime::cuda::describe_device(*target);
      where = device::cuda(0);
    }
    launches.begin(architecture);
    jit::record_launches(&launches);
    for (auto* const function : launch_functions()) function(where);
    jit::record_launches(nullptr);
    if (launches.launches() == 0)
      throw UserError(
          fmt::format("exported_launches: nothing was launched on {} ({}); the function must launch or "
                      "prepare what the program does, on the device that it gets",
                      where.str(), architecture));
  }
}

void run(Arguments const& arguments) {
  if (!support::is_identifier(arguments.library))
    throw UserError(fmt::format("the name '{}' is not an identifier of C++; give tegula_kernels() a NAME that is",
                                arguments.library));
  if (exports().empty() && launch_functions().empty())
    throw UserError("no kernel is exported: define an object `static tegula::exported const entry(\"name\", kernel);`");
  Exporter exporter(arguments);
  RecordedLaunches launches;  // whose tables the kernels refer to
  std::vector<CompiledExport> kernels;
  for (Export const& kernel : exports()) {
    if (!kernel.mistake.empty()) throw UserError(kernel.mistake);
    kernels.push_back(exporter.compiled(kernel));
  }
  record(arguments.architectures, launches);
  for (CompiledExport& kernel : launches.compiled(arguments.library, arguments.cpu, exporter.compiler()))
    kernels.push_back(std::move(kernel));
  exporter.compiler().write_archive(arguments.archive);
  std::string const header = std::filesystem::path(arguments.header).filename().string();
  write(arguments.source, source_text(arguments.library, header, kernels));
  write(arguments.header, header_text(arguments.library, kernels));
}

int main_of(int count, char** values) {
  Arguments arguments;
  CLI::App app{"Compiles the kernels that this program exports, and writes what another program embeds."};
  app.add_option("--name", arguments.library, "namespace of the generated header")->required();
  app.add_option("--arch", arguments.architectures, "targets: host, or a GPU of gpu_targets")->required();
  app.add_option("--cpu", arguments.cpu, "level of the host's CPU: x86-64-v2, x86-64-v3 or x86-64-v4");
  app.add_option("--header", arguments.header, "the header to write")->required();
  app.add_option("--source", arguments.source, "the source to write")->required();
  app.add_option("--archive", arguments.archive, "the archive of host code to write")->required();
  try {
    app.parse(count, values);
    run(arguments);
    return 0;
  } catch (CLI::ParseError const& error) {
    return app.exit(error) == 0 ? 0 : 1;
  } catch (UserError const& error) {
    std::cerr << "tegula_kernels: " << error.what() << '\n';
    return 1;
  } catch (std::exception const& error) {
    std::cerr << "tegula_kernels: " << error.what() << '\n';
    return 2;
  }
}

}  // namespace
}  // namespace exporter

namespace {

void add(exporter::Export kernel) {
  if (!support::is_identifier(kernel.name))
    kernel.mistake = fmt::format("exported: '{}' is not an identifier of C++", kernel.name);
  for (exporter::Export const& other : exporter::exports())
    if (other.name == kernel.name)
      kernel.mistake = fmt::format("exported: two kernels have the name '{}'", kernel.name);
  exporter::exports().push_back(std::move(kernel));
}

}  // namespace

void jit::export_kernel(char const* name, std::vector<ExportedForm> forms) { add({name, std::move(forms), {}, ""}); }

void jit::export_launches(void (*function)(device where)) { exporter::launch_functions().push_back(function); }

void jit::export_variants(char const* name, KernelRef const& kernels) {
  exporter::Export all{name, {}, {}, ""};
  std::vector<std::string> const labels = labels_of(kernels);
  for (int i = 0; i < kernels.members; ++i) {
    KernelRef kernel = kernels.member(kernels.kernel, i);
    CompileOptions const options = chosen_options(kernel);
    kernel.options = nullptr;
    all.forms.push_back({kernel, options, {}, labels[static_cast<std::size_t>(i)]});
  }
  for (TunedTable const* table : kernels.tables)
    if (table != nullptr) all.tables.push_back(table);
  add(std::move(all));
}

}  // namespace tegula

int tegula::jit::exporter_main(int count, char** values) { return exporter::main_of(count, values); }
