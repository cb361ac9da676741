// Tests records of a kernel on each executor: the same entries in the same order, exact counts of what is dropped.
#include <fmt/format.h>

#include "support/catch.hpp"
#include "support/log_rows.hpp"
#include "host/driver.hpp"
#include "sim/block/simulate.hpp"
#include "target/gpu_target.hpp"
#include "tegula/support/error.hpp"
#include "tegula/target/target_info.hpp"
#include "transform/pipeline.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

constexpr std::int64_t rows_of_x = 40, columns = 128;

/// Sums rows of x four times, with records around and inside of a loop.
constexpr auto sums = R"(kernel @sums(%x: in tensor<?x?xf32>, %y: out tensor<?xf32>) {
  %n = extent %x : i64
  %k4 = constant {value = 4 : i64} : i64
  %g = ceil_div %n, %k4 : i64
  grid %g
  %b = block_index : i64
  record %b {name = "tile"}
  %o = mul %b, %k4 : i64
  %0 = constant {value = 0 : i64} : i64
  %k3 = constant {value = 3 : i64} : i64
  %k1 = constant {value = 1 : i64} : i64
  %big = constant {value = -2000000000000000000 : i64} : i64
  record {name = "load"}
  %t = load %x, %o, %0 : tile<4x128xf32>
  record {event = stop, name = "load"}
  record {name = "sums"}
  %r = for %i = %0 to %k3 step %k1 carry (%a = %t) : tile<4x128xf32> {
    record %big {name = "add"}
    %s = add %a, %t : tile<4x128xf32>
    record {event = stop, name = "add"}
    yield %s
  }
  record {event = stop, name = "sums"}
  %m = reduce %r {axis = 1} : tile<4x1xf32>
  %q = squeeze %m {axes = [1]} : tile<4xf32>
  store %y, %q, %o
  record {event = stop, name = "tile"}
  return
})";

std::string expected_entries(std::uint32_t cta) {
  std::string text = fmt::format("+tile ={} +load -load +sums", cta);
  for (int i = 0; i < 3; ++i) text += " +add =-2000000000000000000 -add";
  return text + " -sums -tile";
}

enum class On : std::uint8_t { host, tiles, warps };

struct Profiled {
  ProfileLayout layout;
  std::vector<std::byte> bytes;
  std::vector<double> values;
  [[nodiscard]] std::vector<LogRow> rows() const { return log_rows(layout, bytes); }
};

Profiled run(std::string const& text, On where, ProfileOptions const& profile) {
  Array x(Element::f32, {rows_of_x, columns}), y(Element::f32, {rows_of_x});
  x.randomise(7);
  HostArguments const arguments = {x, y};
  CompileOptions options;
  options.profile = profile;
  options.facts = facts_of(arguments);
  Profiled result;
  ir::Module const module = parse(text);
  if (where == On::host) {
    CompiledKernel const compiled = compiler::compile(module, options);
    result.layout = compiled.profile;
    RunOptions run;
    run.threads = 2;
    run.profile = &result.bytes;
    run_compiled(compiled, arguments, run);
  } else if (where == On::tiles) {
    ir::Module lowered = module.clone();
    transform::run_pipeline(lowered, "inline-functions,lower-profiling", options);
    result.layout = compiler::emit(lowered, options).profile;
    sim::Options run;
    run.profile = &result.bytes;
    sim::Result const found = sim::run(lowered.kernel(), simulator_arguments(arguments), run);
    INFO(found.str());
    CHECK(found.clean());
  } else {
    options.target = Target::cuda;
    options.architecture = gpu_targets.front()->architecture;
    ir::Module const lowered = compiler::lower(module, options);
    CompiledKernel const compiled = compiler::emit(lowered, options);
    result.layout = compiled.profile;
    CHECK(compiled.image.find(fmt::format(".global .align 128 .b8 tegula_profile[{}];",
                                          profile_buffer_bytes(compiled.profile))) != std::string::npos);
    sim::block::Options run;
    run.profile = &result.bytes;
    run.batch = 4;
    sim::block::Result const found = sim::block::Simulation(lowered.kernel(), simulator_arguments(arguments), run)
                                         .run(sim::machine::Schedule::seed(3));
    INFO(found.str());
    CHECK(found.clean());
  }
  for (std::int64_t i = 0; i < rows_of_x; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < columns; ++j) sum += 4 * x.value(i * columns + j);
    CHECK(std::abs(y.value(i) - sum) < 1e-3);
    result.values.push_back(y.value(i));
  }
  return result;
}

ProfileOptions user(ProfileStrategy strategy) {
  ProfileOptions profile;
  profile.user = true;
  profile.strategy = strategy;
  return profile;
}

constexpr ProfileStrategy strategies[] = {ProfileStrategy::shared, ProfileStrategy::device};

}  // namespace

