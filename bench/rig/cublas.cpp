#include "rig/cublas.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <glob.h>

#include <array>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace tegula::bench {
namespace {

constexpr std::int64_t workspace_bytes = std::int64_t{64} << 20;

// Values of the libraries' public enumerations.
constexpr int type_f32 = 0, type_i8 = 3, type_i32 = 10, type_bf16 = 14, type_e4m3 = 28;  // CUDA_R_*
constexpr int compute_f32 = 68, compute_i32 = 72, compute_tf32 = 77;                     // CUBLAS_COMPUTE_*
constexpr int default_algorithm = -1;                                                    // CUBLAS_GEMM_DEFAULT
constexpr int preference_workspace = 1;      // CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
constexpr int as_it_is = 0, transposed = 1;  // CUBLAS_OP_N, CUBLAS_OP_T
constexpr int first_operand_as = 3;          // CUBLASLT_MATMUL_DESC_TRANSA
constexpr int sums_of_e4m3_stay = 25;        // CUBLASLT_MATMUL_DESC_FAST_ACCUM: in the tensor core, not promoted

using Handle = void*;

int type_of(Element element) {
  switch (element) {
    case Element::f32:
      return type_f32;
    case Element::i8:
      return type_i8;
    case Element::i32:
      return type_i32;
    case Element::e4m3:
      return type_e4m3;
    default:
      return type_bf16;
  }
}

/// Finds the type of the sums, and 1 and 0 of the type that scales them.
struct Sums {
  int compute = compute_f32, scale = type_f32;
  float one = 1, zero = 0;
  std::int32_t whole_one = 1, whole_zero = 0;
  explicit Sums(ProductForm const& form) {
    if (form.factors == Element::f32) compute = compute_tf32;
    if (form.factors == Element::i8) compute = compute_i32, scale = type_i32;
  }
  [[nodiscard]] void const* alpha() const { return scale == type_i32 ? static_cast<void const*>(&whole_one) : &one; }
  [[nodiscard]] void const* beta() const { return scale == type_i32 ? static_cast<void const*>(&whole_zero) : &zero; }
};

/// Mirrors cublasLtMatmulHeuristicResult_t.
struct Proposal {
  std::array<std::uint64_t, 8> algorithm;
  std::size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};

void check(int status, char const* call) {
  if (status != 0) throw std::runtime_error(fmt::format("{} gave status {}", call, status));
}

std::vector<std::string> places() {
  std::vector<std::string> result;
  if (char const* given = std::getenv("TEGULA_CUBLAS")) {
    std::istringstream list(given);
    for (std::string path; std::getline(list, path, ':');) result.push_back(path);
  }
  std::vector<std::string> roots = {"/opt/*/.venv", "/opt/*", "/opt/venv", "/usr", "/usr/local"};
  if (char const* home = std::getenv("VIRTUAL_ENV")) roots.insert(roots.begin(), home);
  for (std::string const& root : roots)
    for (char const* packages : {"site-packages", "dist-packages"})
      for (int major : {13, 12}) {
        glob_t found = {};
        std::string const pattern =
            fmt::format("{}/lib/python3*/{}/nvidia/*/lib/libcublas.so.{}", root, packages, major);
        if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
          for (std::size_t i = 0; i < found.gl_pathc; ++i) result.emplace_back(found.gl_pathv[i]);
        ::globfree(&found);
      }
  for (char const* folder : {"/usr/local/cuda/lib64/", "/usr/local/cuda/lib/", "/usr/lib/x86_64-linux-gnu/", ""})
    for (int major : {13, 12}) result.push_back(fmt::format("{}libcublas.so.{}", folder, major));
  return result;
}

}  // namespace

struct Cublas::Api {
  void* library = nullptr;
  void* lt_library = nullptr;
  Handle handle = nullptr;
  Handle lt_handle = nullptr;

  int (*create)(Handle*) = nullptr;
  int (*destroy)(Handle) = nullptr;
  int (*set_stream)(Handle, void*) = nullptr;
  int (*set_workspace)(Handle, void*, std::size_t) = nullptr;
  int (*get_version)(Handle, int*) = nullptr;
  int (*gemm_ex)(Handle, int, int, int, int, int, void const*, void const*, int, int, void const*, int, int,
                 void const*, void*, int, int, int, int) = nullptr;

