#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "ir/core/builder.hpp"
#include "ir/core/families.hpp"
#include "layout/layout_names.hpp"
#include "ir/core/loop.hpp"
#include "ir/text/text.hpp"
#include "support/string_buffer.hpp"
#include "abi/tensor_facts.hpp"
#include "tegula/support/half.hpp"

namespace tegula::ir {
namespace {

using support::StringBuffer;

template <class Float>
std::string shortest(Float value) {
  char buffer[64];
  auto const end = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, end.ptr};
}

/// Prints the shortest decimal that a narrow format reads back as the same bits.
std::string shortest_narrow(double value, Constant constant) {
  for (int precision = 1; precision < 12; ++precision) {
    char buffer[64];
    auto const end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, precision);
    double back = 0;
    std::from_chars(buffer, end.ptr, back);
    if (float_bits(constant.element, back) == constant.bits) return {buffer, end.ptr};
  }
  return shortest(value);
}

std::string hex(std::uint64_t bits) {
  char buffer[32];
  auto const end = std::to_chars(buffer, buffer + sizeof buffer, bits, 16);
  return "0x" + std::string(buffer, end.ptr);
}

std::string float_text(Constant constant) {
  double const value = to_double(constant);
  if (!std::isfinite(value)) {
    // A number never becomes an infinity of e5m2, and there are many NaNs.
    double const read_back = std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
    if (constant != make_constant(constant.element, read_back)) return hex(constant.bits);
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  }
  if (is_narrow_float(constant.element)) return shortest_narrow(value, constant);
  return constant.element == Element::f32 ? shortest(static_cast<float>(value)) : shortest(value);
}

bool plain_identifier(std::string_view text) {
  auto const letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (text.empty() || !letter(text.front())) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '.'; });
}

std::string function_name(std::string_view name) {
  return "@" + (plain_identifier(name) ? std::string(name) : support::quoted(name));
}

template <class T>
T const& field_as(FieldRef const& field) {
  return *static_cast<T const*>(field.data);
}

std::string field_text(FieldRef const& field) {
  switch (field.kind) {
    case FieldKind::boolean:
      return field_as<bool>(field) ? "true" : "false";
    case FieldKind::integer:
      return fmt::to_string(field_as<std::int64_t>(field));
    case FieldKind::enumeration:
      return std::string(field.enum_names[field_as<std::uint8_t>(field)]);
    case FieldKind::element:
      return std::string(name(field_as<Element>(field)));
    case FieldKind::extents: {
      std::string text = "[";
      for (std::int64_t const value : field_as<Extents>(field))
        text += fmt::format("{}{}", text.size() > 1 ? ", " : "", value);
      return text + "]";
    }
    case FieldKind::constant:
      return to_string(field_as<Constant>(field));
    case FieldKind::symbol: {
      std::string_view const text = field_as<Symbol>(field).view();
      return field.name == "callee" ? function_name(text) : support::quoted(text);
    }
  }
  return {};
}

/// True when the text may leave the field out; see text.hpp.
bool is_default(Op const& op, FieldRef const& field, FieldRef const& standard) {
  if (field.kind != FieldKind::constant) return field_equal(field, standard);
  if (op.is<ConstantOp>() || op.result_count() == 0) return false;
  return field_as<Constant>(field) == Constant{op.result()->type().element(), 0};
}

class Printer {
 public:
  explicit Printer(PrintOptions options) : options_(options) {}

  void function(Function const& function) {
    names_.clear();
    taken_.clear();
    next_suffix_.clear();
    next_number_ = 0;
    out_ << (function.is_kernel() ? "kernel " : "function ") << function_name(function.name()) << '(';
    for (int i = 0; i < function.parameter_count(); ++i) {
      Value const& value = *function.parameter(i);
      out_ << (i == 0 ? "" : ", ") << define(value) << ": ";
      parameter(value.type(), function.parameter_attributes()[static_cast<std::size_t>(i)]);
    }
    out_ << ')';
    if (!function.results.empty()) {
      out_ << " -> (";
      for (std::size_t i = 0; i < function.results.size(); ++i)
        out_ << (i == 0 ? "" : ", ") << to_string(function.results[i]);
      out_ << ')';
    }
    if (function.inlining == Inline::no) out_ << " noinline";
    if (function.inlining == Inline::yes) out_ << " inline";
    if (function.warps != 0) out_ << " warps = " << function.warps;
    if (function.cluster != 1) out_ << " cluster = " << function.cluster;
    if (function.ctas != 1) out_ << " ctas = " << function.ctas;
    if (!function.plan.empty()) out_ << " plan = " << support::quoted(function.plan);
    if (function.shared >= 0) out_ << " shared = " << function.shared;
    if (!is_declaration(function)) block(function.body());
    where(function.where);
    out_ << '\n';
  }

