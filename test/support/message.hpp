// Runs an action for the message of its error.
#pragma once

#include <string>

#include "tegula/support/error.hpp"

namespace tegula::test {

/// Returns the message of the error that an action throws.
std::string message_of(auto&& action) {
  try {
    action();
  } catch (Error const& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace tegula::test
