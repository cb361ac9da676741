// Makes kernels: kernel(name, lambda) is a constexpr value, typed by the lambda's signature.
#pragma once

#include <tuple>
#include <utility>

#include "tegula/dsl/members.hpp"
#include "tegula/dsl/memory.hpp"
#include "tegula/trace/traced_kernel.hpp"

namespace tegula {

namespace detail {

template <class... Lists>
struct Concat;
template <>
struct Concat<> {
  using type = TypeList<>;
};
template <class... A>
struct Concat<TypeList<A...>> {
  using type = TypeList<A...>;
};
template <class... A, class... B, class... Rest>
struct Concat<TypeList<A...>, TypeList<B...>, Rest...> {
  using type = typename Concat<TypeList<A..., B...>, Rest...>::type;
};

template <class X>
inline constexpr bool is_arg = false;
template <class T, class... Facts>
inline constexpr bool is_arg<arg<T, Facts...>> = true;

/// True for in, out, inout and arg.
template <class X>
concept LeafParameter = TensorLike<X> || is_arg<X>;

/// Finds the first mistake in the facts of some parameters.
template <class P>
struct Parameter;
template <class... P>
constexpr FactMistake first_fact_mistake(TypeList<P...>) {
  FactMistake result = FactMistake::none;
  ((result = result == FactMistake::none ? Parameter<P>::fact_mistake : result), ...);
  return result;
}

/// Lists a parameter's leaves, makes its symbolic value, and requires the facts in the types of the leaves, of which
/// `number` come before.
template <class X>
struct Parameter {
  static constexpr bool sound = false;
  static constexpr bool has_element = true;
  static constexpr FactMistake fact_mistake = FactMistake::none;
  using leaves = TypeList<>;
};
template <TensorLike X>
struct Parameter<X> {
  static constexpr bool sound = true;
  static constexpr bool has_element = X::has_element;
  static constexpr FactMistake fact_mistake = X::fact_mistake;
  using leaves = TypeList<X>;
  static X make(trace::Recorder& recorder) {
    return X(
        recorder.tensor_parameter(element_of<typename X::element>::value, X::tensor_rank, X::direction, X::multiple));
  }
  static void require_facts(trace::Recorder& recorder, X& x, int& number) { x.require_facts(recorder, ++number); }
};
template <class T, class... Facts>
struct Parameter<arg<T, Facts...>> {
  static constexpr bool sound = true;
  static constexpr bool has_element = true;
  static constexpr FactMistake fact_mistake = arg<T, Facts...>::fact_mistake;
  using leaves = TypeList<arg<T, Facts...>>;
  static arg<T, Facts...> make(trace::Recorder& recorder) {
    return arg<T, Facts...>(recorder.scalar_parameter(element_of<T>::value));
  }
  static void require_facts(trace::Recorder& recorder, arg<T, Facts...>& x, int& number) {
    x.require_facts(recorder, ++number);
  }
};
template <class X>
requires((std::is_aggregate_v<X> || StatesMembers<X>)&&!TensorLike<X>) struct Parameter<X> {
  template <class... Member>
  static constexpr bool all_sound(TypeList<Member...>) {
    return (Parameter<Member>::sound && ...);
  }
  template <class... Member>
  static constexpr bool all_elements(TypeList<Member...>) {
    return (Parameter<Member>::has_element && ...);
  }
  template <class... Member>
  static typename Concat<typename Parameter<Member>::leaves...>::type flatten(TypeList<Member...>);
  template <class... Member>
  static X make_of(trace::Recorder& recorder, TypeList<Member...>) {
    return X{Parameter<Member>::make(recorder)...};
  }

  using members = decltype(member_types(std::declval<X&>()));
  static constexpr bool sound_members = all_sound(members());
  static constexpr bool sound = has_listed_members<X> && sound_members;
  static constexpr bool has_element = all_elements(members());
  static constexpr FactMistake fact_mistake = first_fact_mistake(members());
  using leaves = decltype(flatten(members()));
  static X make(trace::Recorder& recorder) { return make_of(recorder, members()); }
  static void require_facts(trace::Recorder& recorder, X& x, int& number) {
    with_members(x, [&]<class... Member>(Member&... member) {
      (Parameter<Member>::require_facts(recorder, member, number), ...);
    });
  }
};

template <class Member>
struct Signature;
template <class R, class C, class... P>
struct Signature<R (C::*)(P...) const> {
  using result = R;
  using parameters = TypeList<bare<P>...>;
};
template <class R, class C, class... P>
struct Signature<R (C::*)(P...) const noexcept> : Signature<R (C::*)(P...) const> {};
template <class R, class C, class... P>
struct Signature<R (C::*)(P...)> : Signature<R (C::*)(P...) const> {};

/// True for a lambda or class with one call operator whose parameters are written with their types.
template <class F>
concept Callable = requires {
  &F::operator();
};

template <class F>
struct KernelSignature {
  using result = void;
  using parameters = TypeList<>;
};
template <Callable F>
struct KernelSignature<F> : Signature<decltype(&F::operator())> {};

constexpr TypeList<> first_unsound(TypeList<>) { return {}; }
/// Returns the first of some types that is not a parameter; for a struct, its first such member.
template <class P, class... Rest>
constexpr auto first_unsound(TypeList<P, Rest...>) {
  if constexpr (Parameter<P>::sound)
    return first_unsound(TypeList<Rest...>());
  else if constexpr (requires { requires !Parameter<P>::sound_members; })
    return first_unsound(typename Parameter<P>::members());
  else
    return TypeList<P>();
}

// True for TypeList<>. The compiler prints the type found below the sentence.
template <class Found>
inline constexpr bool is_parameter = true;
template <class X>
inline constexpr bool is_parameter<TypeList<X>> = !is_made_of_members<X>;
template <class Found>
inline constexpr bool is_made_parameter = true;
template <class X>
inline constexpr bool is_made_parameter<TypeList<X>> = is_made_of_members<X>;

template <class List>
struct KernelParameters;
template <class... P>
struct KernelParameters<TypeList<P...>> {
  static constexpr bool sound = (Parameter<P>::sound && ...);
  static constexpr bool elements = (Parameter<P>::has_element && ...);
  static constexpr FactMistake fact_mistake = first_fact_mistake(TypeList<P...>());
  using leaves = typename Concat<typename Parameter<P>::leaves...>::type;
  template <class F>
  static void call(F const& f, trace::Recorder& recorder) {
    std::tuple<P...> parameters{Parameter<P>::make(recorder)...};  // braces: left to right
    int number = 0;
    std::apply([&](P&... p) { (Parameter<P>::require_facts(recorder, p, number), ...); }, parameters);
    std::apply(f, parameters);
  }
};

}  // namespace detail

/// Holds a kernel: a name and a lambda over in, out, inout, arg and structs of up to 32 of them (of any number with
/// dsl/hana.hpp). Copyable, a literal type when the lambda's captures are. Nothing is traced before it is needed.
template <class F>
class Kernel {
  using signature = detail::KernelParameters<typename detail::KernelSignature<F>::parameters>;

