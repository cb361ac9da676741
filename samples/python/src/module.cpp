// Offers the embedded kernels to Python, as they are: the caller allocates all tensors, and names the CUDA stream. A
// function serves several elements; those of its tensors decide which kernel runs.
//
// A kernel more is an entry in exported.cpp and one in `methods`.
#include "dlpack.hpp"

#include <array>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "kernels_of_tegula.hpp"  // written by the build
#include "parts.hpp"

namespace {

using namespace operators;
using namespace tegula;
namespace kernels = kernels_of_tegula;

/// Holds a signature, such as "softmax(x, y, stream=0)", as the argument of a template.
template <std::size_t size>
struct Signature {
  char text[size]{};
  constexpr Signature(char const (&written)[size]) {  // NOLINT: stands for its text
    for (std::size_t i = 0; i < size; ++i) text[i] = written[i];
  }
  /// Returns the name of the function, and zeros behind it.
  [[nodiscard]] constexpr std::array<char, size> function() const {
    std::array<char, size> name{};
    for (std::size_t i = 0; text[i] != '('; ++i) name[i] = text[i];
    return name;
  }
  /// Returns "function: name" of an argument.
  [[nodiscard]] std::string name_of(std::size_t argument) const {
    std::string const name = function().data();
    std::string_view rest(text);
    rest.remove_prefix(name.size() + 1);
    for (std::size_t i = 0; i < argument; ++i) rest.remove_prefix(rest.find(", ") + 2);
    return name + ": " + std::string(rest.substr(0, rest.find_first_of(",)")));
  }
};

/// Lets other threads of Python run while a kernel does.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  Unlocked(Unlocked const&) = delete;
  Unlocked& operator=(Unlocked const&) = delete;
  ~Unlocked() { PyEval_RestoreThread(state_); }

 private:
  PyThreadState* state_;
};

/// The element of a parameter of a kernel: of a tensor, or of a number.
template <class P>
struct ElementOf {
  using type = typename P::element;
};
template <class T, class... Facts>
struct ElementOf<arg<T, Facts...>> {
  using type = T;
};

/// Holds the arguments of a call: tensors borrowed, numbers read when the type of the parameter is known.
struct Arguments {
  PyObject* tuple;
  std::vector<std::optional<Borrowed>> tensors;
};

/// Reads the argument for a parameter of a kernel: a view of a tensor, or a number.
template <class P, Signature signature>
auto value(Arguments const& arguments, std::size_t at) {
  if constexpr (requires { P::tensor_rank; }) {
    using T = std::conditional_t<P::writable, typename P::element, typename P::element const>;
    return arguments.tensors[at]->template view<T, P::tensor_rank>();
  } else {
    double const number = PyFloat_AsDouble(PyTuple_GetItem(arguments.tuple, static_cast<Py_ssize_t>(at)));
    if (PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      throw WrongType(signature.name_of(at) + " must be a number");
    }
    return static_cast<typename ElementOf<P>::type>(number);
  }
}

/// True for a number, and for a tensor with the element of the parameter.
template <class P>
bool has_element_of(std::optional<Borrowed> const& tensor) {
  return !tensor || same(tensor->tensor().dtype, type_of<typename ElementOf<P>::type>());
}

/// Returns the stream at an address; null is the default stream. An integer that is not an address is an OverflowError.
stream stream_of(Borrowed const& tensor, PyObject* address) {
  unsigned long long const at = address != nullptr ? PyLong_AsUnsignedLongLong(address) : 0;
  if (PyErr_Occurred() != nullptr) throw PythonError();
  return tensor.is_on_cuda() ? stream(cuda_stream(reinterpret_cast<CUstream_st*>(at))) : stream(device::host());
}

template <Signature signature, class... P, std::size_t... at>
void launch_one(embedded<P...> const& kernel, Arguments const& arguments, PyObject* address,
                std::index_sequence<at...>) {
  stream const order = stream_of(*arguments.tensors[0], address);
  std::tuple const values{value<P, signature>(arguments, at)...};  // with Python's lock, since errors need it
  Unlocked const others;
  launch(order, kernel, std::get<at>(values)...);
}

/// Says which tensors must have the elements of a kernel's parameters for it to run.
enum class Match { all_tensors, first_tensor };

/// Runs the kernel if the tensors have the elements of its parameters.
template <Signature signature, class... P>
bool launch_if(Match match, embedded<P...> const& kernel, Arguments const& arguments, PyObject* address) {
  constexpr auto indices = std::index_sequence_for<P...>();
  bool fits = true;
  [&]<std::size_t... at>(std::index_sequence<at...>) {
    ((fits = fits && ((match == Match::first_tensor && at != 0) || has_element_of<P>(arguments.tensors[at]))), ...);
  }
  (indices);
  if (fits) launch_one<signature>(kernel, arguments, address, indices);
  return fits;
}

