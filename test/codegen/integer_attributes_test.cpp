// Every integer attribute of every op at the ends of its bounds and far outside of them: refused by name, or compiled.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "compiler/compile.hpp"
#include "ir/core/equal.hpp"
#include "ir/core/walk.hpp"
#include "ir/text/text.hpp"
#include "ir/verify/verifier.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;

namespace {

using ir::FieldKind;
using ir::FieldRef;

bool holds_integers(FieldRef const& field) {
  return field.kind == FieldKind::integer || field.kind == FieldKind::extents;
}

std::vector<ir::Op*> ops_of(ir::Module& module) {
  std::vector<ir::Op*> result;
  for (auto const& function : module.functions()) ir::walk(*function, [&](ir::Op& op) { result.push_back(&op); });
  return result;
}

/// Returns the reason that a module does not compile for a GPU; empty: it does. That of an InternalError begins with
/// "internal".
std::string refusal(ir::Module const& module) {
  CompileOptions options;
  options.target = Target::cuda;
  try {
    (void)compiler::compile(module, options);
  } catch (InternalError const& error) {
    return std::string("internal: ") + error.what();
  } catch (Error const& error) {
    return error.what();
  }
  return {};
}

/// One kernel of the tests' IR text, with the functions that stand beside it.
struct Sample {
  std::string name;
  ir::Module module;
  std::size_t size = 0;
};

/// The kernels of all text files that are well-formed, the smallest first.
std::vector<Sample> samples() {
  std::vector<Sample> result;
  for (char const* const folder : {"/ir", "/codegen"})
    for (auto const& entry : std::filesystem::recursive_directory_iterator(std::string(TEGULA_TEST_DIR) + folder)) {
      if (entry.path().extension() != ".tir") continue;
      auto const parsed = ir::parse(test::read_file(entry.path().string()));
      if (!parsed.ok() || !ir::verify(parsed.module).str().empty()) continue;
      std::set<std::string> kernels;
      for (auto const& function : parsed.module.functions())
        if (function->is_kernel()) kernels.insert(function->name());
      for (std::string const& kernel : kernels) {
        ir::Module module = parsed.module.clone();
        for (std::string const& other : kernels)
          if (other != kernel) module.erase(*module.find(other));
        std::size_t const size = ops_of(module).size();
        result.push_back({entry.path().string() + " @" + kernel, std::move(module), size});
      }
    }
  std::sort(result.begin(), result.end(),
            [](Sample const& a, Sample const& b) { return std::tie(a.size, a.name) < std::tie(b.size, b.name); });
  return result;
}

/// Sets one integer of an op; false if its list is too short.
bool set(ir::Op& op, std::size_t field, int entry, std::int64_t value) {
  FieldRef const at = ir::fields_of(op.kind(), op.attributes())[field];
  if (at.kind == FieldKind::integer) return *static_cast<std::int64_t*>(at.data) = value, entry == 0;
  auto& list = *static_cast<Extents*>(at.data);
  if (entry >= list.size()) return false;
  list[entry] = value;
  return true;
}

void check(Sample const& sample, std::size_t number, std::size_t field, int entry, std::int64_t value) {
  ir::Module module = sample.module.clone();
  ir::Op& op = *ops_of(module)[number];
  if (!set(op, field, entry, value)) return;
  FieldRef const changed = ir::fields_of(op.kind(), op.attributes())[field];
  std::string const name(changed.name);
  INFO(sample.name << ": " << op.info().mnemonic << " with " << name << " " << entry << " = " << value);
  auto const parsed = ir::parse(ir::print(module));
  REQUIRE(parsed.ok());
  CHECK(ir::equal(parsed.module, module));
  std::string const found = ir::verify(parsed.module).str();
  if (value < changed.range.min || value > changed.range.max) {
    std::string const subject = changed.kind == FieldKind::extents ? fmt::format("{}[{}]", name, entry) : name;
    CHECK_THAT(found, test::ContainsSubstring(fmt::format("{}: {} is {}, not {} to {}", op.info().mnemonic, subject,
                                                          value, changed.range.min, changed.range.max)));
    return;
  }
  if (found.empty()) CHECK_THAT(refusal(parsed.module), !test::ContainsSubstring("internal"));
}

}  // namespace

TEST_CASE("every integer attribute at any value is refused with its bounds or compiles") {
  std::vector<Sample> const all = samples();
  REQUIRE(all.size() > 100);
  std::map<Sample const*, bool> compiles;
  constexpr auto min = std::numeric_limits<std::int64_t>::min(), max = std::numeric_limits<std::int64_t>::max();
  for (int number = 0; number < ir::op_kind_count; ++number) {
    auto const kind = static_cast<ir::OpKind>(number);
    ir::OpInfo const& info = ir::op_info(kind);
    auto const fields = ir::fields_of(kind, const_cast<void*>(info.defaults));
    if (std::none_of(fields.begin(), fields.end(), holds_integers)) continue;
    INFO(info.mnemonic);
    constexpr int max_samples = 2;
    int used = 0;
    for (Sample const& sample : all) {
      ir::Module module = sample.module.clone();
      std::vector<ir::Op*> const ops = ops_of(module);
      auto const found = std::find_if(ops.begin(), ops.end(), [&](ir::Op* op) { return op->kind() == kind; });
      if (found == ops.end()) continue;
      auto [known, is_new] = compiles.try_emplace(&sample);
      if (is_new) known->second = refusal(sample.module).find("internal") == std::string::npos;
      if (!known->second) continue;
      auto const at = static_cast<std::size_t>(found - ops.begin());
      for (std::size_t field = 0; field < fields.size(); ++field) {
        if (!holds_integers(fields[field])) continue;
        ir::Bounds const range = fields[field].range;
        CHECK(range.min < range.max);
        for (std::int64_t const value : {min, std::int64_t{-1}, std::int64_t{0}, std::int64_t{1} << 31,
                                         std::int64_t{1} << 62, max, range.min, range.max})
          for (int entry = 0; entry < 2; ++entry) check(sample, at, field, entry, value);
      }
      if (++used == max_samples) break;
    }
    CHECK(used > 0);
  }
}