 public:
  /// Lists the leaf parameters in order, members in place of their struct: detail::TypeList<in<float, 1>, ...>.
  using parameters = typename signature::leaves;
  /// True when the lambda's type says everything about the kernel, so that it may be remembered by `identity`.
  static constexpr bool captureless = std::is_empty_v<F>;
  /// Identifies the kernel to the launcher: one number per lambda, in every translation unit; 0: not yet launched. It
  /// lies in the memory of the lambda's library, so code mapped where that was unloaded begins with 0.
  static inline std::uint64_t identity = 0;

  constexpr Kernel(char const* name, F function, location where)
      : function_(static_cast<F&&>(function)), name_(name), where_(where) {}

  [[nodiscard]] constexpr char const* name() const { return name_; }
  [[nodiscard]] constexpr location where() const { return where_; }

  /// Calls the lambda once with symbolic arguments. Throws UserError for mistakes that only a trace shows.
  [[nodiscard]] trace::TracedKernel trace() const {
    tegula::trace::Recorder recorder(name_, where_);
    signature::call(function_, recorder);
    return recorder.finish();
  }

 private:
  [[no_unique_address]] F function_;
  char const* name_;
  location where_;
};

namespace detail {
/// Replaces a refused lambda's kernel.
struct NoKernel {};
}  // namespace detail

/// Makes a kernel. The name is an identifier; it does not have to be unique.
///
/// A lambda without captures is traced once in a process. So everything that it reads beside its parameters has to be
/// constant: a global or static variable that changes does not reach later launches. Launches 2, 4, 8, 16 and so on
/// trace again and compare; under TEGULA_VERIFY=each every launch does. A difference is a UserError that shows it. A
/// lambda with captures is traced at every launch that is not prepared. To let a value change, capture it or make it an
/// arg<T>.
template <class F>
constexpr auto kernel(char const* name, F function, location where = location::current()) {
  using signature = detail::KernelSignature<F>;
  constexpr bool typed = detail::Callable<F>;
  constexpr bool returns_nothing = std::is_void_v<typename signature::result>;
  constexpr bool parameters = detail::KernelParameters<typename signature::parameters>::sound;
  constexpr bool elements = detail::KernelParameters<typename signature::parameters>::elements;
  static_assert(
      elements,
      "a tensor's element must be bool, std::int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t, "
      "e4m3, e5m2, f16, bf16, float or double");
  constexpr detail::FactMistake facts = detail::KernelParameters<typename signature::parameters>::fact_mistake;
  using detail::FactMistake;
  static_assert(
      facts != FactMistake::kind,
      "kernel: a fact in a parameter's type must be multiple_of<n>, equals<n>, fixed<n> or, of a tensor, along<axis, "
      "one of them>");
  static_assert(facts != FactMistake::axis, "kernel: along<axis, fact> must name an axis of the tensor");
  static_assert(facts != FactMistake::contradiction,
                "kernel: the facts in a parameter's type must not contradict one another: no number has all of them");
  static_assert(facts != FactMistake::element,
                "kernel: facts are stated of integers: an arg with facts must be an int or a std::int64_t");
  static_assert(facts != FactMistake::range, "kernel: a fact of an int must name a number of at most 32 bits");
  static_assert(typed, "kernel: the lambda's parameters must be written with their types, such as in<float, 1> a");
  static_assert(returns_nothing, "kernel: the lambda must return nothing; results go through store");
  using unsound = decltype(detail::first_unsound(
      std::conditional_t<parameters, detail::TypeList<>, typename signature::parameters>()));
  static_assert(detail::is_parameter<unsound>,
                "kernel: every parameter must be an in, out, inout or arg, or an aggregate of 1 to 32 of them; "
                "<tegula/dsl/hana.hpp> takes structs and tuples of Boost.Hana without this limit");
  static_assert(detail::is_made_parameter<unsound>, "kernel: " TEGULA_MADE_OF_MEMBERS);
  if constexpr (typed && returns_nothing && parameters && elements && facts == FactMistake::none)
    return Kernel<F>(name, static_cast<F&&>(function), where);
  else
    return detail::NoKernel();
}

}  // namespace tegula
