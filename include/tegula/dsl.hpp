// Everything a kernel is written with; tegula.hpp adds what launches it.
#pragma once

#include "tegula/dsl/control.hpp"
#include "tegula/dsl/create.hpp"
#include "tegula/dsl/dot.hpp"
#include "tegula/dsl/function.hpp"
#include "tegula/dsl/grid.hpp"
#include "tegula/dsl/host.hpp"
#include "tegula/dsl/kernel.hpp"
#include "tegula/dsl/mask.hpp"
#include "tegula/dsl/math.hpp"
#include "tegula/dsl/memory.hpp"
#include "tegula/dsl/reduce.hpp"
#include "tegula/dsl/reshape.hpp"
