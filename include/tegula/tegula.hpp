// Includes the language and the launch of its kernels.
#pragma once

#include "tegula/config.hpp"
#include "tegula/dsl/dsl.hpp"
#include "tegula/jit/advice.hpp"
#include "tegula/jit/budget.hpp"
#include "tegula/jit/launch.hpp"
#include "tegula/jit/profile.hpp"
#include "tegula/runtime/tensor_view.hpp"
