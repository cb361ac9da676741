// Tests device functions that stay functions, from the language to the host's code: one body, n calls.
#include <cmath>

#include "compiler/compile.hpp"
#include "ir/core/walk.hpp"
#include "ir/module/link.hpp"
#include "ir/text/text.hpp"
#include "support/catch.hpp"
#include "tegula/dsl/dsl.hpp"
#include "tegula/jit/launch.hpp"
#include "trace/traced_kernel.hpp"

using namespace tegula;
using test::ContainsSubstring;

namespace {

// One body in three spellings; `wide` is long enough that ten copies are too much for an inliner.
constexpr auto soft_body = [](auto x) { return x / (1 + exp(-x)); };
constexpr auto long_body = [](auto x) {
  tile a = exp(x) + exp(x * 2) + exp(x * 3);
  tile b = log(a) + log(a * 2) + sqrt(a);
  tile c = (a + b) * (a - b) + exp(-b) / (1 + a);
  return c * c + exp(c * 0) + log(abs(c) + 1);
};
constexpr auto kept = function("soft", soft_body, noinline);
constexpr auto traced = function("soft", soft_body, inlined);
constexpr auto unsaid = function("soft", soft_body);
constexpr auto long_stays = function("wide", long_body, noinline);
constexpr auto long_traced = function("wide", long_body, inlined);
constexpr auto long_unsaid = function("wide", long_body);

template <int calls, class F>
constexpr auto chain(F const& f) {
  return kernel("chain", [&f](in<float, 1> x, out<float, 1> y) {
    auto g = grid_over(y, shape<256>);
    tile v = load(x, shape<256>, g[0]);
    for (int i = 0; i < calls; ++i) v = f(v) + i;
    store(y, shape<256>, v, g[0]);
  });
}

struct Counts {
  int functions = 0, calls = 0, ops = 0;
};
Counts count(ir::Module const& module) {
  Counts result;
  for (auto const& function : module.functions()) {
    result.functions += function->is_kernel() ? 0 : 1;
    ir::walk(*function, [&](ir::Op const& op) {
      result.calls += op.is<ir::CallOp>() ? 1 : 0;
      ++result.ops;
    });
  }
  return result;
}

template <class K>
Counts traced_counts(K const& kernel) {
  return count(trace::module(kernel.trace()));
}
template <class K>
Counts lowered_counts(K const& kernel, CompileOptions const& options = {}) {
  return count(compiler::lower(trace::module(kernel.trace()), options));
}

template <class K>
std::vector<float> run(K const& kernel) {
  std::vector<float> x(700), y(700, -1);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 97) / 40 - 1;
  launch(host_stream(), kernel, x, y);
  return y;
}

CompileOptions cuda() {
  CompileOptions options;
  options.target = Target::cuda;
  options.facts.assign(2, TensorFacts{true, true});
  return options;
}

/// Returns the code of a kernel, without the parts that every object file or PTX has.
template <class K>
std::size_t code_bytes(K const& kernel, CompileOptions const& options) {
  return compile(kernel, options).image.size();
}

}  // namespace

TEST_CASE("functions: noinline keeps one function and a call for each use through all passes", "[F5]") {
  auto const k = chain<7>(kept);
  CHECK(traced_counts(k).functions == 1);
  CHECK(traced_counts(k).calls == 7);
  CHECK(lowered_counts(k).functions == 1);
  CHECK(lowered_counts(k).calls == 7);
  CHECK(lowered_counts(k, cuda()).calls == 7);
  CHECK_THAT(k.trace().text(), ContainsSubstring("function @soft(%tile0: tile<256xf32>) -> (tile<256xf32>) noinline"));
}

TEST_CASE("functions: results equal those of the inlined build, bit for bit", "[F5]") {
  CHECK(run(chain<3>(kept)) == run(chain<3>(traced)));
  CHECK(run(chain<1>(long_stays)) == run(chain<1>(long_traced)));
  std::vector<float> const y = run(chain<1>(kept));
  CHECK(std::abs(y[20] - (20.f / 40 - 1) / (1 + std::exp(1 - 20.f / 40))) < 1e-6f);
}

