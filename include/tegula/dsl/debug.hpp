// Lets a running kernel tell the host something: device_assert and device_print.
#pragma once

#include "tegula/dsl/control.hpp"

namespace tegula {

namespace detail {

template <class C>
inline constexpr bool is_condition = std::is_same_v<scalar_element_t<C>, bool>;
template <TileLike C>
inline constexpr bool is_condition<C> = std::is_same_v<element_t<C>, bool> || is_invalid<C>;
template <Number C>
inline constexpr bool is_condition<C> = number_kind<C>() == NumberKind::boolean;

}  // namespace detail

/// Checks a condition when the kernel runs: a comparison of scalars or a bool, or a tile of bool, of which each element
/// is checked. Where it fails, the launch ends with the message, the file and line, and the block:
/// - on the host with a UserError,
/// - in the simulator with a report,
/// - on a GPU the driver prints them, and the next call of the driver fails with a DriverError. The process cannot use
///   the GPU afterwards.
/// TEGULA_ASSERTS=off, or CompileOptions::asserts, removes the asserts of a kernel. TEGULA_ASSERTS=all lets a GPU check
/// the stated ranges of loaded scalars too.
template <class C>
void device_assert(C&& condition, char const* message, location where = location::current()) {
  constexpr bool boolean = detail::is_condition<C>, used_once = !detail::named_recipe<C>;
  static_assert(boolean, "device_assert: the condition must be a comparison of scalars or tiles, or a bool");
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  if constexpr (boolean && used_once && !detail::is_invalid<C>) {
    auto& recorder = trace::Recorder::current("device_assert", where);
    if constexpr (detail::TileLike<C>) {
      auto&& kept = detail::stored(condition);
      recorder.device_assert(detail::record_as<bool, detail::shape_t<C>>(recorder, kept, where), message, where);
    } else {
      recorder.device_assert(detail::scalar_id<bool>(recorder, condition, where), message, where);
    }
  }
}

/// Prints device_print("text", values...), a statement: a line "kernel[0, 1, 0]: text v0 v1 ..." per block on standard
/// output. Values are scalars, numbers and tiles, of which the first 64 elements are shown. Lines of one block keep
/// their order. On a GPU they come at the next synchronisation. There each element of a tile has a line of its own:
/// "kernel[0, 1, 0]: text v1(0, 3) = 0.5".
template <class... V>
class device_print {
  static constexpr bool printable = ((detail::Carryable<detail::bare<V>> || detail::is_invalid<V>)&&...);
  static constexpr bool used_once = (!detail::named_recipe<V> && ...), valid = (!detail::is_invalid<V> && ...);
  static_assert(printable,
                "device_print: a printed value must be a scalar, a number or a tile; load elements of a tensor first");
  static_assert(used_once, TEGULA_NAMED_RECIPE);

 public:
  device_print(char const* text, V&&... values, location where = location::current()) {
    if constexpr (printable && used_once && valid) {
      auto& recorder = trace::Recorder::current("device_print", where);
      trace::Id const ids[sizeof...(V) + 1] = {detail::record_carried(recorder, values, where)..., -1};
      recorder.device_print(text, {ids, static_cast<int>(sizeof...(V))}, where);
    }
  }
};
template <class... V>
device_print(char const*, V&&...) -> device_print<V...>;

}  // namespace tegula
