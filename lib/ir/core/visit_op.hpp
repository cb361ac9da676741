// Goes from the kind of an op to its struct.
#pragma once

#include <boost/hana/type.hpp>

#include "tegula/ir/op_kind.hpp"
#include "tegula/support/error.hpp"

namespace tegula::ir {

/// Returns visit(hana::type_c<OpStruct>) for the struct of a kind. All calls have one result type. It is a switch,
/// since a table of functions over a hana::tuple of all structs takes much longer to compile.
template <class Visit>
decltype(auto) visit_op(OpKind kind, Visit const& visit) {
  switch (kind) {
#define TEGULA_OP(name) \
  case OpKind::name:    \
    return visit(boost::hana::type_c<name>);
#include "tegula/ir/ops.def"
#undef TEGULA_OP
  }
  throw InternalError("an op of no kind");
}

}  // namespace tegula::ir
