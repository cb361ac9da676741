// Uses Tegula and a library with another major of LLVM in one process, in turns.
#include <tegula/tegula.hpp>

#include <link.h>

#include <cstdio>
#include <cstring>
#include <set>
#include <string>
#include <vector>

extern "C" {
unsigned other_llvm_major();
int other_llvm_sums();
}

namespace {

using namespace tegula;

constexpr auto scaled = kernel("scaled", [](in<float, 1> x, arg<float> factor, out<float, 1> y) {
  auto g = grid_over(y, shape<256>);
  store(y, shape<256>, load(x, shape<256>, g[0]) * factor, g[0]);
});

constexpr auto raised = kernel("raised", [](in<float, 1> x, arg<float> step, out<float, 1> y) {
  auto g = grid_over(y, shape<256>);
  store(y, shape<256>, load(x, shape<256>, g[0]) + step, g[0]);
});

bool all_are(std::vector<float> const& values, float expected) {
  for (float const value : values)
    if (value != expected) return false;
  return true;
}

/// Is true if the library throws an error that this program catches by its type.
bool errors_are_caught() {
  std::vector<float> x(10), y(20);
  try {
    launch(host_stream(), scaled, x, 2.0F, x);
  } catch (UserError const&) {
    return true;
  }
  return false;
}

/// Lists the files of LLVM's shared libraries that this process holds.
std::set<std::string> loaded_llvms() {
  std::set<std::string> files;
  auto const note = [](dl_phdr_info* object, std::size_t, void* list) {
    char const* const slash = std::strrchr(object->dlpi_name, '/');
    char const* const name = slash != nullptr ? slash + 1 : object->dlpi_name;
    if (std::strncmp(name, "libLLVM", 7) == 0) static_cast<std::set<std::string>*>(list)->insert(name);
    return 0;
  };
  ::dl_iterate_phdr(note, &files);
  return files;
}

}  // namespace

int main() {
  std::vector<float> x(1000, 2.0F), y(1000);
  launch(host_stream(), scaled, x, 3.0F, y);
  if (!all_are(y, 6.0F)) return 1;
  if (other_llvm_sums() != 1) return 2;
  launch(host_stream(), raised, x, 3.0F, y);
  if (!all_are(y, 5.0F)) return 3;
  if (other_llvm_sums() != 1) return 4;
  if (!errors_are_caught()) return 5;
  if (loaded_llvms().size() != TEGULA_LOADED_LLVMS) return 6;
  std::printf("coexist: ok, beside LLVM %u\n", other_llvm_major());
}
