// Compiles kernels given as IR text for the host and runs them on arrays with guarded borders; no runtime involved.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "codegen/host/host.hpp"
#include "compiler/compile.hpp"
#include "ir/core/builder.hpp"
#include "ir/text/text.hpp"
#include "ir/verify/verifier.hpp"
#include "sim/interpreter.hpp"
#include "../../samples/support/compare.hpp"
#include "support/catch.hpp"

namespace tegula::test {

/// Holds an array of any element with any strides inside an allocation whose unused bytes hold a pattern.
class Array {
 public:
  /// Makes it row-major, each stride after the innermost widened by `gap` elements; innermost stride `inner`.
  Array(Element element, std::vector<std::int64_t> extents, std::int64_t gap = 0, std::int64_t inner = 1)
      : element_(element), extents_(std::move(extents)), strides_(extents_.size()) {
    std::int64_t stride = inner;
    std::int64_t size = 1;
    for (std::size_t axis = extents_.size(); axis-- > 0;) {
      strides_[axis] = stride;
      size += stride * std::max<std::int64_t>(extents_[axis] - 1, 0);
      stride = stride * std::max<std::int64_t>(extents_[axis], 1) + gap;
    }
    bytes_.assign(static_cast<std::size_t>((size + 2 * guard) * tegula::bytes(element_)), pattern());
  }

  [[nodiscard]] std::int64_t count() const {
    std::int64_t total = 1;
    for (std::int64_t extent : extents_) total *= extent;
    return total;
  }
  [[nodiscard]] Element element() const { return element_; }
  [[nodiscard]] std::vector<std::int64_t> const& extents() const { return extents_; }
  [[nodiscard]] std::vector<std::int64_t> const& strides() const { return strides_; }
  [[nodiscard]] void* data() const {
    return const_cast<unsigned char*>(bytes_.data()) + guard * tegula::bytes(element_);
  }

  /// Returns the bits of element `i` in row-major order.
  [[nodiscard]] ir::Constant get(std::int64_t i) const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, at(i), static_cast<std::size_t>(tegula::bytes(element_)));
    if (is_integer(element_)) return ir::make_constant(element_, static_cast<std::int64_t>(bits));  // which cuts it
    return {element_, bits};
  }
  [[nodiscard]] double value(std::int64_t i) const { return ir::to_double(get(i)); }
  /// Tells whether element i holds its initial bytes, which in floats are a NaN.
  [[nodiscard]] bool unwritten(std::int64_t i) const {
    auto const* const bytes = static_cast<unsigned char const*>(at(i));
    return std::all_of(bytes, bytes + tegula::bytes(element_), [&](unsigned char byte) { return byte == pattern(); });
  }
  void set(std::int64_t i, ir::Constant value) {
    std::memcpy(at(i), &value.bits, static_cast<std::size_t>(tegula::bytes(element_)));
  }
  void set(std::int64_t i, double value) { set(i, ir::make_constant(element_, value)); }

  /// Draws values in [-2, 2) for floats, small integers of both signs (zero too), booleans.
  Array& randomise(unsigned seed, double scale = 2) {
    std::mt19937 engine(seed);
    std::uniform_real_distribution<double> real(-scale, scale);
    std::uniform_int_distribution<int> integer(-9, 9);
    for (std::int64_t i = 0; i < count(); ++i) {
      if (is_float(element_))
        set(i, real(engine));
      else if (element_ == Element::boolean)
        set(i, static_cast<double>(integer(engine) > 0));
      else
        set(i, static_cast<double>(integer(engine)));
    }
    return *this;
  }
  /// Tells whether bytes that belong to no element still hold the pattern.
  [[nodiscard]] bool untouched_outside() const {
    std::vector<bool> owned(bytes_.size());
    for (std::int64_t i = 0; i < count(); ++i) {
      auto const first = static_cast<std::size_t>(static_cast<unsigned char const*>(at(i)) - bytes_.data());
      for (int k = 0; k < tegula::bytes(element_); ++k) owned[first + static_cast<std::size_t>(k)] = true;
    }
    for (std::size_t i = 0; i < bytes_.size(); ++i)
      if (!owned[i] && bytes_[i] != pattern()) return false;
    return true;
  }
  [[nodiscard]] sim::Tensor tensor() const {
    sim::Tensor result;
    result.data = data();
    result.element = element_;
    for (std::int64_t extent : extents_) result.extents.push_back(extent);
    for (std::int64_t stride : strides_) result.strides.push_back(stride);
    return result;
  }

 private:
  static constexpr std::int64_t guard = 96;
  [[nodiscard]] unsigned char pattern() const {
    return is_float(element_) ? samples::poison_byte<float> : samples::poison_byte<int>;
  }
  [[nodiscard]] void* at(std::int64_t i) const {
    std::int64_t offset = 0;
    for (std::size_t axis = extents_.size(); axis-- > 0;) {
      offset += i % extents_[axis] * strides_[axis];
      i /= extents_[axis];
    }
    return static_cast<unsigned char*>(data()) + offset * tegula::bytes(element_);
  }
  Element element_;
  std::vector<std::int64_t> extents_, strides_;
  std::vector<unsigned char> bytes_;
};