  void op(Op const& op) {
    for (int i = 0; i < op.result_count(); ++i) out_ << (i == 0 ? "" : ", ") << define(*op.result(i));
    if (op.result_count() != 0) out_ << " = ";
    out_ << op.info().mnemonic;
    if (op.is<ForOp>() && op.operand_count() >= 3 && op.block_count() == 1)
      loop_header(Loop(op));
    else if (op.is<RepeatOp>() && op.block_count() == 1)
      carried(Loop(op));
    else
      operand_list(op);
    attributes(op);
    for (int i = 0; i < op.result_count(); ++i) out_ << (i == 0 ? " : " : ", ") << to_string(op.result(i)->type());
    bool const own_form = is_flow(op);
    for (int b = 0; b < op.block_count(); ++b) {
      if (b != 0) out_ << (own_form ? " else" : " and");
      if (!own_form) arguments(op.block(b));
      block(op.block(b));
    }
    where(op.where());
  }

  [[nodiscard]] std::unordered_map<Value const*, std::string> const& names() const { return names_; }
  std::string take() { return std::move(out_).str(); }
  StringBuffer& out() { return out_; }

 private:
  void parameter(Type const& type, ParameterAttributes const& attributes) {
    if (type.is_tensor()) out_ << tegula::name(attributes.direction) << ' ';
    out_ << to_string(type);
    std::string text = tegula::to_string(attributes.facts);
    if (attributes.multiple_of != 1)
      text += fmt::format("{}multiple_of = {}", text.empty() ? "" : ", ", attributes.multiple_of);
    if (!text.empty()) out_ << " {" << text << '}';
  }

  void block(Block const& block) {
    out_ << " {\n";
    out_.indent();
    for (Op const& child : block) {
      op(child);
      out_ << '\n';
    }
    out_.dedent();
    out_ << '}';
  }

  void loop_header(Loop const& loop) {
    out_ << ' ' << argument(loop.body(), 0) << " = " << use(loop.lower()) << " to " << use(loop.upper()) << " step "
         << use(loop.step());
    carried(loop);
  }

  /// Prints an argument of a loop's body, which may lack some before the verifier has seen it.
  std::string argument(Block const& body, int i) {
    return i < body.argument_count() ? define(*body.argument(i)) : "%<missing>";
  }

  void carried(Loop const& loop) {
    if (loop.inits().empty()) return;
    out_ << " carry (";
    int at = loop.first_argument();
    char const* before = "";
    for (Value const* init : loop.inits()) {
      out_ << before << argument(loop.body(), at++) << " = " << use(init);
      before = ", ";
    }
    out_ << ')';
  }

  void arguments(Block const& block) {
    if (block.argument_count() == 0) return;
    out_ << " (";
    for (int i = 0; i < block.argument_count(); ++i)
      out_ << (i == 0 ? "" : ", ") << define(*block.argument(i)) << ": " << to_string(block.argument(i)->type());
    out_ << ')';
  }

  void operand_list(Op const& op) {
    for (int i = 0; i < op.operand_count(); ++i) out_ << (i == 0 ? " " : ", ") << use(op.operand(i));
  }

