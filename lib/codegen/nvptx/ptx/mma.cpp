#include "codegen/nvptx/ptx/mma.hpp"

#include "tegula/support/error.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::codegen::nvptx::ptx {
namespace {

char const* name_of(MmaElement element) {
  switch (element) {
    case MmaElement::f16:
      return "f16";
    case MmaElement::bf16:
      return "bf16";
    case MmaElement::tf32:
      return "tf32";
    case MmaElement::e4m3:
      return "e4m3";
    case MmaElement::e5m2:
      return "e5m2";
    case MmaElement::s8:
      return "s8";
    case MmaElement::u8:
      return "u8";
    case MmaElement::f64:
      return "f64";
  }
  return "";
}

char const* name_of(MmaResult result) {
  return result == MmaResult::f16 ? "f16" : result == MmaResult::f32 ? "f32" : "s32";
}

bool is_integer(MmaElement element) { return element == MmaElement::s8 || element == MmaElement::u8; }
bool is_fp8(MmaElement element) { return element == MmaElement::e4m3 || element == MmaElement::e5m2; }
bool is_16_bit(MmaElement element) { return element == MmaElement::f16 || element == MmaElement::bf16; }

/// Explains why the form does not exist, or gives nothing (the PTX ISA's tables of wgmma.mma_async).
std::string error(WgmmaForm const& form, bool a_in_registers) {
  if (form.n < isa::wgmma.column_step || form.n > isa::wgmma.max_columns || form.n % isa::wgmma.column_step != 0)
    return "n is a multiple of 8 up to 256";
  if (is_integer(form.a) && form.n > 24 && form.n % 16 != 0) return "n of 8-bit integers above 24 is a multiple of 16";
  bool const pair =
      form.a == form.b || (is_integer(form.a) && is_integer(form.b)) || (is_fp8(form.a) && is_fp8(form.b));
  if (!pair || form.a == MmaElement::f64) return "these two elements do not go together";
  if (is_integer(form.a) != (form.d == MmaResult::s32)) return "integers and only they give s32";
  if (form.d == MmaResult::f16 && form.a != MmaElement::f16 && !is_fp8(form.a)) return "f16 results are of f16 and fp8";
  if ((form.a_transposed || form.b_transposed) && !is_16_bit(form.a)) return "only 16-bit elements can be transposed";
  if (form.a_transposed && a_in_registers) return "A in registers cannot be transposed";
  if (form.saturate && form.d != MmaResult::s32) return "only s32 saturates";
  return "";
}

std::string text_of(WgmmaForm const& form) {
  return "m64n" + std::to_string(form.n) + "k" + std::to_string(wgmma_depth(form.a)) + "." + name_of(form.d) + "." +
         name_of(form.a) + "." + name_of(form.b) + (form.saturate ? ".satfinite" : "");
}

constexpr char fence_text[] = "wgmma.fence.sync.aligned";

Values through(Builder& b, std::string const& text, Values const& registers) {
  Assembly assembly(b);
  for (llvm::Value* value : registers) assembly.inout(value);
  return assembly.call(text, AsmEffect::convergent);
}

}  // namespace

int wgmma_depth(MmaElement element) {
  if (element == MmaElement::f64) return 4;
  return is_16_bit(element) ? 16 : element == MmaElement::tf32 ? 8 : 32;
}

MmaRegisters mma_registers(MmaElement element) {
  return element == MmaElement::f64 ? MmaRegisters{2, 1} : MmaRegisters{};
}

Values mma_sync(Builder& b, MmaElement a_element, MmaElement b_element, Values const& a, Values const& b_registers,
                Values const& c) {
  auto const [a_count, b_count] = mma_registers(a_element);
  if (a.size() != static_cast<std::size_t>(a_count) || b_registers.size() != static_cast<std::size_t>(b_count) ||
      c.size() != 4)
    throw InternalError("nvptx: wrong counts of registers for mma.sync");
  std::string const result = is_integer(a_element) ? "s32" : a_element == MmaElement::f64 ? "f64" : "f32";
  Assembly assembly(b);
  std::vector<std::string> d_names, a_names, b_names;
  for (llvm::Value* value : c) d_names.push_back(assembly.inout(value));
  for (llvm::Value* value : a) a_names.push_back(assembly.in(value));
  for (llvm::Value* value : b_registers) b_names.push_back(assembly.in(value));
  std::string const types = "." + result + "." + name_of(a_element) + "." + name_of(b_element) + "." + result;
  return assembly.call("mma.sync.aligned.m16n8k" + std::to_string(wgmma_depth(a_element)) + ".row.col" + types + " " +
                           braces(d_names) + ", " + braces(a_names) + ", " + braces(b_names) + ", " + braces(d_names) +
                           ";",
                       AsmEffect::together);
}

int wgmma_registers(WgmmaForm const& form) { return form.d == MmaResult::f16 ? form.n / 4 : form.n / 2; }