/// Holds a kernel argument: an array or a scalar.
struct HostArgument {
  HostArgument(Array& to) : array(&to) {}
  HostArgument(ir::Constant value) : scalar(value) {}
  Array* array = nullptr;
  ir::Constant scalar;
};
using HostArguments = std::vector<HostArgument>;

inline ir::Module parse(std::string const& text) {
  ir::ParseResult result = ir::parse("tegula-ir 1\n" + text);
  INFO(result.diagnostics.str());
  REQUIRE(result.ok());
  return std::move(result.module);
}

inline sim::Arguments simulator_arguments(HostArguments const& arguments) {
  sim::Arguments result;
  for (HostArgument const& argument : arguments) {
    if (argument.array != nullptr)
      result.emplace_back(argument.array->tensor());
    else
      result.emplace_back(argument.scalar);
  }
  return result;
}

/// Returns facts that hold for these arguments.
inline std::vector<TensorFacts> facts_of(HostArguments const& arguments) {
  std::vector<TensorFacts> facts;
  for (HostArgument const& argument : arguments) {
    TensorFacts fact;
    if (argument.array != nullptr && !argument.array->extents().empty())
      fact.unit_inner_stride = argument.array->strides().back() == 1 || argument.array->extents().back() <= 1;
    facts.push_back(fact);
  }
  return facts;
}

struct RunOptions {
  std::string architecture;  ///< empty: this machine
  bool facts = true;         ///< specialise on the unit inner strides that hold
  int threads = 1;
  bool workspace = true;                      ///< false: as if there were none
  std::vector<std::byte>* profile = nullptr;  ///< takes the bytes of the kernel's log
};

/// Runs all phases of a compiled kernel.
inline void run_compiled(CompiledKernel const& compiled, HostArguments const& arguments,
                         RunOptions const& options = {}) {
  LoadedHostKernel const loaded = codegen::load_host(compiled);
  std::vector<std::int64_t> const steps = sim::evaluate(compiled.launch, simulator_arguments(arguments));
  std::vector<std::int64_t> slots;
  for (HostArgument const& argument : arguments) {
    if (argument.array == nullptr) {
      slots.push_back(static_cast<std::int64_t>(argument.scalar.bits));
      continue;
    }
    slots.push_back(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(argument.array->data())));
    for (std::int64_t extent : argument.array->extents()) slots.push_back(extent);
    for (std::int64_t stride : argument.array->strides()) slots.push_back(stride);
  }
  std::int64_t blocks = 1;
  for (std::int32_t step : compiled.launch.grid) {
    slots.push_back(step < 0 ? 1 : steps[static_cast<std::size_t>(step)]);
    blocks *= slots.back();
  }
  auto const aligned = [](std::int64_t bytes) {
    return std::unique_ptr<void, decltype(&std::free)>(
        std::aligned_alloc(64, static_cast<std::size_t>((bytes + 127) / 64 * 64)), &std::free);
  };
  std::int64_t const workspace_bytes =
      compiled.workspace_bytes < 0 ? 0 : steps[static_cast<std::size_t>(compiled.workspace_bytes)];
  bool const has_workspace = options.workspace && workspace_bytes > 0;
  auto const workspace = aligned(workspace_bytes);
  for (std::size_t phase = 0; phase < compiled.phases.size(); ++phase) {
    std::int32_t const step = compiled.phases[phase].blocks;
    std::int64_t const count = step < 0 ? blocks : has_workspace ? steps[static_cast<std::size_t>(step)] : 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < options.threads; ++t)
      threads.emplace_back([&, t] {
        auto const scratch = aligned(compiled.scratch_bytes);
        std::memset(scratch.get(), 0xFF, static_cast<std::size_t>(compiled.scratch_bytes));
        loaded.entries[phase](slots.data(), count * t / options.threads, count * (t + 1) / options.threads,
                              has_workspace ? workspace.get() : nullptr, scratch.get());
      });
    for (std::thread& thread : threads) thread.join();
  }
  if (options.profile != nullptr && loaded.profile != nullptr)
    options.profile->assign(loaded.profile, loaded.profile + profile_buffer_bytes(compiled.profile));
}

