// Compilation takes work in proportion to the length of a kernel: values that are used twice are looked at once. Work
// is counted, so that no machine is too slow: allocations, their bytes, and accesses to the attributes of ops.
// `bench/compile_time/length.py` measures the time.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "compiler/compile.hpp"
#include "kernels/gemm_kernel.hpp"
#include "support/count_allocations.hpp"
#include "support/module.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

std::atomic<std::int64_t> looks = 0;

}  // namespace

/// Counts the accesses to attributes of ops: the linker calls this function in place of ir::Op::checked.
extern "C" void* __real__ZNK6tegula2ir2Op7checkedENS0_6OpKindE(ir::Op const* op, ir::OpKind kind);
extern "C" void* __wrap__ZNK6tegula2ir2Op7checkedENS0_6OpKindE(ir::Op const* op, ir::OpKind kind);
extern "C" void* __wrap__ZNK6tegula2ir2Op7checkedENS0_6OpKindE(ir::Op const* op, ir::OpKind kind) {
  looks.fetch_add(1, std::memory_order_relaxed);
  return __real__ZNK6tegula2ir2Op7checkedENS0_6OpKindE(op, kind);
}

namespace {

/// Kernels of the same kind, `length` ops long, each op of which reads the one before twice.
struct Kind {
  char const* name;
  std::string (*text)(int length);
  int length;
  bool code;           ///< code is generated, too
  bool plain = false;  ///< neither producer warps nor CTAs that stay
  int max = 25;        ///< tenths of the work, for twice the length
  Target target = Target::cuda;
};

std::string chain(int length, std::string const& first, std::string const& name, std::string const& type,
                  std::string const& op = "add") {
  std::string text;
  for (int i = 0; i < length; ++i) {
    std::string const before = i == 0 ? first : fmt::format("%{}{}", name, i);
    text += fmt::format("  %{0}{1} = {2} {3}, {3} : {4}\n", name, i + 1, op, before, type);
  }
  return text;
}
std::string last(std::string const& name, int length) { return fmt::format("%{}{}", name, length); }

constexpr char head[] = R"(tegula-ir 1
kernel @k(%x: in tensor<?x?xf32> {unit_inner, aligned_16}, %h: in tensor<?x?xf16> {unit_inner, aligned_16}, %o: out tensor<?x?xf32> {unit_inner, aligned_16}, %z: inout tensor<?x?xf32>, %p: i64) {
  %zero = constant {value = 0 : i64} : i64
  %one = constant {value = 1 : i64} : i64
  %none = constant {value = 0 : f32} : tile<64x64xf32>
  %extent = extent %o : i64
  grid %extent
  %b = block_index : i64
)";

std::string offsets(int length) {
  return head + chain(length, "%b", "a", "i64") + "  %v = load %x, " + last("a", length) +
         ", %zero : tile<16x16xf32>\n  store %o, %v, %b, %zero\n  return\n}\n";
}
std::string clamped_offsets(int length) {
  std::string text = head;
  for (int i = 0; i < length; ++i) {
    std::string const at = i == 0 ? "%b" : fmt::format("%a{}", i), sum = fmt::format("%q{}", i);
    text += fmt::format(
        "  {} = add {}, %p : i64\n"
        "  %a{} = max {}, {} : i64\n",
        sum, at, i + 1, sum, at);
  }
  return text + "  %v = load %x, " + last("a", length) +
         ", %zero : tile<16x16xf32>\n  store %o, %v, %b, %zero\n  return\n}\n";
}
std::string offsets_in_loop(int length) {
  return head + std::string("  for %i = %zero to %p step %one {\n") + chain(length, "%i", "a", "i64") +
         "  %v = load %z, " + last("a", length) + ", %zero : tile<16x16xf32>\n  store %z, %v, " + last("a", length) +
         ", %zero\n  yield\n  }\n  store %o, %none, %b, %zero\n  return\n}\n";
}
std::string product(std::string const& bound, std::string const& before, std::string const& inside,
                    std::string const& operand) {
  return head + before + "  %r = for %i = %zero to " + bound +
         " step %one carry (%c = %none) {stages = 2} : tile<64x64xf32> {\n"
         "  %f = load %h, %b, %i : tile<64x64xf16>\n  %g = load %h, %i, %zero : tile<64x64xf16>\n" +
         inside + "  %d = dot " + operand + ", %g, %c : tile<64x64xf32>\n  yield %d\n  }\n" +
         "  store %o, %r, %b, %zero\n  return\n}\n";
}
std::string bounds(int length) { return product(last("a", length), chain(length, "%b", "a", "i64"), "", "%f"); }
std::string masks(int length) {
  return product("%p",
                 "  %m0 = splat %p : tile<64x64xi64>\n" + chain(length, "%m0", "m", "tile<64x64xi64>") +
                     "  %place = iota {axis = 1} : tile<64x64xi64>\n",
                 "  %at = splat %i : tile<64x64xi64>\n  %column = add %at, %place : tile<64x64xi64>\n"
                 "  %seen = compare %column, " +
                     last("m", length) +
                     " {predicate = lt} : tile<64x64xbool>\n  %no = constant {value = 0 : f16} : tile<64x64xf16>\n"
                     "  %s = select %seen, %f, %no : tile<64x64xf16>\n",
                 "%s");
}
std::string weights(int length, std::string const& op) {
  return product("%p", "",
                 "  %t = dot %f, %g, %none : tile<64x64xf32>\n" + chain(length, "%t", "w", "tile<64x64xf32>", op) +
                     "  %w = cast " + last("w", length) + " : tile<64x64xf16>\n",
                 "%w");
}
std::string equal_weights(int length) { return weights(length, "max"); }
std::string doubled_weights(int length) { return weights(length, "add"); }

/// Loads of a loop whose copies run so many iterations ahead in the warps that read them.
std::string stages(int count) {
  std::string body;
  for (int i = 0; i < 4; ++i)
    body += fmt::format(
        "  %v{} = load %x, %i, {} : tile<1x64xf32>\n"
        "  %s{} = add %s{}, %v{} : tile<1x64xf32>\n",
        i, i % 2 == 0 ? "%zero" : "%one", i + 1, i, i);
  return fmt::format(
      "{}  %start = constant {{value = 0 : f32}} : tile<1x64xf32>\n"
      "  %r = for %i = %zero to %p step %one carry (%s0 = %start) {{stages = {}}} : tile<1x64xf32> {{\n"
      "{}  yield %s4\n"
      "  }}\n"
      "  store %o, %r, %b, %zero\n"
      "  return\n"
      "}}\n",
      head, count, body);
}

/// Loops inside each other, of which the innermost reads and writes a tensor.
std::string nested(int depth) {
  std::string text = head;
  for (int i = 0; i < depth; ++i) text += fmt::format("  for %i{} = %zero to %p step %one {{\n", i);
  text += "  %v = load %z, %b, " + last("i", depth - 1) + " : tile<16x16xf32>\n  store %z, %v, %b, %i0\n";
  for (int i = 0; i < depth; ++i) text += "  yield\n  }\n";
  return text + "  return\n}\n";
}
/// Loads and stores of one tensor: at places apart, or each with a barrier before it.
std::string boxes(int count, bool apart) {
  std::string text = head;
  for (int i = 0; i < count; ++i) {
    std::string const number = fmt::to_string(i), at = "%c" + number;
    text += fmt::format(
        "  {0} = constant {{value = {1} : i64}} : i64\n"
        "  %v{2} = load %z, {3}{0} : tile<16x16xf32>\n"
        "  store %z, %v{2}, {4}\n",
        at, 16 * i + 16, number, apart ? "%zero, " : "%b, ", apart ? "%zero, " + at : at + ", %b");
  }
  return text + "  return\n}\n";
}
std::string boxes_apart(int count) { return boxes(count, true); }
std::string boxes_with_barriers(int count) { return boxes(count, false); }

/// A sum of offsets, each of another constant.
std::string sum_of_offsets(int length) {
  std::string text = head + std::string("  %s0 = add %b, %p : i64\n");
  for (int i = 0; i < length; ++i) {
    std::string const number = fmt::to_string(i);
    text += fmt::format(
        "  %c{0} = constant {{value = {1} : i64}} : i64\n"
        "  %t{0} = add %p, %c{0} : i64\n"
        "  %s{2} = add %s{0}, %t{0} : i64\n",
        number, i + 2, i + 1);
  }
  return text + "  %v = load %x, " + last("s", length) +
         ", %zero : tile<16x16xf32>\n  store %o, %v, %b, %zero\n  return\n}\n";
}
/// A requirement about a scalar each of whose ops reads the one before twice.
std::string requirement(int length) {
  return head + chain(length, "%extent", "a", "i64") + "  %ok = compare %zero, " + last("a", length) +
         " {predicate = le} : bool\n  require %ok {message = \"positive\"}\n  store %z, %none, %b, %zero\n  "
         "return\n}\n";
}

constexpr char plain_head[] = R"(tegula-ir 1
kernel @k(%x: in tensor<?x?xf32>, %o: out tensor<?x?xf32>, %p: i64) {
  %zero = constant {value = 0 : i64} : i64
  %extent = extent %o : i64
  grid %extent
  %b = block_index : i64
)";
/// The kernel with tensors that are dense and aligned; those of plain_head have any strides.
std::string dense(std::string text) {
  std::string const type = "tensor<?x?xf32>";
  for (std::size_t at = 0; (at = text.find(type, at)) != std::string::npos; at += type.size())
    text.insert(at + type.size(), " {unit_inner, aligned_16}");
  return text;
}
std::string stored(std::string const& value) { return "  store %o, " + value + ", %b, %zero\n  return\n}\n"; }

/// Sums loads of so many rows: an unrolled loop.
std::string strided_loads(int count) {
  std::string text = plain_head + std::string("  %s0 = constant {value = 0 : f32} : tile<16x64xf32>\n");
  for (int i = 0; i < count; ++i) {
    std::string const number = fmt::to_string(i);
    text += fmt::format(
        "  %c{0} = constant {{value = {1} : i64}} : i64\n"
        "  %t{0} = add %b, %c{0} : i64\n"
        "  %v{0} = load %x, %t{0}, %zero : tile<16x64xf32>\n"
        "  %s{1} = add %s{0}, %v{0} : tile<16x64xf32>\n",
        number, i + 1);
  }
  return text + stored(last("s", count));
}
std::string dense_loads(int count) { return dense(strided_loads(count)); }
/// Sums the neighbours of each element of an image in a square.
std::string box_filter(int side) {
  std::string text = plain_head + std::string("  %s0 = constant {value = 0 : f32} : tile<16x64xf32>\n");
  for (int i = 0; i < side; ++i)
    text += fmt::format(
        "  %i{} = constant {{value = {} : i64}} : i64\n"
        "  %r{} = add %b, %i{} : i64\n",
        i, i, i, i);
  for (int i = 0; i < side * side; ++i) {
    std::string const number = fmt::to_string(i);
    text += fmt::format(
        "  %v{0} = load %x, %r{1}, %i{2} : tile<16x64xf32>\n"
        "  %s{3} = add %s{0}, %v{0} : tile<16x64xf32>\n",
        number, i / side, i % side, i + 1);
  }
  return dense(text + stored(last("s", side * side)));
}
std::string tile_chain(int length) {
  return plain_head + std::string("  %a0 = load %x, %b, %zero : tile<16x64xf32>\n") +
         chain(length, "%a0", "a", "tile<16x64xf32>", "mul") + stored(last("a", length));
}
/// Branches one after the other, each of which changes the tile of the one before.
std::string branches(int count, std::string const& change) {
  std::string text = plain_head + std::string("  %s0 = load %x, %b, %zero : tile<64x64xf32>\n");
  for (int i = 0; i < count; ++i) {
    std::string const number = fmt::to_string(i), old = "%s" + number;
    text += fmt::format(
        "  %c{0} = constant {{value = {1} : i64}} : i64\n"
        "  %q{0} = compare %b, %c{0} {{predicate = lt}} : bool\n"
        "  %s{1} = if %q{0} : tile<64x64xf32> {{\n"
        "  %v{0} = {2}\n"
        "  %w{0} = add {3}, %u{0} : tile<64x64xf32>\n"
        "  yield %w{0}\n"
        "  }} else {{\n"
        "  yield {3}\n"
        "  }}\n",
        number, i + 1, change, old);
    for (std::size_t at = 0; (at = text.find('#', at)) != std::string::npos;) text.replace(at, 1, number);
  }
  return text + stored(last("s", count));
}
std::string branches_that_load(int count) {
  return dense(branches(count, "load %x, %c#, %b : tile<64x64xf32>\n  %u# = add %v#, %v# : tile<64x64xf32>"));
}
std::string branches_that_reduce(int count) {
  return dense(branches(count, "reduce %s# {axis = 0} : tile<1x64xf32>\n  %u# = broadcast %v# : tile<64x64xf32>"));
}
/// Loads of a loop, each through a ring of its own.
std::string rings(int count) {
  std::string text =
      plain_head +
      std::string(
          "  %one = constant {value = 1 : i64} : i64\n  %start = constant {value = 0 : f32} : tile<16x64xf32>\n"
          "  %r = for %i = %zero to %p step %one carry (%s0 = %start) {stages = 2} : tile<16x64xf32> {\n");
  for (int i = 0; i < count; ++i) {
    std::string const number = fmt::to_string(i);
    text += fmt::format(
        "  %c{0} = constant {{value = {0} : i64}} : i64\n"
        "  %v{0} = load %x, %i, %c{0} : tile<16x64xf32>\n"
        "  %s{1} = add %s{0}, %v{0} : tile<16x64xf32>\n",
        number, i + 1);
  }
  return dense(text + "  yield " + last("s", count) + "\n  }\n" + stored("%r"));
}

struct Work {
  test::Allocations made;
  std::int64_t looks = 0;

