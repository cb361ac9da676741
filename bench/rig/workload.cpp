#include "rig/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>

namespace tegula::bench {

void Verdict::compare(HostTensor const& out, std::int64_t place, double reference, double tolerance) {
  double const difference = out.at(place) - reference;
  difference_ += difference * difference;
  size_ += reference * reference;
  entries.add(place, out.at(place), reference, tolerance, out.unwritten(place));
}

void Verdict::join(Verdict const& part) {
  entries.join(part.entries);
  difference_ += part.difference_;
  size_ += part.size_;
}

void Verdict::finish() { error = size_ > 0 ? std::sqrt(difference_ / size_) : std::sqrt(difference_); }

Verdict check_rows(HostTensor const& out, std::int64_t rows, std::int64_t cost, std::uint64_t seed,
                   std::function<void(Verdict&, std::int64_t row)> const& check_row) {
  bool const all = rows * cost <= std::int64_t{1} << 24;
  std::int64_t const count = all ? rows : 192;
  Verdict verdict;
  std::mutex lock;
  in_parallel(count, [&](std::int64_t first, std::int64_t last) {
    Verdict part;
    for (std::int64_t i = first; i < last; ++i) {
      std::int64_t row = i;
      if (!all && i == 0) row = rows - 1;
      if (!all && i > 0)
        row =
            static_cast<std::int64_t>((static_cast<std::uint64_t>(i) + seed % 1000003) * 0x9E3779B97F4A7C15ULL >> 11) %
            rows;
      check_row(part, row);
    }
    std::lock_guard const held(lock);
    verdict.join(part);
  });
  verdict.finish();
  verdict.unwritten = out.count_unwritten();
  return verdict;
}

std::string shape_text(std::vector<std::int64_t> const& extents) {
  std::string text;
  for (std::int64_t extent : extents) text += fmt::format("{}{}", text.empty() ? "" : "x", extent);
  return text;
}

std::map<std::string, Argument> Workload::arguments(int set) const {
  std::map<std::string, Argument> result;
  for (auto const& [name, tensor] : sets_[static_cast<std::size_t>(set)])
    result[name] = tensor->argument(name != output_name_ && more_.count(name) == 0);
  return result;
}

std::vector<void*> Workload::addresses(int set, std::vector<std::string> const& names) const {
  std::vector<void*> result;
  for (std::string const& name : names) result.push_back(tensor(set, name).address());
  return result;
}

void Workload::poison(int set) {
  output(set).poison();
  for (auto const& [name, zeroed] : more_) zeroed ? tensor(set, name).zero() : tensor(set, name).poison();
}

void Workload::add_output(std::string const& name, Element element, std::vector<std::int64_t> const& extents,
                          bool zeroed) {
  for (Set& set : sets_) {
    set[name] = std::make_unique<DeviceTensor>(order_.where(), element, extents);
    if (zeroed) set[name]->zero();
  }
  more_[name] = zeroed;
}

void Workload::upload(std::map<std::string, HostTensor const*> const& inputs, Element element,
                      std::vector<std::int64_t> const& output_extents, bool one_set) {
  constexpr std::int64_t beyond_cache = std::int64_t{256} << 20;
  std::int64_t bytes_per_set = 0;
  for (auto const& [name, values] : inputs) bytes_per_set += values->byte_count();
  int wanted = 1;
  do {
    Set set;
    for (auto const& [name, values] : inputs) {
      if (sets_.empty()) {
        set[name] = std::make_unique<DeviceTensor>(order_.where(), *values);
      } else {
        set[name] = std::make_unique<DeviceTensor>(order_.where(), values->element(), values->extents());
        set[name]->copy_from(order_, *sets_.front().at(name));
      }
    }
    set[output_name_] = std::make_unique<DeviceTensor>(order_.where(), element, output_extents);
    bytes_per_set += sets_.empty() ? set[output_name_]->byte_count() : 0;
    sets_.push_back(std::move(set));
    if (!one_set)
      wanted = static_cast<int>(
          std::clamp<std::int64_t>(beyond_cache / std::max<std::int64_t>(bytes_per_set, 1) + 1, 2, 128));
  } while (static_cast<int>(sets_.size()) < wanted);
  order_.synchronize();
}

}  // namespace tegula::bench
