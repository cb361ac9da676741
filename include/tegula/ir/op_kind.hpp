// Enumerates all ops, and returns the kind of an op's struct, which may be incomplete here.
#pragma once

#include <cstdint>

namespace tegula::ir {

#define TEGULA_OP(name) struct name;
#include "tegula/ir/ops.def"
#undef TEGULA_OP

/// Has one enumerator per line of ops.def, named like the struct.
enum class OpKind : std::uint16_t {
#define TEGULA_OP(name) name,
#include "tegula/ir/ops.def"
#undef TEGULA_OP
};

inline constexpr int op_kind_count = 0
#define TEGULA_OP(name) +1
#include "tegula/ir/ops.def"
#undef TEGULA_OP
    ;

template <class OpStruct>
struct KindOf;
#define TEGULA_OP(name)                           \
  template <>                                     \
  struct KindOf<name> {                           \
    static constexpr OpKind value = OpKind::name; \
  };
#include "tegula/ir/ops.def"
#undef TEGULA_OP

template <class OpStruct>
inline constexpr OpKind kind_of = KindOf<OpStruct>::value;

}  // namespace tegula::ir
