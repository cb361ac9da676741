// Makes the page of a kernel for explain and tegula_opt: runs the passes, keeps the IR after each, and joins code,
// facts, advice and timeline.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jit/traced.hpp"
#include "runtime/reference_counted.hpp"
#include "tegula/abi/compile_options.hpp"
#include "tegula/jit/explanation.hpp"
#include "tegula/runtime/argument.hpp"

namespace tegula {

/// Holds what a page is made from.
struct detail::ExplainedLaunch : runtime::ReferenceCounted {
  std::shared_ptr<jit::Traced const> source;  ///< with the parameters of a stated grid, if the launch states one
  CompileOptions options;                     ///< of its code
  std::vector<Argument> arguments;            ///< of the source's parameters; their memory is not read, and may be gone
  std::string headline;                       ///< target, and origin of the code
  std::string text;    ///< the kernel as its author wrote it; empty: the lines of its source are read
  std::string launch;  ///< plan and grid; empty: no launch is known
  std::string advice;
};

namespace jit {

/// Makes the page. `course`: the records of a launch; null: the timeline is simulated.
std::string page_of(detail::ExplainedLaunch const& launch, Profile const* course);

/// Makes the page of a verified kernel that is given as IR. `text`: of the input. Advice and timeline assume tensors of
/// `extent` elements along the last two axes, of 16 at most along the others, and integers of that value.
std::string page_of_ir(ir::Module module, std::string text, CompileOptions const& options, std::int64_t extent);

/// Writes a page to a file that only the user may read, in place of an earlier one. Throws UserError if that fails.
void save_page(std::string const& file, std::string const& page);

}  // namespace jit
}  // namespace tegula
