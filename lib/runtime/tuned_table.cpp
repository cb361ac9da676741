#include "runtime/tuned_table.hpp"

#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "support/locks.hpp"
#include "tegula/support/element.hpp"

namespace tegula::runtime {

std::vector<std::int64_t> problem_of(std::span<Argument const> arguments) {
  std::vector<std::int64_t> problem;
  for (Argument const& argument : arguments) {
    if (argument.kind == ParameterKind::tensor)
      problem.insert(problem.end(), argument.extents, argument.extents + argument.rank);
    else if (!is_float(argument.element))
      problem.push_back(argument.scalar);
  }
  return problem;
}

TunedPlace const& tuned_place(device where) {
  using Places = std::map<std::pair<DeviceKind, int>, TunedPlace>;
  static constinit support::Lock mutex;
  static constinit support::Lasting<Places> places;
  Places& known = places.get();
  std::pair const key(where.kind(), where.number());
  {
    std::lock_guard const lock(mutex);
    if (auto const at = known.find(key); at != known.end()) return at->second;
  }
  TunedPlace found{where.architecture(), where.name(), where.is_cuda()};
  std::lock_guard const lock(mutex);
  return known.emplace(key, std::move(found)).first->second;
}

std::vector<TunedTable const*> serving(std::span<TunedTable const* const> tables, TunedPlace const& place) {
  std::vector<TunedTable const*> result, others;
  for (TunedTable const* const table : tables) {
    if (table == nullptr) break;
    if (table->architecture != place.architecture) continue;
    if (table->device == place.model)
      result.push_back(table);
    else if (place.is_cuda)
      others.push_back(table);
  }
  result.insert(result.end(), others.begin(), others.end());
  return result;
}

TunedRow find_row(TunedTable const& table, std::span<std::int64_t const> problem, double max_factor) {
  TunedRow best;
  if (table.numbers != static_cast<int>(problem.size())) return best;
  for (TunedChoice const& choice : std::span(table.choices, static_cast<std::size_t>(table.count))) {
    double distance = 0;
    bool near = true;
    for (std::size_t n = 0; near && n < problem.size(); ++n) {
      std::int64_t const a = problem[n], b = choice.problem[n];
      if (a == b) continue;
      // Without elements a problem is like no other.
      double const logarithm =
          a > 0 && b > 0 ? std::abs(std::log2(static_cast<double>(a) / static_cast<double>(b))) : 64;
      near = logarithm <= std::log2(max_factor);
      distance += logarithm;
    }
    if (near && (best.choice == nullptr || distance < best.distance)) best = {&choice, distance};
  }
  return best;
}

}  // namespace tegula::runtime
