// Reads kernels from IR text, compiles them for a CUDA device and launches them with arguments by name.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rig/tensors.hpp"
#include "runtime/loaded_kernel.hpp"
#include "runtime/prepared_launch.hpp"
#include "tegula/abi/compiled_kernel.hpp"

namespace tegula::bench {

/// Gives the folder of hand-written kernels: ir/target under TEGULA_TEST_DIR, else beside the program, else of the
/// source tree.
std::filesystem::path target_folder();

class KernelFile {
 public:
  /// Reads and compiles. Throws UserError or InternalError.
  explicit KernelFile(std::filesystem::path const& path);

  [[nodiscard]] std::string const& label() const { return label_; }  ///< the file's name
  [[nodiscard]] std::string const& kernel() const { return compiled_.name; }

  /// Gives the registers, spills and notes that ptxas reports, or the reason if there is no ptxas.
  [[nodiscard]] std::string resources() const;
  void load(device where);

  /// Makes a launch with arguments found by the parameters' names. Integer tensors of no argument's name are counters:
  /// one element per launch prepared, zero at first. Throws UserError for other names that are not given.
  [[nodiscard]] std::function<void(stream const&)> prepare(std::map<std::string, Argument> const& arguments) const;

 private:
  struct Parameter {
    std::string name;
    ParameterInfo info;
  };
  std::string label_;
  std::vector<Parameter> parameters_;
  CompiledKernel compiled_;
  std::shared_ptr<runtime::LoadedKernel const> loaded_;
};

}  // namespace tegula::bench
