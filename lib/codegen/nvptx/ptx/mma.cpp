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

Values wgmma(Builder& b, WgmmaForm const& form, Values const& a, llvm::Value* b_descriptor, Values const& accumulators,
             llvm::Value* accumulate) {
  bool const a_in_registers = a.size() == 4;
  if (!a_in_registers && a.size() != 1) throw InternalError("nvptx: A of wgmma is one descriptor or four registers");
  if (std::string const why = error(form, a_in_registers); !why.empty())
    throw InternalError("nvptx: no wgmma." + text_of(form) + ": " + why);
  std::size_t const count = static_cast<std::size_t>(wgmma_registers(form));
  bool const fresh = accumulators.empty();
  if (!fresh && accumulators.size() != count)
    throw InternalError("nvptx: wgmma." + text_of(form) + " has " + std::to_string(count) + " accumulators, not " +
                        std::to_string(accumulators.size()));
  Assembly assembly(b);
  llvm::Type* const type = form.d == MmaResult::f32 ? b.getFloatTy() : static_cast<llvm::Type*>(b.getInt32Ty());
  std::vector<std::string> d_names, a_names;
  for (std::size_t i = 0; i < count; ++i)
    d_names.push_back(fresh ? assembly.early_out(type) : assembly.inout(accumulators[i]));
  for (llvm::Value* value : a) a_names.push_back(assembly.in(value));
  std::string text = "wgmma.mma_async.sync.aligned." + text_of(form) + " " + braces(d_names) + ", " +
                     (a_in_registers ? braces(a_names) : a_names[0]) + ", ";
  text += assembly.in(b_descriptor) + ", ";
  // scale-d: a literal where it is known, so that ptxas does not have to keep a predicate.
  if (fresh)
    text += "0";
  else if (accumulate == nullptr)
    text += "1";
  else if (auto const* known = llvm::dyn_cast<llvm::ConstantInt>(accumulate))
    text += known->isZero() ? "0" : "1";
  else
    text += assembly.in(accumulate);
  auto const append = [&](int value) { text += ", " + std::to_string(value); };
  if (form.d != MmaResult::s32) {
    append(form.scale_a);
    append(form.scale_b);
  }
  if (is_16_bit(form.a)) {
    if (!a_in_registers) append(form.a_transposed ? 1 : 0);
    append(form.b_transposed ? 1 : 0);
  }
  return assembly.call(text + ";", AsmEffect::convergent);
}

Values wgmma_fence(Builder& b, Values const& registers) { return through(b, "wgmma.fence.sync.aligned;", registers); }
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

llvm::Value* advance_descriptor(Builder& b, llvm::Value* descriptor, std::int64_t bytes) {
  if (bytes == 0) return descriptor;
  if (bytes % 16 != 0)
    throw InternalError("nvptx: a matrix descriptor moves by multiples of 16 bytes, not " + std::to_string(bytes));
  return b.CreateAdd(descriptor, b.getInt64(static_cast<std::uint64_t>(bytes / 16)));
}

}  // namespace tegula::codegen::nvptx::ptx
