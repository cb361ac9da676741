// Provides choices, names, lines of IR text and tensors of many forms for generators of random kernels.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ir/core/builder.hpp"
#include "ir/text/text.hpp"

namespace tegula::test {

struct RandomParameter {
  bool is_tensor = false;
  bool written = false;
  Element element = Element::f32;
  std::vector<std::int64_t> extents;
  std::int64_t gap = 0;    ///< unused elements between rows
  std::int64_t inner = 1;  ///< stride of the last axis
  ir::Constant scalar;
  std::int64_t bound = 0;     ///< tensors: whole numbers up to this magnitude; 0: none, or as the test likes
  std::int64_t exponent = 0;  ///< such numbers times a power of two
  bool any = false;           ///< numbers of all sizes instead, subnormal ones too
  std::int64_t specials = 0;  ///< of floats one in so many is a NaN, an infinity, -0, or the least; 0: none
  std::int64_t reversed = 0;  ///< bit i: the stride of axis i is negative
  double tolerance = 0;       ///< written tensors: how far results may be apart
};

struct RandomKernel {
  std::string text;  ///< without the version line
  std::vector<RandomParameter> parameters;
  double tolerance = 0;  ///< relative to the greatest magnitude of an output; 0: bit by bit
};

class KernelWriter {
 protected:
  using Type = ir::Type;
  struct Entry {
    std::string name;
    Type type;
  };

  explicit KernelWriter(std::uint64_t seed) : random_(seed) {}

  // ---- choices
  int pick(int below) { return static_cast<int>(random_() % static_cast<std::uint64_t>(below < 1 ? 1 : below)); }
  bool chance(int percent) { return pick(100) < percent; }
  template <class T = std::int64_t>
  T one_of(std::vector<T> const& choices) {
    return choices[static_cast<std::size_t>(pick(static_cast<int>(choices.size())))];
  }

  // ---- text
  static std::string text(std::int64_t number) { return fmt::to_string(number); }
  void line(std::string const& op) { body_ += "  " + op + "\n"; }
  Entry define(std::string const& op, Type const& type) {
    std::string const name = fmt::format("%v{}", next_++);
    line(name + " = " + op + " : " + ir::to_string(type));
    return {name, type};
  }
  Entry binary(std::string const& op, Entry const& a, Entry const& b, std::string const& attributes = "") {
    Type const type = op == "compare" ? a.type.with_element(Element::boolean) : a.type;
    return define(op + " " + a.name + ", " + b.name + attributes, type);
  }
  Entry constant(double value, Type const& type) {
    return define("constant {value = " + ir::to_string(ir::make_constant(type.element(), value)) + "}", type);
  }

  // ---- parameters
  std::string add_parameter(RandomParameter parameter, std::string const& type, std::string const& attributes = "") {
    std::string const name = fmt::format("%p{}", kernel_.parameters.size());
    signature_ += (signature_.empty() ? "" : ", ") + name + ": " + type + attributes;
    kernel_.parameters.push_back(std::move(parameter));
    return name;
  }

  RandomKernel finish() {
    kernel_.text = functions_ + "kernel @random(" + signature_ + ") {\n" + body_ + "  return\n}\n";
    return kernel_;
  }

  std::mt19937_64 random_;
  RandomKernel kernel_;
  std::string functions_, signature_, body_;
  int next_ = 0;
};

}  // namespace tegula::test
