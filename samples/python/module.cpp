// Offers kernels to Python: softmax(x, y, stream=0) and product(a, b, bias, c, stream=0), the last tensor being the
// result. Tensors come by DLPack, so from NumPy, PyTorch and other libraries. `stream` is the address of a CUDA stream.
#define Py_LIMITED_API 0x030A0000  // one binary for Python 3.10 and later
#include <Python.h>

#include <exception>

#include <tegula/call/dlpack.hpp>
#include <tegula/tegula.hpp>

#include "kernels.hpp"

using namespace tegula;

namespace {

/// Says that a Python exception is set.
struct PythonError {};

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

bool is_on_cuda(PyObject* tensor) {
  Object const device(PyObject_CallMethod(tensor, "__dlpack_device__", nullptr));
  Object const type(PySequence_GetItem(device.get(), 0));
  Object const number(PyNumber_Long(type.get()));  // PyTorch gives an enumerator
  return PyLong_AsLong(number.get()) == 2;
}

/// Takes a tensor over for the time of a call. The caller names the stream on which both sides work, so PyTorch is told
/// not to order the streams (-1). Libraries on the host take no stream.
dlpack_tensor borrowed(PyObject* tensor) {
  Object const method(PyObject_GetAttrString(tensor, "__dlpack__"));
  Object const none(PyTuple_New(0));
  Object const options(is_on_cuda(tensor) ? Py_BuildValue("{s:i}", "stream", -1) : PyDict_New());
  Object const capsule(PyObject_Call(method.get(), none.get(), options.get()));
  auto* const managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.get(), "dltensor"));
  if (managed == nullptr || PyCapsule_SetName(capsule.get(), "used_dltensor") != 0) throw PythonError();
  return dlpack_tensor(managed);
}

/// Returns the stream at an address; null is none. An integer that is not an address is an OverflowError.
stream stream_of(PyObject* tensor, PyObject* address) {
  unsigned long long const at = address != nullptr ? PyLong_AsUnsignedLongLong(address) : 0;
  if (PyErr_Occurred() != nullptr) throw PythonError();
  return is_on_cuda(tensor) ? stream(cuda_stream(reinterpret_cast<CUstream_st*>(at))) : stream(device::host());
}

/// Runs the body of a function; an error becomes a Python exception.
template <class Body>
PyObject* guarded(Body const& body) {
  try {
    body();
    Py_INCREF(Py_None);
    return Py_None;
  } catch (PythonError const&) {
  } catch (UserError const& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (std::exception const& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

PyObject* softmax(PyObject*, PyObject* arguments) {
  PyObject *x = nullptr, *y = nullptr, *address = nullptr;
  if (PyArg_ParseTuple(arguments, "OO|O", &x, &y, &address) == 0) return nullptr;
  return guarded([&] {
    stream const order = stream_of(y, address);
    dlpack_tensor const from = borrowed(x), to = borrowed(y);
    launch(order, samples::softmax<1024>, from.view<float const, 2>(), to.view<float, 2>());
  });
}

PyObject* product(PyObject*, PyObject* arguments) {
  PyObject *a = nullptr, *b = nullptr, *bias = nullptr, *c = nullptr, *address = nullptr;
  if (PyArg_ParseTuple(arguments, "OOOO|O", &a, &b, &bias, &c, &address) == 0) return nullptr;
  return guarded([&] {
    stream const order = stream_of(c, address);
    dlpack_tensor const left = borrowed(a), right = borrowed(b), added = borrowed(bias), to = borrowed(c);
    launch(order, samples::gemm<128, 128, 64>(samples::bias_relu), left.view<bf16 const, 2>(),
           right.view<bf16 const, 2>(), added.view<float const, 1>(), to.view<bf16, 2>());
  });
}

PyMethodDef methods[] = {
    {"softmax", softmax, METH_VARARGS, "softmax(x, y, stream=0): rows of f32, at most 1024 wide"},
    {"product", product, METH_VARARGS, "product(a, b, bias, c, stream=0): c = relu(a b + bias), bf16, bias f32"},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef module = {PyModuleDef_HEAD_INIT,
                      "tegula_sample",
                      "Kernels of Tegula for tensors of any library with DLPack",
                      -1,
                      methods,
                      nullptr,
                      nullptr,
                      nullptr,
                      nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_tegula_sample() { return PyModule_Create(&module); }
