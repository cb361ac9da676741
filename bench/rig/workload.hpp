// Describes a problem that kernels solve: tensors by name, a float64 reference, the work of one launch, rivals.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../../samples/support/compare.hpp"
#include "rig/cublas.hpp"
#include "rig/tensors.hpp"
#include "tune/timing.hpp"

namespace tegula::bench {

using namespace tuning;

/// Holds the result of comparing an output with float64.
struct Verdict {
  samples::Comparison entries{1};  ///< those compared; errors in units of the rounding error
  double error = 0;                ///< ||out - reference|| / ||reference|| over them
  std::int64_t unwritten = 0;      ///< in the whole output, with every NaN
  std::string remark;              ///< of a comparison with a rival
  [[nodiscard]] bool right() const { return unwritten == 0 && entries.right(); }

  /// Compares entry `place`. `tolerance` is the error that rounding may cause.
  void compare(HostTensor const& out, std::int64_t place, double reference, double tolerance);
  /// Joins the verdicts on parts of one output.
  void join(Verdict const& part);
  /// Makes `error` of the sums, once all is joined.
  void finish();

 private:
  double difference_ = 0, size_ = 0;  // sums of squares
};

/// Compares rows of an output, on all cores: every one where rows times `cost` is at most 2^24, else the last and 191
/// that `seed` draws.
Verdict check_rows(HostTensor const& out, std::int64_t rows, std::int64_t cost, std::uint64_t seed,
                   std::function<void(Verdict&, std::int64_t row)> const& check_row);

/// Holds random inputs and poisoned outputs on a device for one problem, several equal sets of them.
class Workload {
 public:
  virtual ~Workload() = default;

  [[nodiscard]] virtual std::string shape() const = 0;
  [[nodiscard]] virtual double work() const = 0;  ///< of one launch: operations, or bytes
  /// Counts the sets; together their bytes are far beyond the L2 cache.
  [[nodiscard]] int sets() const { return static_cast<int>(sets_.size()); }

  /// Returns the tensors of one set by name, as the launcher takes them.
  [[nodiscard]] std::map<std::string, Argument> arguments(int set) const;
  /// Returns a tensor of one set as kernels in C++ take it.
  template <class T, int rank>
  [[nodiscard]] tensor_view<T, rank> view(int set, std::string const& name) const {
    return tensor(set, name).view<T, rank>();
  }
  /// Returns where tensors of one set lie on the device.
  [[nodiscard]] std::vector<void*> addresses(int set, std::vector<std::string> const& names) const;
  /// Restores the outputs of a set to their state before the first launch.
  void poison(int set);
  [[nodiscard]] HostTensor result(int set) { return output(set).read(output_name_); }
  [[nodiscard]] virtual Verdict check(HostTensor const& out) const = 0;
  /// Returns the rivals. Ratios are taken to the first.
  virtual std::vector<Candidate> rivals(stream const& order, Cublas const* cublas) = 0;
  /// Returns what a framework calls for a product, without a search. Nothing for other problems.
  virtual std::optional<Candidate> first_of_heuristics(Cublas const&) { return std::nullopt; }

 protected:
  using Set = std::map<std::string, std::unique_ptr<DeviceTensor>>;

  Workload(stream const& order, std::string output_name) : order_(order), output_name_(std::move(output_name)) {}
  /// Puts the inputs and a poisoned output on the device, several times.
  void upload(std::map<std::string, HostTensor const*> const& inputs, Element element,
              std::vector<std::int64_t> const& output_extents, bool one_set);
  /// Adds to each set an output, or scratch memory, that holds 0 before the first launch, else poison. Needs: upload.
  void add_output(std::string const& name, Element element, std::vector<std::int64_t> const& extents, bool zeroed);
  [[nodiscard]] DeviceTensor& tensor(int set, std::string const& name) const {
    return *sets_[static_cast<std::size_t>(set)].at(name);
  }
  [[nodiscard]] DeviceTensor& output(int set) const { return tensor(set, output_name_); }

  stream order_;

 private:
  std::string output_name_;
  std::vector<Set> sets_;
  std::map<std::string, bool> more_;  ///< outputs beside the first; true: begins with zeros
};

/// Prints extents: "2048x2048x2048".
std::string shape_text(std::vector<std::int64_t> const& extents);

std::unique_ptr<Workload> make_product(stream const&, std::vector<std::int64_t> const&, std::uint64_t, bool);
/// Makes a product with B stored N x K.
template <Element factors, Element result>
std::unique_ptr<Workload> make_product_of(stream const&, std::vector<std::int64_t> const&, std::uint64_t, bool);
std::unique_ptr<Workload> make_softmax(stream const&, std::vector<std::int64_t> const&, std::uint64_t, bool);
std::unique_ptr<Workload> make_layernorm(stream const&, std::vector<std::int64_t> const&, std::uint64_t, bool);
/// Says what a kernel computes the GELU by; fast_tanh is allowed the error of its instruction.
enum class Gelu : std::uint8_t { exponential, fast_tanh };
/// Makes C = gelu(A * B + bias) in bf16, with f32 biases of the columns, called "bias".
template <Gelu by>
std::unique_ptr<Workload> make_gelu_product(stream const&, std::vector<std::int64_t> const&, std::uint64_t, bool);

/// Computes the GELU by tanh in float64.
double tanh_gelu(double x);

/// Describes attention over [batch * heads, sequence, head dimension].
struct AttentionForm {
  std::int64_t batch = 1, heads = 1, length = 1, dimension = 128;
  bool causal = false;
  std::int64_t group = 1;           ///< heads of queries that share one of keys and values
  double amplitude = 1;             ///< multiplies Q and K
  Element element = Element::bf16;  ///< of Q, K and V; with e4m3, V is [batch * heads, head dimension, sequence]
  bool backward = false;            ///< the gradients of Q, K and V
};
std::unique_ptr<Workload> make_attention_of(stream const&, AttentionForm const&, std::uint64_t, bool);
/// Makes the way back of attention in bf16: from Q, K, V, O, dO and lse to the output "gradients", the heads of
/// dQ, then those of dK, then those of dV. "delta" is scratch. The work is that of five products of all visible pairs.
std::unique_ptr<Workload> make_attention_backward(stream const&, AttentionForm const&, std::uint64_t, bool);

}  // namespace tegula::bench
