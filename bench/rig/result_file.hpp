// Writes measured figures as data: one JSON object a line, which bench/report.py makes tables and plots of.
#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace tegula::bench {

/// Returns the day in UTC: "2026-11-24".
std::string today();

/// Holds one figure: a candidate at one size.
struct Result {
  std::string kernel;   ///< the computation: "gemm"
  std::string shape;    ///< "2048x2048x2048"
  std::string variant;  ///< a kernel's file, or a library
  std::string unit;     ///< of the rates: "TFLOP/s"
  std::vector<double> rates;
  std::string rival;           ///< the variant that the ratios are taken to; empty: none
  std::vector<double> ratios;  ///< how many times faster than the rival, per round or once
  std::optional<double> error;
  std::optional<double> clock;  ///< MHz of the multiprocessors right after the last round
  std::optional<std::uint64_t> seed;
};

/// Appends results to a file. Each line also names the program, the machine, the commit that was built
/// (TEGULA_BENCH_COMMIT, else the file "commit" beside the program) and the day. Throws UserError for a file that
/// cannot be written.
class ResultFile {
 public:
  /// Opens the file at a path. An empty path writes nothing.
  ResultFile(std::string const& path, std::string program, std::string machine);
  void write(Result const& result);

 private:
  std::string path_, program_, machine_, commit_, date_;
  std::ofstream file_;
};

}  // namespace tegula::bench
