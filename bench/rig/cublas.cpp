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
constexpr int type_f32 = 0, type_bf16 = 14;  // CUDA_R_32F, CUDA_R_16BF
constexpr int compute_f32 = 68;              // CUBLAS_COMPUTE_32F
constexpr int default_algorithm = -1;        // CUBLAS_GEMM_DEFAULT
constexpr int preference_workspace = 1;      // CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
constexpr int as_it_is = 0;                  // CUBLAS_OP_N

using Handle = void*;

/// cublasLtMatmulHeuristicResult_t
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
  int (*lt_layout)(Handle*, int, std::uint64_t, std::uint64_t, std::int64_t) = nullptr;
  int (*lt_layout_destroy)(Handle) = nullptr;
  int (*lt_preference)(Handle*) = nullptr;
  int (*lt_preference_destroy)(Handle) = nullptr;
  int (*lt_preference_set)(Handle, int, void const*, std::size_t) = nullptr;
  int (*lt_heuristic)(Handle, Handle, Handle, Handle, Handle, Handle, Handle, int, Proposal*, int*) = nullptr;
  int (*lt_multiply)(Handle, Handle, void const*, void const*, Handle, void const*, Handle, void const*, void const*,
                     Handle, void*, Handle, void const*, void*, std::size_t, void*) = nullptr;

  /// False if a function is missing.
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
  float const one = 1, zero = 0;
  int const m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
  check(api_->gemm_ex(api_->handle, as_it_is, as_it_is, n, m, k, &one, p.b, type_bf16, n, p.a, type_bf16, k, &zero, p.c,
                      type_bf16, n, compute_f32, default_algorithm),
        "cublasGemmEx");
}

std::function<void(Product const&)> Cublas::best_of_heuristics(
    Product const& sample, std::function<double(std::function<void()> const&)> const& time) const {
  if (api_->lt_handle == nullptr) return {};
  Api* const api = api_.get();
  struct Plan {
    Api* api;
    Handle description = nullptr, b = nullptr, a = nullptr, c = nullptr;
    ~Plan() {
      if (description != nullptr) api->lt_description_destroy(description);
      for (Handle layout : {b, a, c})
        if (layout != nullptr) api->lt_layout_destroy(layout);
    }
  };
  auto const plan = std::make_shared<Plan>(Plan{api});
  auto const extent = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  check(api->lt_description(&plan->description, compute_f32, type_f32), "cublasLtMatmulDescCreate");
  check(api->lt_layout(&plan->b, type_bf16, extent(sample.n), extent(sample.k), sample.n),
        "cublasLtMatrixLayoutCreate");
  check(api->lt_layout(&plan->a, type_bf16, extent(sample.k), extent(sample.m), sample.k),
        "cublasLtMatrixLayoutCreate");
  check(api->lt_layout(&plan->c, type_bf16, extent(sample.n), extent(sample.m), sample.n),
        "cublasLtMatrixLayoutCreate");
  Handle preference = nullptr;
  check(api->lt_preference(&preference), "cublasLtMatmulPreferenceCreate");
  auto const limit = static_cast<std::uint64_t>(workspace_bytes);
  check(api->lt_preference_set(preference, preference_workspace, &limit, sizeof limit),
        "cublasLtMatmulPreferenceSetAttribute");
  std::array<Proposal, 8> proposals = {};
  int count = 0;
  int const status = api->lt_heuristic(api->lt_handle, plan->description, plan->b, plan->a, plan->c, plan->c,
                                       preference, static_cast<int>(proposals.size()), proposals.data(), &count);
  api->lt_preference_destroy(preference);
  if (status != 0) return {};

  auto const run_with = [this, plan](Proposal const& proposal, Product const& p) {
    float const one = 1, zero = 0;
    return plan->api->lt_multiply(plan->api->lt_handle, plan->description, &one, p.b, plan->b, p.a, plan->a, &zero, p.c,
                                  plan->c, p.c, plan->c, proposal.algorithm.data(), workspace_.address(),
                                  static_cast<std::size_t>(workspace_bytes), order_.handle());
  };
  double least = 0;
  int best = -1;
  for (int i = 0; i < count; ++i) {
    Proposal const& proposal = proposals[static_cast<std::size_t>(i)];
    if (proposal.state != 0 || run_with(proposal, sample) != 0) continue;
    double const seconds = time([&] { run_with(proposal, sample); });
    if (best >= 0 && seconds >= least) continue;
    best = i;
    least = seconds;
  }
  if (best < 0) return {};
  return [run_with, proposal = proposals[static_cast<std::size_t>(best)]](Product const& p) {
    check(run_with(proposal, p), "cublasLtMatmul");
  };
}

}  // namespace tegula::bench
