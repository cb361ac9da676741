// ptxas as a subprocess: found or missed with one clear message.
#include <cstdlib>
#include <string>

#include "runtime/cuda/ptxas.hpp"
#include "support/catch.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using namespace tegula::runtime::cuda;
using tegula::test::ContainsSubstring;

namespace {

constexpr char const* empty_kernel =
    ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry empty(.param .u64 n) { ret; }\n";

/// PATH without any folder while it lives.
class NoPath {
 public:
  NoPath() : former_(std::getenv("PATH")) { ::setenv("PATH", "", 1); }
  ~NoPath() { ::setenv("PATH", former_.c_str(), 1); }

 private:
  std::string former_;
};

}  // namespace

TEST_CASE("a missing ptxas is one clear message where it is asked for", "[F46]") {
  NoPath const none;
  support::Options options;
  CHECK(find_ptxas(options).empty());
  CHECK_THROWS_AS(assemble(options, empty_kernel, "sm_90a", "empty"), UserError);
  CHECK_THROWS_WITH(assemble(options, empty_kernel, "sm_90a", "empty"),
                    ContainsSubstring("TEGULA_PTXAS") && !ContainsSubstring("\n"));
  options.ptxas = "/nonexistent/ptxas";
  CHECK_THROWS_WITH(find_ptxas(options), ContainsSubstring("TEGULA_PTXAS=/nonexistent/ptxas"));
}

TEST_CASE("ptxas makes a cubin and its refusal is reported with its log") {
  support::Options const options;
  if (find_ptxas(options).empty()) TEGULA_SKIP("no ptxas in PATH");
  Assembly const assembly = assemble(options, empty_kernel, "sm_90a", "empty");
  CHECK(assembly.cubin.substr(1, 3) == "ELF");
  CHECK_THAT(assembly.log, ContainsSubstring("registers"));
  CHECK_THROWS_AS(assemble(options, "nonsense", "sm_90a", "empty"), InternalError);
}
