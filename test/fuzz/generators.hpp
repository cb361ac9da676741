// Lists the generators of random cases. A case is a text: drawn from a seed, judged by itself, made smaller, and kept
// in test/fuzz/kept once it has failed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tegula::fuzz {

struct Verdict {
  enum class Kind : std::uint8_t {
    right,
    refused,    ///< a text or a kernel that is not taken, with a reason
    unsettled,  ///< right, but a proof remains open
    wrong,
  };
  Kind kind = Kind::right;
  std::string reason;   ///< of all kinds but right
  int informative = 0;  ///< statements that were checked, for generators that count them
  [[nodiscard]] bool wrong() const { return kind == Kind::wrong; }
};

struct Generator {
  std::string_view name;
  std::string_view subject;
  /// Returns the case of a seed; the same on every machine. Throws for a fault that drawing alone shows.
  std::string (*draw)(std::uint64_t seed);
  /// Judges a case of this generator. Does not throw.
  Verdict (*judge)(std::string const& text);
  /// Returns the smallest case found that fails in the same way.
  std::string (*shrink)(std::string const& text, Verdict const& found);
  std::uint64_t draws = 1;  ///< cases that take about as long as one of the slowest generators
};

/// Lists all generators; `pipeline` is the first.
std::span<Generator const> generators();
/// Finds a generator by its name; UserError for a name that no generator has.
Generator const& generator_named(std::string_view name);

/// Returns the text of a file for test/fuzz/kept, and back. A file names its generator in its first line; files without
/// that line are cases of `pipeline`.
std::string kept_text(Generator const& generator, std::string const& text);
struct KeptCase {
  Generator const& generator;
  std::string text;
};
KeptCase read_kept(std::string const& text);

}  // namespace tegula::fuzz
