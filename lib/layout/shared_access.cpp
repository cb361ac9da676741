#include "layout/shared_access.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "layout/layout_detail.hpp"

namespace tegula::layout {
namespace {

constexpr std::array<Dim, 3> thread_dims = {Dim::reg, Dim::lane, Dim::warp};

}  // namespace

std::optional<AccessMap> AccessMap::get(Layout const& registers, Layout const& memory, std::string& why) {
  if (!fits(registers.shape(), memory, why)) return std::nullopt;
  ElementOffsets const* offsets = ElementOffsets::get(memory, why);
  if (offsets == nullptr) return std::nullopt;
  int const missing = memory.rank() - registers.rank();
  AccessMap map;
  std::vector<Extents> places[3];
  for (Dim dim : thread_dims)
    for (std::int64_t index = 0; index < registers.size(dim); ++index) {
      Extents const where = registers.part(dim, index);
      Part sum;
      for (int a = 0; a < where.size(); ++a) {
        Part const part = offsets->part(a + missing, where[a]);
        sum.low ^= part.low;
        sum.high += part.high;
      }
      places[static_cast<std::size_t>(dim)].push_back(where);
      map.parts_[static_cast<std::size_t>(dim)].push_back(sum);
    }
  // Checks every element: the parts are right when the repetitions of one layout do not carry into those of the other.
  for (int w = 0; w < map.warps(); ++w)
    for (int l = 0; l < map.lanes(); ++l) {
      Extents const thread =
          registers.join(places[2][static_cast<std::size_t>(w)], places[1][static_cast<std::size_t>(l)]);
      for (int r = 0; r < map.registers(); ++r) {
        if (offsets->at(registers.join(thread, places[0][static_cast<std::size_t>(r)])).count == map.at(r, l, w))
          continue;
        why = "layout: the repetitions of " + registers.text() + " and of " + memory.text() + " do not fit each other";
        return std::nullopt;
      }
    }
  return map;
}

VectorPlan vector_plan(AccessMap const& map, int element_bytes, int max_bytes) {
  VectorPlan plan;
  std::map<std::int64_t, int> holder;  // offset of the register part: the lowest register there
  for (int r = 0; r < map.registers(); ++r) {
    auto const part = map.of(Dim::reg, r);
    auto const [at, first] = holder.emplace(part.low + part.high, r);
    if (!first) plan.copies.emplace_back(r, at->second);
  }
  auto const fits = [&](std::int64_t width) {
    for (Dim dim : {Dim::lane, Dim::warp})
      for (int i = 0; i < map.size(dim); ++i)
        if (map.of(dim, i).low % width != 0 || map.of(dim, i).high % width != 0) return false;
    for (auto const& [offset, reg] : holder) {
      std::int64_t const first = offset / width * width;
      // The parts of a vector differ in the low bits only, so the thread's XOR keeps them together.
      if (map.of(Dim::reg, reg).high % width != 0 || holder.count(first) == 0) return false;
      auto const before = holder.find(offset - 1);
      if (offset != first &&
          (before == holder.end() || map.of(Dim::reg, before->second).high != map.of(Dim::reg, reg).high))
        return false;
      if (offset == first && holder.count(first + width - 1) == 0) return false;
    }
    return true;
  };
  for (std::int64_t width = std::min(max_bytes, 16) / element_bytes; width > 1; width /= 2)
    if (fits(width)) {
      plan.width = static_cast<int>(width);
      break;
    }
  std::map<std::int64_t, std::size_t> by_first;
  for (int r = 0; r < map.registers(); ++r) {  // accesses in the order of their lowest register
    auto const part = map.of(Dim::reg, r);
    std::int64_t const first = (part.low + part.high) / plan.width * plan.width;
    if (!by_first.emplace(first, plan.accesses.size()).second) continue;
    VectorAccess access;
    for (int i = 0; i < plan.width; ++i) access.registers.push_back(holder.at(first + i));
    access.first = map.of(Dim::reg, access.registers.front());
    plan.accesses.push_back(std::move(access));
  }
  return plan;
}

BankCost bank_cost(std::span<std::int64_t const> addresses, int bytes) {
  BankCost cost;
  std::size_t const group = bytes <= 4 ? 32 : bytes <= 8 ? 16 : 8;
  for (std::size_t begin = 0; begin < addresses.size(); begin += group) {
    std::array<std::set<std::int64_t>, detail::banks> words;
    for (std::size_t i = begin; i < std::min(addresses.size(), begin + group); ++i)
      for (std::int64_t word = addresses[i] / detail::bank_bytes; word * detail::bank_bytes < addresses[i] + bytes;
           ++word)
        words[static_cast<std::size_t>(word % detail::banks)].insert(word);
    std::size_t max = 0;
    for (auto const& of_bank : words) max = std::max(max, of_bank.size());
    cost.wavefronts += static_cast<int>(max);
    cost.min += 1;
  }
  return cost;
}

BankCost bank_cost(AccessMap const& map, VectorPlan const& plan, int element_bytes) {
  BankCost max;
  for (int w = 0; w < map.warps(); ++w) {
    BankCost sum;
    for (VectorAccess const& access : plan.accesses) {
      std::vector<std::int64_t> addresses;
      for (int l = 0; l < map.lanes(); ++l) addresses.push_back(map.at(access.registers.front(), l, w) * element_bytes);
      BankCost const one = bank_cost(addresses, plan.width * element_bytes);
      sum.wavefronts += one.wavefronts;
      sum.min += one.min;
    }
    if (sum.wavefronts > max.wavefronts) max = sum;
  }
  return max;
}

}  // namespace tegula::layout
