#include "support/own_stack.hpp"

#include <pthread.h>

#include <exception>

namespace tegula::support {
namespace {

struct Work {
  std::function<void()> const& run;
  std::exception_ptr thrown;
};

void* call(void* of) {
  auto& work = *static_cast<Work*>(of);
  try {
    work.run();
  } catch (...) {
    work.thrown = std::current_exception();
  }
  return nullptr;
}

}  // namespace

void on_stack_of(std::size_t bytes, std::function<void()> const& work) {
  Work shared{work, nullptr};
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return work();
  pthread_t thread{};
  bool const created =
      pthread_attr_setstacksize(&attributes, bytes) == 0 && pthread_create(&thread, &attributes, &call, &shared) == 0;
  pthread_attr_destroy(&attributes);
  if (!created) return work();
  pthread_join(thread, nullptr);
  if (shared.thrown) std::rethrow_exception(shared.thrown);
}

}  // namespace tegula::support
