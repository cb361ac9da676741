#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "abi/path_rows.hpp"
#include "analysis/advice_rules.hpp"
#include "analysis/kernel_facts.hpp"
#include "analysis/kernel_paths.hpp"
#include "ir/core/walk.hpp"
#include "target/finding.hpp"

namespace tegula::analysis {
namespace {

using Kind = SlowSpot::Kind;
using ir::Op;
using ir::OpKind;

constexpr double mma_factor = 1.4;  ///< by which mma.sync multiplies more slowly than wgmma; the estimate knows no plan

/// Finds products that use the tensor cores less than they could.
class Products {
 public:
  explicit Products(AdvisedLaunch& launch) : launch_(launch) {}

  void products() {
    for (std::size_t i = 0; i < launch_.best.ops.size(); ++i) {
      WorkOfOp const& op = launch_.best.ops[i];
      if (op.kind != OpKind::DotOp) continue;
      DotPath const* slowest = nullptr;
      for (DotPath const& row : launch_.about.paths.dots)
        if (abi::same_line(row.where, op.where) && (slowest == nullptr || row.path > slowest->path)) slowest = &row;
      if (slowest == nullptr) continue;
      // The work that nothing saves: f64 has products of its own.
      if (op.element == Element::f64) {
        Work more;
        more.product_bytes = op.work.product_bytes * (f64_factor - 1);
        add_to(launch_.best, i, more);
        continue;
      }
      if (slowest->path == Path::mma || slowest->path == Path::lanes) slow_product(i, *slowest);
      small_tile(i, *slowest);
      empty_rows(i);
      outside(i, *slowest);
    }
  }

 private:
  /// Returns the finding that keeps a product of this line from wgmma.
  [[nodiscard]] target::Finding why_not_wgmma(location where) const {
    target::Finding found;
    ir::walk_pre_order(launch_.about.lowered->body(), [&](Op& op) {
      if (!found.empty() || !abi::same_line(op.where(), where)) return ir::Walk::advance;
      if (op.is<ir::MmaOp>()) found = target::Finding::from_data(op.as<ir::MmaOp>().by_warps.view());
      if (op.is<ir::ForOp>()) found = target::Finding::from_data(op.as<ir::ForOp>().by_lanes.view());
      return ir::Walk::advance;
    });
    return found;
  }

  void slow_product(std::size_t i, DotPath const& row) {
    WorkOfOp const& op = launch_.best.ops[i];
    target::Finding const why = why_not_wgmma(op.where);
    std::string remedy = remedy_of_product(why);
    if (remedy.empty()) remedy = row.fix;
    if (remedy.empty()) return;
    Work more;
    if (row.path == Path::mma) {
      more.product_bytes = op.work.product_bytes * (mma_factor - 1);
    } else {
      more.product_bytes = -op.work.product_bytes;
      more.arithmetic = op.work.product_bytes / (info(op.element).bits / 8.0);
    }
    std::string const reason = why.empty() ? row.reason : row.path == Path::lanes ? std::string() : why.text();
    launch_.lose(
        Kind::product, op.where, "",
        fmt::format("the product of {} goes by {}{}{}", row.tiles,
                    row.path == Path::mma ? "mma, warp by warp" : "multiply-adds of lanes, not by tensor cores",
                    reason.empty() ? "" : ": ", reason),
        std::move(remedy), [i, more](Estimate& launch) { add_to(launch, i, more); });
  }

  /// Returns the loads of both operands of a product that is alone in its loop; empty: it is none of that kind.
  [[nodiscard]] std::vector<std::size_t> operands_of(std::size_t product) const {
    std::vector<std::size_t> loaded;
    int const ring = launch_.best.ops[product].ring;
    for (std::size_t at = 0; ring >= 0 && at < launch_.best.ops.size(); ++at) {
      if (launch_.best.ops[at].ring != ring) continue;
      if (launch_.best.ops[at].kind == OpKind::DotOp && at != product) return {};
      if (launch_.best.ops[at].kind == OpKind::LoadOp) loaded.push_back(at);
    }
    if (loaded.size() < 2) loaded.clear();
    return loaded;
  }

  /// Names tiles of a product so small that the multiprocessors wait for their operands.
  void small_tile(std::size_t i, DotPath const& row) {
    WorkOfOp const& op = launch_.best.ops[i];
    std::vector<double> const tile = extents_of(row.tiles.substr(0, row.tiles.rfind('x')));
    std::vector<std::size_t> const loaded = operands_of(i);
    if (loaded.empty() || tile.size() != 3) return;
    double const all = tile[0] * tile[1] * static_cast<double>(launch_.best.blocks);
    std::pair<double, double> larger{tile[0], tile[1]};
    double fetched = 1 / tile[0] + 1 / tile[1];
    double const before = fetched;
    for (double const rows : {64.0, 128.0})
      for (double const columns : {64.0, 128.0}) {
        bool const fits =
            rows >= tile[0] && columns >= tile[1] && rows <= of_result(true) && columns <= of_result(false);
        if (!fits || all / (rows * columns) < launch_.about.processors || 1 / rows + 1 / columns >= fetched) continue;
        fetched = 1 / rows + 1 / columns;
        larger = {rows, columns};
      }
    if (fetched == before) return;
    double const saved = 1 - fetched / before;
    std::vector<std::pair<std::size_t, Work>> extra;
    for (std::size_t const at : loaded) {
      Work more, less;
      more.lines = saved * launch_.best.ops[at].work.lines;
      add(less, more, -1);
      add_to(launch_.best, at, less);
      extra.emplace_back(at, more);
    }
    launch_.lose(Kind::small_tile, op.where, "",
                 fmt::format("tiles of {} x {} fetch {:.1f} times the bytes of tiles of {} x {}", tile[0], tile[1],
                             before / fetched, larger.first, larger.second),
                 fmt::format("take tiles of {} x {}", larger.first, larger.second), [extra](Estimate& launch) {
                   for (auto const& [at, more] : extra) add_to(launch, at, more);
                 });
  }