inline CompiledKernel compile_for(ir::Module const& module, HostArguments const& arguments,
                                  RunOptions const& options = {}) {
  CompileOptions compile;
  compile.architecture = options.architecture;
  if (options.facts) compile.facts = facts_of(arguments);
  return compiler::compile(module, compile);
}

inline void run_on_host(ir::Module const& module, HostArguments const& arguments, RunOptions const& options = {}) {
  run_compiled(compile_for(module, arguments, options), arguments, options);
}

/// Names what is wrong in an array that a kernel wrote; empty: nothing. `tolerance` is relative to the largest finite
/// magnitude of `expected`; 0: equal bits.
inline std::string difference_of(Array const& found, Array const& expected, double tolerance) {
  if (!found.untouched_outside()) return "bytes that belong to no element are written";
  double largest = 1e-30;
  for (std::int64_t k = 0; k < found.count(); ++k)
    if (std::isfinite(expected.value(k))) largest = std::max(largest, std::abs(expected.value(k)));
  samples::Comparison all(tolerance);
  for (std::int64_t k = 0; k < found.count(); ++k)
    if (found.get(k) != expected.get(k)) all.add(k, found.value(k), expected.value(k), largest, found.unwritten(k));
  return all.wrong() == 0 ? std::string() : all.str();
}

/// Runs the module on the host in every variant (three CPUs, with and without facts) and compares each written array
/// with the simulator, which rounds products as the CPU does. Bits are equal, or within `tolerance` relative to the
/// largest magnitude of the array. Names the first difference; empty: none.
inline std::string difference_from_simulator(ir::Module const& module, HostArguments const& arguments,
                                             double tolerance = 0) {
  std::vector<Array> initial;
  for (HostArgument const& argument : arguments)
    initial.push_back(argument.array != nullptr ? *argument.array : Array(Element::f32, {0}));
  std::vector<Array> expected = initial;
  auto const reset = [&] {
    for (std::size_t i = 0; i < arguments.size(); ++i)
      if (arguments[i].array != nullptr) *arguments[i].array = initial[i];
  };
  for (char const* architecture : {"x86-64-v2", "x86-64-v3", ""}) {
    CompileOptions rounding;
    if (!codegen::host_has_fma(architecture)) rounding.contraction = Choice::off;
    reset();
    ir::Module const reference = compiler::for_tiles(module, rounding);
    sim::Result const result = sim::run(reference.kernel(), simulator_arguments(arguments));
    if (!result.clean()) return "simulator: " + result.str();
    for (std::size_t i = 0; i < arguments.size(); ++i)
      if (arguments[i].array != nullptr) expected[i] = *arguments[i].array;
    for (bool const facts : {true, false}) {
      reset();
      RunOptions options;
      options.architecture = architecture;
      options.facts = facts;
      run_on_host(module, arguments, options);
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (arguments[i].array == nullptr) continue;
        std::string const difference = difference_of(*arguments[i].array, expected[i], tolerance);
        if (!difference.empty())
          return fmt::format("cpu {}{}, argument {}: {}", *architecture == '\0' ? "of this machine" : architecture,
                             facts ? ", facts" : ", no facts", i, difference);
      }
    }
  }
  return {};
}

inline void check_against_simulator(std::string const& text, HostArguments const& arguments, double tolerance = 0) {
  CHECK(difference_from_simulator(parse(text), arguments, tolerance) == "");
}

}  // namespace tegula::test
