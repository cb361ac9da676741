#include "tegula/support/symbol.hpp"

#include <set>
#include <string>

#include "support/locks.hpp"

namespace tegula {

Symbol::Symbol(std::string_view text) {
  using Pool = std::set<std::string, std::less<>>;
  static constinit support::Lock mutex;
  static constinit support::Lasting<Pool> texts;
  Pool& pool = texts.get();
  std::lock_guard lock(mutex);
  auto found = pool.find(text);
  if (found == pool.end()) found = pool.emplace(text).first;
  text_ = found->c_str();
}

}  // namespace tegula
