// All op structs and the enumeration of their kinds.
#pragma once

#include "tegula/ir/ops/arith.hpp"
#include "tegula/ir/ops/async.hpp"
#include "tegula/ir/ops/barrier.hpp"
#include "tegula/ir/ops/control.hpp"
#include "tegula/ir/ops/launch.hpp"
#include "tegula/ir/ops/memory.hpp"
#include "tegula/ir/ops/mma.hpp"
#include "tegula/ir/ops/reduce.hpp"
#include "tegula/ir/ops/shape.hpp"
#include "tegula/ir/ops/shared.hpp"
#include "tegula/ir/ops/warp.hpp"

namespace tegula::ir {

/// One enumerator per line of ops.def, named like the struct.
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

/// An op of the block family: it names threads, shared memory or asynchronous work.
template <class OpStruct>
concept BlockOp = (OpStruct::traits & block_op) != 0;

}  // namespace tegula::ir
