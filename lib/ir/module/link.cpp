#include "ir/module/link.hpp"

#include <set>

#include "ir/core/builder.hpp"
#include "ir/core/equal.hpp"
#include "ir/core/walk.hpp"
#include "ir/text/text.hpp"
#include "support/string_buffer.hpp"

namespace tegula::ir {
namespace {

/// Prints the function's head, without its body and the names of its parameters.
std::string signature(Function const& function) {
  Module heads;
  Function& head = heads.add_function(function.name(), function.kind());
  for (int i = 0; i < function.parameter_count(); ++i)
    head.add_parameter(function.parameter(i)->type(), function.parameter_attributes()[static_cast<std::size_t>(i)]);
  head.results = function.results;
  std::string text = print(head);
  return text.substr(0, text.find_last_not_of('\n') + 1);
}

class Linker {
 public:
  Linker(Module const& library, support::Diagnostics& found) : library_(library), found_(found) {}

  Module linked(Module const& module) {
    Module result;
    for (auto const& function : module.functions()) add(result, *function);
    for (std::size_t i = 0; i < result.functions().size(); ++i) need_callees(result, *result.functions()[i]);
    return result;
  }

 private:
  /// Adds the function itself, or its definition where it is a declaration.
  void add(Module& to, Function const& function) {
    if (!is_declaration(function)) {
      own_.insert(function.name());
      add_copy(to, function);
      return;
    }
    Function const* const definition = library_.find(function.name());
    if (definition == nullptr || is_declaration(*definition)) {
      std::vector<std::string> known;
      for (auto const& other : library_.functions())
        if (!other->is_kernel() && !is_declaration(*other)) known.push_back("@" + other->name());
      return error(function,
                   "@" + function.name() + " is declared, but the library does not define it" +
                       (known.empty() ? "; it has no functions" : "; it has " + support::joined(known, ", ")));
    }
    if (signature(function) != signature(*definition))
      return error(function, "@" + function.name() + " is declared as `" + signature(function) +
                                 "`, but the library has `" + signature(*definition) + "`");
    add_copy(to, *definition);
  }

  /// Adds the functions that the library's functions call and the module lacks.
  void need_callees(Module& in, Function const& function) {
    if (own_.count(function.name()) != 0) return;
    std::set<std::string> names;
    walk(const_cast<Function&>(function), [&](Op const& op) {
      if (op.is<CallOp>()) names.insert(std::string(op.as<CallOp>().callee.view()));
    });
    for (std::string const& name : names) {
      Function const* const callee = library_.find(name);
      if (callee == nullptr) continue;  // the verifier's
      Function const* const present = in.find(name);
      if (present == nullptr)
        add_copy(in, *callee);
      else if (!equal(*present, *callee))
        error(*present, "@" + name + " is another function in the library, where @" + function.name() +
                            " calls it; rename one of them");
    }
  }

  void error(Function const& function, std::string const& text) { found_.error("link: " + text, function.where); }

  Module const& library_;
  support::Diagnostics& found_;
  std::set<std::string> own_;
};

}  // namespace

support::Diagnostics link(Module& module, Module const& library) {
  support::Diagnostics found;
  Module result = Linker(library, found).linked(module);
  if (!found.has_errors()) module = std::move(result);
  return found;
}

std::string undefined_functions(Module const& module) {
  std::string text;
  for (auto const& function : module.functions())
    if (is_declaration(*function)) text += (text.empty() ? "@" : ", @") + function->name();
  return text;
}

}  // namespace tegula::ir
