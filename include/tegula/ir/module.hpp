// Holds a module of IR as an opaque object: reads it from text, prints it, verifies it, hands it on.
#pragma once

#include <string>
#include <string_view>

namespace tegula::ir {

class Module;  // lib/ir/core/op.hpp

/// Owns one module. Movable, not copyable (clone copies explicitly); a moved-from handle may only be assigned to.
class ModuleHandle {
 public:
  /// Reads IR text. Throws UserError with line and column, the found and the expected text.
  static ModuleHandle parse(std::string_view text);

  /// Takes over a module made inside the library.
  explicit ModuleHandle(Module&& module);
  ModuleHandle(ModuleHandle&& other) noexcept;
  ModuleHandle& operator=(ModuleHandle&& other) noexcept;
  ~ModuleHandle();

  /// Returns the text; `parse` of it returns an equal module. With locations, each op states its source line.
  [[nodiscard]] std::string print(bool locations = false) const;
  /// Throws UserError with the first finding if the module is not well-formed.
  void verify() const;
  [[nodiscard]] ModuleHandle clone() const;

  [[nodiscard]] Module& get() { return *module_; }
  [[nodiscard]] Module const& get() const { return *module_; }

 private:
  Module* module_;
};

}  // namespace tegula::ir
