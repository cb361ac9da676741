// Tests the results of the PTX of block ops, run by BlockMachine: tiles through shared memory in every layout, tensor
// core products, ragged copies.
#include "codegen/block_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <tuple>

#include "codegen/ptx_cases.hpp"
#include "compiler/compile.hpp"
#include "tegula/support/error.hpp"
#include "support/random.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

/// Makes a row-major matrix of small integers, which every element holds exactly.
struct Matrix {
  /// `from`: elements in front of the first one, in the same allocation, which begins at a multiple of 16 bytes.
  Matrix(std::string of_element, int of_rows, int of_columns, int from = 0)
      : element(std::move(of_element)), rows(of_rows), columns(of_columns), begin(from) {
    bytes.assign(static_cast<std::size_t>((begin + rows * columns) * size() + 16), 0xee);
  }
  int size() const { return element == "f32" ? 4 : 2; }
  std::uint8_t* allocation() {
    auto const address = reinterpret_cast<std::uintptr_t>(bytes.data());
    return bytes.data() + (16 - address % 16) % 16;
  }
  std::uint8_t* data() { return allocation() + begin * size(); }
  void set(int row, int column, double value) {
    std::uint8_t* const at = data() + (row * columns + column) * size();
    if (element == "f32") {
      float const number = static_cast<float>(value);
      std::memcpy(at, &number, 4);
    } else {
      std::uint16_t const bits = element == "f16" ? f16_bits(value) : bf16_bits(value);
      std::memcpy(at, &bits, 2);
    }
  }
  double get(int row, int column) {
    std::uint8_t const* const at = data() + (row * columns + column) * size();
    if (element == "f32") {
      float number = 0;
      std::memcpy(&number, at, 4);
      return static_cast<double>(number);
    }
    std::uint16_t bits = 0;
    std::memcpy(&bits, at, 2);
    return element == "f16" ? f16_value(bits) : bf16_value(bits);
  }
  Matrix& fill(std::mt19937_64& random, int max) {
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < columns; ++c)
        set(r, c, static_cast<int>(random() % static_cast<unsigned>(2 * max + 1)) - max);
    return *this;
  }

  std::string element;
  int rows, columns, begin;
  std::vector<std::uint8_t> bytes;
};

/// Runs one CTA of the kernel. Returns the error, or nothing. The last matrix is written.
std::string run(std::string const& body, int warps, std::vector<Matrix*> const& matrices) {
  std::string text = "tegula-ir 1\n\nkernel @k(";
  char const* const names[] = {"%x", "%z", "%y"};
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    bool const last = i + 1 == matrices.size();
    text += std::string(i == 0 ? "" : ", ") + (last ? "%y: out" : std::string(names[i]) + ": in") + " tensor<?x?x" +
            matrices[i]->element + "> {unit_inner, aligned_16}";
  }
  text += fmt::format(") warps = {} {{\n", warps);
  for (int constant : {0, 1, 64, 128})
    text += fmt::format("  %c{} = constant {{value = {} : i64}} : i64\n", constant, constant);
  text += body + "  return\n}\n";
  INFO(text);
  ir::Module const module = read_module(text);
  CompileOptions options;
  options.target = Target::cuda;
  CompiledKernel const compiled = compiler::compile(module, options);
  INFO(compiled.image);
  std::vector<std::uint64_t> slots;
  BlockMachine machine(compiled.image);
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    Matrix& matrix = *matrices[i];
    machine.allow(matrix.allocation(), (matrix.begin + matrix.rows * matrix.columns) * matrix.size(),
                  i + 1 == matrices.size());
    slots.push_back(reinterpret_cast<std::uint64_t>(matrix.data()));
    for (int extent : {matrix.rows, matrix.columns, matrix.columns, 1})
      slots.push_back(static_cast<std::uint64_t>(extent));
  }
  for (int i = 0; i < launch_slots; ++i) slots.push_back(1);
  try {
    machine.run_cta(compiled.threads_per_cta, compiled.shared_bytes, slots, {0, 0, 0});
  } catch (std::runtime_error const& error) {
    return error.what();
  }
  return "";
}

