#include "rig/graph.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <stdexcept>

namespace tegula::bench {
namespace {

constexpr int capture_mode_global = 0;  // CU_STREAM_CAPTURE_MODE_GLOBAL

using Handle = void*;

/// Holds the driver's functions for graphs, with the primary context of a device current.
struct Driver {
  int (*retain)(Handle*, int) = nullptr;
  int (*make_current)(Handle) = nullptr;
  int (*begin)(CUstream_st*, int) = nullptr;
  int (*end)(CUstream_st*, Handle*) = nullptr;
  int (*instantiate)(Handle*, Handle, unsigned long long) = nullptr;
  int (*destroy)(Handle) = nullptr;
  int (*run)(Handle, CUstream_st*) = nullptr;
  int (*destroy_executable)(Handle) = nullptr;

  Driver() {
    void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
    auto const find = [&](auto& function, char const* name) {
      void* const found = library == nullptr ? nullptr : ::dlsym(library, name);
      if (found == nullptr) throw std::runtime_error(fmt::format("the driver lacks {}", name));
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
    };
    find(retain, "cuDevicePrimaryCtxRetain");
    find(make_current, "cuCtxSetCurrent");
    find(begin, "cuStreamBeginCapture_v2");
    find(end, "cuStreamEndCapture");
    find(instantiate, "cuGraphInstantiateWithFlags");
    find(destroy, "cuGraphDestroy");
    find(run, "cuGraphLaunch");
    find(destroy_executable, "cuGraphExecDestroy");
  }
};

Driver const& driver() {
  static Driver const all;
  return all;
}

void check(int status, char const* call) {
  if (status != 0) throw std::runtime_error(fmt::format("{} gave error {}", call, status));
}

}  // namespace

Graph::Graph(stream const& order, std::function<void()> const& launches) : order_(order) {
  Handle context = nullptr, graph = nullptr;
  check(driver().retain(&context, order.where().number()), "cuDevicePrimaryCtxRetain");
  check(driver().make_current(context), "cuCtxSetCurrent");
  check(driver().begin(order.handle(), capture_mode_global), "cuStreamBeginCapture");
  try {
    launches();
  } catch (...) {
    if (driver().end(order.handle(), &graph) == 0) driver().destroy(graph);
    throw;
  }
  check(driver().end(order.handle(), &graph), "cuStreamEndCapture");
  int const status = driver().instantiate(&executable_, graph, 0);
  driver().destroy(graph);
  check(status, "cuGraphInstantiate");
}

Graph::~Graph() { driver().destroy_executable(executable_); }

void Graph::launch() const { check(driver().run(executable_, order_.handle()), "cuGraphLaunch"); }

}  // namespace tegula::bench
