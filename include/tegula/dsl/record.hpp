// Provides record and region: marks in a kernel between which a profile measures.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tegula/dsl/scalar.hpp"

namespace tegula {

namespace detail {

template <std::size_t size>
inline constexpr bool is_record_name = size > 1 && size - 1 <= max_record_name;

template <class V>
inline constexpr bool is_record_value = IntegerScalar<V> || Integer<V>;

}  // namespace detail

/// Says which end of a part a record marks. Enumerators, so that variables may have these names without a warning.
enum RecordEnd : std::uint8_t { start, stop };

namespace detail {

constexpr ir::RecordEvent event_of(RecordEnd end) {
  return end == start ? ir::RecordEvent::start : ir::RecordEvent::stop;
}

}  // namespace detail

/// Records, where a launch is profiled, that the part `name` starts or stops here: `record(start, "softmax")`. Other
/// launches run the same code as without it. A part stops in the loop body, branch or function in which it starts.
/// Values made in between are computed in between. The name has at most 64 characters. UserError for a stop without a
/// start, and for a start that is not stopped.
template <std::size_t size>
void record(RecordEnd end, char const (&name)[size], location where = location::current()) {
  constexpr bool fits = detail::is_record_name<size>;
  static_assert(fits, "record: a name must have 1 to 64 characters");
  if constexpr (fits) trace::Recorder::current("record", where).record(detail::event_of(end), name, {}, where);
}

/// Records the same with a number, an integer or an index expression of at most 62 bits: `record(start, "tile", i)`.
template <std::size_t size, class V>
requires(!std::is_same_v<detail::bare<V>, location>) void record(RecordEnd end, char const (&name)[size],
                                                                 V const& value, location where = location::current()) {
  constexpr bool fits = detail::is_record_name<size>, number = detail::is_record_value<V>;
  static_assert(fits, "record: a name must have 1 to 64 characters");
  static_assert(number, "record: the value must be an integer or an index expression");
  if constexpr (fits && number) {
    auto& recorder = trace::Recorder::current("record", where);
    recorder.record(detail::event_of(end), name, {detail::scalar_id<std::int64_t>(recorder, value, where)}, where);
  }
}

/// Records that a part starts, and stops at the end of the scope: `region r("softmax");`, `region r("tile", i);`.
class region {
 public:
  template <std::size_t size>
  explicit region(char const (&name)[size], location where = location::current()) : name_(name), where_(where) {
    record(start, name, where);
  }
  template <std::size_t size, class V>
  requires(!std::is_same_v<detail::bare<V>, location>)
      region(char const (&name)[size], V const& value, location where = location::current())
      : name_(name), where_(where) {
    record(start, name, value, where);
  }
  region(region const&) = delete;
  region& operator=(region const&) = delete;
  ~region() {
    if (trace::Recorder* const recorder = trace::Recorder::active()) recorder->end_region(name_, where_);
  }

 private:
  char const* name_;
  location where_;
};

}  // namespace tegula