  int (*lt_create)(Handle*) = nullptr;
  int (*lt_destroy)(Handle) = nullptr;
  int (*lt_description)(Handle*, int, int) = nullptr;
  int (*lt_description_destroy)(Handle) = nullptr;
  int (*lt_description_set)(Handle, int, void const*, std::size_t) = nullptr;
  int (*lt_layout)(Handle*, int, std::uint64_t, std::uint64_t, std::int64_t) = nullptr;
  int (*lt_layout_destroy)(Handle) = nullptr;
  int (*lt_preference)(Handle*) = nullptr;
  int (*lt_preference_destroy)(Handle) = nullptr;
  int (*lt_preference_set)(Handle, int, void const*, std::size_t) = nullptr;
  int (*lt_heuristic)(Handle, Handle, Handle, Handle, Handle, Handle, Handle, int, Proposal*, int*) = nullptr;
  int (*lt_multiply)(Handle, Handle, void const*, void const*, Handle, void const*, Handle, void const*, void const*,
                     Handle, void*, Handle, void const*, void*, std::size_t, void*) = nullptr;

  /// Returns false if a function is missing.
  bool bind() {
    auto const get = [this](auto& function, char const* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
      return function != nullptr;
    };
    auto const get_lt = [this](auto& function, char const* name) {
      void* const found = lt_library == nullptr ? nullptr : ::dlsym(lt_library, name);
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
      return function != nullptr;
    };
    bool const lt = get_lt(lt_create, "cublasLtCreate") && get_lt(lt_destroy, "cublasLtDestroy") &&
                    get_lt(lt_description, "cublasLtMatmulDescCreate") &&
                    get_lt(lt_description_destroy, "cublasLtMatmulDescDestroy") &&
                    get_lt(lt_description_set, "cublasLtMatmulDescSetAttribute") &&
                    get_lt(lt_layout, "cublasLtMatrixLayoutCreate") &&
                    get_lt(lt_layout_destroy, "cublasLtMatrixLayoutDestroy") &&
                    get_lt(lt_preference, "cublasLtMatmulPreferenceCreate") &&
                    get_lt(lt_preference_destroy, "cublasLtMatmulPreferenceDestroy") &&
                    get_lt(lt_preference_set, "cublasLtMatmulPreferenceSetAttribute") &&
                    get_lt(lt_heuristic, "cublasLtMatmulAlgoGetHeuristic") && get_lt(lt_multiply, "cublasLtMatmul");
    if (!lt) lt_create = nullptr;
    return get(create, "cublasCreate_v2") && get(destroy, "cublasDestroy_v2") &&
           get(set_stream, "cublasSetStream_v2") && get(set_workspace, "cublasSetWorkspace_v2") &&
           get(get_version, "cublasGetVersion_v2") && get(gemm_ex, "cublasGemmEx");
  }

  ~Api() {
    if (lt_handle != nullptr) lt_destroy(lt_handle);
    if (handle != nullptr) destroy(handle);
  }
};

std::unique_ptr<Cublas> Cublas::open(stream const& order, std::string& why) {
  std::string tried;
  for (std::string const& path : places()) {
    auto api = std::make_unique<Api>();
    // The library needs its sibling; from a folder that the loader does not search it is opened first, by its path.
    std::string sibling = path;
    if (std::size_t const at = sibling.rfind("libcublas.so"); at != std::string::npos)
      sibling.replace(at, 12, "libcublasLt.so");
    api->lt_library = ::dlopen(sibling.c_str(), RTLD_NOW | RTLD_GLOBAL);
    api->library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    tried += (tried.empty() ? "" : ", ") + path;
    if (api->library == nullptr || !api->bind()) continue;
    if (int const status = api->create(&api->handle); status != 0) {
      tried += fmt::format(" (cublasCreate gave status {})", status);
      api->handle = nullptr;
      continue;
    }
    if (api->lt_create != nullptr && api->lt_create(&api->lt_handle) != 0) api->lt_handle = nullptr;
    int version = 0;
    check(api->get_version(api->handle, &version), "cublasGetVersion");
    std::string const description =
        fmt::format("cuBLAS {}.{}.{} from {}", version / 10000, version / 100 % 100, version % 100, path);
    return std::unique_ptr<Cublas>(new Cublas(std::move(api), description, order));
  }
  why = "none of " + tried;
  return nullptr;
}

Cublas::Cublas(std::unique_ptr<Api> api, std::string description, stream const& order)
    : api_(std::move(api)),
      description_(std::move(description)),
      order_(order),
      workspace_(order.where(), Element::f32, {workspace_bytes / 4}) {
  check(api_->set_stream(api_->handle, order.handle()), "cublasSetStream");
  check(api_->set_workspace(api_->handle, workspace_.address(), static_cast<std::size_t>(workspace_bytes)),
        "cublasSetWorkspace");
}

Cublas::~Cublas() = default;

// Both libraries are column-major: they are asked for C^T = B^T * A^T, whose column-major form is C's row-major one.

