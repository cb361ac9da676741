// Collects the launches that a program records, and compiles their kernels.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exporter/form_compiler.hpp"
#include "exporter/generated_text.hpp"
#include "jit/recording.hpp"
#include "jit/traced.hpp"

namespace tegula::exporter {

/// Collects launches. A kernel, with the options of its launch, has a configuration for each class of extents
/// (jit/extent_class.hpp) or each of several kernels; a configuration has a form for each architecture and set of facts
/// of its tensors.
class RecordedLaunches : public jit::LaunchRecorder {
 public:
  /// Says for which architecture the launches are that follow.
  void begin(std::string architecture);
  void add(jit::KernelRef const& kernels, std::span<Argument const> arguments, GridOverride const& grid,
           device where) override;
  /// Counts the launches since begin().
  [[nodiscard]] int launches() const { return launches_; }

  /// Compiles all kernels. The tables of the results belong to this object.
  std::vector<CompiledExport> compiled(std::string const& library, std::string const& cpu, FormCompiler& compiler);

 private:
  struct Form {
    std::string architecture;
    std::vector<TensorFacts> facts;
    friend bool operator==(Form const&, Form const&) = default;
  };
  struct Configuration {
    std::string label;
    std::shared_ptr<jit::Traced const> source;
    CompileOptions options;
    std::vector<Form> forms;
  };
  struct Kernel {
    std::string name, type, place, options;
    std::vector<Configuration> configurations = {};
    std::vector<TunedTable const*> tables = {};  ///< of variants
    /// Holds the label for each problem, by architecture.
    std::map<std::string, std::map<std::vector<std::int64_t>, std::string>> problems = {};
  };
  /// Holds a table of problems with all that it refers to.
  struct Table {
    std::string architecture;
    std::vector<TunedChoice> choices;
    TunedTable table;
  };

  Kernel& kernel_of(jit::KernelRef const& kernel);
  Configuration& configuration_of(Kernel& kernel, std::string const& label, jit::KernelRef const& member);
  void add_form(Configuration& configuration, std::span<Argument const> arguments) const;
  std::vector<TunedTable const*> tables_of(Kernel const& kernel);

  std::string architecture_;
  int launches_ = 0;
  std::deque<Kernel> kernels_;
  std::deque<Table> tables_;
};

}  // namespace tegula::exporter
