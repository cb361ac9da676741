// Opens the CUDA driver at run time. The only header of Tegula that names CUDA types. The files of this folder alone
// include it, and only where cuda.h was found at build time.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <string>

#include "runtime/cuda/backend.hpp"
#include "support/diagnostics.hpp"
#include "tegula/support/error.hpp"

static_assert(CUDA_VERSION >= 12000, "tegula: cuda.h must be of CUDA 12.0 or newer");

namespace tegula::runtime::cuda {

/// Throws DriverError for a result that is not success: "cuda driver: cuMemAlloc failed: out of memory
/// (CUDA_ERROR_OUT_OF_MEMORY, 2); <context>".
void check(CUresult result, char const* call, std::string const& context = {});

/// Says what the caller can do about a result; empty: nothing in general.
std::string remedy_of(CUresult result);

/// Throws DriverError that names a function which the driver lacks.
[[noreturn]] void missing_function(char const* call);

/// Holds one function of the driver. Calling it throws DriverError if it is missing or fails.
template <class Signature>
class DriverFunction;

template <class... Parameters>
class DriverFunction<CUresult(Parameters...)> {
 public:
  void operator()(Parameters... arguments) const { check(raw(arguments...), name_); }
  /// Calls it and leaves the result to the caller.
  CUresult raw(Parameters... arguments) const {
    if (function_ == nullptr) missing_function(name_);
    return function_(arguments...);
  }

 private:
  friend struct DriverLoader;
  friend struct DescribedDevice;
  using Pointer = CUresult(CUDAAPI*)(Parameters...);
  Pointer function_ = nullptr;
  char const* name_ = "";
};

struct Driver {
#define TEGULA_DRIVER_FUNCTION(name, version, parameters) DriverFunction<CUresult parameters> name;
#include "runtime/cuda/driver.def"
#undef TEGULA_DRIVER_FUNCTION
  int version = 0;  ///< of the driver, 12040 for 12.4
  int device_count = 0;
  std::string unusable;  ///< why the driver cannot be used; empty if it can
};

/// Opens the library at the first call (thread-safe). Never throws for a machine without a GPU: see `unusable`.
Driver const& driver_or_reason();

/// Returns the driver. Throws UserError with the reason if it cannot be used.
Driver const& driver();

/// True in a child of fork() whose parent had begun to use the driver: calls fail there, and the parent's resources
/// must not be released.
bool driver_is_inherited();

/// Returns the primary context of a device, retained for the life of the process.
CUcontext primary_context(int device);

/// Makes a device's primary context current on this thread while it lives.
class ContextScope {
 public:
  explicit ContextScope(int device);
  ~ContextScope();
  ContextScope(ContextScope const&) = delete;
  ContextScope& operator=(ContextScope const&) = delete;

 private:
  bool pushed_ = false;
};

/// Runs an action that releases a device's resource in a destructor. A failure is a warning, unless the driver is gone
/// at the exit of the process or belongs to another process.
template <class Action>
void give_back(Action const& action) noexcept {
  if (driver_is_inherited()) return;
  try {
    action();
  } catch (DriverError const& error) {
    if (error.code() != CUDA_ERROR_DEINITIALIZED) support::report_warning(error.what());
  } catch (Error const& error) {
    support::report_warning(error.what());
  }
}

/// Describes a launch in the driver's terms. It points to its own attributes, so it must not move.
class LaunchConfig {
 public:
  LaunchConfig(LaunchShape const& shape, CUstream stream);
  LaunchConfig(LaunchConfig const&) = delete;
  LaunchConfig& operator=(LaunchConfig const&) = delete;
  [[nodiscard]] CUlaunchConfig const* config() const { return &config_; }

 private:
  CUlaunchAttribute attributes_[2] = {};
  CUlaunchConfig config_ = {};
};

/// Makes the device's memory for tensors without elements (see StandIn), unless it is there. Not under stream capture.
void make_stand_ins(int device);

}  // namespace tegula::runtime::cuda
