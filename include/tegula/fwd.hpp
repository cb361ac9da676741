// Declares the public names of the language and the data shared with the launcher.
#pragma once

#include <cstdint>

namespace tegula {

class location;
class Error;
class UserError;
class InternalError;
class DriverError;

enum class Element : std::uint8_t;
enum class Direction : std::uint8_t;
enum class Target : std::uint8_t;
struct CompileOptions;
struct CompiledKernel;
struct ParameterInfo;

class f16;
class bf16;
class e4m3;
class e5m2;

template <std::int64_t... extents>
struct Shape;
template <int... axes>
struct Axis;
template <int depth>
struct Stages;
template <std::int64_t number>
struct Static;
struct Infinity;

template <class T, int rank, class... Facts>
class in;
template <class T, int rank, class... Facts>
class out;
template <class T, int rank, class... Facts>
class inout;
template <class T, class... Facts>
class arg;
template <std::int64_t n>
struct multiple_of;
template <std::int64_t n>
struct equals;
template <std::int64_t n>
struct fixed;
template <int at_axis, class Fact>
struct along;
class elem;

template <class F>
class Kernel;

namespace trace {
class Recorder;
class TracedKernel;
enum class FunctionInline : std::uint8_t;
}  // namespace trace

template <class F, trace::FunctionInline inlining>
class Function;

}  // namespace tegula