  [[nodiscard]] std::string str() const {
    return fmt::format("{} allocations of {} bytes, {} looks at ops", made.count, made.bytes, looks);
  }
};

Work work(Kind const& kind, int length) {
  ir::Module const module = module_of(kind.text(length));
  CompileOptions options = gemm_options();
  options.target = kind.target;
  if (kind.target == Target::host) options.architecture.clear();
  options.facts.clear();
  options.specialization = options.persistence = kind.plain ? Choice::off : Choice::automatic;
  std::int64_t const before = looks;
  Work result;
  result.made = allocations_of([&] {
    ir::Module const lowered = compiler::lower(module, options);
    if (kind.code) (void)compiler::emit(lowered, options);
  });
  result.looks = looks - before;
  return result;
}

}  // namespace

TEST_CASE("the work of a compilation grows in proportion to the length of a kernel") {
  constexpr Kind kinds[] = {{"offsets", offsets, 250, true},
                            {"clamped offsets", clamped_offsets, 100, true},
                            {"offsets in a loop", offsets_in_loop, 250, true},
                            {"bounds of a loop with a product", bounds, 250, false},
                            {"masks", masks, 250, false},
                            {"weights between two products", equal_weights, 250, false},
                            {"doubled weights between two products", doubled_weights, 100, false},
                            // Each copy is compared with all others.
                            {"stages", stages, 32, false, true, 40},
                            {"nested loops", nested, 12, false, true, 80},
                            {"boxes apart", boxes_apart, 200, false, true},
                            {"boxes with barriers", boxes_with_barriers, 200, false, true},
                            {"constants", sum_of_offsets, 8000, false, true},
                            {"sum of offsets on the host", sum_of_offsets, 1000, true, true, 25, Target::host},
                            {"offsets on the host", clamped_offsets, 1000, true, true, 25, Target::host},
                            {"requirement", requirement, 2000, true, true, 25, Target::host},
                            {"loads", dense_loads, 100, true, true},
                            {"strided loads", strided_loads, 100, true, true},
                            {"loads on the host", dense_loads, 200, true, true, 25, Target::host},
                            {"strided loads on the host", strided_loads, 200, true, true, 25, Target::host},
                            {"chain of tiles", tile_chain, 1000, true, true},
                            {"chain of tiles on the host", tile_chain, 2000, true, true, 25, Target::host},
                            {"branches that load", branches_that_load, 100, true, true},
                            {"branches that reduce", branches_that_reduce, 100, true, true},
                            {"branches on the host", branches_that_load, 50, true, true, 25, Target::host},
                            {"rings", rings, 16, false}};
  for (Kind const& kind : kinds) {
    (void)work(kind, std::max(kind.length / 8, 1));  // tables of layouts, which are kept
    Work const once = work(kind, kind.length), twice = work(kind, 2 * kind.length);
    INFO(kind.name << ": " << once.str() << " for " << kind.length << " ops, " << twice.str() << " for twice as many");
    auto const grows = [&](std::int64_t less, std::int64_t more) { return 10 * more < kind.max * less; };
    CHECK(once.looks > 0);  // they are counted
    CHECK(grows(once.made.count, twice.made.count));
    CHECK(grows(once.made.bytes, twice.made.bytes));
    CHECK(grows(once.looks, twice.looks));
  }
}

TEST_CASE("a box filter of 15 x 15 and a chain of 20000 tiles take little work") {
  struct Limit {
    Kind kind;
    std::int64_t allocations, bytes, looks;  ///< twice those that were counted
  };
  for (Limit const& limit : {
           Limit{{"box filter", box_filter, 15, true, true, 0, Target::host}, 310'000, 60'000'000, 6000},
           Limit{{"chain of tiles", tile_chain, 20000, true, true, 0, Target::host}, 10'000'000, 600'000'000, 41'000},
           Limit{{"box filter", box_filter, 15, true, true, 0, Target::cuda}, 1'450'000, 270'000'000, 4000},
           Limit{
               {"chain of tiles", tile_chain, 20000, true, true, 0, Target::cuda}, 16'000'000, 1'800'000'000, 320'000},
       }) {
    Work const found = work(limit.kind, limit.kind.length);
    INFO((limit.kind.target == Target::host ? "host, " : "cuda, ") << limit.kind.name << ": " << found.str());
    CHECK(found.made.count < limit.allocations);
    CHECK(found.made.bytes < limit.bytes);
    CHECK(found.looks < limit.looks);
  }
}
