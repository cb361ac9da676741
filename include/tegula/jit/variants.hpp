// Provides variants: several kernels of one signature that launch as one.
#pragma once

#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "tegula/abi/compile_options.hpp"
#include "tegula/aot/launches.hpp"
#include "tegula/dsl/kernel.hpp"
#include "tegula/jit/launcher.hpp"
#include "tegula/abi/tuned_table.hpp"

namespace tegula {

/// Holds compile options for one call: `launch(stream, with(options), kernel, arguments...)`. Every field of the
/// options is part of the cache key, and launches with different options keep different code. Target, architecture and
/// facts follow from the call, and options that state them are a UserError.
class with {
 public:
  explicit with(CompileOptions options) : options_(static_cast<CompileOptions&&>(options)) {}
  [[nodiscard]] CompileOptions const& options() const { return options_; }

 private:
  CompileOptions options_;
};

namespace jit {

/// Names a type as typeid does; empty in programs without the information.
template <class T>
constexpr char const* type_name() {
#if defined(__GXX_RTTI)
  return typeid(T).name();
#else
  return "";
#endif
}

/// Refers to a kernel object, with the options that a call states.
template <class F>
KernelRef reference(Kernel<F> const& kernel, CompileOptions const* options = nullptr) {
  KernelRef result;
  result.name = kernel.name();
  if constexpr (Kernel<F>::captureless) result.identity = &Kernel<F>::identity;
  result.kernel = &kernel;
  result.trace = [](void const* of) { return static_cast<Kernel<F> const*>(of)->trace(); };
  result.options = options;
  result.type = type_name<F>();
  result.where = kernel.where();
  result.captures = !Kernel<F>::captureless;
  return result;
}

}  // namespace jit

/// Holds one of several kernels, with a label and the options that it is compiled with. Made by variant().
template <class F>
class Variant {
 public:
  Variant(std::string label, Kernel<F> const& kernel) : kernel_(kernel), label_(std::move(label)) {}
  Variant(std::string label, with const& chosen, Kernel<F> const& kernel)
      : kernel_(kernel), label_(std::move(label)), options_(chosen.options()), states_options_(true) {}

  /// Returns the erased reference that the launcher uses for this member.
  [[nodiscard]] jit::KernelRef reference() const {
    jit::KernelRef result = jit::reference(kernel_, states_options_ ? &options_ : nullptr);
    result.label = label_.c_str();
    return result;
  }

 private:
  Kernel<F> kernel_;
  std::string label_;
  CompileOptions options_;
  bool states_options_ = false;
};

/// Names a kernel among others of variants(), and states its compile options: those that its C++ text does not
/// state (stages, warps, split, persistence). Without a label it has the kernel's name. Tuned tables find a kernel
/// by its label, so give one where kernels share a name.
///
///   variant("128x256, 3 stages", with({.stages = 3}), gemm<128, 256, 64>)
template <class F>
[[nodiscard]] Variant<F> variant(std::string label, Kernel<F> const& kernel) {
  return {std::move(label), kernel};
}
template <class F>
[[nodiscard]] Variant<F> variant(std::string label, with const& chosen, Kernel<F> const& kernel) {
  return {std::move(label), chosen, kernel};
}
template <class F>
[[nodiscard]] Variant<F> variant(with const& chosen, Kernel<F> const& kernel) {
  return {kernel.name(), chosen, kernel};
}

/// Holds several kernels that launch as one. Made by variants().
template <class F, class... Others>
class Variants {
 public:
  using parameters = typename Kernel<F>::parameters;
  static_assert((std::is_same_v<parameters, typename Kernel<Others>::parameters> && ...),
                "variants: all kernels must take the parameters of the first");

  Variants(char const* name, Variant<F> first, Variant<Others>... others)
      : members_(std::move(first), std::move(others)...), name_(name) {}

  [[nodiscard]] char const* name() const { return name_; }