TEST_CASE("functions: ten calls make code grow by less than two bodies", "[F6]") {
  for (CompileOptions const& options : {CompileOptions(), cuda()}) {
    auto const one = static_cast<double>(code_bytes(chain<1>(long_stays), options));
    auto const ten = static_cast<double>(code_bytes(chain<10>(long_stays), options));
    auto const inline_one = static_cast<double>(code_bytes(chain<1>(long_traced), options));
    auto const inline_ten = static_cast<double>(code_bytes(chain<10>(long_traced), options));
    double const body = (inline_ten - inline_one) / 9;
    INFO((options.target == Target::host ? "host" : "cuda")
         << ": " << one << " to " << ten << ", a body " << body << ", inlined " << inline_one << " to " << inline_ten);
    CHECK(ten - one < 2 * body);
  }
}

TEST_CASE("functions: a noinline border stops the sharing of expressions", "[F8]") {
  constexpr auto shares = [](auto const& f) {
    return kernel("shares", [&f](in<float, 1> x, out<float, 1> y) {
      auto g = grid_over(y, shape<256>);
      tile v = load(x, shape<256>, g[0]);
      store(y, shape<256>, exp(v) + f(v) + f(v), g[0]);
    });
  };
  static constexpr auto apart = function(
      "apart", [](auto x) { return exp(x); }, noinline);
  static constexpr auto together = function(
      "together", [](auto x) { return exp(x); }, inlined);
  auto const exponentials = [](ir::Module const& module) {
    int found = 0;
    for (auto const& function : module.functions())
      ir::walk(*function, [&](ir::Op const& op) { found += op.is<ir::ExpOp>() ? 1 : 0; });
    return found;
  };
  CompileOptions simple;
  simple.pipeline = "specialize,inline-functions,canonicalize,eliminate-common-subexpressions,eliminate-dead-code";
  auto const lowered = [&](auto const& k) { return compiler::lower(trace::module(k.trace()), simple); };
  ir::Module const far = lowered(shares(apart)), near = lowered(shares(together));
  CHECK(exponentials(far) == 2);  // the kernel's own, and the function's
  CHECK(exponentials(near) == 1);
}

TEST_CASE("functions: each spelling of inlining", "[F37]") {
  // no: a function whatever its size. yes: never one. Unset: the inliner takes small bodies and single calls in.
  CHECK(lowered_counts(chain<10>(kept)).calls == 10);
  CHECK(lowered_counts(chain<1>(long_stays)).calls == 1);
  CHECK(traced_counts(chain<10>(long_traced)).functions == 0);
  CHECK(traced_counts(chain<10>(long_unsaid)).calls == 10);
  CHECK(lowered_counts(chain<10>(unsaid)).calls == 0);
  CHECK(lowered_counts(chain<1>(long_unsaid)).calls == 0);
  CHECK(lowered_counts(chain<10>(long_unsaid)).calls == 10);
  CHECK(run(chain<10>(unsaid)) == run(chain<10>(traced)));
}

TEST_CASE("functions: tensors, scalars and several results go through a call", "[F5]") {
  static constexpr auto row = function(
      "row",
      [](auto x, auto y, auto at, auto scale) {
        tile v = load(x, shape<1, 96>, at, 0) * scale;
        tile m = max(v, axis<1>);
        store(y, shape<1, 96>, v - m, at, 0);
        return carry(m, sum(v, axis<1>));
      },
      noinline);
  auto const k = kernel("rows", [](in<float, 2> x, out<float, 2> y, out<float, 2> z, arg<float> scale) {
    auto g = grid_over(y, shape<1, 96>);
    auto [max, all] = row(x, y, g[0], scale);
    store(z, shape<1, 1>, max + all, g[0], 0);
  });
  std::vector<float> x(5 * 90), y(5 * 90), z(5);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 31) - 40;
  launch(host_stream(), k, view(x.data(), 5, 90), view(y.data(), 5, 90), view(z.data(), 5, 1), 2.f);
  for (std::size_t r = 0; r < 5; ++r) {
    float max = 0, all = 0;  // 0: the pad
    for (std::size_t c = 0; c < 90; ++c) {
      max = std::max(max, 2 * x[r * 90 + c]);
      all += 2 * x[r * 90 + c];
    }
    CHECK(z[r] == max + all);
    for (std::size_t c = 0; c < 90; ++c) CHECK(y[r * 90 + c] == 2 * x[r * 90 + c] - max);
  }
  std::vector<float> y2(5 * 90), z2(5);
  simulation const warps =
      simulate(k, view(x.data(), 5, 90), view(y2.data(), 5, 90), view(z2.data(), 5, 1), 2.f, schedule::seed(3));
  INFO(warps.report);
  CHECK(warps.clean);
  CHECK(y2 == y);
  CHECK(z2 == z);
}

