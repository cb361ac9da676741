// Runs threads with small stacks, for work that must not recurse deeply.
#pragma once

#include <pthread.h>

#include <cstddef>

#include "support/catch.hpp"

namespace tegula::test {

/// Runs f in a thread with a stack of so many bytes.
template <class F>
void on_stack_of(std::size_t bytes, F f) {
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, bytes) == 0);
  pthread_t thread{};
  auto const run = [](void* body) -> void* {
    (*static_cast<F*>(body))();
    return nullptr;
  };
  // Assertions of both threads would share Catch's state: here there is none until the thread has ended.
  int const created = pthread_create(&thread, &attributes, run, &f);
  int const joined = created == 0 ? pthread_join(thread, nullptr) : 0;
  REQUIRE(created == 0);
  REQUIRE(joined == 0);
  REQUIRE(pthread_attr_destroy(&attributes) == 0);
}

}  // namespace tegula::test
