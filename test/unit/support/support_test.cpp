// Diagnostics, string buffer, options and dumps.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <unistd.h>

#include "support/catch.hpp"
#include "support/counted.hpp"
#include "support/diagnostics.hpp"
#include "support/dump.hpp"
#include "support/environment.hpp"
#include "support/message.hpp"
#include "support/option_values.hpp"
#include "support/options.hpp"
#include "support/string_buffer.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using namespace tegula::support;
using tegula::test::ContainsSubstring;
using tegula::test::message_of;

namespace {

class ScopedVariable {
 public:
  ScopedVariable(char const* name, char const* value) : name_(name) { ::setenv(name, value, 1); }
  ~ScopedVariable() { ::unsetenv(name_); }

 private:
  char const* name_;
};

}  // namespace

TEST_CASE("string buffer indents lines that are not empty") {
  StringBuffer text;
  text << "a {\n";
  text.indent();
  text << "b\n\nc " << 12 << ' ' << true;
  text << "\n";
  text.dedent();
  text << "}\n";
  CHECK(text.str() == "a {\n  b\n\n  c 12 true\n}\n");
  CHECK(counted(1, "warp") == "1 warp");
  CHECK(counted(0, "warp") == "0 warps");
  CHECK(counted(2, "launch", "launches") == "2 launches");
  CHECK(quoted("a\"b\\\n\x01") == "\"a\\\"b\\\\\\n\\x01\"");
}

TEST_CASE("diagnostics print places, notes and a summary of the first error") {
  Diagnostics list;
  list.warning("slow");
  list.error("dim 1 is 32", location("k.cpp", 7)).note("rhs is here", location("k.cpp", 9));
  list.error_at({3, 14}, "expected ':'");
  CHECK(list.str() ==
        "warning: slow\nk.cpp:7: error: dim 1 is 32\n  note: k.cpp:9: rhs is here\n3:14: error: expected ':'\n");
  CHECK(list.has_errors());
  CHECK(summary(list) == "k.cpp:7: dim 1 is 32\n  note: k.cpp:9: rhs is here\n  and 1 more error");
  REQUIRE_THROWS_AS(throw_internal_error(list, "verifier after cse"), InternalError);
  try {
    throw_user_error(list);
  } catch (UserError const& error) {
    CHECK(error.where().line() == 7);
  }
  Diagnostics harmless;
  harmless.remark("note this");
  CHECK_NOTHROW(throw_user_error(harmless));
}

