// Tests hand-edited dumps in place of the compiler's text, and texts that are compiled and run as they are.
#include <fmt/format.h>

#include <fstream>
#include <string>
#include <vector>

#include "codegen/host/host.hpp"
#include "compiler/compile.hpp"
#include "ir/text/text.hpp"
#include "jit/kernel_cache.hpp"
#include "launch_support.hpp"
#include "runtime/prepared_launch.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using tegula::test::FreshCaches;
namespace fs = std::filesystem;

namespace {

inline constexpr auto plus_seven = kernel("plus_seven", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, load(x, shape<64>, g[0]) + 7, g[0]);
});

stream const here(device::host());

/// plus_seven of 100 everywhere; nothing else is right in between.
float launched() {
  std::vector<float> x(100, 100), y(100, -1);
  launch(here, plus_seven, x, y);
  for (float const value : y)
    if (value != y[0]) return -1;
  return y[0];
}

/// Launches the kernel as a new process with these options does.
float launched_anew(support::Options const& options) {
  support::ScopedOptions const scope(options);
  jit::clear_memory_cache();
  return launched();
}

void write(fs::path const& file, std::string const& text) { std::ofstream(file, std::ios::binary) << text; }

std::string edited(std::string text) {
  INFO(text);
  std::size_t const at = text.find("value = 7 : f32");
  REQUIRE(at != std::string::npos);
  CHECK(text.find("value = 7 : f32", at + 1) == std::string::npos);
  return text.replace(at, 15, "value = 9 : f32");
}

}  // namespace

TEST_CASE("a changed constant of a dump gives the new value, with warm caches", "[D13]") {
  FreshCaches const fresh;
  support::Options const plain = support::options();
  CHECK(launched() == 107);  // memory and disk hold it now
  REQUIRE(fresh.files().size() == 1);
  fs::path const folder = fs::path(fresh.folder()).parent_path() / "edit";

  support::Options dumping = plain;
  dumping.dump = {{support::DumpItem::Kind::ir_after, "all"}};
  dumping.dump_dir = folder.string();
  CHECK(launched_anew(dumping) == 107);

  // Each pass's dump in turn; the one with the constant folded away has none to change.
  int changed = 0;
  std::vector<fs::path> dumps;
  for (auto const& entry : fs::directory_iterator(folder)) dumps.push_back(entry.path());
  CHECK(dumps.size() >= 6);
  for (fs::path const& dump : dumps) {
    fs::path const override_folder = folder.parent_path() / fmt::format("override{}", ++changed);
    fs::create_directories(override_folder);
    std::string const text = test::read_file(dump.string());
    write(override_folder / dump.filename(), edited(text));
    support::Options overriding = plain;
    overriding.override_dir = override_folder.string();
    INFO(dump.filename().string());
    CHECK(launched_anew(overriding) == 109);
    // Another edit of the same file, then none: nothing of the first is left anywhere.
    write(override_folder / dump.filename(), text);
    CHECK(launched_anew(overriding) == 107);
  }
  CHECK(launched_anew(plain) == 107);
  CHECK(fresh.files().size() == 1);
}

TEST_CASE("an edited dump does not reach the caches of launches without it", "[D13]") {
  FreshCaches const fresh;
  support::Options const plain = support::options();
  support::Options dumping = plain;
  fs::path const folder = fs::path(fresh.folder()).parent_path() / "edit";
  dumping.dump = {{support::DumpItem::Kind::ir_after, "canonicalize"}};
  dumping.dump_dir = folder.string();
  CHECK(launched_anew(dumping) == 107);
  for (auto const& entry : fs::directory_iterator(folder))
    write(entry.path(), edited(test::read_file(entry.path().string())));
  support::Options overriding = plain;
  overriding.override_dir = folder.string();
  CHECK(launched_anew(overriding) == 109);
  CHECK(fresh.files().empty());  // nothing edited is kept
  CHECK(launched_anew(plain) == 107);
  CHECK(fresh.files().size() == 1);
  CHECK(launched_anew(overriding) == 109);  // the entry on disk is not taken for it
  CHECK(launched_anew(plain) == 107);
}

TEST_CASE("a text is compiled and run, edited, compiled and run again", "[D13]") {
  auto const run = [](std::string const& text) {
    ir::ParseResult const parsed = ir::parse(text);
    REQUIRE(parsed.ok());
    CompiledKernel compiled = compiler::compile(parsed.module, {});
    LoadedHostKernel code = codegen::load_host(compiled);
    auto const loaded = runtime::make_loaded(std::move(compiled), std::move(code));
    std::vector<float> x(100, 100), y(100, -1);
    Argument from, to;
    from.rank = to.rank = 1;
    from.extents[0] = to.extents[0] = 100;
    from.strides[0] = to.strides[0] = 1;
    from.address = x.data();
    to.address = y.data();
    runtime::PreparedLaunch(loaded, std::vector{from, to}).run(here);
    return y[99];
  };
  std::string const text = jit::Traced(plus_seven.trace()).text;
  CHECK(run(text) == 107);
  CHECK(run(edited(text)) == 109);
  CHECK(run(text) == 107);
}
