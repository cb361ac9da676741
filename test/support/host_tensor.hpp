// Holds tensors of any element in host memory, for tests of the executors. They are filled from bits, viewed with any
// strides, and read back as doubles or integers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "../../samples/support/compare.hpp"
#include "ir/core/builder.hpp"
#include "sim/interpreter.hpp"

namespace tegula::test {

class HostTensor {
 public:
  HostTensor() = default;
  /// Makes it row-major; `gaps` elements are left between rows of the last axis, and as many before the first element.
  HostTensor(Element element, Extents const& extents, std::int64_t gaps = 0)
      : HostTensor(element, extents, gaps, gaps, 1) {}
  /// Makes the same with `before` elements before the first one, and `inner` as the stride of the last axis.
  HostTensor(Element element, Extents const& extents, std::int64_t gaps, std::int64_t before, std::int64_t inner)
      : element_(element), extents_(extents), offset_(before) {
    strides_ = extents;
    std::int64_t stride = inner;
    for (int i = extents.size() - 1; i >= 0; --i) {
      strides_[i] = stride;
      stride *= extents[i];
      if (i == extents.size() - 1) stride += gaps;
    }
    memory_.resize(static_cast<std::size_t>((stride + before + gaps + 1) * bytes(element)), poison());
  }
  /// Makes the same with the last two axes stored the other way round.
  static HostTensor transposed(Element element, Extents const& extents) {
    HostTensor result(element, extents);
    int const last = extents.size() - 1;
    result.strides_[last - 1] = 1;
    result.strides_[last] = extents[last - 1];
    return result;
  }

  /// Views the same memory from its other end along an axis, whose stride turns negative.
  HostTensor& reverse(int axis) {
    offset_ += std::max<std::int64_t>(extents_[axis] - 1, 0) * strides_[axis];
    strides_[axis] = -strides_[axis];
    return *this;
  }

  [[nodiscard]] Element element() const { return element_; }
  [[nodiscard]] Extents const& extents() const { return extents_; }
  [[nodiscard]] Extents const& strides() const { return strides_; }
  [[nodiscard]] std::int64_t count() const { return extents_.product(); }
  [[nodiscard]] void* data() { return memory_.data() + offset_ * bytes(element_); }

  [[nodiscard]] sim::Tensor view() {
    return {data(), element_, extents_, strides_, memory_.data(), memory_.data() + memory_.size()};
  }

  /// Returns element i in row-major order.
  [[nodiscard]] ir::Constant get(std::int64_t i) const {
    std::uint64_t raw = 0;
    std::memcpy(&raw, address(i), static_cast<std::size_t>(bytes(element_)));
    if (is_integer(element_)) return ir::make_constant(element_, static_cast<std::int64_t>(raw));  // which cuts it
    return {element_, raw};
  }
  void set(std::int64_t i, ir::Constant value) {
    std::memcpy(const_cast<std::byte*>(address(i)), &value.bits, static_cast<std::size_t>(bytes(element_)));
  }
  [[nodiscard]] double number(std::int64_t i) const { return ir::to_double(get(i)); }
  [[nodiscard]] std::int64_t integer(std::int64_t i) const { return ir::to_int(get(i)); }
  /// Tells whether element i holds its initial bytes, which in floats are a NaN.
  [[nodiscard]] bool unwritten(std::int64_t i) const {
    return std::all_of(address(i), address(i) + bytes(element_), [&](std::byte byte) { return byte == poison(); });
  }
  void set_number(std::int64_t i, double value) { set(i, ir::make_constant(element_, value)); }
  void set_integer(std::int64_t i, std::int64_t value) { set(i, ir::make_constant(element_, value)); }
  template <class... Coordinates>
  [[nodiscard]] double operator()(Coordinates... coordinates) const {
    std::int64_t const at[] = {static_cast<std::int64_t>(coordinates)...};
    std::int64_t linear = 0;
    for (int i = 0; i < extents_.size(); ++i) linear = linear * extents_[i] + at[i];
    return number(linear);
  }

  /// Draws uniform numbers; integers are rounded.
  HostTensor& fill(std::mt19937_64& random, double low = -1, double high = 1) {
    for (std::int64_t i = 0; i < count(); ++i)
      set_number(i, low + (high - low) * (static_cast<double>(random() >> 11) * 0x1p-53));
    return *this;
  }
  /// Draws any bits: infinities, NaNs, subnormals, extreme integers.
  HostTensor& fill_bits(std::mt19937_64& random) {
    for (std::int64_t i = 0; i < count(); ++i) {
      std::uint64_t raw = random();
      if (element_ == Element::boolean) raw &= 1;
      set(i, is_integer(element_) ? ir::make_constant(element_, static_cast<std::int64_t>(raw))
                                  : ir::Constant{element_, mask(raw)});
    }
    return *this;
  }

  /// True if nothing outside the view was touched.
  [[nodiscard]] bool gaps_untouched() const {
    std::vector<std::byte> others = memory_;  // with the elements poisoned too
    int const last = extents_.size() - 1;
    std::int64_t const row = last < 0 ? 1 : extents_[last], step = last < 0 ? 1 : strides_[last];
    for (std::int64_t i = 0; i < count(); i += row) {
      std::byte* at = others.data() + (address(i) - memory_.data());
      if (step == 1) {
        std::fill_n(at, row * bytes(element_), poison());
        continue;
      }
      for (std::int64_t column = 0; column < row; ++column, at += step * bytes(element_))
        std::fill_n(at, bytes(element_), poison());
    }
    return std::all_of(others.begin(), others.end(), [&](std::byte byte) { return byte == poison(); });
  }
  /// True for two NaNs and for equal bits; -0 and +0 differ.
  static bool same(ir::Constant a, ir::Constant b) {
    if (is_float(a.element) && std::isnan(ir::to_double(a)) && std::isnan(ir::to_double(b))) return true;
    return a == b;
  }

 private:
  [[nodiscard]] std::byte poison() const {
    return std::byte{is_float(element_) ? samples::poison_byte<float> : samples::poison_byte<int>};
  }
  [[nodiscard]] std::uint64_t mask(std::uint64_t raw) const {
    return bits(element_) == 64 ? raw : raw & ((std::uint64_t{1} << bits(element_)) - 1);
  }
  [[nodiscard]] std::byte const* address(std::int64_t i) const {
    std::int64_t offset = offset_;
    for (int axis = extents_.size() - 1; axis >= 0; --axis) {
      offset += i % extents_[axis] * strides_[axis];
      i /= extents_[axis];
    }
    return memory_.data() + offset * bytes(element_);
  }

  Element element_ = Element::f32;
  Extents extents_, strides_;
  std::int64_t offset_ = 0;
  std::vector<std::byte> memory_;
};

}  // namespace tegula::test
