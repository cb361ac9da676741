// Opens cuBLAS and cuBLASLt as rivals at run time: nothing here needs CUDA's headers or libraries to build.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "rig/tensors.hpp"
#include "tegula/runtime/stream.hpp"

namespace tegula::bench {

/// Describes the factors and the result of a product, all row-major. bf16 and e4m3 are summed in f32, f32 is truncated
/// to tf32, i8 gives i32.
struct ProductForm {
  Element factors = Element::bf16;
  Element result = Element::bf16;
  bool b_by_columns = false;  ///< B is stored N x K
};

/// Describes C = A * B.
struct Product {
  ProductForm form;
  std::int64_t m = 0, n = 0, k = 0;
  void const* a = nullptr;  // (M, K)
  void const* b = nullptr;  // (K, N), or (N, K)
  void* c = nullptr;        // (M, N)
};

class Cublas {
 public:
  /// Searches TEGULA_CUBLAS (paths of libcublas, separated by ':'), the folders of Python packages, then the toolkit's
  /// and the loader's. Null if none answers; `why` then lists the places tried. All work goes to `order`.
  static std::unique_ptr<Cublas> open(stream const& order, std::string& why);
  ~Cublas();
  Cublas(Cublas const&) = delete;
  Cublas& operator=(Cublas const&) = delete;

  /// Names the library: "cuBLAS 13.1.0 from <path>".
  [[nodiscard]] std::string const& description() const { return description_; }

  /// Calls cublasGemmEx with its default choice, 64 MiB of workspace. It does not support e4m3.
  void multiply(Product const& product) const;

  /// Returns the fastest on `sample` of up to eight algorithms that cuBLASLt's heuristic proposes; `time` returns the
  /// seconds of one launch. Empty if cuBLASLt proposes none or is not there.
  [[nodiscard]] std::function<void(Product const&)> best_of_heuristics(
      Product const& sample, std::function<double(std::function<void()> const&)> const& time) const;
  /// Returns the first algorithm that the heuristic proposes for 32 MiB of workspace, as frameworks take it. Empty if
  /// there is none.
  [[nodiscard]] std::function<void(Product const&)> first_of_heuristics(Product const& sample) const;

 private:
  struct Api;
  struct Plan;
  Cublas(std::unique_ptr<Api> api, std::string description, stream const& order);
  /// Asks the heuristic for up to `most` algorithms.
  [[nodiscard]] std::shared_ptr<Plan> propose(Product const& sample, int most, std::uint64_t workspace) const;
  /// Runs an algorithm of the plan. Returns cuBLASLt's status.
  [[nodiscard]] int run(Plan const& plan, int number, Product const& product) const;

  std::unique_ptr<Api> api_;
  std::string description_;
  stream order_;
  DeviceTensor workspace_;
};

}  // namespace tegula::bench
