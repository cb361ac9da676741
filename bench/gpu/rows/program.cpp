#include "gpu/rows/program.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <random>
#include <string>

#include "../../../samples/support/report.hpp"
#include "gpu/rows/compile_times.hpp"
#include "gpu/rows/table.hpp"
#include "rig/cublas.hpp"
#include "rig/result_file.hpp"

namespace tegula::bench {
namespace {

struct Settings {
  std::string only, family, json;
  bool quick = false, check = false;
  std::uint64_t seed = 0;
  CoolClock clock;
};

bool chosen(Row const& row, Settings const& settings) {
  std::string const name = fmt::format("{}, {}, {}", row.group, row.kernel, shape_text(row.extents));
  return name.find(settings.only) != std::string::npos && (!settings.quick || row.quick);
}

/// Lists the rows that the settings choose. `compiles`: compilers are timed as well, so there may be none.
std::vector<Row> rows_of(Settings const& settings, std::vector<Family> const& families, bool compiles) {
  std::vector<Row> rows;
  std::string names;
  for (Family const& family : families) {
    names += (names.empty() ? "" : ", ") + family.name;
    if (!settings.family.empty() && settings.family != family.name) continue;
    for (Row const& row : family.rows())
      if (chosen(row, settings)) rows.push_back(row);
  }
  if (rows.empty() && !compiles && !settings.family.empty())
    throw UserError(fmt::format("--family {}: no row; there are {}", settings.family, names));
  if (rows.empty() && !compiles) throw UserError(fmt::format("--only {}: no row has this in its name", settings.only));
  return rows;
}

int run(Settings const& settings, std::vector<Family> const& families) {
  bool const compiles =
      families.size() > 1 && settings.family.empty() && std::string("compile").find(settings.only) != std::string::npos;
  std::vector<Row> const rows = rows_of(settings, families, compiles);
  device const where = device::best();
  stream const order(where);
  ResultFile results(settings.check ? "" : settings.json, "gpu_table", where.name());
  auto const start = std::chrono::steady_clock::now();
  std::unique_ptr<Cublas> cublas;
  std::string why = "not asked for";
  if (!settings.check) cublas = Cublas::open(order, why);
  fmt::print("{}, {}, {}, seed {}\n", today(), where.name(), cublas ? cublas->description() : "no cuBLAS: " + why,
             settings.seed);
  if (compiles) time_compilers(where, [&](Result const& result) { results.write(result); });
  Table table(order, cublas.get(), settings.clock, settings.seed, results);
  for (Row const& row : rows) {
    if (settings.check) {
      table.check(row);
      table.compile(row);
    } else {
      table.time(row);
    }
  }
  table.summarise();
  std::chrono::duration<double> const spent = std::chrono::steady_clock::now() - start;
  fmt::print("\n{} rows in {:.0f} s{}\n", rows.size(), spent.count(), table.right() ? "" : ", some are WRONG");
  return table.right() ? 0 : 1;
}

}  // namespace

int run_table(int argc, char** argv, std::vector<Family> const& families) {
  Settings settings;
  settings.clock.rounds = 0;
  settings.seed = std::random_device()();
  CLI::App app("Table of all figures on a GPU, beside rivals");
  app.add_option("--only", settings.only, "rows with this in their group, kernel or size; 'compile' for compile times");
  app.add_option("--family", settings.family, "the rows of one family");
  app.add_flag("--quick", settings.quick, "few sizes, two rounds");
  app.add_flag("--check", settings.check, "nothing is timed: small sizes, also on the host, and code for sm_90a");
  app.add_option("--json", settings.json, "append the results to this file, one JSON object a line");
  app.add_option("--rounds", settings.clock.rounds, "samples of each side; 3 when not said")
      ->check(CLI::Range(1, 1000));
  app.add_option("--seed", settings.seed, "of the random inputs");
  CLI11_PARSE(app, argc, argv);
  if (settings.clock.rounds == 0) settings.clock.rounds = settings.quick ? 2 : 3;
  if (!settings.check && device::cuda_count() == 0) {
    fmt::print("skipped: {}; --check compares small sizes on the host\n", device::cuda_status());
    return 0;
  }
  return samples::guarded("gpu_table", [&] { return run(settings, families); });
}

}  // namespace tegula::bench
