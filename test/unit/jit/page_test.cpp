// Tests the page that explain() makes of a product, of a kernel of rows, and of a host's launch; and that of IR.
#include "jit/page.hpp"

#include <sys/stat.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "ir/text/text.hpp"
#include "jit/simulated_records.hpp"
#include "profile/decode.hpp"
#include "runtime/cuda/ptxas.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/options.hpp"
#include "tegula/dsl/dsl.hpp"
#include "tegula/jit/advice.hpp"
#include "tegula/jit/launch.hpp"
#include "tegula/jit/profile.hpp"
#include "tegula/runtime/tensor_view.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using test::ContainsSubstring;

namespace {

inline constexpr auto product = kernel("page_product", [](in<bf16, 2> A, in<bf16, 2> B, out<bf16, 2> C) {
  require(A.extent(1) == B.extent(0), "page_product: A is M x K and B is K x N, but the two K differ");
  auto g = grid_over(C, shape<128, 128>);
  tile acc = loop(
      ceil_div(A.extent(1), 64), zeros<float>(shape<128, 128>),
      [&](auto k, auto sum) { return dot(load(A, shape<128, 64>, g[0], k), load(B, shape<64, 128>, k, g[1]), sum); },
      stages<3>);
  store(C, shape<128, 128>, cast<bf16>(acc), g[0], g[1]);
});

inline constexpr auto rows = kernel("page_rows", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, 256>);
  tile v = load(x, shape<1, 256>, g[0], 0, pad(-inf));
  tile e = exp(v - max(v, axis<1>));
  store(y, shape<1, 256>, e / sum(e, axis<1>), g[0], 0);
});

/// Returns a tensor at an address that no code reads.
template <class T, class... Extents>
auto somewhere(std::uintptr_t number, Extents... extents) {
  return device_view<T, sizeof...(Extents)>(reinterpret_cast<T*>(number << 40), {extents...});
}

/// Returns the parts of a page by id.
std::map<std::string, std::string> parts_of(std::string const& page) {
  std::map<std::string, std::string> parts;
  std::string const begin = "<section id=\"", end = "</section>";
  for (std::size_t at = page.find(begin); at != std::string::npos; at = page.find(begin, at + 1)) {
    std::size_t const name = at + begin.size();
    parts[page.substr(name, page.find('"', name) - name)] = page.substr(at, page.find(end, at) - at);
  }
  return parts;
}

/// Tells whether a part shows a text, not a reason alone.
bool shows_text(std::string const& part) {
  std::size_t const at = part.find("<pre>\n");
  return at != std::string::npos && part.find("</pre>", at) > at + std::string("<pre>\n").size() + 10;
}

bool has_profiler() {
  try {
    profiling::require_profiler();
    return true;
  } catch (UserError const&) {
    return false;
  }
}

/// Checks the parts that each page of a kernel for a GPU has.
void check_device_page(std::map<std::string, std::string> const& parts) {
  REQUIRE(parts.size() == 8);
  for (char const* id : {"passes", "ptx", "facts", "advice", "launch"}) {
    INFO(id << ": " << parts.at(id).substr(0, 400));
    CHECK(shows_text(parts.at(id)));
  }
  CHECK_THAT(parts.at("passes"), ContainsSubstring("<article id=\"pass-0\">") && ContainsSubstring("<ins>+ ") &&
                                     ContainsSubstring("<del>- ") && ContainsSubstring("pass changes nothing") &&
                                     ContainsSubstring("insert-barriers"));
  CHECK_THAT(parts.at("ptx"), ContainsSubstring(".target sm_90a"));
  CHECK_THAT(parts.at("advice"), ContainsSubstring("limit: "));
  support::Options const& environment = support::options();
  bool const toolkit =
      !runtime::cuda::find_ptxas(environment).empty() && !runtime::cuda::find_nvdisasm(environment).empty();
  CHECK_THAT(parts.at("sass"), ContainsSubstring(toolkit ? "EXIT ;" : "No SASS: "));
  CHECK(shows_text(parts.at("sass")) == toolkit);
  CHECK(shows_text(parts.at("timeline")) == has_profiler());
  CHECK_THAT(parts.at("timeline"), ContainsSubstring(has_profiler() ? "<iframe " : "No timeline: "));
}

}  // namespace

