#include "codegen/nvptx/ptx/mma.hpp"

#include <fmt/format.h>

#include "target/block_rules.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen::nvptx::ptx {
namespace {

/// Names an operand's element; f32 is rounded to tf32.
std::string name_of(Element element) { return element == Element::f32 ? "tf32" : std::string(info(element).ptx); }

char const* name_of(MmaResult result) {
  return result == MmaResult::f16 ? "f16" : result == MmaResult::f32 ? "f32" : "s32";
}

bool is_16_bit(Element element) { return bits(element) == 16; }

/// Explains why the form does not exist, or returns nothing (the PTX ISA's tables of wgmma.mma_async).
std::string error(WgmmaForm const& form, bool a_in_registers) {
  if (form.n < target::wgmma_column_step || form.n > target::max_wgmma_instruction ||
      form.n % target::wgmma_column_step != 0)
    return "n must be a multiple of 8 up to 256";
  if (is_integer(form.a) && form.n > 24 && form.n % 16 != 0)
    return "n of 8-bit integers above 24 must be a multiple of 16";
  if (!multiply_together(form.a, form.b) || form.a == Element::f64) return "these two elements do not go together";
  if (is_integer(form.a) != (form.d == MmaResult::s32))
    return "s32 results need integer operands, and integer operands s32 results";
  if (form.d == MmaResult::f16 && form.a != Element::f16 && !is_f8(form.a)) return "f16 results are of f16 and fp8";
  if ((form.a_transposed || form.b_transposed) && !is_16_bit(form.a)) return "only 16-bit elements can be transposed";
  if (form.a_transposed && a_in_registers) return "A in registers cannot be transposed";
  if (form.saturate && form.d != MmaResult::s32) return "only s32 saturates";
  return "";
}

std::string text_of(WgmmaForm const& form) {
  return fmt::format("m64n{}k{}.{}.{}.{}{}", form.n, wgmma_depth(form.a), name_of(form.d), name_of(form.a),
                     name_of(form.b), form.saturate ? ".satfinite" : "");
}

constexpr char fence_text[] = "wgmma.fence.sync.aligned";

Values through(Builder& b, std::string const& text, Values const& registers) {
  Assembly assembly(b);
  for (llvm::Value* value : registers) assembly.inout(value);
  return assembly.call(text, AsmEffect::convergent);
}

}  // namespace

int wgmma_depth(Element element) { return 32 / bytes(element); }

MmaRegisters mma_registers(Element element) { return element == Element::f64 ? MmaRegisters{2, 1} : MmaRegisters{}; }

namespace {

/// Multiplies 16 rows of f64 by two instructions of 8 rows. A lane holds its part of the upper rows in the first
/// register of the left operand and in the first two sums.
Values mma_of_8_rows(Builder& b, Values const& left, Values const& right, Values const& sums) {
  Values result;
  for (std::size_t half = 0; half < 2; ++half) {
    Assembly assembly(b);
    std::vector<std::string> d_names;
    for (std::size_t i = 0; i < 2; ++i) d_names.push_back(assembly.inout(sums[2 * half + i]));
    std::string const a = assembly.in(left[half]), b_name = assembly.in(right[0]);
    Values const own = assembly.call("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 " + braces(d_names) + ", {" + a +
                                         "}, {" + b_name + "}, " + braces(d_names) + ";",
                                     AsmEffect::together);
    result.insert(result.end(), own.begin(), own.end());
  }
  return result;
}

}  // namespace

Values mma_sync(Builder& b, Element a_element, Element b_element, Values const& a, Values const& b_registers,
                Values const& c, bool whole_f64) {
  auto const [a_count, b_count] = mma_registers(a_element);
  if (a_element == Element::f64 && !whole_f64) return mma_of_8_rows(b, a, b_registers, c);
  if (a.size() != static_cast<std::size_t>(a_count) || b_registers.size() != static_cast<std::size_t>(b_count) ||
      c.size() != 4)
    throw InternalError("nvptx: wrong counts of registers for mma.sync");
  std::string const result(info(dot_accumulator(a_element)).ptx);
  Assembly assembly(b);
  std::vector<std::string> d_names, a_names, b_names;
  for (llvm::Value* value : c) d_names.push_back(assembly.inout(value));
  for (llvm::Value* value : a) a_names.push_back(assembly.in(value));
  for (llvm::Value* value : b_registers) b_names.push_back(assembly.in(value));
  std::string const types = "." + result + "." + name_of(a_element) + "." + name_of(b_element) + "." + result;
  return assembly.call(fmt::format("mma.sync.aligned.m16n8k{}.row.col{} {}, {}, {}, {};", wgmma_depth(a_element), types,
                                   braces(d_names), braces(a_names), braces(b_names), braces(d_names)),
                       AsmEffect::together);
}

int wgmma_registers(WgmmaForm const& form) { return form.d == MmaResult::f16 ? form.n / 4 : form.n / 2; }

namespace {

/// Writes the text of a group of wgmma, and gathers its operands.
class WgmmaText {
 public:
  WgmmaText(Builder& b, WgmmaGroup const& group)
      : group_(group), form_(group.form), a_in_registers_(group.a_descriptor == nullptr), assembly_(b) {
    add_results(b);
    add_scale();
    if (!a_in_registers_) a_base_ = assembly_.in(group.a_descriptor);
    b_base_ = assembly_.in(group.b_descriptor);
    line(".reg .b64 %da, %db");
    if (group.fence) line(fence_text);
    for (WgmmaStep const& step : group.steps) add(step);
  }
  Values call() { return assembly_.call(text_ + "\n\t}", AsmEffect::convergent); }

