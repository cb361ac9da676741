// States problems by named inputs and outputs, the bytes or operations of one launch, and a float64 comparison.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "gpu/rows/row.hpp"

namespace tegula::bench {

using Extents = std::vector<std::int64_t>;
using Inputs = std::map<std::string, HostTensor>;

/// Describes an output beside Y, or memory that only the kernels of a side share.
struct MoreOutput {
  std::string name;
  Element element = Element::f32;
  Extents extents;
  bool counts = true;   ///< its bytes are those of the problem, and it is compared
  bool zeroed = false;  ///< it holds 0 before the first launch, else it is poisoned
};

/// States a problem: its inputs, its output, and the comparison of one part of the output, for instance a row.
struct Problem {
  Inputs inputs;
  Element element = Element::f32;  ///< of the output Y
  Extents output;
  std::int64_t parts = 0;
  std::function<void(Verdict&, Inputs const&, HostTensor const& out, std::int64_t part)> compare;
  std::vector<MoreOutput> more = {};
  std::function<void(Verdict&, Inputs const&, std::string const& name, HostTensor const& out)> compare_more = {};
  std::int64_t work = 0;   ///< of one launch; 0: the bytes of each input and each output that counts, once
  std::string shape = {};  ///< as printed; empty: the extents of X
  bool partial = false;    ///< only parts of the output are written
};

/// Makes the workload of a problem.
std::unique_ptr<Workload> make_memory_work(stream const& order, Problem problem, bool one_set);

HostTensor normal(Element element, Extents extents, std::uint64_t seed, double amplitude = 1);
/// Allows for the rounding of a value to its element, and for f32 on the way.
double rounding(Element element, double value);

/// Describes a row that counts bytes, beside the driver's copy of 1 GiB.
Row family_row(std::string const& group, std::string const& kernel, Extents extents, Extents small,
               Problem (*problem)(Extents const&, std::uint64_t));

}  // namespace tegula::bench
