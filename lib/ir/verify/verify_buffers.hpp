// Checks the lives of a function's buffers that are deallocated. Used by verifier.cpp.
#pragma once

#include <string>
#include <vector>

#include "ir/core/op.hpp"

namespace tegula::ir {

struct BufferError {
  Op const* op = nullptr;
  std::string text;
};

/// Lists the errors of a function whose ops are well-typed. The rules:
///   - a dealloc names the result of a buffer_alloc of its own block;
///   - no op after it uses the buffer, or a value made of it: a view, or what a loop or branch passes on.
std::vector<BufferError> buffer_errors(Function const& function);

}  // namespace tegula::ir
