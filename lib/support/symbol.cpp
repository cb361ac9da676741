#include "tegula/support/symbol.hpp"

#include <mutex>
#include <set>
#include <string>

namespace tegula {

Symbol::Symbol(std::string_view text) {
  static std::mutex mutex;
  static auto* pool = new std::set<std::string, std::less<>>;  // never destroyed: symbols outlive static destructors
  std::lock_guard lock(mutex);
  auto found = pool->find(text);
  if (found == pool->end()) found = pool->emplace(text).first;
  text_ = found->c_str();
}

}  // namespace tegula
