// Declares the launcher behind the typed templates of launch.hpp: it sees kernels and arguments without their types.
#pragma once

#include <cstdint>
#include <string>

#include "tegula/runtime/argument.hpp"
#include "tegula/runtime/handle.hpp"
#include "tegula/runtime/stream.hpp"
#include "tegula/abi/compile_options.hpp"
#include "tegula/abi/kernel_facts.hpp"
#include "tegula/support/error.hpp"
#include "tegula/trace/traced_kernel.hpp"

namespace tegula {

/// Reports the result of a simulated launch.
struct simulation {
  enum class Executor : std::uint8_t {
    tiles,  ///< the kernel as written: whole tiles, block by block
    warps,  ///< the kernel as the passes transform it for the GPU
  };
  bool clean = true;        ///< no report
  std::int64_t blocks = 0;  ///< of the grid, run
  std::int64_t steps = 0;   ///< ops executed
  std::string report;       ///< races, accesses outside memory and the like with both source lines; empty when clean
  Executor executor = Executor::tiles;  ///< the executor that clean, blocks, steps and report describe
  std::string pipeline;                 ///< the passes that made the warps' code; empty for tiles
  bool exact = true;                    ///< every rounding as written: always of tiles, of warps under the option
};

namespace jit {

/// Refers to a kernel object during one call.
struct KernelRef {
  char const* name = "";
  std::uint64_t* identity = nullptr;  ///< Kernel::identity of a captureless kernel; null: trace at each launch
  void const* kernel = nullptr;
  trace::TracedKernel (*trace)(void const* kernel) = nullptr;
};

/// Refers to the arguments of one call.
struct ArgumentList {
  Argument const* first = nullptr;
  int count = 0;
};

struct PreparedState;
void retain(PreparedState* state) noexcept;
void release(PreparedState* state) noexcept;

void launch(stream const& order, KernelRef const& kernel, ArgumentList arguments, GridOverride const& grid);
PreparedState* prepare(device const* where, KernelRef const& kernel, ArgumentList arguments, GridOverride const& grid);
/// Runs a prepared launch. Throws UserError for null, the state of a moved-from launch.
void run(PreparedState const* state, stream const& order);
/// Simulates a launch. `schedule`: of warps; empty: whole tiles, block by block.
simulation simulate(KernelRef const& kernel, ArgumentList arguments, GridOverride const& grid,
                    std::string const& schedule);
std::string explain(device const* where, KernelRef const& kernel, ArgumentList arguments, GridOverride const& grid);
CompiledKernel compile(KernelRef const& kernel, CompileOptions const& options);
KernelFacts facts(KernelRef const& kernel, CompileOptions options);

/// Gives a * b. Throws UserError for more blocks than 64 bits hold.
std::int64_t multiply_blocks(std::int64_t a, std::int64_t b);

/// Throws UserError: the value of a scalar argument does not fit the kernel's parameter.
[[noreturn]] void refuse_scalar(char const* kernel, int number, std::string const& value, Element wanted);

}  // namespace jit

/// Holds a launch with its arguments checked and packed. Copies name the same launch; safe to run from several threads.
class prepared {
 public:
  /// Runs it on a stream of the device it was prepared for; see launch() for the order of work. Throws UserError if the
  /// stream is of another device or a buffer was freed meanwhile.
  void operator()(stream const& order) const { jit::run(state_.get(), order); }

  /// Takes over the state that prepare() made.
  explicit prepared(jit::PreparedState* adopted) : state_(adopted) {}

 private:
  detail::Handle<jit::PreparedState> state_;
};

}  // namespace tegula