TEST_CASE("functions: a body from another module compiles after it is linked, and not before", "[F9]") {
  auto const read = [](std::string const& text) {
    ir::ParseResult parsed = ir::parse("tegula-ir 1\n" + text);
    INFO(parsed.diagnostics.str());
    REQUIRE(parsed.ok());
    return std::move(parsed.module);
  };
  std::string const head = "function @twice(%v: tile<64xf32>) -> (tile<64xf32>) noinline";
  ir::Module module = read(head + "\n" +
                           "kernel @k(%x: in tensor<?xf32>, %y: out tensor<?xf32>) {\n"
                           "  %o = constant {value = 0 : i64} : i64\n"
                           "  %one = constant {value = 1 : i64} : i64\n"
                           "  grid %one\n"
                           "  %v = load %x, %o : tile<64xf32>\n"
                           "  %w = call %v {callee = @twice} : tile<64xf32>\n"
                           "  store %y, %w, %o\n"
                           "  return\n}\n");
  for (CompileOptions const& options : {CompileOptions(), cuda()}) {
    CHECK_THROWS_WITH(compiler::compile(module, options),
                      "compile: @twice declared but not defined; link a module that defines it");
    ir::Module whole = module.clone();
    REQUIRE(ir::link(whole, read(head + " {\n  %w = add %v, %v : tile<64xf32>\n  return %w\n}\n")).empty());
    CHECK(count(compiler::lower(whole, options)).calls == 1);
    CHECK_FALSE(compiler::compile(whole, options).image.empty());
  }
}

TEST_CASE("functions: one written tensor given twice is one tensor, through two levels and in loops", "[F5]") {
  static constexpr auto swap = function(
      "swap",
      [](auto a, auto b, auto o, auto at) {
        tile old = load(a, shape<64>, at);
        store(b, shape<64>, zeros<float>(shape<64>), at);
        store(o, shape<64>, old, at);                         // as it was before the store
        store(b, shape<64>, load(a, shape<64>, at) + 7, at);  // as it is after it
      },
      noinline);
  static constexpr auto outer = function(
      "outer",
      [](auto a, auto b, auto o, auto at) {
        swap(a, b, o, at);
        loop(3, [&](auto) { store(a, shape<64>, load(b, shape<64>, at) * 2, at); });
        tile seen = load(b, shape<64>, at);
        store(a, shape<64>, zeros<float>(shape<64>), at);
        store(b, shape<64>, seen + 1, at);
      },
      noinline);
  auto const twice = kernel("twice", [](inout<float, 1> x, out<float, 1> o) {
    auto g = grid_over(x, shape<64>);
    outer(x, x, o, g[0]);
  });
  auto const apart = kernel("apart", [](inout<float, 1> x, inout<float, 1> y, out<float, 1> o) {
    auto g = grid_over(x, shape<64>);
    outer(x, y, o, g[0]);
  });
  CHECK(traced_counts(twice).calls == 2);
  CHECK_THAT(twice.trace().text(), ContainsSubstring("function @outer(%inout0: inout tensor<?xf32>, %out1: out"));
  CHECK_THAT(apart.trace().text(), ContainsSubstring("function @outer(%inout0: inout tensor<?xf32>, %inout1: inout"));

  std::vector<float> const before(128, 5), after(128, 57);  // ((0 + 7) * 2 * 2 * 2) + 1
  std::vector<float> x = before, o(128);
  launch(host_stream(), twice, x, o);
  CHECK(o == before);
  CHECK(x == after);
  for (char const* executor : {"tiles", "seed:1", "latest"}) {
    x = before;
    o.assign(128, 0);
    bool const tiles = std::string(executor) == "tiles";
    simulation const result = tiles ? simulate(twice, x, o) : simulate(twice, x, o, schedule::replay(executor));
    INFO(executor << ": " << result.report);
    CHECK(result.clean);
    CHECK(o == before);
    CHECK(x == after);
  }
}
