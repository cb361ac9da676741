// Runs a kernel on any executor over the same arrays: host, simulated tiles, simulated warps, a device.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "tegula/tegula.hpp"

namespace tegula::test {

enum class Executor : std::uint8_t { host, tiles, warps, device };
inline constexpr Executor executors_without_device[] = {Executor::host, Executor::tiles, Executor::warps};

inline char const* name(Executor executor) {
  constexpr char const* names[] = {"host", "simulated tiles", "simulated warps", "device"};
  return names[static_cast<int>(executor)];
}

/// Holds a dense tensor in host memory.
template <class T, int rank>
struct Array {
  std::array<std::int64_t, rank> extents;
  std::vector<T> values;

  explicit Array(std::array<std::int64_t, rank> shape, T value = T()) : extents(shape) {
    std::int64_t count = 1;
    for (std::int64_t extent : shape) count *= extent;
    values.assign(static_cast<std::size_t>(count), value);
  }
  [[nodiscard]] tegula::view<T, rank> view() {
    return make(std::make_index_sequence<rank>(),
                [&](auto... e) { return tegula::view<T, rank>(values.data(), e...); });
  }
  [[nodiscard]] buffer<T, rank> upload(device where) const {
    buffer<T, rank> result =
        make(std::make_index_sequence<rank>(), [&](auto... e) { return buffer<T, rank>(where, e...); });
    result.copy_from(values);
    return result;
  }
  T& operator[](std::int64_t i) { return values[static_cast<std::size_t>(i)]; }
  T const& operator[](std::int64_t i) const { return values[static_cast<std::size_t>(i)]; }

 private:
  template <std::size_t... at, class Make>
  auto make(std::index_sequence<at...>, Make const& of) const {
    return of(extents[at]...);
  }
};
template <class T>
Array<T, 1> array_of(std::vector<T> values) {
  Array<T, 1> result({static_cast<std::int64_t>(values.size())});
  result.values = std::move(values);
  return result;
}

/// Holds a tensor of any strides in host memory, in elements: negative, zero, or from an odd place on.
template <class T, int rank>
struct Strided {
  Array<T, 1> memory;
  std::int64_t first;  ///< the place of element 0, 0, ...
  std::int64_t extents[rank];
  std::int64_t strides[rank];

  [[nodiscard]] tegula::view<T, rank> view() { return {memory.values.data() + first, extents, strides}; }
  template <class... I>
  T& at(I... index) {
    std::int64_t const list[] = {index...};
    std::int64_t place = first;
    for (int axis = 0; axis < rank; ++axis) place += list[axis] * strides[axis];
    return memory[place];
  }
};

namespace detail {

/// Keeps the memory of a strided tensor on a device.
template <class T, int rank>
struct StridedOnDevice {
  buffer<T, 1> memory;
  device_view<T, rank> view;
};

template <class X>
X const& on_host(X& scalar) {
  return scalar;
}
template <class T, int rank>
view<T, rank> on_host(Strided<T, rank>& tensor) {
  return tensor.view();
}
template <class T, int rank>
StridedOnDevice<T, rank> on_device(device where, Strided<T, rank>& tensor) {
  buffer<T, 1> memory = tensor.memory.upload(where);
  device_view<T, rank> const view(memory.data() + tensor.first, tensor.extents, tensor.strides);
  return {std::move(memory), view};
}
template <class T, int rank>
void fetch(Strided<T, rank>& tensor, StridedOnDevice<T, rank> const& from) {
  from.memory.copy_to(tensor.memory.values);
}
template <class X>
X& argument(X& held) {
  return held;
}
template <class T, int rank>
device_view<T, rank>& argument(StridedOnDevice<T, rank>& held) {
  return held.view;
}
template <class T, int rank>
view<T, rank> on_host(Array<T, rank>& array) {
  return array.view();
}
template <class X>
X on_device(device, X& scalar) {
  return scalar;
}
template <class T, int rank>
buffer<T, rank> on_device(device where, Array<T, rank>& array) {
  return array.upload(where);
}
template <class X, class Y>
void fetch(X const&, Y const&) {}
template <class T, int rank>
void fetch(Array<T, rank>& array, buffer<T, rank> const& from) {
  from.copy_to(array.values);
}

}  // namespace detail

/// Runs a kernel over arrays and scalars. Simulations must be clean: their report is returned, else nothing.
template <class Kernel, class... X>
std::string run_on(Executor executor, Kernel const& kernel, X&&... arguments) {
  switch (executor) {
    case Executor::host:
      launch(host_stream(), kernel, detail::on_host(arguments)...);
      return "";
    case Executor::tiles: {
      simulation const result = simulate(kernel, detail::on_host(arguments)...);
      return result.clean ? "" : result.report;
    }
    case Executor::warps: {
      simulation const result = simulate(kernel, detail::on_host(arguments)..., schedule::seed(5));
      return result.clean ? "" : result.report;
    }
    case Executor::device: {
      cuda_stream const order;
      auto held = std::make_tuple(detail::on_device(order.where(), arguments)...);
      std::apply([&](auto&... on) { launch(order, kernel, detail::argument(on)...); }, held);
      std::apply([&](auto&... on) { (detail::fetch(arguments, on), ...); }, held);
      return "";
    }
  }
  return "";
}

/// Runs a kernel and requires that nothing is reported.
#define TEGULA_CHECK_RUN(executor, ...)                                       \
  do {                                                                        \
    std::string const report = ::tegula::test::run_on(executor, __VA_ARGS__); \
    INFO("on " << ::tegula::test::name(executor) << "\n" << report);          \
    REQUIRE(report.empty());                                                  \
  } while (false)

}  // namespace tegula::test
