#include "rig/rivals.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>

namespace tegula::bench {
namespace {

char const* path_of_library() { return std::getenv("TEGULA_RIVALS"); }

void* symbol(std::string const& name) {
  static void* const library = ::dlopen(path_of_library(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(fmt::format("TEGULA_RIVALS: {}", ::dlerror()));
  void* const found = ::dlsym(library, name.c_str());
  if (found == nullptr) throw std::runtime_error(fmt::format("TEGULA_RIVALS: {} lacks {}", path_of_library(), name));
  return found;
}

}  // namespace

bool rivals_are_named() { return path_of_library() != nullptr && *path_of_library() != '\0'; }

std::function<void(stream const&)> make_rival(std::string const& name, std::vector<void*> const& tensors,
                                              std::vector<std::int64_t> const& sizes) {
  if (!rivals_are_named()) return {};
  auto* const make = reinterpret_cast<void* (*)(void* const*, std::int64_t const*)>(symbol("tegula_rival_" + name));
  auto* const run = reinterpret_cast<void (*)(void*, void*)>(symbol("tegula_rival_run"));
  void* const rival = make(tensors.data(), sizes.data());
  return [run, rival](stream const& on) { run(rival, on.handle()); };
}

}  // namespace tegula::bench
