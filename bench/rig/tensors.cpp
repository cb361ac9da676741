#include "rig/tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "../../samples/support/compare.hpp"
#include "tegula/support/half.hpp"

namespace tegula::bench {
namespace {

constexpr std::int64_t guard_bytes = 4096;

std::int64_t product(std::vector<std::int64_t> const& extents) {
  std::int64_t result = 1;
  for (std::int64_t extent : extents) result *= extent;
  return result;
}

unsigned char poison_of(Element element) {
  return is_integer(element) ? samples::poison_byte<int> : samples::poison_byte<float>;
}

/// Mixes the bits of a counter well.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

float nearly_normal(std::uint64_t bits) {
  std::uint64_t const sum = (bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48);
  return (static_cast<float>(sum) / 65536.0F - 2.0F) * 1.7320508F;  // variance of the sum: 4 / 12
}

std::uint16_t to_bf16(float value) {
  std::uint32_t const bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return 0x7FFF;
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

template <class T>
void put(unsigned char* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

template <class T>
T element_at(unsigned char const* data, std::int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

}  // namespace

void in_parallel(std::int64_t count, std::function<void(std::int64_t, std::int64_t)> const& body) {
  auto const threads = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::thread> team;
  for (std::int64_t i = 1; i < threads && count > 1; ++i)
    team.emplace_back([=, &body] { body(count * i / threads, count * (i + 1) / threads); });
  body(0, team.empty() ? count : count / threads);
  for (std::thread& member : team) member.join();
}

HostTensor::HostTensor(Element element, std::vector<std::int64_t> extents)
    : element_(element),
      extents_(std::move(extents)),
      size_(product(extents_)),
      data_(new unsigned char[static_cast<std::size_t>(byte_count())]) {}

double HostTensor::at(std::int64_t index) const {
  switch (element_) {
    case Element::i8:
      return element_at<std::int8_t>(data_.get(), index);
    case Element::u8:
      return element_at<std::uint8_t>(data_.get(), index);
    case Element::i32:
      return element_at<std::int32_t>(data_.get(), index);
    case Element::u32:
      return element_at<std::uint32_t>(data_.get(), index);
    case Element::e4m3:
      return e4m3_value(element_at<std::uint8_t>(data_.get(), index));
    case Element::e5m2:
      return e5m2_value(element_at<std::uint8_t>(data_.get(), index));
    case Element::f16:
      return f16_value(element_at<std::uint16_t>(data_.get(), index));
    case Element::bf16:
      return from_bf16(element_at<std::uint16_t>(data_.get(), index));
    case Element::f32:
      return element_at<float>(data_.get(), index);
    default:
      throw std::logic_error("HostTensor: elements of this kind are moved only");
  }
}

void HostTensor::set(std::int64_t index, double value) {
  unsigned char* const to = data_.get() + index * bytes(element_);
  switch (element_) {
    case Element::i8:
      return put(to, static_cast<std::int8_t>(value));
    case Element::i32:
      return put(to, static_cast<std::int32_t>(value));
    case Element::u32:
      return put(to, static_cast<std::uint32_t>(value));
    case Element::u8:
      return put(to, static_cast<std::uint8_t>(value));
    case Element::e4m3:
      return put(to, e4m3_bits(value));
    case Element::e5m2:
      return put(to, e5m2_bits(value));
    case Element::f16:
      return put(to, f16_bits(value));
    case Element::bf16:
      return put(to, to_bf16(static_cast<float>(value)));
    case Element::f32:
      return put(to, static_cast<float>(value));
    default:
      throw std::logic_error("HostTensor: elements of this kind are moved only");
  }
}

void HostTensor::fill_normal(std::uint64_t seed, double amplitude) {
  std::uint64_t const start = mixed(seed);
  auto const scale = static_cast<float>(amplitude);
  in_parallel(size_, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i)
      set(i, nearly_normal(mixed(start + static_cast<std::uint64_t>(i))) * scale);
  });
}

bool HostTensor::unwritten(std::int64_t index) const {
  unsigned char const* const first = data_.get() + index * bytes(element_);
  unsigned char const poison = poison_of(element_);
  return std::all_of(first, first + bytes(element_), [=](unsigned char byte) { return byte == poison; });
}

std::int64_t HostTensor::count_unwritten() const {
  std::atomic<std::int64_t> count = 0;
  in_parallel(size_, [&](std::int64_t first, std::int64_t last) {
    std::int64_t mine = 0;
    for (std::int64_t i = first; i < last; ++i) mine += unwritten(i) || std::isnan(at(i)) ? 1 : 0;
    count += mine;
  });
  return count;
}

std::int64_t HostTensor::count_different(HostTensor const& other) const {
  std::atomic<std::int64_t> count = 0;
  auto const width = static_cast<std::int64_t>(bytes(element_));
  in_parallel(size_, [&](std::int64_t first, std::int64_t last) {
    std::int64_t mine = 0;
    for (std::int64_t i = first; i < last; ++i)
      mine += std::memcmp(data() + i * width, other.data() + i * width, static_cast<std::size_t>(width)) != 0 ? 1 : 0;
    count += mine;
  });
  return count;
}

DeviceTensor::DeviceTensor(device where, Element element, std::vector<std::int64_t> extents)
    : element_(element),
      extents_(std::move(extents)),
      bytes_(product(extents_) * bytes(element)),
      memory_(where, bytes_ + guard_bytes) {
  poison();
}

DeviceTensor::DeviceTensor(device where, HostTensor const& values)
    : DeviceTensor(where, values.element(), values.extents()) {
  detail::upload(memory_.allocation(), values.data(), bytes_, nullptr);
}

void DeviceTensor::poison() { memory_.fill(poison_of(element_)); }

void DeviceTensor::zero() {
  unsigned char const nothing = 0;
  detail::fill(memory_.allocation(), &nothing, 1, bytes_, nullptr);
}

void DeviceTensor::copy_from(stream const& order, DeviceTensor const& other) {
  detail::copy(memory_.allocation(), other.memory_.allocation(), bytes_, &order);
}

HostTensor DeviceTensor::read(std::string const& name) const {
  std::vector<unsigned char> all(static_cast<std::size_t>(bytes_ + guard_bytes));
  detail::download(all.data(), memory_.allocation(), bytes_ + guard_bytes, nullptr);
  for (std::int64_t i = bytes_; i < bytes_ + guard_bytes; ++i)
    if (all[static_cast<std::size_t>(i)] != poison_of(element_))
      throw std::runtime_error(fmt::format("byte {} behind {} was written", i - bytes_, name));
  HostTensor result(element_, extents_);
  if (bytes_ != 0) std::memcpy(result.data(), all.data(), static_cast<std::size_t>(bytes_));
  return result;
}

void DeviceTensor::check_type(Element element, int rank) const {
  if (element != element_ || static_cast<std::size_t>(rank) != extents_.size())
    throw std::logic_error(fmt::format("bench: a view has element {} and rank {}, but the array {} and {}",
                                       info(element).name, rank, info(element_).name, extents_.size()));
}

Argument DeviceTensor::argument(bool read_only) const {
  Argument result;
  result.element = element_;
  result.read_only = read_only;
  result.rank = static_cast<int>(extents_.size());
  result.space = DeviceKind::cuda;
  result.device_number = memory_.where().number();
  result.address = address();
  std::int64_t stride = 1;
  for (int axis = result.rank - 1; axis >= 0; --axis) {
    result.extents[axis] = extents_[static_cast<std::size_t>(axis)];
    result.strides[axis] = stride;
    stride *= result.extents[axis];
  }
  result.allocation = memory_.allocation();
  return result;
}

}  // namespace tegula::bench
