#include "transform/common/plan_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "support/string_buffer.hpp"

namespace tegula::transform {

using ir::ProductPath;
using ir::ProductStart;

std::string_view name_of(ProductStart start) { return ir::enum_names<ProductStart>[static_cast<std::size_t>(start)]; }

std::string text_of(ProductPlan const& product) {
  std::string text(ir::enum_names<ProductPath>[static_cast<std::size_t>(product.path)]);
  if (product.grid.rows != 0) text += fmt::format("={}x{}", product.grid.rows, product.grid.columns);
  if (product.grid.copies > 1) text += fmt::format("x{}", product.grid.copies);
  if (product.swapped) text += "+swapped";
  if (product.start != ProductStart::written) text += fmt::format("+{}", name_of(product.start));
  if (product.late) text += "+late";
  return text;
}

std::string to_string(KernelPlan const& plan) {
  std::string text = fmt::format("warps={}", plan.warps);
  for (ProductPlan const& product : plan.products) text += "," + text_of(product);
  return text;
}

namespace {

/// Reads one to three numbers from 1 to `max` with an x between them.
std::optional<Extents> numbers_of(std::string_view text, std::int64_t max) {
  Extents result;
  while (true) {
    std::int64_t number = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 1 || number > max || result.size() == 3) return std::nullopt;
    result.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return result;
    if (text.front() != 'x') return std::nullopt;
    text.remove_prefix(1);
  }
}

/// Reads what follows the way of a product: `+swapped+early+late`, in this order.
bool read_rest(std::string_view rest, ProductPlan& product) {
  auto const takes = [&](std::string_view word) {
    if (rest.substr(0, rest.find('+', 1)) != fmt::format("+{}", word)) return false;
    rest.remove_prefix(word.size() + 1);
    return true;
  };
  product.swapped = takes("swapped");
  for (ProductStart const start : {ProductStart::early, ProductStart::together})
    if (product.start == ProductStart::written && takes(name_of(start))) product.start = start;
  product.late = takes("late");
  return rest.empty();
}

/// Holds an item of a plan: `wgmma=4x2+early` has a name, numbers and the rest.
struct Item {
  std::string_view name;
  Extents numbers;
  std::string_view rest;
};

/// Reads an item; nothing: its numbers are none.
std::optional<Item> item_of(std::string_view text) {
  std::string_view const way = text.substr(0, text.find('+'));
  std::size_t const equals = way.find('=');
  Item item{way.substr(0, equals), {}, text.substr(way.size())};
  if (equals == std::string_view::npos) return item;
  constexpr std::int64_t max = 64;
  auto const numbers = numbers_of(way.substr(equals + 1), max);
  if (!numbers) return std::nullopt;
  item.numbers = *numbers;
  return item;
}

bool read_warps(std::string_view text, KernelPlan& plan) {
  auto const item = item_of(text);
  if (!item || item->name != "warps" || item->numbers.size() != 1 || !item->rest.empty()) return false;
  plan.warps = static_cast<int>(item->numbers[0]);
  return true;
}

bool read_product(std::string_view text, KernelPlan& plan) {
  auto const item = item_of(text);
  if (!item) return false;
  auto const& names = ir::enum_names<ProductPath>;
  auto const at = std::find(std::begin(names), std::end(names), item->name);
  ProductPlan product;
  product.path = static_cast<ProductPath>(at - std::begin(names));
  if (at == std::end(names) || product.path == ProductPath::open) return false;
  if (product.path == ProductPath::lanes) {
    if (!item->numbers.empty()) return false;
  } else {
    if (item->numbers.size() < 2) return false;
    product.grid.rows = static_cast<int>(item->numbers[0]);
    product.grid.columns = static_cast<int>(item->numbers[1]);
    if (item->numbers.size() > 2) product.grid.copies = static_cast<int>(item->numbers[2]);
  }
  if (!read_rest(item->rest, product)) return false;
  plan.products.push_back(product);
  return true;
}

}  // namespace

std::optional<KernelPlan> parse_plan(std::string_view text, std::string& why) {
  KernelPlan plan;
  bool first = true;
  while (true) {
    std::size_t const comma = text.find(',');
    std::string_view const item = text.substr(0, comma);
    if (first ? !read_warps(item, plan) : !read_product(item, plan)) {
      why = fmt::format(
          "{} is not warps=8, wgmma=4x2, mma=2x2x2 (rows, columns, copies) or lanes, with +swapped, +early or "
          "+together, +late after it",
          support::quoted(item));
      return std::nullopt;
    }
    first = false;
    if (comma == std::string_view::npos) return plan;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace tegula::transform