template <class... P>
constexpr std::array<bool, sizeof...(P)> tensors_among(embedded<P...> const&) {
  return {requires {P::tensor_rank;
}
...
};  // namespace
}
template <class First, class... P>
std::string element_of(embedded<First, P...> const&) {
  return name_of(type_of<typename First::element>());
}

/// Is a function of the module: the kernels that it chooses from have the same parameters but for their element.
template <Signature signature, auto const& first, auto const&... others>
PyObject* call(PyObject*, PyObject* given) {
  constexpr auto is_tensor = tensors_among(first);
  try {
    auto const count = static_cast<std::size_t>(PyTuple_Size(given));
    if (count != is_tensor.size() && count != is_tensor.size() + 1)
      throw WrongType(operators::text(signature.text, " takes ", is_tensor.size(),
                                      " arguments and a stream, but was given ", count));
    Arguments arguments{given, std::vector<std::optional<Borrowed>>(is_tensor.size())};
    for (std::size_t i = 0; i < is_tensor.size(); ++i)
      if (is_tensor[i])
        arguments.tensors[i].emplace(signature.name_of(i), PyTuple_GetItem(given, static_cast<Py_ssize_t>(i)));
    PyObject* const address =
        count > is_tensor.size() ? PyTuple_GetItem(given, static_cast<Py_ssize_t>(count - 1)) : nullptr;
    auto const launched = [&](Match match) {
      return launch_if<signature>(match, first, arguments, address) ||
             (launch_if<signature>(match, others, arguments, address) || ...);
    };
    if (!launched(Match::all_tensors) && !launched(Match::first_tensor)) {  // the second names the tensor that differs
      std::string known = element_of(first);
      ((known += ", " + element_of(others)), ...);
      throw WrongType(signature.name_of(0) + " has elements of " + name_of(arguments.tensors[0]->tensor().dtype) +
                      ", but there are kernels for " + known + "; convert the tensor");
    }
    Py_INCREF(Py_None);
    return Py_None;
  } catch (PythonError const&) {
  } catch (WrongType const& error) {
    PyErr_SetString(PyExc_TypeError, error.what());
  } catch (UserError const& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (std::exception const& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

/// Makes a row of the module's table; the signature is the documentation, too.
template <Signature signature, auto const&... overloads>
PyMethodDef method() {
  static constexpr Signature text = signature;
  static constexpr auto name = signature.function();
  return {name.data(), call<signature, overloads...>, METH_VARARGS, text.text};
}

PyMethodDef methods[] = {
    method<"softmax(x, y, stream=0)", kernels::softmax_f32, kernels::softmax_f64>(),
    method<"softmax_backward(y, dy, dx, stream=0)", kernels::softmax_backward_f32, kernels::softmax_backward_f64>(),
    method<"rms_norm(x, weight, epsilon, y, stream=0)", kernels::rms_norm_f32, kernels::rms_norm_f64>(),
    method<"rms_norm_backward(x, weight, epsilon, dy, dx, inverse, stream=0)", kernels::rms_norm_backward_f32,
           kernels::rms_norm_backward_f64>(),
    method<"rms_norm_parts(x, dy, inverse, parts, stream=0)", kernels::rms_norm_parts_f32,
           kernels::rms_norm_parts_f64>(),
    method<"column_sums(parts, total, stream=0)", kernels::column_sums_bf16, kernels::column_sums_f32,
           kernels::column_sums_f64>(),
    method<"linear_relu(x, weight, bias, y, stream=0)", kernels::linear_relu_bf16, kernels::linear_relu_f32,
           kernels::linear_relu_f64>(),
    method<"relu_backward(y, dy, dz, parts, stream=0)", kernels::relu_backward_bf16, kernels::relu_backward_f32,
           kernels::relu_backward_f64>(),
    method<"product(a, b, c, stream=0)", kernels::product_bf16, kernels::product_f32, kernels::product_f64>(),
    method<"transposed_product(a, b, c, stream=0)", kernels::transposed_product_bf16, kernels::transposed_product_f32,
           kernels::transposed_product_f64>(),
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "tegula_operators.kernels",
    "Kernels for tensors of any library with DLPack. The last tensors are results; `stream` is the\n"
    "address of a CUDA stream, on which the kernel runs. On a CPU a call returns when it is done.",
    -1,
    methods,
    nullptr,
    nullptr,
    nullptr,
    nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_kernels() {
  PyObject* const module = PyModule_Create(&definition);
  if (module != nullptr && PyModule_AddIntConstant(module, "rows_per_part", operators::rows_per_part) != 0)
    return nullptr;
  return module;
}
