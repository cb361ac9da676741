#include "sim/machine/mbarrier.hpp"

namespace tegula::sim::machine {

void MbarrierState::settle() {
  completed_ = pending_ == 0 && tx_ == 0;
  if (!completed_) return;
  ++phase_;
  pending_ = expected_;
}

MbarrierFault MbarrierState::init(std::int64_t count) {
  if (live_) return MbarrierFault::already_live;
  if (count < 1 || count > limit) return MbarrierFault::bad_count;
  *this = {};
  live_ = true;
  expected_ = pending_ = count;
  return MbarrierFault::none;
}

MbarrierFault MbarrierState::inval() {
  if (!live_) return MbarrierFault::not_live;
  live_ = false;
  return MbarrierFault::none;
}

MbarrierFault MbarrierState::expect(std::int64_t bytes) {
  if (!live_) return MbarrierFault::not_live;
  if (pending_ == 0 && tx_ < 0) return MbarrierFault::late_expect;
  if (!in_range(tx_ + bytes)) return MbarrierFault::tx_range;
  tx_ += bytes;
  completed_ = false;
  return MbarrierFault::none;
}

MbarrierFault MbarrierState::complete(std::int64_t bytes) {
  if (!live_) return MbarrierFault::not_live;
  if (!in_range(tx_ - bytes)) return MbarrierFault::tx_range;
  tx_ -= bytes;
  settle();
  return MbarrierFault::none;
}

MbarrierFault MbarrierState::arrive(std::int64_t count) {
  if (!live_) return MbarrierFault::not_live;
  if (count < 1) return MbarrierFault::bad_count;
  if (pending_ < count) return MbarrierFault::over_arrival;
  pending_ -= count;
  settle();
  return MbarrierFault::none;
}

MbarrierFault MbarrierState::arrive_expect(std::int64_t bytes) {
  if (!live_) return MbarrierFault::not_live;
  if (pending_ < 1) return MbarrierFault::over_arrival;
  if (!in_range(tx_ + bytes)) return MbarrierFault::tx_range;
  tx_ += bytes;
  --pending_;
  settle();
  return MbarrierFault::none;
}

MbarrierFault MbarrierState::arrive_drop() {
  if (!live_) return MbarrierFault::not_live;
  if (pending_ < 1 || expected_ < 1) return MbarrierFault::over_arrival;
  --expected_;
  --pending_;
  settle();
  return MbarrierFault::none;
}

MbarrierFault MbarrierState::add_pending() {
  if (!live_) return MbarrierFault::not_live;
  if (pending_ >= limit) return MbarrierFault::over_arrival;
  ++pending_;
  completed_ = false;
  return MbarrierFault::none;
}

}  // namespace tegula::sim::machine