  /// Returns the same kernels with a table of measured choices. Of several tables, that of the device decides. The
  /// table must live as long as the result.
  [[nodiscard]] Variants tuned(TunedTable const& table) const {
    Variants result = *this;
    for (TunedTable const*& place : result.tables_)
      if (place == nullptr) {
        place = &table;
        return result;
      }
    jit::refuse_table(name_, max_tables);
  }

  /// Refers to them; a launch takes one.
  [[nodiscard]] jit::KernelRef reference(CompileOptions const* options) const {
    jit::KernelRef result;
    result.name = name_;
    result.kernel = this;
    result.options = options;
    result.type = jit::type_name<Variants>();
    result.members = 1 + static_cast<int>(sizeof...(Others));
    result.member = [](void const* of, int number) {
      jit::KernelRef found;
      int at = 0;
      std::apply([&](auto const&... each) { ((at++ == number ? (void)(found = each.reference()) : void()), ...); },
                 static_cast<Variants const*>(of)->members_);
      return found;
    };
    result.tables = {tables_, max_tables};
    return result;
  }

 private:
  static constexpr int max_tables = 8;
  std::tuple<Variant<F>, Variant<Others>...> members_;
  char const* name_;
  TunedTable const* tables_[max_tables] = {};
};

namespace detail {

template <class F>
Variant<F> as_variant(Kernel<F> const& kernel) {
  return {kernel.name(), kernel};
}
template <class F>
Variant<F> as_variant(Variant<F> member) {
  return member;
}

template <class F, class... Others>
Variants<F, Others...> variants_of(char const* name, Variant<F> first, Variant<Others>... others) {
  return {name, std::move(first), std::move(others)...};
}

template <class K>
inline constexpr bool launches = false;
template <class F>
inline constexpr bool launches<Kernel<F>> = true;
template <class... F>
inline constexpr bool launches<Variants<F...>> = true;

}  // namespace detail

/// Joins kernels of one signature into one that launch(), prepare(), explain(), simulate() and profile() take. Each
/// launch takes one of them: by a tuned table (see tune()), else by a model of the cost from extents and device. The
/// others are never compiled, and with a table never traced. The order is the author's preference: it decides
/// where costs are equal.
///
///   inline auto const gemm = variants("gemm", gemm_tile<128, 256, 64>, gemm_tile<64, 128, 64>,
///                                     variant("split", with({.split = 4}), gemm_tile<128, 128, 64>))
///                                .tuned(gemm_sm_90a);
template <class... Members>
[[nodiscard]] auto variants(char const* name, Members const&... members) {
  static_assert(sizeof...(Members) > 0, "variants: at least one kernel must be given");
  return detail::variants_of(name, detail::as_variant(members)...);
}

/// Describes what launches: a kernel, or variants.
template <class K>
concept Launchable = detail::launches<K>;

namespace jit {

template <class... F>
KernelRef reference(Variants<F...> const& kernels, CompileOptions const* options = nullptr) {
  return kernels.reference(options);
}

// Defines the kernels that launch() and prepare() hand to the launcher. A program that embeds the kernels of its own
// launches names them: nothing of the compiler is referred to, and the lambdas are not called.
#if defined(TEGULA_EMBEDDED)
template <class F>
inline constexpr bool has_no_captures = Kernel<F>::captureless;

template <class F>
aot::KernelKey called(Kernel<F> const& kernel, CompileOptions const* options = nullptr) {
  static_assert(has_no_captures<F>,
                "launch: an embedded kernel must not capture anything: the build cannot know the values");
  return {kernel.name(), type_name<F>(), kernel.where(), options};
}
template <class... F>
aot::KernelKey called(Variants<F...> const& kernels, CompileOptions const* options = nullptr) {
  static_assert((has_no_captures<F> && ...),
                "launch: an embedded kernel must not capture anything: the build cannot know the values");
  return {kernels.name(), type_name<Variants<F...>>(), {}, options};
}
using aot::launch;
using aot::prepare;
#else
template <Launchable K>
KernelRef called(K const& kernel, CompileOptions const* options = nullptr) {
  return reference(kernel, options);
}
#endif

}  // namespace jit

}  // namespace tegula
