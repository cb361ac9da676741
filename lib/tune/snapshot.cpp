#include "tune/snapshot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "ir/core/builder.hpp"
#include "runtime/argument_check.hpp"
#include "runtime/cuda/backend.hpp"
#include "tegula/support/element.hpp"

namespace tegula::tuning {
namespace {

double value_at(std::vector<std::byte> const& bytes, Element element, std::size_t number) {
  std::uint64_t bits = 0;
  auto const size = static_cast<std::size_t>(tegula::bytes(element));
  std::memcpy(&bits, bytes.data() + number * size, size);
  return ir::to_double({element, bits});
}

/// Returns the greatest difference that sums in another order make, as a share of the greatest value.
double allowed_share(Element element) {
  double const last_place = std::ldexp(1.0, -info(element).mantissa);
  return (info(element).bits <= 16 ? 4 : 64) * last_place;
}

}  // namespace

Snapshot::Snapshot(stream const& order, std::span<ParameterInfo const> parameters,
                   std::span<Argument const> arguments) {
  order.synchronize();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    Argument const& argument = arguments[i];
    if (argument.kind != ParameterKind::tensor || parameters[i].direction == Direction::in) continue;
    runtime::ByteRange const range = runtime::byte_range(runtime::footprint_of(argument));
    if (range.first >= range.last) continue;
    Piece piece{static_cast<int>(i), argument.element, argument.space == DeviceKind::host,
                reinterpret_cast<void*>(static_cast<std::uintptr_t>(range.first)),
                std::vector<std::byte>(static_cast<std::size_t>(range.last - range.first))};
    if (piece.on_host) {
      std::memcpy(piece.bytes.data(), piece.address, piece.bytes.size());
    } else {
      int const device = order.where().number();
      runtime::cuda::download(device, nullptr, piece.bytes.data(), piece.address,
                              static_cast<std::int64_t>(piece.bytes.size()));
      runtime::cuda::synchronize(device, nullptr);
    }
    pieces_.push_back(std::move(piece));
  }
}

void Snapshot::restore(stream const& order) const {
  order.synchronize();
  for (Piece const& piece : pieces_) {
    if (piece.on_host) {
      std::memcpy(piece.address, piece.bytes.data(), piece.bytes.size());
      continue;
    }
    int const device = order.where().number();
    runtime::cuda::upload(device, nullptr, piece.address, piece.bytes.data(),
                          static_cast<std::int64_t>(piece.bytes.size()));
    runtime::cuda::synchronize(device, nullptr);
  }
}

Snapshot::Difference Snapshot::difference(Snapshot const& other) const {
  Difference found;
  for (std::size_t p = 0; p < pieces_.size(); ++p) {
    Piece const &mine = pieces_[p], &theirs = other.pieces_[p];
    if (mine.bytes == theirs.bytes) continue;
    found.identical = false;
    std::size_t const count = mine.bytes.size() / static_cast<std::size_t>(bytes(mine.element));
    double greatest = 0;
    for (std::size_t i = 0; is_float(mine.element) && i < count; ++i)
      if (double const value = std::abs(value_at(mine.bytes, mine.element, i)); std::isfinite(value))
        greatest = std::max(greatest, value);
    double const allowed = is_float(mine.element) ? allowed_share(mine.element) * greatest : 0;
    for (std::size_t i = 0; i < count; ++i) {
      double const a = value_at(mine.bytes, mine.element, i), b = value_at(theirs.bytes, mine.element, i);
      if (a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= allowed) continue;
      found.why = fmt::format("parameter {}, element {} in memory: {} where the first kernel gave {}; {} allowed",
                              mine.parameter, i, b, a, allowed);
      return found;
    }
  }
  return found;
}

}  // namespace tegula::tuning
