#include "gpu/rows/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tegula/support/error.hpp"

namespace tegula::bench {
namespace {

using Launches = std::vector<std::function<void(stream const&)>>;  // one for each set

constexpr double large_copy_bytes = 1 << 30;

void say(std::string const& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

Launches launches_of(Side const& side, Workload const& work) {
  Launches result;
  for (int set = 0; set < work.sets(); ++set) result.push_back(side.prepare(work, set));
  return result;
}

Candidate candidate_of(Side const& side, Workload const& work, stream const& order) {
  return {side.variant,
          [launches = launches_of(side, work), order](int set) { launches[static_cast<std::size_t>(set)](order); },
          {}};
}

/// Copies as many bytes as a kernel moves: half of them are read, half written.
Candidate driver_copy(stream const& order, double bytes) {
  auto const floats = static_cast<std::int64_t>(bytes / 2 / sizeof(float));
  auto const from = std::make_shared<DeviceTensor>(order.where(), Element::f32, std::vector{floats});
  auto const to = std::make_shared<DeviceTensor>(order.where(), Element::f32, std::vector{floats});
  return {"driver's copy", [=](int) { to->copy_from(order, *from); }, {}};
}

std::string spread(std::vector<double> const& values) {
  if (values.empty()) return "";
  auto const [min, max] = std::minmax_element(values.begin(), values.end());
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", median(values), *min, *max);
}

}  // namespace

struct Table::Checked {
  Verdict verdict;
  HostTensor out;
  bool any_order = false;  ///< of the side
};

void Table::wrong(std::string const& name, std::string const& problem) {
  ++wrong_;
  say(fmt::format("WRONG: {}: {}", name, problem));
}

bool Table::verify(Row const& row, Side const& side, Workload& work, Checked& result) {
  std::string const name = fmt::format("{}, {}, {}", row.kernel, work.shape(), side.variant);
  try {
    work.poison(0);
    side.prepare(work, 0)(order_);
    order_.synchronize();
    result.out = work.result(0);
    result.verdict = work.check(result.out);
    result.any_order = side.any_order;
  } catch (std::exception const& error) {
    wrong(name, error.what());
    return false;
  }
  if (!result.verdict.right())
    wrong(name, fmt::format("{} entries NaN or unwritten, error {:.1e}; in units of the rounding error: {}",
                            result.verdict.unwritten, result.verdict.error, result.verdict.entries.str()));
  return result.verdict.right();
}

void Table::check(Row const& row) {
  std::unique_ptr<Workload> const work = row.make(order_, row.small, seed_, true);
  for (Side const& side : row.sides) {
    if (!checked_.insert(fmt::format("{}, {}, {}", row.kernel, work->shape(), side.variant)).second) continue;
    Checked checked;
    if (verify(row, side, *work, checked))
      say(fmt::format("right: {}, {}, {}: error {:.1e}", row.kernel, work->shape(), side.variant,
                      checked.verdict.error));
  }
}

void Table::compile(Row const& row) {
  for (Code const& code : row.codes) {
    if (!compiled_.insert(code.label).second) continue;
    try {
      KernelFacts const found = code.facts();
      say(fmt::format("{:<60} {:3} registers, {} bytes spilled, {} bytes of shared memory", code.label, found.registers,
                      found.spill_bytes, found.shared_bytes));
    } catch (std::exception const& error) {
      wrong(code.label, error.what());
    }
  }
}

std::vector<Candidate> Table::rivals(Row const& row, Workload& work) const {
  switch (row.rival) {
    case Rival::none:
      return {};
    case Rival::copy:
      return {driver_copy(order_, work.work())};
    case Rival::large_copy:
      return {driver_copy(order_, 2.0 * large_copy_bytes)};
    case Rival::plain:
      return {candidate_of(row.plain.value(), work, order_)};
    case Rival::library:
      std::vector<Candidate> all = work.rivals(order_, cublas_);
      if (all.size() > 1) all.erase(all.begin(), all.end() - 1);
      return all;
  }
  return {};
}

void Table::time(Row const& row) {
  try {
    time_sides(row);
  } catch (std::exception const& error) {
    wrong(fmt::format("{}, {}", row.kernel, shape_text(row.extents)), error.what());
  }
}

void Table::time_sides(Row const& row) {
  if (group_ != row.group) {
    group_ = row.group;
    fmt::print(
        "\n{}:\n\n| kernel | size | variant | us | rate, {} | rival's rate | ratio: median, min, max | error | remark "
        "|\n"
        "|---|---|---|---|---|---|---|---|---|\n",
        row.group, row.counts_bytes ? "GB/s" : "TFLOP/s");
  }
  std::unique_ptr<Workload> const work = row.make(order_, row.extents, seed_, false);
  std::vector<Candidate> candidates = rivals(row, *work);
  std::size_t const others = candidates.size();
  std::vector<Checked> checked;
  for (Side const& side : row.sides) {
    Checked result;
    if (!verify(row, side, *work, result)) continue;
    std::string& remark = result.verdict.remark;
    if (side.remark) remark = fmt::format("{}{}{}", side.remark(*work), remark.empty() ? "" : "; ", remark);
    checked.push_back(std::move(result));
    candidates.push_back(candidate_of(side, *work, order_));
  }
  if (checked.empty()) return;
  std::vector<Candidate> timed = candidates;
  // The driver copies 1 GiB at two thirds of its rate as a node of a graph, so that copy stays outside.
  if (row.graph)
    for (std::size_t i = row.rival == Rival::large_copy ? others : 0; i < timed.size(); ++i)
      timed[i] = tuning::in_graph(order_, timed[i], work->sets());
  time_in_turns(order_, timed, work->sets(), clock_);
  if (row.rival == Rival::large_copy)  // as long as it would take for the bytes of the problem
    for (double& seconds : timed.front().seconds) seconds *= work->work() / (2 * large_copy_bytes);
  for (std::size_t i = 0; i < timed.size(); ++i) {
    Candidate const* const rival = others > 0 && i >= others ? &timed[0] : nullptr;
    if (i < others) {
      report(row, *work, timed[i], nullptr, nullptr);
      continue;
    }
    // Inputs of all sets are equal, so bits must be the same after all those launches.
    int const last = work->sets() - 1;
    work->poison(last);
    candidates[i].launch(last);
    order_.synchronize();
    HostTensor const again = work->result(last);
    if (checked[i - others].any_order) {
      if (!work->check(again).right())
        wrong(fmt::format("{}, {}, {}", row.kernel, work->shape(), timed[i].name), "wrong when run again");
    } else if (auto const different = again.count_different(checked[i - others].out); different != 0)
      wrong(fmt::format("{}, {}, {}", row.kernel, work->shape(), timed[i].name),
            fmt::format("{} entries differ when run again", different));
    report(row, *work, timed[i], rival, &checked[i - others]);
  }
}

void Table::report(Row const& row, Workload const& work, Candidate const& candidate, Candidate const* rival,
                   Checked const* checked) {
  auto const rate = [&](double seconds) { return work.work() / seconds * (row.counts_bytes ? 1e-9 : 1e-12); };
  Result result{row.kernel, work.shape(),    candidate.name, row.counts_bytes ? "GB/s" : "TFLOP/s", {}, "", {},
                {},         candidate.clock, seed_};
  for (double const seconds : candidate.seconds) result.rates.push_back(rate(seconds));
  if (rival != nullptr) {
    result.rival = rival->name;
    result.ratios = ratios(candidate, *rival);
  }
  if (checked != nullptr) result.error = checked->verdict.error;
  results_.write(result);
  if (checked == nullptr) return;  // a rival stands in the lines of those beside it
  std::string const kernel = row.kernel.substr(row.kernel.find(' ') + 1);
  std::string remark;
  auto const add = [&](std::string const& text) { remark += (remark.empty() || text.empty() ? "" : "; ") + text; };
  if (row.bar && order_.where().name().find("H200") != std::string::npos) {
    double const share = median(result.rates) / row.bar->rate;
    add(fmt::format("{:.3f} of {}'s {:g}", share, row.bar->name, row.bar->rate));
    count(row.group, fmt::format("{}, beside recorded rates", candidate.name), share, kernel + ", " + work.shape());
  }
  add(checked->verdict.remark);
  if (row.graph) add("in a graph");
  say(fmt::format("| {} | {} | {} | {:.2f} | {:.1f} | {} | {} | {:.1e} | {} |", kernel, work.shape(), candidate.name,
                  median(candidate.seconds) * 1e6, median(result.rates),
                  rival == nullptr ? "" : fmt::format("{:.1f}", rate(median(rival->seconds))), spread(result.ratios),
                  checked->verdict.error, remark));
  if (rival != nullptr) count(row.group, candidate.name, median(result.ratios), kernel + ", " + work.shape());
}

void Table::count(std::string const& group, std::string const& variant, double ratio, std::string const& row) {
  auto const same = [&](Group const& each) { return each.name == group && each.variant == variant; };
  auto found = std::find_if(groups_.begin(), groups_.end(), same);
  if (found == groups_.end()) found = groups_.insert(groups_.end(), {group, variant, {}});
  found->ratios.emplace_back(ratio, row);
}

void Table::summarise() const {
  if (groups_.empty()) return;
  fmt::print("\n| group | variant | rows | worst ratio | at | geometric mean |\n|---|---|---|---|---|---|\n");
  for (Group const& group : groups_) {
    double logs = 0;
    for (auto const& [ratio, row] : group.ratios) logs += std::log(ratio);
    auto const& [worst, at] = *std::min_element(group.ratios.begin(), group.ratios.end());
    say(fmt::format("| {} | {} | {} | {:.3f} | {} | {:.3f} |", group.name, group.variant, group.ratios.size(), worst,
                    at, std::exp(logs / static_cast<double>(group.ratios.size()))));
  }
}

}  // namespace tegula::bench
