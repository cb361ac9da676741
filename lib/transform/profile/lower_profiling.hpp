// Lowers record ops to stores into the profile buffer.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Gives a kernel with records a log, and makes each record an entry of it. Chooses the records by
/// CompileOptions::profile, allocates the buffers of its strategy, and adds begin and end. A kernel without records
/// stays as it is.
///
///   record {name = "sum"}                        %b = buffer_alloc {symbol = "tegula_profile"} : global<..., dense>
///   %s = reduce %x ...                           %l = profile_begin %b {rows = 4096, slots = 256} : i64
///   record {event = stop, name = "sum"}     =>   profile_append %l {name = "sum"}
///   return                                       %s = reduce %x ...
///                                                profile_append %l {event = stop, name = "sum"}
///                                                profile_end %l
///                                                return
///
/// The last pass of each target: it measures code as it will run, after fences, TMA copies, canonical form and merged
/// expressions; a pass after it would move the code that the entries stand around. Where rows of so many slots do not
/// fit in shared memory, they have fewer. For a GPU layouts, places in shared memory and barriers are decided. Reports
/// an error for more names than a slot can number, a buffer that is too large, and records in functions.
PassResult lower_profiling(ir::Function&, PassContext&);

}  // namespace tegula::transform