void Cublas::multiply(Product const& p) const {
  Sums const sums(p.form);
  int const m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
  int const factors = type_of(p.form.factors);
  check(api_->gemm_ex(api_->handle, p.form.b_by_columns ? transposed : as_it_is, as_it_is, n, m, k, sums.alpha(), p.b,
                      factors, p.form.b_by_columns ? k : n, p.a, factors, k, sums.beta(), p.c, type_of(p.form.result),
                      n, sums.compute, default_algorithm),
        "cublasGemmEx");
}

struct Cublas::Plan {
  Api* api;
  Sums sums;
  Handle description = nullptr, b = nullptr, a = nullptr, c = nullptr;
  std::array<Proposal, 8> proposals = {};
  int count = 0;
  ~Plan() {
    if (description != nullptr) api->lt_description_destroy(description);
    for (Handle layout : {b, a, c})
      if (layout != nullptr) api->lt_layout_destroy(layout);
  }
};

std::shared_ptr<Cublas::Plan> Cublas::propose(Product const& sample, int most, std::uint64_t workspace) const {
  Api* const api = api_.get();
  ProductForm const form = sample.form;
  auto plan = std::make_shared<Plan>(Plan{api, Sums(form)});
  if (api->lt_handle == nullptr) return plan;
  auto const extent = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  int const factors = type_of(form.factors);
  check(api->lt_description(&plan->description, plan->sums.compute, plan->sums.scale), "cublasLtMatmulDescCreate");
  if (form.b_by_columns)
    check(api->lt_description_set(plan->description, first_operand_as, &transposed, sizeof transposed),
          "cublasLtMatmulDescSetAttribute");
  if (std::int8_t const fast = 1; form.factors == Element::e4m3)
    check(api->lt_description_set(plan->description, sums_of_e4m3_stay, &fast, sizeof fast),
          "cublasLtMatmulDescSetAttribute");
  std::int64_t const b_rows = form.b_by_columns ? sample.k : sample.n;
  check(api->lt_layout(&plan->b, factors, extent(b_rows), extent(sample.n + sample.k - b_rows), b_rows),
        "cublasLtMatrixLayoutCreate");
  check(api->lt_layout(&plan->a, factors, extent(sample.k), extent(sample.m), sample.k), "cublasLtMatrixLayoutCreate");
  check(api->lt_layout(&plan->c, type_of(form.result), extent(sample.n), extent(sample.m), sample.n),
        "cublasLtMatrixLayoutCreate");
  Handle preference = nullptr;
  check(api->lt_preference(&preference), "cublasLtMatmulPreferenceCreate");
  check(api->lt_preference_set(preference, preference_workspace, &workspace, sizeof workspace),
        "cublasLtMatmulPreferenceSetAttribute");
  int const status = api->lt_heuristic(api->lt_handle, plan->description, plan->b, plan->a, plan->c, plan->c,
                                       preference, most, plan->proposals.data(), &plan->count);
  api->lt_preference_destroy(preference);
  if (status != 0) plan->count = 0;
  return plan;
}

int Cublas::run(Plan const& plan, int number, Product const& p) const {
  return plan.api->lt_multiply(plan.api->lt_handle, plan.description, plan.sums.alpha(), p.b, plan.b, p.a, plan.a,
                               plan.sums.beta(), p.c, plan.c, p.c, plan.c,
                               plan.proposals[static_cast<std::size_t>(number)].algorithm.data(), workspace_.address(),
                               static_cast<std::size_t>(workspace_bytes), order_.handle());
}

std::function<void(Product const&)> Cublas::best_of_heuristics(
    Product const& sample, std::function<double(std::function<void()> const&)> const& time) const {
  auto const plan = propose(sample, 8, workspace_bytes);
  double min = 0;
  int best = -1;
  for (int i = 0; i < plan->count; ++i) {
    if (plan->proposals[static_cast<std::size_t>(i)].state != 0 || run(*plan, i, sample) != 0) continue;
    double const seconds = time([&] { static_cast<void>(run(*plan, i, sample)); });
    if (best >= 0 && seconds >= min) continue;
    best = i;
    min = seconds;
  }
  if (best < 0) return {};
  return [this, plan, best](Product const& p) { check(run(*plan, best, p), "cublasLtMatmul"); };
}

std::function<void(Product const&)> Cublas::first_of_heuristics(Product const& sample) const {
  auto const plan = propose(sample, 1, std::uint64_t{32} << 20);
  if (plan->count == 0 || plan->proposals[0].state != 0) return {};
  return [this, plan](Product const& p) { check(run(*plan, 0, p), "cublasLtMatmul"); };
}

}  // namespace tegula::bench
