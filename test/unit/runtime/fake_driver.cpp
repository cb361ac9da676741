// Stands in for libcuda.so.1: one device, and the driver's rule that no graph is launched on a stream that is captured.
// All other functions succeed and do nothing.
#include <cstdint>
#include <cstring>

namespace {

constexpr int not_supported_in_capture = 900;
bool captured = false;

int succeed() { return 0; }
int device_get_count(int* count) {
  *count = 1;
  return 0;
}
int get_text(int, char const** text) {
  *text = "refused by the stand-in";
  return 0;
}
int begin_capture(void*, int) {
  captured = true;
  return 0;
}
int end_capture(void*, void** graph) {
  captured = false;
  *graph = &captured;
  return 0;
}
int is_capturing(void*, int* status) {
  *status = captured ? 1 : 0;
  return 0;
}
int graph_launch(void*, void*) { return captured ? not_supported_in_capture : 0; }

struct Entry {
  char const* name;
  void* function;
};

template <class Function>
Entry entry(char const* name, Function* function) {
  return {name, reinterpret_cast<void*>(function)};
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int cuGetProcAddress_v2(char const* name, void** function, int, std::uint64_t,
                                                                  int* status) {
  Entry const entries[] = {entry("cuDeviceGetCount", device_get_count), entry("cuGetErrorName", get_text),
                           entry("cuGetErrorString", get_text),         entry("cuStreamBeginCapture", begin_capture),
                           entry("cuStreamEndCapture", end_capture),    entry("cuStreamIsCapturing", is_capturing),
                           entry("cuGraphLaunch", graph_launch)};
  *function = reinterpret_cast<void*>(succeed);
  for (Entry const& one : entries)
    if (std::strcmp(one.name, name) == 0) *function = one.function;
  *status = 0;
  return 0;
}
