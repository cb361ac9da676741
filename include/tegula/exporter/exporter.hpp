// Names the kernels that are compiled while a program is built. The sources that the CMake function tegula_kernels()
// takes include this header, and <tegula/dsl/dsl.hpp> where they write kernels, and define objects `exported`:
//
//   static tegula::exported const gemm_entry("gemm", gemm<128, 256, 64>(bias_relu));
#pragma once

#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "tegula/jit/launch.hpp"

namespace tegula {
namespace jit {

/// Bounds an extent of a tensor argument; parameters and axes count from 0.
struct ExportLimit {
  int parameter;
  int axis;
  std::int64_t max;
};

/// Holds one configuration of an exported kernel, without its type.
struct ExportedForm {
  KernelRef kernel;
  CompileOptions options;
  std::vector<ExportLimit> limits;
  std::string label = {};  ///< of one of several kernels
};

/// Adds a kernel to those that the exporter compiles. Throws UserError for a name that is not an identifier of C++ or
/// was exported before.
void export_kernel(char const* name, std::vector<ExportedForm> forms);

/// Adds variants under one name, with their tables.
void export_variants(char const* name, KernelRef const& kernels);

/// Adds a function whose launches are embedded.
void export_launches(void (*function)(device where));

/// Is the main function of the program that compiles the exported kernels: returns its exit status.
int exporter_main(int count, char** values);

}  // namespace jit

/// Holds a kernel with the options to compile it with, and the extents up to which it is chosen.
template <class F>
class configuration {
 public:
  explicit configuration(Kernel<F> const& kernel, CompileOptions options = {})
      : kernel_(kernel), options_(std::move(options)) {}
  /// Limits the configuration to launches in which the tensor argument `parameter` has at most `max` elements along
  /// `axis`; both count from 0. Several limits hold together.
  configuration&& up_to(int parameter, int axis, std::int64_t max) && {
    limits_.push_back({parameter, axis, max});
    return static_cast<configuration&&>(*this);
  }

  [[nodiscard]] jit::ExportedForm form() const { return {jit::reference(kernel_), options_, limits_, {}}; }

 private:
  Kernel<F> kernel_;
  CompileOptions options_;
  std::vector<jit::ExportLimit> limits_;
};

/// Exports a kernel under a name, which becomes an identifier in the generated header. An object of static duration:
/// the exporter compiles the kernel for each target, with and without the facts that TMA needs.
///
/// A kernel may have several configurations of one signature: a launch takes the first one whose limits hold. The last
/// one usually has none.
///
///   static tegula::exported const product("product", tegula::configuration(gemm<64, 64, 64>).up_to(0, 0, 512),
///                                         tegula::configuration(gemm<128, 256, 64>));
///
/// `target`, `architecture` and `facts` of the options are the exporter's to choose.
template <class... F>
class exported {
  template <class First, class... Rest>
  static constexpr bool alike(detail::TypeList<First, Rest...>) {
    return (std::is_same_v<typename Kernel<First>::parameters, typename Kernel<Rest>::parameters> && ...);
  }
  static_assert(sizeof...(F) > 0, "exported: at least one kernel must be given");
  static constexpr bool same_parameters = alike(detail::TypeList<F...>());
  static_assert(same_parameters, "exported: all configurations of a kernel must have the same parameters");

 public:
  explicit exported(char const* name, configuration<F>... configurations)
      : configurations_(static_cast<configuration<F>&&>(configurations)...) {
    std::apply([&](auto const&... each) { jit::export_kernel(name, {each.form()...}); }, configurations_);
  }
  exported(char const* name, Kernel<F> const&... kernel, CompileOptions options = {}) requires(sizeof...(F) == 1)
      : exported(name, configuration<F>(kernel, options)...) {}
  exported(exported const&) = delete;
  exported& operator=(exported const&) = delete;

 private:
  std::tuple<configuration<F>...> configurations_;
};

/// Exports variants: all kernels are embedded, and a launch takes the one that their tuned tables name for the nearest
/// problem. Where no table is for the device it takes the first one: the program has no model of the cost.
template <class... F>
class exported<Variants<F...>> {
 public:
  explicit exported(char const* name, Variants<F...> kernels) : kernels_(static_cast<Variants<F...>&&>(kernels)) {
    jit::export_variants(name, jit::reference(kernels_));
  }
  exported(exported const&) = delete;
  exported& operator=(exported const&) = delete;

 private:
  Variants<F...> kernels_;
};
/// Exports the kernels of a program's own launches: `tegula_kernels(app LAUNCHES recorded.cpp)` takes a source with
/// such an object. The exporter calls the function for each target, with a device that need not be there. Launches
/// and preparations in it are recorded and not run: memory of the device is cleared, and copies take place. The
/// program then launches the same kernel objects, by embedded code; so it needs no list of them.
///
///   static tegula::exported_launches const entry([](tegula::device where) { my_program::all_launches(where); });
///
/// A launch of the program finds the code of a recorded one with the same kernel, options and facts of the tensors
/// (unit inner stride, 16 bytes). Extents and numbers may differ. Kernels stand in a header, `inline constexpr`, and
/// capture nothing.
class exported_launches {
 public:
  explicit exported_launches(void (*function)(device where)) { jit::export_launches(function); }
  exported_launches(exported_launches const&) = delete;
  exported_launches& operator=(exported_launches const&) = delete;
};

template <class... F>
exported(char const*, Variants<F...>) -> exported<Variants<F...>>;
template <class... F>
exported(char const*, configuration<F>...) -> exported<F...>;
template <class F>
exported(char const*, Kernel<F>) -> exported<F>;
template <class F>
exported(char const*, Kernel<F>, CompileOptions) -> exported<F>;

}  // namespace tegula