TEST_CASE("explain: the page of a product has each part", "[page][N14]") {
  std::int64_t const n = 4096;
  Explanation const found =
      explain(sm_90a, product, somewhere<bf16>(1, n, n), somewhere<bf16>(2, n, n), somewhere<bf16>(3, n, n));
  CHECK_THAT(found.str(), ContainsSubstring("kernel page_product for sm_90a, which need not be here") &&
                              ContainsSubstring("wgmma") && ContainsSubstring("limit: tensor cores"));
  std::string const page = found.page();
  auto const parts = parts_of(page);
  check_device_page(parts);
  CHECK_THAT(parts.at("kernel"), ContainsSubstring("page_test.cpp"));
  if (std::ifstream(__FILE__)) CHECK_THAT(parts.at("kernel"), ContainsSubstring("tile acc = loop("));
  CHECK_THAT(parts.at("facts"), ContainsSubstring("wgmma") && ContainsSubstring("ring of in0"));
  // 1024 tiles in 8 waves of persistent CTAs.
  CHECK_THAT(parts.at("launch"), ContainsSubstring("descriptor") && ContainsSubstring("  grid: 128 x 1 x 1 blocks\n") &&
                                     ContainsSubstring("  requires: page_product: A is M x K"));
  CHECK_THROWS_WITH(
      explain(sm_90a, product, somewhere<bf16>(1, n, 64), somewhere<bf16>(2, n, n), somewhere<bf16>(3, n, n)),
      ContainsSubstring("the two K differ"));
  CHECK_THAT(parts.at("ptx"), ContainsSubstring("wgmma.mma_async"));
  if (has_profiler())
    CHECK_THAT(parts.at("timeline"), ContainsSubstring("in0 256 x 256") && ContainsSubstring("cut down") &&
                                         ContainsSubstring("wait full in0"));
}

TEST_CASE("explain: the page of a kernel of rows has each part", "[page][N14]") {
  auto const parts = parts_of(explain(sm_90a, rows, somewhere<float>(1, 64, 200), somewhere<float>(2, 64, 200)).page());
  check_device_page(parts);
  if (has_profiler()) CHECK_THAT(parts.at("timeline"), ContainsSubstring("in0 64 x 200, out1 64 x 200 as given"));
}

TEST_CASE("explain: a GPU that need not be there takes one of several kernels, and a grid of the launch", "[N14]") {
  auto const x = somewhere<float>(1, 64, 200), y = somewhere<float>(2, 64, 200);
  auto const both = variants("both", variant("first", rows), variant("second", rows));
  CHECK_THAT(explain(sm_90a, both, x, y).str(),
             ContainsSubstring("variant: first of 2 kernels, by the model of the cost") &&
                 ContainsSubstring("  grid: 1 x 64 x 1 blocks\n"));
  CompileOptions options;
  options.warps = 2;
  Explanation const found = explain(sm_90a, with(options), rows, grid(8, 1), x, y);
  CHECK_THAT(found.str(), ContainsSubstring("  grid: 1 x 8 x 1 blocks, given in the launch\n") &&
                              ContainsSubstring("options: warps = 2") && ContainsSubstring("64 threads per CTA"));
  CHECK(found.str().find("grid0") == std::string::npos);
  if (has_profiler())
    CHECK_THAT(parts_of(found.page()).at("timeline"), ContainsSubstring("in0 64 x 200, out1 64 x 200 as given"));
}

TEST_CASE("explain: the page of a launch on the host shows its code, and the records of a profile", "[page][N14]") {
  buffer<float, 2> const from(device::host(), 5, 200);
  buffer<float, 2> to(device::host(), 5, 200);
  Explanation const found = explain(rows, from, to);
  auto const parts = parts_of(found.page());
  REQUIRE(parts.size() == 7);
  for (char const* id : {"passes", "assembly", "facts", "advice", "launch"}) CHECK(shows_text(parts.at(id)));
  CHECK_THAT(parts.at("timeline"), ContainsSubstring("No timeline: ") && ContainsSubstring("profile(host_stream()"));
  if (!has_profiler()) return;
  Profile const course = profile(host_stream(), rows, from, to);
  CHECK_THAT(parts_of(found.page(course)).at("timeline"),
             ContainsSubstring("Records of a launch on host.") && ContainsSubstring("<iframe "));
}

