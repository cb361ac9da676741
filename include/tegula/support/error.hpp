// The three kinds of errors that leave Tegula's public functions.
#pragma once

#include <stdexcept>

#include "tegula/support/location.hpp"

namespace tegula {

/// Base of all errors thrown by Tegula. what() is one line, lower case, with the values in it; further lines are notes.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The caller can fix it: a wrong shape, extent, argument, option, file or a missing tool. where() is the DSL line, if
/// there is one.
class UserError : public Error {
 public:
  explicit UserError(char const* text, location where = {}) : Error(text), where_(where) {}
  explicit UserError(std::string const& text, location where = {}) : Error(text), where_(where) {}
  [[nodiscard]] location where() const noexcept { return where_; }

 private:
  location where_;
};

/// A bug in Tegula: the failed condition, the pass, and, where there is one, the file that replays it.
class InternalError : public Error {
 public:
  using Error::Error;
};

/// A call of the CUDA driver failed. code() is its CUresult.
class DriverError : public Error {
 public:
  DriverError(std::string const& text, int code) : Error(text), code_(code) {}
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

}  // namespace tegula
