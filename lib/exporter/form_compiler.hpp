// Compiles one form of a kernel at a time, and keeps the objects for the host.
#pragma once

#include <string>
#include <vector>

#include "exporter/generated_text.hpp"
#include "jit/traced.hpp"

namespace tegula::exporter {

/// Names what a form is compiled for.
struct FormPlace {
  std::string library;       ///< namespace of the generated header
  std::string symbol;        ///< of the kernel there
  std::string architecture;  ///< host or a GPU
  std::string cpu;           ///< of the host
};

class FormCompiler {
 public:
  /// Compiles a kernel with these options, which need not state target and architecture. `about` says in texts what the
  /// form needs of its tensors. Prints a line with the bytes of its code.
  CompiledForm compile(FormPlace const& place, jit::Traced const& traced, CompileOptions options,
                       std::string const& about);
  /// Writes the objects for the host.
  void write_archive(std::string const& path) const;

 private:
  struct Object {
    std::string name, bytes;
  };
  std::vector<Object> objects_;
};

}  // namespace tegula::exporter