TEST_CASE("explain: a page is written for its user alone, in place of an earlier one", "[page]") {
  Explanation found = explain(sm_90a, rows, somewhere<float>(1, 2, 200), somewhere<float>(2, 2, 200));
  support::TemporaryFolder const folder;
  std::string const file = folder.file("rows.html");
  for (int time = 0; time < 2; ++time) {
    found.save(file);
    struct stat status {};
    REQUIRE(::stat(file.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777U) == 0600U);
  }
  CHECK(support::read_file(file) == found.page());
  CHECK_THROWS_WITH(found.save(folder.file("none/rows.html")),
                    ContainsSubstring("page: cannot write ") && ContainsSubstring("none/rows.html: No such file"));
  Explanation const taken = std::move(found);
  CHECK_THROWS_WITH(found.page(), ContainsSubstring("moved from"));  // NOLINT(bugprone-use-after-move): the test
  std::ostringstream stream;
  stream << taken;
  CHECK(stream.str() == taken.str());
}

TEST_CASE("page of IR: lines of a source are shown with their numbers, a refused kernel with the reason", "[page]") {
  support::TemporaryFolder const folder;
  std::string const file = folder.file("source.cpp");
  REQUIRE(support::create_file(file, "// <begin>\nauto k = kernel(\"k\", [](auto x) {\n  grid(1);\n});\nint other;\n"));
  std::string const text = "tegula-ir 1\nkernel @k(%x: in tensor<?xf32>) {\n  %n = extent %x : i64 loc(\"" + file +
                           "\":2)\n  grid %n loc(\"" + file + "\":3)\n  return\n}\n";
  CompileOptions options;
  options.pipeline = "canonicalize";
  auto const parts = parts_of(jit::page_of_ir(ir::parse(text).module, "", options, 8));
  CHECK_THAT(parts.at("kernel"), ContainsSubstring("// " + file + "\n    2  auto k = kernel(&quot;k&quot;"));
  CHECK_THAT(parts.at("kernel"), ContainsSubstring("    3    grid(1);\n    4  });\n</pre>"));
  CHECK(parts.at("kernel").find("other") == std::string::npos);

  options.target = Target::cuda;
  options.architecture = "sm_90a";
  options.pipeline = "lower-profiling";
  auto const refused = parts_of(jit::page_of_ir(ir::parse(text).module, text, options, 8));
  CHECK_THAT(refused.at("kernel"), ContainsSubstring("tegula-ir 1"));
  CHECK_THAT(refused.count("code") != 0 ? refused.at("code") : refused.at("ptx"), ContainsSubstring(" needs "));
  CHECK_THROWS_WITH(jit::page_of_ir(ir::parse(text).module, "", options, 0),
                    ContainsSubstring("an extent of 0 is not from 1 to"));
}

TEST_CASE("page: tensors of the simulated timeline are small, and stay dense, aligned and of equal extents", "[page]") {
  Argument a;
  a.element = Element::bf16;
  a.rank = 2;
  a.extents[0] = 8192, a.extents[1] = 1000;
  a.strides[0] = 1000, a.strides[1] = 1;
  Argument b = a;  // columns are contiguous
  b.extents[0] = 1000, b.extents[1] = 8192;
  b.strides[0] = 1, b.strides[1] = 1000;
  std::vector<Argument> const small = jit::cut(std::vector<Argument>{a, b}, 1 << 17);
  CHECK(small[0].extents[1] == small[1].extents[0]);
  CHECK(small[0].extents[0] == small[1].extents[1]);
  CHECK(small[0].extents[0] * small[0].extents[1] + small[1].extents[0] * small[1].extents[1] <= 1 << 18);
  CHECK(small[0].strides[1] == 1);
  CHECK(small[0].strides[0] >= small[0].extents[1]);
  CHECK(small[0].strides[0] % 8 == 0);
  CHECK(small[1].strides[0] == 1);
  CHECK(small[1].strides[1] >= small[1].extents[0]);
}
