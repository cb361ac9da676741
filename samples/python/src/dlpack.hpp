// Borrows tensors of Python by DLPack, the exchange format of NumPy, PyTorch and others, and checks their elements.
#pragma once

#define Py_LIMITED_API 0x030A0000  // one binary for Python 3.10 and later
#include <Python.h>

#include <stdexcept>
#include <string>
#include <utility>

#include <tegula/call/dlpack.hpp>
#include <tegula/support/error.hpp>

#include "text.hpp"

namespace operators {

/// Says that a Python exception is set.
struct PythonError {};

/// Becomes a TypeError of Python.
struct WrongType : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Owns a reference.
class Object {
 public:
  explicit Object(PyObject* taken) : object_(taken) {
    if (taken == nullptr) throw PythonError();
  }
  Object(Object const&) = delete;
  Object& operator=(Object const&) = delete;
  ~Object() { Py_DECREF(object_); }
  [[nodiscard]] PyObject* get() const { return object_; }

 private:
  PyObject* object_;
};

/// Returns the name that NumPy and PyTorch give a type of elements, such as "float32".
inline std::string name_of(DLDataType type) {
  int const code = type.code, bits = type.bits;  // the struct's own would be written as characters
  std::string const lanes = type.lanes == 1 ? "" : text(" x ", type.lanes);
  switch (code) {
    case 0:
      return text("int", bits, lanes);
    case 1:
      return text("uint", bits, lanes);
    case 2:
      return text("float", bits, lanes);
    case 4:
      return text("bfloat", bits, lanes);
    case 5:
      return text("complex", bits, lanes);
    case 6:
      return "bool" + lanes;
    default:
      return text("DLPack code ", code, " of ", bits, " bits", lanes);
  }
}
template <class T>
DLDataType type_of() {
  tegula::detail::ForeignType const type = tegula::detail::foreign_type(tegula::element_v<T>);
  return {static_cast<std::uint8_t>(type.code), static_cast<std::uint8_t>(type.bits), 1};
}
inline bool same(DLDataType a, DLDataType b) { return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes; }

/// Holds a tensor that Python lends for the time of a call.
class Borrowed {
 public:
  /// `name` is the function and the argument, for errors. The caller names the stream on which both sides work, so a
  /// library with CUDA is told not to order the streams (-1). Libraries on the host do not take a stream.
  Borrowed(std::string name, PyObject* tensor) : name_(std::move(name)), tensor_(exported(name_, tensor)) {}
  Borrowed(Borrowed&& other) noexcept : name_(std::move(other.name_)), tensor_(std::exchange(other.tensor_, nullptr)) {}
  Borrowed(Borrowed const&) = delete;
  Borrowed& operator=(Borrowed const&) = delete;
  Borrowed& operator=(Borrowed&&) = delete;
  ~Borrowed() {
    if (tensor_ != nullptr && tensor_->deleter != nullptr) tensor_->deleter(tensor_);
  }

  [[nodiscard]] DLTensor const& tensor() const { return tensor_->dl_tensor; }
  [[nodiscard]] bool is_on_cuda() const { return is_cuda(tensor().device.device_type); }

  /// Views it as the tensor of a kernel's parameter.
  template <class T, int rank>
  [[nodiscard]] tegula::tensor_view<T, rank> view() const {
    DLDataType const wanted = type_of<std::remove_const_t<T>>();
    if (!same(tensor().dtype, wanted))
      throw WrongType(text(name_, " has elements of ", name_of(tensor().dtype), ", but ", name_of(wanted),
                           " is expected; convert the tensor"));
    if (tensor().ndim != rank)
      throw tegula::UserError(
          text(name_, " has ", tensor().ndim, " axes, but ", rank, " are expected; reshape the tensor"));
    return tegula::view_dlpack<T, rank>(tensor());
  }

 private:
  static bool is_cuda(int device_type) { return device_type == 2; }

  static DLManagedTensor* exported(std::string const& name, PyObject* tensor) {
    if (PyObject_HasAttrString(tensor, "__dlpack__") == 0) {
      Object const type(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(tensor)), "__name__"));
      Object const text(PyUnicode_AsUTF8String(type.get()));
      throw WrongType(name + " is of type " + PyBytes_AsString(text.get()) +
                      ", but a tensor is expected: an array of NumPy, a tensor of PyTorch, or another with __dlpack__");
    }
    Object const device(PyObject_CallMethod(tensor, "__dlpack_device__", nullptr));
    Object const type(PySequence_GetItem(device.get(), 0));
    Object const number(PyNumber_Long(type.get()));  // PyTorch gives an enumerator
    Object const method(PyObject_GetAttrString(tensor, "__dlpack__")), none(PyTuple_New(0));
    Object const options(is_cuda(static_cast<int>(PyLong_AsLong(number.get()))) ? Py_BuildValue("{s:i}", "stream", -1)
                                                                                : PyDict_New());
    Object const capsule(PyObject_Call(method.get(), none.get(), options.get()));
    auto* const managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.get(), "dltensor"));
    if (managed == nullptr || PyCapsule_SetName(capsule.get(), "used_dltensor") != 0) throw PythonError();
    return managed;
  }

  std::string name_;
  DLManagedTensor* tensor_;
};

}  // namespace operators
