// Describes one row of the table on a GPU: a problem, the kernels that solve it, and the rival beside them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rig/workload.hpp"
#include "tegula/tegula.hpp"

namespace tegula::bench {

/// Holds one way to solve a problem by kernels in C++.
struct Side {
  std::string variant;  ///< in the data, the same at each run
  std::function<std::function<void(stream const&)>(Workload const&, int set)> prepare;
  std::function<std::string(Workload const&)> remark = {};  ///< the kernel that was chosen
  bool any_order = false;  ///< sums are added up in an order of their own each time: last bits differ
};

/// Holds a kernel to compile without a device.
struct Code {
  std::string label;
  std::function<KernelFacts()> facts;
};

enum class Rival : std::uint8_t {
  none,
  library,     ///< of the workload: the last that it names, for products the best of cuBLASLt's heuristics
  copy,        ///< from device to device, by the driver, of as many bytes as the kernel reads and writes
  large_copy,  ///< the driver's copy of 1 GiB: the ratio is that of bytes in a second
  plain,       ///< Row::plain
};

/// Holds a library's rate from an earlier day, on an H200. The library is not called here.
struct Bar {
  std::string name;
  double rate = 0;  ///< TFLOP/s
};

struct Row {
  std::string group;                         ///< its rows share a table and a geometric mean
  std::string kernel;                        ///< in the data
  std::vector<std::int64_t> extents, small;  ///< timed; checked on the host
  bool quick = false;                        ///< also timed with --quick
  bool graph = false;                        ///< launches are so short that they run as a CUDA graph
  std::function<std::unique_ptr<Workload>(stream const&, std::vector<std::int64_t> const&, std::uint64_t, bool)> make =
      {};
  std::vector<Side> sides = {};
  std::vector<Code> codes = {};
  Rival rival = Rival::none;
  std::optional<Side> plain = {};  ///< another kernel, which runs on the same tensors
  bool counts_bytes = false;       ///< rates are GB/s, else TFLOP/s
  std::optional<Bar> bar = {};     ///< printed beside it, not part of the data
};

/// Makes the code of a kernel for sm_90a.
template <class F>
Code code(std::string label, Kernel<F> const& kernel, CompileOptions options = {}) {
  return {std::move(label), [kernel, options] { return facts(kernel, options); }};
}

std::vector<Row> product_rows();
std::vector<Row> attention_rows();
std::vector<Row> memory_rows();
std::vector<Row> norm_rows();
std::vector<Row> long_rows();
std::vector<Row> sampling_rows();
std::vector<Row> decode_rows();
std::vector<Row> four_bit_rows();
std::vector<Row> block_scaled_rows();
std::vector<Row> recurrence_rows();
std::vector<Row> score_rows();
std::vector<Row> transform_rows();
std::vector<Row> picture_rows();

}  // namespace tegula::bench