TEST_CASE("records: each executor and strategy gives one sequence of entries", "[P1][P9][P14]") {
  for (ProfileStrategy const strategy : strategies)
    for (On const where : {On::host, On::tiles, On::warps}) {
      Profiled const found = run(sums, where, user(strategy));
      auto const rows = found.rows();
      auto const warps = static_cast<std::uint32_t>(where == On::warps ? found.layout.roles.back().warps : 1);
      REQUIRE(rows.size() == 10 * warps);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        CHECK(rows[i].header.cta == i / warps);
        CHECK(rows[i].header.warp == i % warps);
        CHECK(text_of(rows[i]) == expected_entries(rows[i].header.cta));
        CHECK(is_nested(rows[i]));
        CHECK(rows[i].header.slots_written == 15);  // one slot stops "load" and starts "sums"
        CHECK(rows[i].header.start_time != 0);
        CHECK(rows[i].header.stop_time >= rows[i].header.start_time);
      }
      REQUIRE(found.layout.names.size() == 4);
      CHECK(found.layout.names[0].name == "tile");
      CHECK(found.layout.names[3].name == "add");
      CHECK(found.layout.rows == 4096);
      CHECK(found.layout.slots == 256);
      bool const shared = where == On::warps && strategy == ProfileStrategy::shared;
      CHECK(found.layout.strategy == (shared ? ProfileStrategy::shared : ProfileStrategy::device));
      CHECK(found.layout.shared_bytes == (shared ? warps * profile_row_bytes(found.layout) : 0));
    }
}

TEST_CASE("records: what does not fit is counted, and the first or the last entries stay", "[P16]") {
  for (On const where : {On::host, On::tiles, On::warps})
    for (bool const circular : {false, true}) {
      ProfileOptions profile = user(ProfileStrategy::device);
      profile.slots = 8;
      profile.rows = 7;
      profile.circular = circular;
      profile.granularity = ProfileGranularity::cta;
      Profiled const found = run(sums, where, profile);
      CHECK(rows_claimed(found.layout, found.bytes) == 10);
      auto const rows = found.rows();
      REQUIRE(rows.size() == 7);
      for (LogRow const& row : rows) {
        CHECK(row.header.slots_written == 15);
        std::string const all = expected_entries(row.header.cta);
        std::string const kept = text_of(row);
        CHECK(row.entries.size() == (circular ? 8 : 9));  // of 8 slots
        CHECK((circular ? all.substr(all.size() - kept.size()) : all.substr(0, kept.size())) == kept);
      }
    }
}

TEST_CASE("records: CTAs and warps are chosen by number", "[P1]") {
  for (On const where : {On::host, On::tiles, On::warps}) {
    ProfileOptions profile = user(ProfileStrategy::shared);
    profile.first_cta = 1;
    profile.cta_step = 3;
    profile.cta_count = 2;
    profile.warps = 1;
    auto const rows = run(sums, where, profile).rows();
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].header.cta == 1);
    CHECK(rows[1].header.cta == 4);
    CHECK(rows[1].header.warp == 0);
  }
}

TEST_CASE("records: a kernel without them compiles to the same code, whatever the options say", "[P5]") {
  std::string plain;
  for (std::string line, text = std::string(sums) + "\n"; !text.empty();) {
    line = text.substr(0, text.find('\n') + 1);
    text.erase(0, line.size());
    if (line.find("record") == std::string::npos) plain += line;
  }
  CompileOptions off, on;
  off.architecture = gpu_targets.front()->architecture;
  off.target = Target::cuda;
  on = off;
  on.profile = user(ProfileStrategy::shared);
  ir::Module const without = compiler::lower(parse(plain), off), with = compiler::lower(parse(plain), on);
  CHECK(ir::print(without) == ir::print(with));
  CHECK(compiler::emit(without, off).image == compiler::emit(with, on).image);
  CHECK(compiler::emit(with, on).profile == ProfileLayout());
  // Records that nobody asks for leave nothing.
  CHECK(ir::print(compiler::lower(parse(sums), off)) == ir::print(without));
}

TEST_CASE("records: the device strategy takes no shared memory", "[P2][P16]") {
  CompileOptions options;
  options.target = Target::cuda;
  options.architecture = gpu_targets.front()->architecture;
  std::int64_t const without = compiler::compile(parse(sums), options).shared_bytes;
  options.profile = user(ProfileStrategy::device);
  CHECK(compiler::compile(parse(sums), options).shared_bytes == without);
  options.profile = user(ProfileStrategy::shared);
  CompiledKernel const shared = compiler::compile(parse(sums), options);
  CHECK(shared.shared_bytes == without + shared.profile.shared_bytes);
}

TEST_CASE("records: each pipeline lists one profiling pass, the last", "[P6]") {
  for (transform::Pipeline const pipeline :
       {transform::host_pipeline(), transform::cuda_pipeline(), transform::block_pipeline()}) {
    int count = 0;
    for (transform::PassInfo const* pass : pipeline) count += pass->name == "lower-profiling" ? 1 : 0;
    CHECK(count == 1);
    CHECK(pipeline.back()->name == "lower-profiling");
  }
}

TEST_CASE("records: a buffer that is too large, and names without end, are refused with the numbers", "[P16]") {
  CompileOptions options;
  options.profile = user(ProfileStrategy::device);
  options.profile.rows = 1 << 20;
  CHECK_THROWS_WITH(compiler::compile(parse(sums), options),
                    ContainsSubstring("1048576 rows of 256 slots take 2214600768 bytes, but a buffer has at most "
                                      "134217728; take at most 63546 rows"));
}
