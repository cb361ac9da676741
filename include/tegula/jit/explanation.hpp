// Holds the answer of explain: a text, and a page of the kernel.
#pragma once

#include <iosfwd>
#include <string>

#include "tegula/profile/profile.hpp"
#include "tegula/runtime/handle.hpp"

namespace tegula {
namespace detail {

struct ExplainedLaunch;
void retain(ExplainedLaunch* launch) noexcept;
void release(ExplainedLaunch* launch) noexcept;

}  // namespace detail

/// Explains one launch. It serves as text, and makes a page of the kernel. Copies explain the same launch.
class Explanation {
 public:
  [[nodiscard]] std::string const& str() const { return text_; }
  [[nodiscard]] char const* c_str() const { return text_.c_str(); }
  operator std::string() const { return text_; }

  /// Returns one file of HTML that shows side by side: the kernel's text, the IR after each pass with its changes, the
  /// code, facts, advice and a timeline. It needs no network. Runs the passes again, for their IR.
  ///
  /// SASS is shown where ptxas and nvdisasm are installed. The timeline is the simulator's, of small tensors of zeros.
  /// The tensors of the launch are not read. A part that is missing says why. Throws UserError for an explanation
  /// that was moved from.
  [[nodiscard]] std::string page() const;
  /// Shows the records of a profiled launch as the timeline: `explain(k, a, b).page(profile(s, k, a, b))`.
  [[nodiscard]] std::string page(Profile const& course) const;
  /// Writes the page to a file that only the user may read, in place of an earlier one. Throws UserError if that fails.
  void save(std::string const& file) const;
  void save(std::string const& file, Profile const& course) const;

  /// Takes over the launch that explain() found.
  Explanation(std::string text, detail::ExplainedLaunch* adopted)
      : text_(static_cast<std::string&&>(text)), launch_(adopted) {}

 private:
  std::string text_;
  detail::Handle<detail::ExplainedLaunch> launch_;
};

/// Prints the text.
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& stream, Explanation const& explanation) {
  return stream << explanation.str();
}

}  // namespace tegula