 private:
  void line(std::string const& instruction) { text_ += "\n\t" + instruction + ";"; }
  void add_results(Builder& b) {
    auto const count = static_cast<std::size_t>(wgmma_registers(form_));
    llvm::Type* const type = form_.d == MmaResult::f32 ? b.getFloatTy() : static_cast<llvm::Type*>(b.getInt32Ty());
    for (Values const& registers : group_.results) {
      if (!registers.empty() && registers.size() != count)
        throw InternalError(
            fmt::format("nvptx: wgmma.{} has {} accumulators, not {}", text_of(form_), count, registers.size()));
      std::vector<std::string> names;
      for (std::size_t i = 0; i < count; ++i)
        names.push_back(registers.empty() ? assembly_.early_out(type) : assembly_.inout(registers[i]));
      results_.push_back(braces(names));
      written_.push_back(false);
    }
  }
  /// Sets scale-d of a first step: a literal where it is known, so that ptxas does not have to keep a predicate.
  void add_scale() {
    if (auto const* known = llvm::dyn_cast_or_null<llvm::ConstantInt>(group_.accumulate))
      scale_ = known->isZero() ? "0" : "1";
    else if (group_.accumulate != nullptr)
      scale_ = assembly_.in(group_.accumulate);
  }
  std::string advanced(std::string const& base, char const* name, std::int64_t bytes) {
    if (bytes == 0) return base;
    if (bytes % 16 != 0)
      throw InternalError(fmt::format("nvptx: a matrix descriptor moves by multiples of 16 bytes, not {}", bytes));
    line(fmt::format("add.s64 {}, {}, {}", name, base, bytes / 16));
    return std::string(name);
  }
  std::string a_of(WgmmaStep const& step) {
    if (!a_in_registers_) return advanced(a_base_, "%da", step.a_bytes);
    if (step.a.size() != 4) throw InternalError("nvptx: A of wgmma is a descriptor or four registers");
    std::vector<std::string> names;
    for (llvm::Value* value : step.a) names.push_back(assembly_.in(value));
    return braces(names);
  }
  void add(WgmmaStep const& step) {
    std::string const a = a_of(step);
    std::string const b = advanced(b_base_, "%db", step.b_bytes);
    std::string const first = group_.results[step.result].empty() ? "0" : scale_;
    std::string wgmma = "wgmma.mma_async.sync.aligned." + text_of(form_) + " " + results_[step.result] + ", " + a +
                        ", " + b + ", " + (written_[step.result] ? "1" : first);
    written_[step.result] = true;
    auto const append = [&](int value) { wgmma += fmt::format(", {}", value); };
    if (form_.d != MmaResult::s32) {
      append(form_.scale_a);
      append(form_.scale_b);
    }
    if (is_16_bit(form_.a)) {
      if (!a_in_registers_) append(form_.a_transposed ? 1 : 0);
      append(form_.b_transposed ? 1 : 0);
    }
    line(wgmma);
  }

  WgmmaGroup const& group_;
  WgmmaForm const& form_;
  bool a_in_registers_;
  Assembly assembly_;
  std::vector<std::string> results_;
  std::vector<bool> written_;
  std::string scale_ = "1", a_base_, b_base_, text_ = "{";
};

}  // namespace

std::vector<Values> wgmmas(Builder& b, WgmmaGroup const& group) {
  if (std::string const why = error(group.form, group.a_descriptor == nullptr); !why.empty())
    throw InternalError("nvptx: no wgmma." + text_of(group.form) + ": " + why);
  Values const registers = WgmmaText(b, group).call();
  std::vector<Values> after;
  auto const count = static_cast<std::ptrdiff_t>(wgmma_registers(group.form));
  for (auto from = registers.begin(); from != registers.end(); from += count) after.emplace_back(from, from + count);
  return after;
}

Values wgmma_fence(Builder& b, Values const& registers) { return through(b, std::string(fence_text) + ";", registers); }
void wgmma_commit(Builder& b) { through(b, "wgmma.commit_group.sync.aligned;", {}); }
Values wgmma_wait(Builder& b, int pending, Values const& registers) {
  return through(b, fmt::format("wgmma.wait_group.sync.aligned {};", pending), registers);
}

llvm::Value* matrix_descriptor(Builder& b, llvm::Value* address, DescriptorFields const& fields) {
  std::uint64_t const mode = fields.swizzle_bytes == 128  ? 1
                             : fields.swizzle_bytes == 64 ? 2
                             : fields.swizzle_bytes == 32 ? 3
                                                          : 0;
  std::int64_t const limit = 1 << 18;
  if (fields.leading_bytes % 16 != 0 || fields.stride_bytes % 16 != 0 || fields.leading_bytes >= limit ||
      fields.stride_bytes >= limit || fields.leading_bytes < 0 || fields.stride_bytes < 0)
    throw InternalError(
        fmt::format("nvptx: no matrix descriptor for a leading offset of {} and a stride of {} bytes: both are "
                    "multiples of 16 below 262144",
                    fields.leading_bytes, fields.stride_bytes));
  std::uint64_t const constant = mode << 62 | static_cast<std::uint64_t>(fields.stride_bytes / 16) << 32 |
                                 static_cast<std::uint64_t>(fields.leading_bytes / 16) << 16;
  llvm::Value* const start = b.CreateLShr(b.CreateAnd(address, b.getInt32(0x3ffff)), b.getInt32(4));
  return b.CreateOr(b.CreateZExt(start, b.getInt64Ty()), b.getInt64(constant));
}

}  // namespace tegula::codegen::nvptx::ptx
