// Provides tune: measures which of several kernels is the fastest, and writes tables of it that a program ships.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tegula/jit/launch.hpp"

namespace tegula {

/// Says how to measure.
struct TuneOptions {
  std::string log = {};        ///< file to which each problem is added; a problem that it has is not measured again
  double max_seconds = 60;     ///< of one problem: then the best so far is taken
  double idle_seconds = 0.05;  ///< before each sample, so that the clock stays near its top
  double busy_seconds = 0.01;  ///< of launches in a sample
  /// Launches take turns over copies of the tensors, until so many bytes are in use: a program seldom finds them in the
  /// caches. 0: no copies.
  double cold_bytes = 256e6;
  int rounds = 5;  ///< samples of each kernel that is left at the end
  /// Leaves out a kernel whose estimate is more than this many times the minimum; see lib/doc/tuning.md.
  double max_estimate = 4;
  void (*progress)(char const* line) = nullptr;  ///< gets a line for each step
};

/// Reports what became of one kernel.
struct TunedKernel {
  enum class State : std::uint8_t {
    measured,   ///< `seconds` is the median of the samples
    slower,     ///< left behind after few samples; `seconds` of those
    estimated,  ///< left out for its estimate
    refused,    ///< does not compile, or does not fit; `why` says the reason
    differs,    ///< its results are not those of the first kernel, by more than rounding
    unknown,    ///< the time was over before
  };
  std::string label;
  State state = State::unknown;
  double seconds = 0;      ///< of one launch
  bool identical = false;  ///< its results are those of the first kernel, bit for bit
  std::string why;
};

/// Reports what was found for one problem.
struct TuneResult {
  std::string kernel;
  std::vector<std::int64_t> problem;  ///< extents and integers, as in TunedChoice
  std::vector<TunedKernel> kernels;   ///< in the order of variants()
  int best = -1;                      ///< number of the fastest
  double seconds = 0;                 ///< that the search took
  bool from_log = false;
  [[nodiscard]] std::string str() const;  ///< a line for each kernel
};

namespace tuning {

TuneResult tune(stream const& order, TuneOptions const& options, jit::KernelRef const& kernels,
                call::ArgumentList arguments, GridOverride const& grid);

}  // namespace tuning

/// Measures all kernels of variants() with these arguments and returns the fastest. Kernels are compiled on all
/// threads. It leaves out those that do not fit, that a model expects to be `max_estimate` times slower, or whose
/// results differ. The others are timed in turns, the slower half drops out after each pass. Results differ if an
/// integer differs, or a float by more than sums in another order do. That is 4 units in the last place of the tensor's
/// greatest value for elements of 16 bits or fewer, else 64. At the end the arguments are as after one launch.
///
/// Throws UserError if no kernel runs, for more than TunedChoice::max_numbers numbers, or for a log that cannot be read
/// or written.
template <class Stream, class... F, class... X>
requires std::derived_from<Stream, stream> TuneResult tune(Stream const& order, TuneOptions const& options,
                                                           Variants<F...> const& kernels, X&&... arguments) {
  return call::checked<call::CallOf<call::stream_kind<Stream>(), Variants<F...>, X...>>(
      kernels,
      [&](call::ArgumentList list, GridOverride const& grid) {
        return tuning::tune(order, options, jit::reference(kernels), list, grid);
      },
      arguments...);
}

/// Writes a header that defines the table `symbol` of the log's problems of one kernel on one device: the latest result
/// of each. `#include` it and give it to `variants(...).tuned(symbol)`. Returns the number of problems. Throws
/// UserError for a log without any, a symbol that is not a name in C++, or a path that cannot be written.
int write_tuned_table(std::string const& log, std::string const& kernel, device where, std::string const& path,
                      std::string const& symbol);

}  // namespace tegula