  void attributes(Op const& op) {
    auto const fields = fields_of(op.kind(), op.attributes());
    auto const defaults = fields_of(op.kind(), const_cast<void*>(op.info().defaults));
    bool first = true;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (is_default(op, fields[i], defaults[i])) continue;
      out_ << (first ? " {" : ", ") << fields[i].name << " = " << field_text(fields[i]);
      first = false;
    }
    if (!first) out_ << '}';
  }

  void where(location where) {
    if (options_.locations && where.known())
      out_ << " loc(" << support::quoted(where.file()) << ':' << where.line() << ')';
  }

  std::string const& define(Value const& value) {
    auto const [at, fresh] = names_.try_emplace(&value);
    if (fresh)
      at->second = fmt::format("%{}", value.name().empty() ? fmt::to_string(next_number_++) : unique(value.name()));
    return at->second;
  }

  std::string use(Value const* value) {
    if (value == nullptr) return "%<null>";
    auto const found = names_.find(value);
    if (found != names_.end()) return found->second;
    return value->name().empty() ? "%<" + to_string(value->type()) + ">" : "%" + value->name();
  }

  std::string unique(std::string name) {
    for (char& c : name)
      if (!plain_identifier(std::string("a") + c)) c = '_';
    if (name.front() >= '0' && name.front() <= '9') name.insert(0, "_");
    if (name.front() == '.') name.front() = '_';
    std::string candidate = name;
    while (!taken_.insert(candidate).second) candidate = fmt::format("{}_{}", name, ++next_suffix_[name]);
    return candidate;
  }

  PrintOptions options_;
  StringBuffer out_;
  std::unordered_map<Value const*, std::string> names_;
  std::set<std::string> taken_;
  std::map<std::string, int> next_suffix_;
  int next_number_ = 0;
};

std::string extents_text(Extents const& extents) {
  std::string text;
  for (std::int64_t const extent : extents) text += fmt::format("{}x", extent < 0 ? "?" : fmt::to_string(extent));
  return text;
}

std::string mbarrier_text(Type const& type) {
  if (type.rank() == 0) return "mbarrier";
  std::string text = extents_text(type.shape());
  text.pop_back();
  return "mbarrier<" + text + ">";
}

}  // namespace

std::string_view type_word(TypeKind kind) {
  switch (kind) {
    case TypeKind::none:
    case TypeKind::scalar:
      return "";
    case TypeKind::tile:
      return "tile";
    case TypeKind::tensor:
      return "tensor";
    case TypeKind::shared:
      return "shared";
    case TypeKind::global:
      return "global";
    case TypeKind::mbarrier:
      return "mbarrier";
    case TypeKind::pending:
      return "pending";
    case TypeKind::tensor_map:
      return "tensor_map";
  }
  return "";
}

std::string to_string(Constant constant) {
  std::string text;
  if (constant.element == Element::boolean)
    text = constant.bits != 0 ? "true" : "false";
  else if (is_float(constant.element))
    text = float_text(constant);
  else
    text = constant.element == Element::u64 ? fmt::to_string(constant.bits)
                                            : fmt::to_string(static_cast<std::int64_t>(constant.bits));
  return text + " : " + std::string(name(constant.element));
}

std::string to_string(Type const& type) {
  std::string const element(name(type.element()));
  switch (type.kind()) {
    case TypeKind::none:
      return "none";
    case TypeKind::scalar:
      return element;
    case TypeKind::mbarrier:
      return mbarrier_text(type);
    case TypeKind::tile:
    case TypeKind::tensor:
    case TypeKind::shared:
    case TypeKind::global:
    case TypeKind::pending:
    case TypeKind::tensor_map:
      break;
  }
  std::string text = std::string(type_word(type.kind())) + "<" + extents_text(type.shape()) + element;
  if (type.layout() == nullptr) return text + ">";
  return text + ", " + layout::layout_text(*type.layout(), type.shape(), type.element(), type.is_buffer()) + ">";
}

std::string to_string(Value const& value) {
  return value.name().empty() ? "a " + to_string(value.type()) : "%" + value.name();
}

std::string print(Module const& module, PrintOptions options) {
  Printer printer(options);
  printer.out() << "tegula-ir " << text_version << '\n';
  for (auto const& function : module.functions()) {
    printer.out() << '\n';
    printer.function(*function);
  }
  return printer.take();
}

std::string print(Function const& function, PrintOptions options) {
  Printer printer(options);
  printer.function(function);
  return printer.take();
}

std::unordered_map<Value const*, std::string> value_names(Function const& function) {
  Printer printer({});
  printer.function(function);
  return printer.names();
}

std::string print(Op const& op) {
  Printer printer({});
  printer.op(op);
  return printer.take();
}

}  // namespace tegula::ir
