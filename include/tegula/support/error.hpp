// Defines the three kinds of errors that leave Tegula's public functions.
#pragma once

#include <stdexcept>

#include "tegula/support/location.hpp"

namespace tegula {

/// Is the base of all errors thrown by Tegula. what() is one line, lower case, with the values in it; further lines are
/// notes.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reports an error that the caller can fix: a wrong shape, extent, argument, option or file, or a missing tool.
/// where() is the DSL line, if there is one.
class UserError : public Error {
 public:
  explicit UserError(char const* text, location where = {}) : Error(text), where_(where) {}
  explicit UserError(std::string const& text, location where = {}) : Error(text), where_(where) {}
  [[nodiscard]] location where() const noexcept { return where_; }

 private:
  location where_;
};

/// Reports a bug in Tegula: the failed condition, the pass, and, where there is one, the file that replays it.
class InternalError : public Error {
 public:
  using Error::Error;
};

/// Reports a failed call of the CUDA driver. code() is its CUresult.
class DriverError : public Error {
 public:
  DriverError(std::string const& text, int code) : Error(text), code_(code) {}
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

}  // namespace tegula
