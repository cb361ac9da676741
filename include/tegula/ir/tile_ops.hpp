// Includes the structs of the ops that the language records. The block ops, which passes make, are in ops.hpp with
// these.
#pragma once

#include "tegula/ir/op_kind.hpp"
#include "tegula/ir/ops/arith.hpp"
#include "tegula/ir/ops/control.hpp"
#include "tegula/ir/ops/debug.hpp"
#include "tegula/ir/ops/launch.hpp"
#include "tegula/ir/ops/memory.hpp"
#include "tegula/ir/ops/mma.hpp"
#include "tegula/ir/ops/places.hpp"
#include "tegula/ir/ops/profile.hpp"
#include "tegula/ir/ops/reduce.hpp"
#include "tegula/ir/ops/shape.hpp"