std::string type(char const* kind, int rows, int columns, std::string const& element, std::string const& layout) {
  return fmt::format("{}<{}x{}x{}, {}>", kind, rows, columns, element, layout);
}

}  // namespace

TEST_CASE("tiles go to shared memory and back in every layout", "[block-ptx]") {
  std::string const wide =
      "[register (0,1) (0,2) (0,4) (16,0) (32,0), lane (0,8) (0,16) (0,32) (1,0) (2,0), warp (4,0) (8,0)]";
  std::string const columns =
      "[register (1,0) (2,0) (4,0) (0,16) (0,32), lane (8,0) (16,0) (32,0) (0,1) (0,2), warp (0,4) (0,8)]";
  std::vector<std::string> const layouts = {"wgmma", wide, "mma(2,2)", columns, "wgmma_a", "mma_b"};
  std::mt19937_64 random(test::data_seed);
  for (std::string const& element : {std::string("bf16"), std::string("f32")})
    for (std::size_t i = 0; i < layouts.size(); ++i) {
      std::string const &from = layouts[i], &to = layouts[(i + 1) % layouts.size()];
      INFO(element << " from " << from << " to " << to);
      std::vector<std::string> forms = {"dense"};
      for (char const* swizzle : {"128", "64", "32", "16"})
        for (char const* name : {"swizzled(", "swizzled_t("}) forms.push_back(name + std::string(swizzle) + ")");
      std::string body = "  %t = load %x, %c0, %c0 : " + type("tile", 64, 64, element, from) + "\n";
      for (std::size_t f = 0; f < forms.size(); ++f) {
        std::string const n = fmt::to_string(f);
        body += fmt::format("  %r{} = constant {{value = {} : i64}} : i64\n", n, 64 * f);
        body += fmt::format("  %s{} = buffer_alloc {{align = 1024, offset = {}}} : {}\n", n, f * 16384,
                            type("shared", 64, 64, element, forms[f]));
        body += "  buffer_store %s" + n + ", %t\n";
      }
      body += "  barrier\n";
      for (std::size_t f = 0; f < forms.size(); ++f) {
        std::string const n = fmt::to_string(f);
        body += "  %u" + n + " = buffer_load %s" + n + " : " + type("tile", 64, 64, element, to) + "\n";
        body += "  store %y, %u" + n + ", %r" + n + ", %c0\n";
      }
      Matrix x(element, 64, 64), y(element, 64 * static_cast<int>(forms.size()), 64);
      x.fill(random, 100);
      CHECK(run(body, 4, {&x, &y}) == "");
      int wrong = 0;
      for (int r = 0; r < y.rows; ++r)
        for (int c = 0; c < 64; ++c) wrong += y.get(r, c) != x.get(r % 64, c) ? 1 : 0;
      CHECK(wrong == 0);
    }
}

TEST_CASE("views of stages and blocks have the addresses of their layouts", "[block-ptx]") {
  std::mt19937_64 random(test::data_seed);
  Matrix x("bf16", 128, 256), y("bf16", 128, 256);
  x.fill(random, 100);
  // Four quarters of 64 x 128, written through views of one stage, read as a whole and through a transposed view.
  std::string body =
      "  %s = buffer_alloc {align = 1024} : shared<2x128x256xbf16, swizzled(128)>\n"
      "  %whole = view %s, %c1, %c0, %c0 : shared<128x256xbf16, swizzled(128)>\n";
  for (int quarter = 0; quarter < 4; ++quarter) {
    std::string const n = fmt::to_string(quarter), row = quarter / 2 == 0 ? "%c0" : "%c64",
                      column = quarter % 2 == 0 ? "%c0" : "%c128";
    body += "  %t" + n + " = load %x, " + row + ", " + column + " : tile<64x128xbf16, wgmma>\n";
    body +=
        "  %v" + n + " = view %s, %c1, " + row + ", " + column + " : shared<64x128xbf16, swizzled(128) of 128x256>\n";
    body += "  buffer_store %v" + n + ", %t" + n + "\n";
  }
  body +=
      "  barrier\n"
      "  %a = buffer_load %whole : tile<128x256xbf16, mma(2,2)>\n"
      "  store %y, %a, %c0, %c0\n";
  CHECK(run(body, 4, {&x, &y}) == "");
  int wrong = 0;
  for (int r = 0; r < 128; ++r)
    for (int c = 0; c < 256; ++c) wrong += y.get(r, c) != x.get(r, c) ? 1 : 0;
  CHECK(wrong == 0);

  Matrix z("bf16", 64, 128);
  CHECK(run("  %t = load %x, %c0, %c0 : tile<128x64xbf16, wgmma>\n"
            "  %s = buffer_alloc {align = 1024} : shared<128x64xbf16, swizzled(128)>\n"
            "  buffer_store %s, %t\n  barrier\n"
            "  %v = trans_view %s : shared<64x128xbf16, swizzled_t(128)>\n"
            "  %u = buffer_load %v : tile<64x128xbf16, wgmma>\n  store %y, %u, %c0, %c0\n",
            4, {&x, &z}) == "");
  wrong = 0;
  for (int r = 0; r < 64; ++r)
    for (int c = 0; c < 128; ++c) wrong += z.get(r, c) != x.get(c, r) ? 1 : 0;
  CHECK(wrong == 0);
}

