// Packs the arguments of a typed call: an Argument for each parameter, and the grid, if one was given.
#pragma once

#include "tegula/call/typed_argument.hpp"
#include "tegula/dsl/grid.hpp"

namespace tegula::call {

/// Returns a * b. Throws UserError for more blocks than 64 bits hold.
std::int64_t multiply_blocks(std::int64_t a, std::int64_t b);

template <class X>
inline constexpr bool is_grid = false;
template <class... Counts>
inline constexpr bool is_grid<grid<Counts...>> = true;

/// Orders the extents of a grid as in a kernel: the last number runs fastest and becomes the launch's first axis.
/// Numbers beyond three share the third.
template <class... Counts>
GridOverride override_of(grid<Counts...> const& given) {
  static_assert(grid<Counts...>::plain, "launch: the numbers of blocks of grid(...) must be integers here");
  constexpr int rank = grid<Counts...>::grid_rank;
  GridOverride result;
  result.given = true;
  result.rank = rank < 3 ? rank : 3;
  for (int axis = 0; axis < rank; ++axis) {
    std::int64_t const count = given.count(rank - 1 - axis);
    std::int64_t& extent = result.extents[axis < 3 ? axis : 2];
    if (axis < 3)
      extent = count;
    else
      extent = multiply_blocks(extent, count);
  }
  return result;
}

/// Refers to the arguments of one call.
struct ArgumentList {
  Argument const* first = nullptr;
  int count = 0;
};

/// Holds the arguments of one call without their types, and apart from them the grid, if one was given.
template <int n>
struct Packed {
  Argument arguments[n > 0 ? n : 1];
  GridOverride grid;
  [[nodiscard]] ArgumentList list() const { return {arguments, n}; }
};

/// Removes the type of a grid that stands before the arguments.
template <class... X>
struct WithoutGrid {
  using type = detail::TypeList<X...>;
};
template <class First, class... X>
requires is_grid<std::remove_cv_t<First>>
struct WithoutGrid<First, X...> {
  using type = detail::TypeList<X...>;
};

/// Finds the first mistake in a call of a kernel with these parameters, with arguments of types X (references removed).
template <StreamKind stream, class Parameters, class... X>
using FindingOf = decltype(find_mistake<stream, Parameters, typename WithoutGrid<X...>::type>());

template <class... P, class... X>
auto pack_all(detail::TypeList<P...>, char const* kernel, X&... x) {
  Packed<static_cast<int>(sizeof...(P))> packed;
  int at = 0;
  ((packed.arguments[at] = make_argument<P>(kernel, at + 1, x), ++at), ...);
  return packed;
}

/// Packs the arguments of a call without a mistake.
template <class Parameters>
auto pack(Parameters parameters, char const* kernel) {
  return pack_all(parameters, kernel);
}
template <class Parameters, class First, class... X>
auto pack(Parameters parameters, char const* kernel, First& first, X&... x) {
  if constexpr (is_grid<std::remove_cv_t<First>>) {
    auto packed = pack_all(parameters, kernel, x...);
    packed.grid = override_of(first);
    return packed;
  } else {
    return pack_all(parameters, kernel, first, x...);
  }
}

/// Finds the first mistake in a call of a kernel object or an embedded kernel K with arguments of types X.
template <StreamKind stream, class K, class... X>
using CallOf = FindingOf<stream, typename K::parameters, std::remove_reference_t<X>...>;

/// Packs the arguments of a call and returns run(list, grid). A mistake of the call is stated and does not compile; the
/// types of Call, which the compiler prints, show the argument, the type found and the type expected. Then the result
/// is empty, so that one mistake causes one error.
template <class Call, class K, class Run, class... X>
auto checked(K const& kernel, Run const& run, X&... x) {
  constexpr Mistake mistake = Call::mistake;
  static_assert(unlike<mistake, Mistake::count>,
                "launch: there must be one argument for each of the kernel's parameters");
  static_assert(unlike<mistake, Mistake::not_a_tensor>,
                "launch: this argument must be a tensor: a buffer, a view, or a type with data() and extents");
  static_assert(unlike<mistake, Mistake::not_a_number>, "launch: this argument must be a number");
  static_assert(unlike<mistake, Mistake::number_kind>,
                "launch: a number must be of the kind of the kernel's parameter");
  static_assert(unlike<mistake, Mistake::element>,
                "launch: an argument's element must be that of the kernel's parameter");
  static_assert(unlike<mistake, Mistake::rank>,
                "launch: an argument's rank must be that of the kernel's parameter: view<T, 2>(data, rows, columns) "
                "names extents of host memory, buffer<T, 2> those of a device");
  static_assert(unlike<mistake, Mistake::constant>,
                "launch: the kernel writes this argument, so its elements must not be const");
  static_assert(unlike<mistake, Mistake::host_on_cuda>,
                "launch: an argument on a CUDA stream must not be host memory: copy it to a buffer on the device");
  static_assert(unlike<mistake, Mistake::cuda_on_host>,
                "launch: an argument on a host stream must not be device memory: copy it to a buffer on the host");
  if constexpr (mistake == Mistake::none) {
    auto const packed = pack(typename K::parameters(), kernel.name(), x...);
    return run(packed.list(), packed.grid);
  } else {
    return decltype(run(ArgumentList(), GridOverride()))();
  }
}

}  // namespace tegula::call
