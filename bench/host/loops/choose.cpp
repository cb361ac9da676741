#include "host/loops/loops.hpp"
#include "host/loops/written.hpp"

namespace tegula::bench {

WrittenLoops const& machine_written_loops();
Loops const& machine_loops();  // loops.cpp, compiled for the machine or x86-64-v4

#ifdef _OPENMP
bool loops_are_parallel() { return true; }
#else
bool loops_are_parallel() { return false; }
#endif

Loops const& native_loops() {
#ifdef TEGULA_LOOPS_FOR_V4
  if (!__builtin_cpu_supports("x86-64-v4")) return avx2_loops();
#endif
  return machine_loops();
}

WrittenLoops const& native_written_loops() {
#ifdef TEGULA_LOOPS_FOR_V4
  if (!__builtin_cpu_supports("x86-64-v4")) return avx2_written_loops();
#endif
  return machine_written_loops();
}

}  // namespace tegula::bench
