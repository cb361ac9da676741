// Defines the ops by which a running kernel tells the host something: asserts and prints.
#pragma once

#include "tegula/ir/fields.hpp"

namespace tegula::ir {

/// Checks that a bool holds when the kernel runs: `assert %ok, %b0, %b1, %b2, %x {message = "x is", file = "a.cpp",
/// line = 7}`. A tile holds if all its elements do. A failure ends the launch with the message, the scalars behind the
/// block indices, the place and the block. Passes that make CTAs persistent rewrite the block indices. Place and
/// message are attributes, so that cached code names the present line.
struct AssertOp : OpDefaults<Family::report> {
  static constexpr std::string_view mnemonic = "assert";
  static constexpr auto operands = names("condition", "block0", "block1", "block2", "values");
  static constexpr unsigned traits = variadic;
  static constexpr Effects effects = writes(Space::console);
  Symbol message;
  Symbol file;
  std::int64_t line = 0;
  bool range = false;
  static constexpr auto attributes() {
    return fields(field("message", &AssertOp::message), field("file", &AssertOp::file),
                  field("line", &AssertOp::line, Bounds{0, (std::int64_t{1} << 31) - 1}),
                  field("range", &AssertOp::range));
  }
};

/// Prints a text, then scalars and tiles: `print %b0, %b1, %b2, %x, %t {text = "x and t"}`. Block indices are as for
/// assert. Once in a CTA.
struct PrintOp : OpDefaults<Family::report> {
  static constexpr std::string_view mnemonic = "print";
  static constexpr auto operands = names("block0", "block1", "block2", "values");
  static constexpr unsigned traits = variadic;
  static constexpr Effects effects = writes(Space::console);
  Symbol text;
  static constexpr auto attributes() { return fields(field("text", &PrintOp::text)); }
};

}  // namespace tegula::ir