std::vector<Values> wgmmas(Builder& b, WgmmaGroup const& group) {
  WgmmaForm const& form = group.form;
  bool const a_in_registers = group.a_descriptor == nullptr;
  if (std::string const why = error(form, a_in_registers); !why.empty())
    throw InternalError("nvptx: no wgmma." + text_of(form) + ": " + why);
  std::size_t const count = static_cast<std::size_t>(wgmma_registers(form));
  Assembly assembly(b);
  llvm::Type* const type = form.d == MmaResult::f32 ? b.getFloatTy() : static_cast<llvm::Type*>(b.getInt32Ty());
  std::vector<std::string> results;
  for (Values const& registers : group.results) {
    if (!registers.empty() && registers.size() != count)
      throw InternalError("nvptx: wgmma." + text_of(form) + " has " + std::to_string(count) + " accumulators, not " +
                          std::to_string(registers.size()));
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i)
      names.push_back(registers.empty() ? assembly.early_out(type) : assembly.inout(registers[i]));
    results.push_back(braces(names));
  }
  // scale-d of a first step: a literal where it is known, so that ptxas does not have to keep a predicate.
  std::string scale = "1";
  if (auto const* known = llvm::dyn_cast_or_null<llvm::ConstantInt>(group.accumulate))
    scale = known->isZero() ? "0" : "1";
  else if (group.accumulate != nullptr)
    scale = assembly.in(group.accumulate);
  std::string const a_base = a_in_registers ? "" : assembly.in(group.a_descriptor);
  std::string const b_base = assembly.in(group.b_descriptor);

  std::string text = "{";
  auto const line = [&](std::string const& instruction) { text += "\n\t" + instruction + ";"; };
  line(".reg .b64 %da, %db");
  auto const advanced = [&](std::string const& base, char const* name, std::int64_t bytes) {
    if (bytes == 0) return base;
    if (bytes % 16 != 0)
      throw InternalError("nvptx: a matrix descriptor moves by multiples of 16 bytes, not " + std::to_string(bytes));
    line("add.s64 " + std::string(name) + ", " + base + ", " + std::to_string(bytes / 16));
    return std::string(name);
  };
  if (group.fence) line(fence_text);
  std::vector<bool> written(results.size(), false);
  for (WgmmaStep const& step : group.steps) {
    std::string a;
    if (a_in_registers) {
      if (step.a.size() != 4) throw InternalError("nvptx: A of wgmma is a descriptor or four registers");
      std::vector<std::string> names;
      for (llvm::Value* value : step.a) names.push_back(assembly.in(value));
      a = braces(names);
    } else {
      a = advanced(a_base, "%da", step.a_bytes);
    }
    std::string const b_name = advanced(b_base, "%db", step.b_bytes);
    std::string wgmma = "wgmma.mma_async.sync.aligned." + text_of(form) + " " + results[step.result];
    for (std::string const& operand : {a, b_name}) wgmma.append(", ").append(operand);
    wgmma += ", ";
    wgmma += written[step.result] ? "1" : group.results[step.result].empty() ? "0" : scale;
    written[step.result] = true;
    auto const append = [&](int value) { wgmma += ", " + std::to_string(value); };
    if (form.d != MmaResult::s32) {
      append(form.scale_a);
      append(form.scale_b);
    }
    if (is_16_bit(form.a)) {
      if (!a_in_registers) append(form.a_transposed ? 1 : 0);
      append(form.b_transposed ? 1 : 0);
    }
    line(wgmma);
  }
  Values const registers = assembly.call(text + "\n\t}", AsmEffect::convergent);
  std::vector<Values> after;
  for (auto from = registers.begin(); from != registers.end(); from += static_cast<std::ptrdiff_t>(count))
    after.emplace_back(from, from + static_cast<std::ptrdiff_t>(count));
  return after;
}

Values wgmma_fence(Builder& b, Values const& registers) { return through(b, std::string(fence_text) + ";", registers); }
void wgmma_commit(Builder& b) { through(b, "wgmma.commit_group.sync.aligned;", {}); }
Values wgmma_wait(Builder& b, int pending, Values const& registers) {
  return through(b, "wgmma.wait_group.sync.aligned " + std::to_string(pending) + ";", registers);
}

llvm::Value* matrix_descriptor(Builder& b, llvm::Value* address, DescriptorFields const& fields) {
  std::uint64_t const mode = fields.swizzle_bytes == 128  ? 1
                             : fields.swizzle_bytes == 64 ? 2
                             : fields.swizzle_bytes == 32 ? 3
                                                          : 0;
  std::int64_t const limit = 1 << 18;
  if (fields.leading_bytes % 16 != 0 || fields.stride_bytes % 16 != 0 || fields.leading_bytes >= limit ||
      fields.stride_bytes >= limit || fields.leading_bytes < 0 || fields.stride_bytes < 0)
    throw InternalError("nvptx: no matrix descriptor for a leading offset of " + std::to_string(fields.leading_bytes) +
                        " and a stride of " + std::to_string(fields.stride_bytes) +
                        " bytes: both are multiples of 16 below 262144");
  std::uint64_t const constant = mode << 62 | static_cast<std::uint64_t>(fields.stride_bytes / 16) << 32 |
                                 static_cast<std::uint64_t>(fields.leading_bytes / 16) << 16;
  llvm::Value* const start = b.CreateLShr(b.CreateAnd(address, b.getInt32(0x3ffff)), b.getInt32(4));
  return b.CreateOr(b.CreateZExt(start, b.getInt64Ty()), b.getInt64(constant));
}

}  // namespace tegula::codegen::nvptx::ptx