TEST_CASE("tensor core products read descriptors and fragments by their layouts", "[block-ptx]") {
  struct Case {
    int m, n, k, warps;
    std::string element, result, a, b;  ///< a: a shared layout, or registers
  };
  std::mt19937_64 random(test::data_seed);
  for (Case const& c : {Case{64, 64, 64, 4, "bf16", "f32", "swizzled(128)", "swizzled(128)"},
                        Case{64, 128, 128, 4, "bf16", "f32", "swizzled(128)", "swizzled_t(128)"},
                        Case{64, 176, 64, 4, "f16", "f32", "swizzled(64)", "swizzled_t(64)"},
                        Case{64, 320, 64, 4, "bf16", "f32", "swizzled(32)", "swizzled_t(128)"},
                        Case{128, 64, 64, 4, "f16", "f16", "swizzled_t(128)", "swizzled(64)"},
                        Case{128, 64, 64, 8, "bf16", "f32", "swizzled(128)", "swizzled(32)"},
                        Case{256, 64, 64, 8, "bf16", "f32", "swizzled(128)", "swizzled_t(16)"},
                        Case{256, 64, 64, 8, "bf16", "f32", "registers", "swizzled(128)"},
                        Case{64, 64, 64, 4, "f32", "f32", "swizzled(128)", "swizzled_t(128)"},
                        Case{64, 64, 64, 4, "f32", "f32", "registers", "swizzled_t(64)"}}) {
    INFO(c.m << "x" << c.n << "x" << c.k << " " << c.element << " " << c.a << " times " << c.b);
    Matrix x(c.element, c.m, c.k), z(c.element, c.k, c.n), y(c.result, c.m, c.n);
    x.fill(random, 4);
    z.fill(random, 4);
    std::string const group = c.warps == 4 ? "" : fmt::format("({})", c.warps);
    std::string const spread = c.warps == 4 ? "mma" : "mma(4,2)";  // of 64 rows or more
    std::string body = "  %a = load %x, %c0, %c0 : " + type("tile", c.m, c.k, c.element, "wgmma_a" + group) +
                       "\n  %b = load %z, %c0, %c0 : " + type("tile", c.k, c.n, c.element, spread) + "\n";
    if (c.a != "registers")
      body += "  %sa = buffer_alloc {align = 1024} : " + type("shared", c.m, c.k, c.element, c.a) +
              "\n  buffer_store %sa, %a\n";
    body += "  %sb = buffer_alloc {align = 1024} : " + type("shared", c.k, c.n, c.element, c.b) +
            "\n  buffer_store %sb, %b\n  fence_proxy_async\n  barrier\n";
    std::string const d = type("pending", c.m, c.n, c.result, "wgmma" + group);
    // Twice, the second time on top of the first: accumulators keep their places.
    body += "  wgmma_fence\n  %p = wgmma " + std::string(c.a == "registers" ? "%a" : "%sa") + ", %sb : " + d +
            "\n  %q = wgmma " + std::string(c.a == "registers" ? "%a" : "%sa") + ", %sb, %p : " + d +
            "\n  wgmma_commit\n  %r = wgmma_wait %q : " + type("tile", c.m, c.n, c.result, "wgmma" + group) +
            "\n  store %y, %r, %c0, %c0\n";
    CHECK(run(body, c.warps, {&x, &z, &y}) == "");
    int wrong = 0;
    for (int r = 0; r < c.m; ++r)
      for (int n = 0; n < c.n; ++n) {
        double sum = 0;
        for (int k = 0; k < c.k; ++k) sum += x.get(r, k) * z.get(k, n);
        wrong += y.get(r, n) != 2 * sum ? 1 : 0;
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("mma.sync products with fragments from shared memory are right", "[block-ptx]") {
  std::mt19937_64 random(test::data_seed);
  for (std::string const& element : {std::string("bf16"), std::string("f16"), std::string("f32")})
    for (std::string const& grid : {std::string(""), std::string("(2,2)")}) {
      INFO(element << " " << grid);
      Matrix x(element, 64, 64), z(element, 64, 32), y("f32", 64, 32);
      x.fill(random, 4);
      z.fill(random, 4);
      std::string body = "  %a0 = load %x, %c0, %c0 : " + type("tile", 64, 64, element, "mma") +
                         "\n  %b0 = load %z, %c0, %c0 : " + type("tile", 64, 32, element, "mma") +
                         "\n  %sa = buffer_alloc {align = 1024} : " + type("shared", 64, 64, element, "swizzled(128)") +
                         "\n  %sb = buffer_alloc {align = 1024} : " + type("shared", 64, 32, element, "swizzled(64)") +
                         "\n  buffer_store %sa, %a0\n  buffer_store %sb, %b0\n  barrier\n  %a = buffer_load %sa : " +
                         type("tile", 64, 64, element, "mma_a" + grid) +
                         "\n  %b = buffer_load %sb : " + type("tile", 64, 32, element, "mma_b" + grid) +
                         "\n  %f = constant {value = 1.0 : f32} : f32\n  %c = splat %f : " +
                         type("tile", 64, 32, "f32", "mma" + grid) +
                         "\n  %d = mma %a, %b, %c : " + type("tile", 64, 32, "f32", "mma" + grid) +
                         "\n  store %y, %d, %c0, %c0\n";
      CHECK(run(body, 4, {&x, &z, &y}) == "");
      int wrong = 0;
      for (int r = 0; r < 64; ++r)
        for (int n = 0; n < 32; ++n) {
          double sum = 1;
          for (int k = 0; k < 64; ++k) sum += x.get(r, k) * z.get(k, n);
          wrong += y.get(r, n) != sum ? 1 : 0;
        }
      CHECK(wrong == 0);
    }
}

TEST_CASE("cp_async fills a swizzled tile, with zeros outside the tensor", "[block-ptx]") {
  std::mt19937_64 random(test::data_seed);
  for (int warps : {4, 1}) {
    Matrix x("bf16", 50, 40), y("bf16", 64, 64);
    x.fill(random, 100);
    std::string const layout = warps == 4 ? "wgmma" : "mma(1)";
    CHECK(run("  %s = buffer_alloc {align = 1024} : shared<64x64xbf16, swizzled(128)>\n"
              "  cp_async %x, %s, %c0, %c0 {vector = 8}\n  cp_async_commit\n  cp_async_wait\n  barrier\n"
              "  %t = buffer_load %s : " +
                  type("tile", 64, 64, "bf16", layout) + "\n  store %y, %t, %c0, %c0\n",
              warps, {&x, &y}) == "");
    int wrong = 0;
    for (int r = 0; r < 64; ++r)
      for (int c = 0; c < 64; ++c) wrong += y.get(r, c) != (r < 50 && c < 40 ? x.get(r, c) : 0) ? 1 : 0;
    CHECK(wrong == 0);
  }
}

TEST_CASE("cp_async_gather fills a swizzled tile with rows at indices, zeros for those outside", "[block-ptx]") {
  std::mt19937_64 random(test::data_seed);
  // Rows of one warpgroup, of fewer warps, and of rows whose addresses are not kept.
  for (auto const& [rows, warps, layout] :
       {std::tuple(64, 4, "[register (1,0) (2,0), lane (0,1) (0,2) (0,4) (4,0) (8,0), warp (16,0) (32,0)]"),
        std::tuple(64, 8, "[register (1,0) (2,0), lane (0,1) (0,2) (0,4) (4,0) (8,0), warp (16,0) (32,0)]"),
        std::tuple(64, 1, "[register (1,0) (2,0) (4,0) (8,0), lane (0,1) (0,2) (0,4) (16,0) (32,0)]"),
        std::tuple(16, 4, "[lane (0,1) (0,2) (0,4) (1,0) (2,0), warp (4,0) (8,0)]"),
        std::tuple(8, 4, "[lane (0,1) (0,2) (0,4) (1,0) (2,0), warp (4,0) (0,0)]")}) {
    Matrix x("bf16", 50, 40), y("bf16", rows, 64);
    x.fill(random, 100);
    std::string const of = type("tile", rows, 8, "i32", layout);
    std::string read = "[register (0,1) (0,2)";
    for (int row = warps > 1 ? 8 : 2; row < rows; row *= 2) read += fmt::format(" ({},0)", row);
    read += ", lane (0,4) (0,8) (0,16) (0,32) (1,0)" + std::string(warps > 4   ? ", warp (2,0) (4,0) (0,0)]"
                                                                   : warps > 1 ? ", warp (2,0) (4,0)]"
                                                                               : "]");
    INFO(rows << " rows, " << warps << " warps");
    CHECK(run(fmt::format("  %s = buffer_alloc {{align = 1024}} : shared<{0}x64xbf16, swizzled(128)>\n"
                          "  %n = iota {{axis = 0}} : {1}\n"
                          "  %three = constant {{value = 3 : i32}} : {1}\n"
                          "  %five = constant {{value = 5 : i32}} : {1}\n"
                          "  %m = mul %n, %three : {1}\n"
                          "  %r = sub %m, %five : {1}\n"
                          "  cp_async_gather %x, %s, %r, %c0 {{vector = 8}}\n"
                          "  cp_async_commit\n"
                          "  cp_async_wait\n"
                          "  barrier\n"
                          "  %t = buffer_load %s : {2}\n"
                          "  store %y, %t, %c0, %c0\n",
                          rows, of, type("tile", rows, 64, "bf16", read)),
              warps, {&x, &y}) == "");
    int wrong = 0;
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < 64; ++c) {
        int const from = 3 * r - 5;
        wrong += y.get(r, c) != (from >= 0 && from < 50 && c < 40 ? x.get(from, c) : 0) ? 1 : 0;
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("cp_async_cover and shifted_load bring rows from any address, and read nothing behind the tensor",
          "[block-ptx]") {
  std::mt19937_64 random(test::data_seed);
  for (auto const& [element, rows, columns, layout] :
       {std::tuple("bf16", 16, 32, "[register (0,1) (8,0), lane (0,2) (0,4) (0,8) (0,16) (1,0), warp (2,0) (4,0)]"),
        std::tuple("f16", 16, 32, "[register (8,0) (0,1), lane (0,2) (0,4) (0,8) (0,16) (1,0), warp (2,0) (4,0)]"),
        std::tuple("bf16", 64, 64, "wgmma"),
        std::tuple("f32", 8, 32, "[register (0,1), lane (0,2) (0,4) (0,8) (0,16) (1,0), warp (2,0) (4,0)]")})
    for (int const width : {columns + 5, columns - 3, columns - 6, columns})
      for (int const begin : {0, 1, 3, 6}) {
        Matrix x(element, rows - 3, width, begin), y(element, rows, columns);
        x.fill(random, 100);
        int const gap = element == std::string("f32") ? 4 : 8;
        INFO(element << " " << rows << "x" << columns << " of rows of " << width << " from " << begin);
        for (int const first : {0, 2}) {
          std::string const at = "%c0, " + std::string(first == 0 ? "%c0" : "%two");
          CHECK(run(fmt::format("  %two = constant {{value = 2 : i64}} : i64\n"
                                "  %s = buffer_alloc {{align = 128}} : shared<{0}x{1}x{2}, dense>\n"
                                "  cp_async_cover %x, %s, {3}\n"
                                "  cp_async_commit\n"
                                "  cp_async_wait\n"
                                "  barrier\n"
                                "  %t = shifted_load %s, %x, {3} : {4}\n"
                                "  store %y, %t, %c0, %c0\n",
                                rows, columns + gap, element, at, type("tile", rows, columns, element, layout)),
                    4, {&x, &y}) == "");
          int wrong = 0;
          for (int r = 0; r < rows; ++r)
            for (int c = 0; c < columns; ++c)
              wrong += y.get(r, c) != (r < rows - 3 && c + first < width ? x.get(r, c + first) : 0) ? 1 : 0;
          CHECK(wrong == 0);
        }
      }
}

TEST_CASE("folds, shuffles and parts of tiles hold the right elements", "[block-ptx]") {
  std::mt19937_64 random(test::data_seed);
  Matrix x("f32", 64, 64), y("f32", 64, 12);
  x.fill(random, 100);
  std::string const four = "tile<64x4xf32, [register (8,0), lane (0,1) (0,2) (1,0) (2,0) (4,0), warp (16,0) (32,0)]>";
  CHECK(run("  %four = constant {value = 4 : i64} : i64\n  %eight = constant {value = 8 : i64} : i64\n"
            "  %t = load %x, %c0, %c0 : tile<64x64xf32, wgmma>\n"
            "  %m = fold %t {axis = 1, combine = max} : " +
                four + "\n  store %y, %m, %c0, %c0\n  %s = shuffle %m {mask = 1} : " + four +
                "\n  store %y, %s, %c0, %four\n  %p = extract %t {offsets = [0, 32]} : tile<64x32xf32, wgmma>\n"
                "  %f = fold %p {axis = 1} : " +
                four + "\n  store %y, %f, %c0, %eight\n",
            4, {&x, &y}) == "");
  int wrong = 0;
  for (int r = 0; r < 64; ++r)
    for (int q = 0; q < 4; ++q) {
      double max = -1000, sum = 0;
      for (int c = 0; c < 64; ++c) {
        if (c / 2 % 4 != q) continue;  // columns 8 j + 2 q, + 1 are in one thread
        max = std::max(max, x.get(r, c));
        if (c >= 32) sum += x.get(r, c);
      }
      wrong += y.get(r, q) != max ? 1 : 0;
      wrong += y.get(r, 4 + (q ^ 1)) != max ? 1 : 0;
      wrong += y.get(r, 8 + q) != sum ? 1 : 0;
    }
  CHECK(wrong == 0);
}

TEST_CASE("a conversion within warps uses shuffles, also where a part of the CTA runs", "[block-ptx]") {
  std::mt19937_64 random(test::data_seed);
  std::string const rows =
      "[register (0,1) (0,2) (0,4) (8,0), lane (0,8) (0,16) (1,0) (2,0) (4,0), warp (16,0) (32,0)]";
  for (std::string const& element : {std::string("bf16"), std::string("f32")})
    for (bool back : {false, true}) {
      INFO(element << " " << back);
      Matrix x(element, 64, 32), y(element, 64, 32);
      x.fill(random, 100);
      std::string const from = back ? rows : "wgmma", to = back ? "wgmma" : rows;
      CHECK(run("  warp_specialize {warps = [4, 1], replicas = [1, 1], registers = [0, 0]} (%p: i64) {\n"
                "    %t = load %x, %c0, %c0 : " +
                    type("tile", 64, 32, element, from) +
                    "\n    %u = convert_layout %t : " + type("tile", 64, 32, element, to) +
                    "\n    store %y, %u, %c0, %c0\n    yield\n  } and (%q: i64) {\n    yield\n  }\n",
                5, {&x, &y}) == "");
      int wrong = 0;
      for (int r = 0; r < 64; ++r)
        for (int c = 0; c < 32; ++c) wrong += y.get(r, c) != x.get(r, c) ? 1 : 0;
      CHECK(wrong == 0);
    }
}