TEST_CASE("every environment variable is parsed strictly and refused with its grammar") {
  {
    ScopedVariable a("TEGULA_DUMP", "ir-after=insert-barriers,ptx");
    ScopedVariable b("TEGULA_THREADS", "3");
    ScopedVariable c("TEGULA_CACHE", "read-only");
    ScopedVariable d("TEGULA_PTXAS_SPILLS", "error");
    ScopedVariable e("TEGULA_SIMULATE", "seed:7");
    ScopedVariable f("TEGULA_ARITHMETIC", "exact");
    ScopedVariable g("TEGULA_ASSERTS", "off");
    ScopedVariable h("TEGULA_HOST_CPU", "x86-64-v3");
    ScopedVariable i("TEGULA_CACHE_LIMIT", "3M");
    ScopedVariable j("TEGULA_PROFILE", "on:compiler,slots=512,circular,warpgroup");
    ScopedVariable k("TEGULA_ADVICE", "on");
    Options const parsed = read_options();
    CHECK(parsed.advice);
    CHECK(parsed.cache_limit == 3 << 20);
    REQUIRE(parsed.dump.size() == 2);
    CHECK(parsed.dump[0] == DumpItem{DumpItem::Kind::ir_after, "insert-barriers"});
    CHECK(parsed.dump[1] == DumpItem{DumpItem::Kind::ptx, {}});
    CHECK(parsed.threads == 3);
    CHECK(parsed.profile.on);
    CHECK(parsed.profile.device);
    CHECK(parsed.profile.compiler);
    CHECK_FALSE(parsed.profile.user);
    CHECK(parsed.profile.circular);
    CHECK(parsed.profile.granularity == ProfileRequest::Granularity::warpgroup);
    CHECK(parsed.profile.slots == 512);
    CHECK(parsed.profile_dir == "tegula-profile");
    CHECK(parsed.host_cpu == "x86-64-v3");
    CHECK(parsed.simulate);
    CHECK(parsed.simulate_schedule == "seed:7");
    CHECK(parsed.exact);
    CHECK_FALSE(parsed.asserts);
    CHECK(parsed.cache == CacheMode::read_only);
    CHECK(parsed.must_compile());
    CHECK(parsed.ptxas_spills == NotePolicy::error);
    CHECK(parsed.ptxas_notes == NotePolicy::error);
  }
  std::pair<char const*, char const*> const wrong[] = {
      {"TEGULA_DUMP", "ir,,ptx"},   {"TEGULA_DUMP", "ir-after="},
      {"TEGULA_DUMP", "irr"},       {"TEGULA_THREADS", "0"},
      {"TEGULA_THREADS", "2x"},     {"TEGULA_VERIFY", "yes"},
      {"TEGULA_TIME", "1"},         {"TEGULA_SIMULATE", "true"},
      {"TEGULA_ARITHMETIC", "1"},   {"TEGULA_DEVICE", "cuda:-1"},
      {"TEGULA_DEVICE", "gpu"},     {"TEGULA_CACHE", "no"},
      {"TEGULA_ASSEMBLER", "nvcc"}, {"TEGULA_PTXAS_NOTES", "on"},
      {"TEGULA_ASSERTS", "0"},      {"TEGULA_PROFILE", "yes"},
      {"TEGULA_PROFILE", "on:"},    {"TEGULA_PROFILE", "on:slots=0"},
      {"TEGULA_PROFILE", "on:all"}, {"TEGULA_CACHE_LIMIT", "-1"},
      {"TEGULA_CACHE_LIMIT", "1T"}, {"TEGULA_CACHE_LIMIT", "99999999999G"},
      {"TEGULA_ADVICE", "1"},       {"TEGULA_ADVICE", "all"}};
  for (auto const& [name, value] : wrong) {
    ScopedVariable scoped(name, value);
    std::string const text = message_of([] { read_options(); });
    INFO(name << "=" << value << ": " << text);
    CHECK_THAT(text, ContainsSubstring(name) && ContainsSubstring("grammar: "));
  }
  std::string const help = environment_help();
  for (EnvironmentVariable const& variable : environment_table())
    CHECK_THAT(help, ContainsSubstring(std::string(variable.name)));
}

TEST_CASE("numbers of bytes have units of powers of 1024") {
  CHECK(parse_bytes("0") == 0U);
  CHECK(parse_bytes("17K") == 17U << 10);
  CHECK(parse_bytes("2G") == std::uint64_t{2} << 30);
  CHECK(parse_bytes("none") == UINT64_MAX);
  for (char const* text : {"", "K", "1KB", "1 K", "x", "20000000000G"}) CHECK_FALSE(parse_bytes(text).has_value());
}

TEST_CASE("scoped options replace and restore") {
  int const before = options().threads;
  {
    Options mine;
    mine.threads = 17;
    ScopedOptions scope(mine);
    CHECK(options().threads == 17);
  }
  CHECK(options().threads == before);
}

TEST_CASE("dumps go to numbered files and an edited one is read back") {
  namespace fs = std::filesystem;
  fs::path const folder = fs::temp_directory_path() / fmt::format("tegula_dump_test_{}", ::getpid());
  Options mine;
  mine.dump = {{DumpItem::Kind::ir_after, "cse"}, {DumpItem::Kind::ptx, {}}};
  mine.dump_dir = folder.string();
  mine.dump_kernel = "gemm<1>";
  mine.override_dir = folder.string();
  Dump const other(mine, "softmax");
  CHECK_FALSE(other.wants(DumpItem::Kind::ptx));
  Dump const dump(mine, "gemm<1>");
  CHECK(dump.wants(DumpItem::Kind::ptx));
  CHECK(dump.wants(DumpItem::Kind::ir_after, "cse"));
  CHECK_FALSE(dump.wants(DumpItem::Kind::ir_after, "dce"));
  CHECK_FALSE(dump.wants(DumpItem::Kind::ir_before, "cse"));
  dump.write_pass(7, "cse", "module\n", true);
  CHECK(fs::exists(folder / "gemm_1_.07-cse.tir"));
  CHECK(dump.replacement(7, "cse") == "module\n");
  CHECK_FALSE(dump.replacement(8, "cse").has_value());
  mine.replay_dir = folder.string();
  std::string const replay = write_replay_file(mine, "gemm", "text");
  CHECK(fs::file_size(replay) == 4);
  fs::remove_all(folder);
}
