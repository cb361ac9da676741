// Arrays for benches on a device: random data made on all cores, outputs poisoned with NaN, guards behind every array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tegula/dsl/element.hpp"
#include "tegula/runtime/argument.hpp"
#include "tegula/runtime/buffer.hpp"
#include "tegula/runtime/tensor_view.hpp"

namespace tegula::bench {

/// Calls body(first, last) for pieces of [0, count) on all cores, and waits.
void in_parallel(std::int64_t count, std::function<void(std::int64_t, std::int64_t)> const& body);

/// Holds a dense array in host memory, last axis fastest. The tests' HostTensor is another class: small, of any
/// strides, and filled by one engine. Arrays here have gigabytes and are filled on all cores.
class HostTensor {
 public:
  HostTensor() = default;
  /// Uninitialised.
  HostTensor(Element element, std::vector<std::int64_t> extents);

  [[nodiscard]] Element element() const { return element_; }
  [[nodiscard]] std::vector<std::int64_t> const& extents() const { return extents_; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] std::int64_t byte_count() const { return size_ * bytes(element_); }
  [[nodiscard]] unsigned char* data() { return data_.get(); }
  [[nodiscard]] unsigned char const* data() const { return data_.get(); }
  /// Returns the value of an element of up to 32 bits, booleans excluded.
  [[nodiscard]] double at(std::int64_t index) const;
  void set(std::int64_t index, double value);

  /// Fills with nearly normal values (a sum of four uniform ones) times `amplitude`; other seeds, other values.
  void fill_normal(std::uint64_t seed, double amplitude = 1);
  /// Tells whether the element has the bits that a DeviceTensor begins with.
  [[nodiscard]] bool unwritten(std::int64_t index) const;
  /// Counts the elements that are unwritten or NaN.
  [[nodiscard]] std::int64_t count_unwritten() const;
  /// Counts the elements that differ in any bit.
  [[nodiscard]] std::int64_t count_different(HostTensor const& other) const;

 private:
  Element element_ = Element::f32;
  std::vector<std::int64_t> extents_;
  std::int64_t size_ = 0;
  std::unique_ptr<unsigned char[]> data_;
};

/// Holds a dense array on a device, or on the host, with a guard behind it. Both are poisoned: a NaN in every float,
/// far from any sum in i32.
class DeviceTensor {
 public:
  DeviceTensor(device where, Element element, std::vector<std::int64_t> extents);
  DeviceTensor(device where, HostTensor const& values);

  /// Restores the state at the start.
  void poison();
  void zero();
  void copy_from(stream const& order, DeviceTensor const& other);
  /// Returns the values. Throws std::runtime_error if something was written to the guard.
  [[nodiscard]] HostTensor read(std::string const& name) const;
  [[nodiscard]] Argument argument(bool read_only) const;
  /// Returns the array as kernels in C++ take it.
  template <class T, int rank>
  [[nodiscard]] tensor_view<T, rank> view() const {
    std::int64_t extents[rank];
    check_type(element_of<T>::value, rank);
    for (int axis = 0; axis < rank; ++axis) extents[axis] = extents_[static_cast<std::size_t>(axis)];
    return {memory_.where(), device_view<T, rank>(static_cast<T*>(address()), extents)};
  }
  [[nodiscard]] void* address() const { return const_cast<unsigned char*>(memory_.data()); }
  [[nodiscard]] std::int64_t byte_count() const { return bytes_; }

 private:
  /// Throws std::logic_error for another element or rank.
  void check_type(Element element, int rank) const;

  Element element_;
  std::vector<std::int64_t> extents_;
  std::int64_t bytes_;
  buffer<unsigned char> memory_;
};

}  // namespace tegula::bench