  /// Returns the rows or columns of the largest result that is stored.
  [[nodiscard]] double of_result(bool rows) const {
    double most = 0, found = 0;
    for (WorkOfOp const& store : launch_.best.ops) {
      if (store.kind != OpKind::StoreOp || store.parameter < 0) continue;
      AdvisedTensor const& tensor = launch_.about.tensors[static_cast<std::size_t>(store.parameter)];
      if (int const rank = tensor.extents.size(); rank >= 2 && bytes_of(tensor) > most) {
        most = bytes_of(tensor);
        found = static_cast<double>(tensor.extents[rank - (rows ? 2 : 1)]);
      }
    }
    return found;
  }

  /// Names products of which the tensor cores multiply rows or columns that nobody asked for.
  void empty_rows(std::size_t i) {
    WorkOfOp const& op = launch_.best.ops[i];
    for (PaddedTile const& tile : launch_.about.paths.padded) {
      if (tile.tile != "dot" || !abi::same_line(tile.where, op.where)) continue;
      double const factor = elements(tile.used) / std::max(elements(tile.written), 1.0);
      if (factor <= 1) continue;
      Work more;
      more.product_bytes = op.work.product_bytes * (factor - 1);
      launch_.lose(Kind::empty_tile, op.where, "",
                   fmt::format("the product of {} uses {} of the tensor cores' {}", tile.written, fraction(1 / factor),
                               tile.used),
                   "take the larger tile as a whole: more rows or columns in a block",
                   [i, more](Estimate& launch) { add_to(launch, i, more); });
    }
  }

  /// Names products of which a part lies outside of the result.
  void outside(std::size_t i, DotPath const& row) {
    std::vector<double> const tile = extents_of(row.tiles.substr(0, row.tiles.rfind('x')));
    if (tile.size() != 3 || operands_of(i).empty()) return;
    for (bool const rows : {true, false}) {
      double const extent = of_result(rows), length = tile[rows ? 0 : 1];
      double const within = extent / std::max(turns(extent, length) * length, 1.0);
      if (within >= 1 || extent <= 0) continue;
      std::string_view const along = rows ? "rows" : "columns";
      Work more;
      more.product_bytes = launch_.best.ops[i].work.product_bytes * (1 - within);
      for (std::size_t const at : operands_of(i)) {
        // Of both axes the first has it.
        if (launch_.best.ops[at].work.outside_lines == 0 || losses_of_lines_.count(at) > 0) continue;
        losses_of_lines_.insert(at);
        more.outside_lines += launch_.best.ops[at].work.outside_lines;
      }
      Work less;
      add(less, more, -1);
      add_to(launch_.best, i, less);
      launch_.lose(
          Kind::empty_tile, launch_.best.ops[i].where, "",
          fmt::format("{} {} use {} of the tensor cores in tiles of {}", extent, along, fraction(within), length),
          fmt::format("take tiles of fewer {}", along), [i, more](Estimate& launch) { add_to(launch, i, more); });
    }
  }

  static std::vector<double> extents_of(std::string_view shape) {
    std::vector<double> result;
    double number = 0;
    for (char const c : shape) {
      if (c >= '0' && c <= '9') {
        number = number * 10 + (c - '0');
      } else {
        result.push_back(number);
        number = 0;
      }
    }
    result.push_back(number);
    return result;
  }
  static double elements(std::string_view shape) {
    double result = 1;
    for (double const extent : extents_of(shape)) result *= extent;
    return result;
  }

  /// `a quarter`, or `31 %`.
  static std::string fraction(double share) {
    constexpr std::pair<double, char const*> words[] = {
        {1.0 / 2, "half"}, {1.0 / 4, "a quarter"}, {1.0 / 8, "an eighth"}};
    for (auto const& [value, word] : words)
      if (std::abs(share - value) < 1e-3) return word;
    return fmt::format("{:.0f} %", share * 100);
  }

  AdvisedLaunch& launch_;
  std::set<std::size_t> losses_of_lines_;  ///< loads whose boxes outside of the tensor are counted
};

}  // namespace

void find_slow_products(AdvisedLaunch& launch) { Products(launch).products(); }

}  // namespace tegula::analysis
