// Tests that every product compiles for the GPU, of all elements. Shapes fill instructions of tensor cores or do not.
// Operands are copied, loaded through pointers, transposed or converted.
#include <fmt/format.h>

#include "codegen/ptx_cases.hpp"
#include "codegen/ptxas.hpp"
#include "compiler/compile.hpp"
#include "support/catch.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

struct OperandElements {
  char const *factor, *result, *converted_from, *precision;
};
constexpr OperandElements all_elements[] = {
    {"f64", "f64", "f32", ""},
    {"f32", "f32", "bf16", ""},
    {"f32", "f32", "bf16", " {precision = tf32}"},
    {"f16", "f32", "f32", ""},
    {"bf16", "f32", "f32", ""},
    {"e4m3", "f32", "f32", ""},
    {"e5m2", "f32", "f32", ""},
    {"i8", "i32", "i32", ""},
    {"u8", "i32", "i32", ""},
    {"f32", "f32", "bf16", " {precision = tf32x3}"},
};
struct Shape {
  int rows, columns, depth;
};
constexpr Shape shapes[] = {{64, 64, 64}, {64, 64, 5}, {24, 48, 64}, {1, 64, 32}, {32, 1, 32}, {3, 5, 7}, {16, 8, 4}};
constexpr char const* operand_kinds[] = {"copied", "by pointer", "transposed", "converted"};

std::string operand(std::string const& name, int rows, int columns, OperandElements const& elements,
                    std::string_view kind) {
  if (kind == "transposed")
    return fmt::format(
        "  %{0}0 = load %{0}, %zero, %zero : tile<{2}x{1}x{3}>\n"
        "  %{0}1 = trans %{0}0 {{permutation = [1, 0]}} : tile<{1}x{2}x{3}>\n",
        name, rows, columns, elements.factor);
  if (kind == "converted")
    return fmt::format(
        "  %{0}0 = load %{0}, %zero, %zero : tile<{1}x{2}x{4}>\n"
        "  %{0}1 = cast %{0}0 : tile<{1}x{2}x{3}>\n",
        name, rows, columns, elements.factor, elements.converted_from);
  return fmt::format("  %{0}1 = load %{0}, %zero, %zero : tile<{1}x{2}x{3}>\n", name, rows, columns, elements.factor);
}

std::string kernel_of(OperandElements const& elements, Shape const& shape, std::string_view kind) {
  char const* const from = kind == "converted" ? elements.converted_from : elements.factor;
  char const* const facts = kind == "by pointer" ? "" : " {unit_inner, aligned_16}";
  return fmt::format(
      "tegula-ir 1\n\nkernel @product(%a: in tensor<?x?x{0}>{1}, %b: in tensor<?x?x{0}>{1}, "
      "%c: out tensor<?x?x{2}>) {{\n  %zero = constant {{value = 0 : i64}} : i64\n{3}{4}"
      "  %none = constant {{value = 0 : {2}}} : tile<{5}x{6}x{2}>\n"
      "  %d = dot %a1, %b1, %none{7} : tile<{5}x{6}x{2}>\n  store %c, %d, %zero, %zero\n  return\n}}\n",
      from, facts, elements.result, operand("a", shape.rows, shape.depth, elements, kind),
      operand("b", shape.depth, shape.columns, elements, kind), shape.rows, shape.columns, elements.precision);
}

}  // namespace

TEST_CASE("every product compiles for the GPU, for tensor cores but f32 in full") {
  std::string const ptxas = find_ptxas();
  CompileOptions options;
  options.target = Target::cuda;
  for (OperandElements const& elements : all_elements)
    for (Shape const& shape : shapes)
      for (char const* kind : operand_kinds) {
        std::string const text = kernel_of(elements, shape, kind);
        INFO(kind << "\n" << text);
        ir::Module module = read_module(text);
        CompiledKernel const compiled = compiler::compile(module, options);
        bool const in_full = std::string_view(elements.factor) == "f32" && *elements.precision == '\0';
        // One shape of each is assembled too: ptxas takes longer than all that is before it.
        if (!ptxas.empty() && shape.depth == 5) CHECK(ptxas_complaints(assemble(ptxas, compiled.image)) == "");
        CHECK((compiled.image.find("mma.") == std::string::npos) == in_full);
        CHECK((compiled.image.find("fma.rn.f32") != std::string::npos) == in_full);
      }
}

TEST_CASE("padded products of 8-bit floats hide their zeros from ptxas, which reads the upper half of one as 0x68") {
  CompileOptions options;
  options.target = Target::cuda;
  for (OperandElements const& elements : all_elements) {
    std::string_view const factor = elements.factor;
    if (factor != "i8" && factor != "e4m3" && factor != "e5m2") continue;
    ir::Module module = read_module(kernel_of(elements, {8, 24, 5}, "by pointer"));
    std::string const ptx = compiler::compile(module, options).image;
    INFO(ptx);
    REQUIRE(ptx.find("mma.sync") != std::string::npos);
    // The hidden 0 is the upper half of the last parameter, the number of multiprocessors.
    std::size_t const declared = ptx.rfind(".param .u64");
    std::string const last = ptx.substr(declared + 12, ptx.find('\n', declared) - declared - 12);
    bool const reads = ptx.find('[' + last) != std::string::npos;
    CHECK(reads == (elements.factor[0] == 'e'));
  }
}
