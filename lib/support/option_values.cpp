#include "support/option_values.hpp"

#include <charconv>
#include <string>
#include <utility>

namespace tegula::support {
namespace {

/// Calls `read` with each item between commas; false once an item is not read.
template <class Read>
bool read_list(std::string_view text, Read const& read) {
  for (;;) {
    std::size_t const comma = text.find(',');
    if (!read(text.substr(0, comma))) return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

bool add_dump_item(std::vector<DumpItem>& items, std::string_view item) {
  using Kind = DumpItem::Kind;
  auto const with_pass = [&](std::string_view prefix, Kind kind) {
    if (!item.starts_with(prefix) || item.size() == prefix.size()) return false;
    items.push_back({kind, std::string(item.substr(prefix.size()))});
    return true;
  };
  static constexpr Word<Kind> plain[] = {{"ir", Kind::ir},   {"llvm", Kind::llvm},     {"asm", Kind::assembly},
                                         {"ptx", Kind::ptx}, {"launch", Kind::launch}, {"key", Kind::key}};
  if (item == "all") {
    for (Word<Kind> const& word : plain) items.push_back({word.value, {}});
    items.push_back({Kind::ir_after, "all"});
    return true;
  }
  if (auto const kind = find_word<plain>(item)) {
    items.push_back({*kind, {}});
    return true;
  }
  return with_pass("ir-before=", Kind::ir_before) || with_pass("ir-after=", Kind::ir_after);
}

/// Reads one item of TEGULA_PROFILE behind the colon.
bool add_profile_item(ProfileRequest& profile, std::string_view item) {
  using Granularity = ProfileRequest::Granularity;
  static constexpr Word<bool ProfileRequest::*> flags[] = {{"user", &ProfileRequest::user},
                                                           {"compiler", &ProfileRequest::compiler},
                                                           {"circular", &ProfileRequest::circular}};
  static constexpr Word<Granularity> granularities[] = {
      {"warp", Granularity::warp}, {"warpgroup", Granularity::warpgroup}, {"cta", Granularity::cta}};
  static constexpr Word<int ProfileRequest::*> numbers[] = {{"slots=", &ProfileRequest::slots},
                                                            {"rows=", &ProfileRequest::rows}};
  if (auto const flag = find_word<flags>(item)) {
    profile.** flag = true;
    return true;
  }
  if (auto const granularity = find_word<granularities>(item)) {
    profile.granularity = *granularity;
    return true;
  }
  for (auto const& [prefix, member] : numbers) {
    if (!item.starts_with(prefix)) continue;
    constexpr int most = 1 << 20;
    std::optional<int> const value = parse_integer(item.substr(prefix.size()), 1, most);
    if (value) profile.*member = *value;
    return value.has_value();
  }
  return false;
}

}  // namespace

std::optional<int> parse_integer(std::string_view text, int min, int max) {
  int value = 0;
  auto const result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || result.ec != std::errc() || result.ptr != text.data() + text.size() || value < min || value > max)
    return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  if (text == "none") return UINT64_MAX;
  std::uint64_t number = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view const unit = text.substr(static_cast<std::size_t>(end - text.data()));
  constexpr std::string_view units = "KMG";
  if (error != std::errc() || unit.size() > 1) return std::nullopt;
  if (unit.empty()) return number;
  std::size_t const power = units.find(unit[0]);
  if (power == std::string_view::npos) return std::nullopt;
  std::uint64_t const factor = std::uint64_t{1} << 10 * (power + 1);
  if (number > UINT64_MAX / factor) return std::nullopt;
  return number * factor;
}

bool read_dump(std::string_view text, Options& options) {
  return read_list(text, [&](std::string_view item) { return add_dump_item(options.dump, item); });
}

bool read_arithmetic(std::string_view text, Options& options) {
  options.exact = text == "exact";
  options.uncontracted = text == "uncontracted";
  return options.exact || options.uncontracted || text == "free";
}

bool read_asserts(std::string_view text, Options& options) {
  options.asserts = text != "off";
  options.ranges = text == "all";
  return text == "on" || text == "off" || text == "all";
}

bool read_checks(std::string_view text, Options& options) {
  static constexpr Word<bool Options::*> checks[] = {
      {"bounds", &Options::check_bounds}, {"overflow", &Options::check_overflow}, {"nan", &Options::check_nan}};
  return read_list(text, [&](std::string_view item) {
    bool known = false;
    for (auto const& [spelling, member] : checks)
      if (item == spelling || item == "all") known = options.*member = true;
    return known;
  });
}

bool read_simulate(std::string_view text, Options& options) {
  std::string_view const word = text.substr(0, text.find(':'));
  // A schedule begins with one of these words; the simulator reads the rest.
  for (std::string_view const known : {"seed", "latest", "earliest", "starve", "choices", "timed"})
    if (word == known) options.simulate_schedule = text;
  if (options.simulate_schedule.empty()) return read_word<&Options::simulate, one_or_zero>(text, options);
  options.simulate = true;
  return true;
}

bool read_profile(std::string_view text, Options& options) {
  ProfileRequest& profile = options.profile;
  if (text == "off") return true;
  std::size_t const colon = text.find(':');
  std::string_view const word = text.substr(0, colon);
  if (word != "on" && word != "shared" && word != "device") return false;
  profile.on = true;
  profile.device = word != "shared";
  if (colon == std::string_view::npos) return true;
  std::string_view const items = text.substr(colon + 1);
  // Records that are named are the only ones.
  bool named = false;
  read_list(items, [&](std::string_view item) {
    named = named || item == "user" || item == "compiler";
    return true;
  });
  if (named) profile.user = profile.compiler = false;
  return read_list(items, [&](std::string_view item) { return add_profile_item(profile, item); });
}

bool read_device(std::string_view text, Options& options) {
  options.debug = text == "debug";
  options.device = options.debug ? "host" : text;
  if (text.starts_with("cuda:")) return parse_integer(text.substr(5), 0, 1023).has_value();
  return text == "host" || text == "cuda" || text == "debug";
}

bool read_cache_limit(std::string_view text, Options& options) {
  std::optional<std::uint64_t> const bytes = parse_bytes(text);
  if (bytes) options.cache_limit = *bytes;
  return bytes.has_value();
}

bool read_quiet(std::string_view text, Options&) { return find_word<one_or_zero>(text).has_value(); }

}  // namespace tegula::support
