// Provides what generators share: verdicts of judges that may throw, lines before a text, and smaller texts of one
// fault.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz/generators.hpp"
#include "fuzz/pipeline_case.hpp"
#include "tegula/support/error.hpp"

namespace tegula::fuzz {

inline Verdict wrong(std::string reason) { return {Verdict::Kind::wrong, std::move(reason)}; }
inline Verdict refused(std::string reason) { return {Verdict::Kind::refused, std::move(reason)}; }

/// Judges by a function that may throw: a user's error is a refusal, every other one a fault.
template <class Judge>
Verdict caught(Judge const& judge) {
  try {
    return judge();
  } catch (UserError const& error) {
    return refused(error.what());
  } catch (std::exception const& error) {
    return wrong(error.what());
  }
}

/// Writes and reads lines "// name: value", with which texts begin.
inline std::string comment(std::string_view name, std::string const& value) {
  return fmt::format("// {}: {}\n", name, value);
}
inline std::string value_of(std::string const& text, std::string_view name) {
  std::string const mark = fmt::format("// {}: ", name);
  std::size_t const at = text.find(mark);
  if (at == std::string::npos) throw UserError(fmt::format("fuzz: the case has no line '{}'", mark));
  return text.substr(at + mark.size(), text.find('\n', at) - at - mark.size());
}
/// Tells whether a smaller text shows the same fault.
inline bool same_kind(Verdict const& found, Verdict const& again) {
  return again.wrong() && kind_of(again.reason) == kind_of(found.reason);
}

/// Removes runs of lines, then of characters, from long ones to single ones.
template <Verdict judge(std::string const&)>
std::string shrink_text(std::string const& text, Verdict const& found) {
  std::string best = text;
  int left = 2000;  // judgements
  auto const attempt = [&](std::string candidate) {
    if (left-- <= 0 || candidate.size() >= best.size() || !same_kind(found, judge(candidate))) return false;
    best = std::move(candidate);
    return true;
  };
  auto const lines_of = [](std::string const& all) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < all.size();) {
      std::size_t const end = std::min(all.find('\n', at), all.size() - 1) + 1;
      lines.push_back(all.substr(at, end - at));
      at = end;
    }
    return lines;
  };
  for (bool better = true; better && left > 0;) {
    better = false;
    for (std::size_t run = std::max<std::size_t>(lines_of(best).size() / 2, 1); run > 0 && left > 0; run /= 2)
      for (std::size_t first = 0; first < lines_of(best).size() && left > 0;) {
        std::vector<std::string> const lines = lines_of(best);
        std::string candidate;
        for (std::size_t i = 0; i < lines.size(); ++i)
          if (i < first || i >= first + run) candidate += lines[i];
        if (attempt(std::move(candidate)))
          better = true;
        else
          first += run;
      }
  }
  return best;
}

/// Makes the numbers of a line "name=12 name=3" smaller, one at a time.
template <Verdict judge(std::string const&)>
std::string shrink_numbers(std::string const& text, Verdict const& found) {
  std::string best = text;
  int left = 200;
  for (bool better = true; better && left > 0;) {
    better = false;
    for (std::size_t at = best.find('='); at != std::string::npos; at = best.find('=', at + 1)) {
      std::size_t const begin = at + 1, size = best.find_first_not_of("0123456789", begin) - begin;
      if (size == 0) continue;
      long const number = std::atol(best.substr(begin, size).c_str());
      for (long const smaller : {0L, number / 16 * 8, number - 16, number - 8}) {
        if (smaller < 0 || smaller >= number || left-- <= 0) continue;
        std::string candidate = best;
        candidate.replace(begin, size, fmt::to_string(smaller));
        if (!same_kind(found, judge(candidate))) continue;
        best = std::move(candidate);
        better = true;
        break;
      }
    }
  }
  return best;
}

}  // namespace tegula::fuzz
