// Holds what the tuner measured, as a header that a program ships: the fastest kernel for each problem.
#pragma once

#include <cstdint>

namespace tegula {

/// Names the fastest of several kernels for one problem.
struct TunedChoice {
  static constexpr int max_numbers = 16;
  /// Extents of the tensors and values of the integers, in the order of the kernel's parameters.
  std::int64_t problem[max_numbers];
  char const* label;  ///< of the kernel, see variant()
  double seconds;     ///< of one launch
};

/// Lists the choices for one device. tune() writes such tables; `variants(...).tuned(table)` uses them.
struct TunedTable {
  char const* kernel;        ///< name of the variants
  char const* architecture;  ///< "sm_90a"; of a host, its LLVM CPU name
  char const* device;        ///< as the driver names it
  char const* compiler;      ///< version of the compiler that the kernels were measured with
  int numbers;               ///< of a problem
  TunedChoice const* choices;
  int count;
};

}  // namespace tegula
