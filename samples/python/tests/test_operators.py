"""Compares the kernels and operators of tegula_operators with float64, and checks gradients, tracing and errors.

Status 4: skipped, since neither NumPy nor PyTorch is installed. A case that needs what is missing is skipped alone.
"""

import random
import shutil
import subprocess
import sys
import unittest

from tegula_operators import kernels

try:
    import numpy as np
except ModuleNotFoundError:
    np = None
try:
    import torch
    from torch.library import opcheck
    from tegula_operators import ops
except ModuleNotFoundError as error:
    if error.name not in ("torch", "numpy"):
        raise
    torch = ops = None

DEVICE = "cuda" if torch and torch.cuda.is_available() else "cpu"


@unittest.skipUnless(np, "NumPy is not installed")
class Kernels(unittest.TestCase):
    """The module alone, with arrays of NumPy."""

    def setUp(self):
        self.random = np.random.default_rng(7)

    def test_softmax_of_rows_with_any_strides(self):
        x = self.random.uniform(-4, 4, (67, 5000))
        for dtype, bound in ((np.float32, 4e-6), (np.float64, 1e-14)):
            for part in (np.s_[:, :1000], np.s_[:, ::2], np.s_[::-1, 3:30], np.s_[:, ::-1], np.s_[:1], np.s_[:, :1]):
                rows = x.astype(dtype)[part]
                y = np.full(rows.shape, np.nan, dtype)
                kernels.softmax(rows, y)
                e = np.exp(rows.astype(np.float64))
                self.assertLess(np.abs(y / (e / e.sum(1, keepdims=True)) - 1).max(), bound)

    def test_refuses_what_does_not_fit(self):
        x = np.zeros((4, 1000), np.float32)
        for error, words, arguments in (
            (TypeError, ("softmax: x", "int64", "float32, float64"), (x.astype(np.int64), x)),
            (TypeError, ("softmax: y", "float64", "float32 is expected"), (x, x.astype(np.float64))),
            (TypeError, ("softmax: x", "list", "tensor is expected"), ([1.0], x)),
            (TypeError, ("softmax(x, y, stream=0)", "given 1"), (x,)),
            (ValueError, ("softmax: x", "1 axes", "2 are expected"), (x[0], x[1])),
            (ValueError, ("softmax: x and y must have the same shape",), (x, np.zeros((4, 999), np.float32))),
            (ValueError, ("share memory", "pass separate memory"), (x, x)),
            (ValueError, ("stride",), (x, np.lib.stride_tricks.as_strided(x.copy(), x.shape, (4000, 0)))),
            (OverflowError, ("int",), (x, np.empty_like(x), -1)),
            (OverflowError, ("int",), (x, np.empty_like(x), 2**64)),
        ):
            with self.subTest(words=words), self.assertRaises(error) as raised:
                kernels.softmax(*arguments)
            for word in words:
                self.assertIn(word, str(raised.exception))
        with self.assertRaisesRegex(TypeError, "rms_norm: epsilon must be a number"):
            kernels.rms_norm(x, x[0], "small", np.empty_like(x))


    @unittest.skipUnless(shutil.which("nm"), "nm is not installed")
    def test_shows_no_name_but_its_entry(self):
        lines = subprocess.run(["nm", "-D", "--defined-only", kernels.__file__], check=True, capture_output=True, text=True)
        self.assertEqual([line.split()[-1] for line in lines.stdout.splitlines()], ["PyInit_kernels"])


@unittest.skipUnless(torch, "PyTorch is not installed")
class Operators(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(11)
        self.random = random.Random(13)

    def normal(self, *shape, dtype=None, grad=False):
        return torch.randn(*shape, device=DEVICE, dtype=dtype).requires_grad_(grad)

    def shapes(self, count):
        for _ in range(count):
            yield *self.random.choices(range(1, 12), k=self.random.randrange(3)), self.random.randrange(1, 4000)

    @staticmethod
    def reference_rms_norm(x, weight, epsilon=1e-6):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + epsilon) * weight

    @staticmethod
    def reference_linear_relu(x, weight, bias):
        return torch.relu(x @ weight.T + bias)

    def compare(self, operator, reference, inputs, bound):
        """Result and gradients against those of the reference in float64, relative to the largest magnitude."""
        exact = [each.detach().double().requires_grad_() for each in inputs]
        own, expected = operator(*inputs), reference(*exact)
        self.assertEqual(own.shape, expected.shape)
        self.assertEqual(own.dtype, inputs[0].dtype)
        dy = torch.randn_like(own)
        pairs = [(own, expected)]
        pairs += zip(torch.autograd.grad(own, inputs, dy), torch.autograd.grad(expected, exact, dy.double()))
        for one, other in pairs:
            self.assertEqual(one.shape, other.shape)
            scale = other.abs().max().clamp(min=1e-30)
            self.assertLess(((one.double() - other).abs().max() / scale).item(), bound, inputs[0].shape)

    def test_softmax(self):
        for dtype, bound in ((torch.float32, 1e-5), (torch.float64, 1e-13)):
            for shape in [*self.shapes(8), (3, 1024), (3, 1025), (2, 1)]:
                self.compare(ops.softmax, lambda x: torch.softmax(x, -1), [self.normal(*shape, dtype=dtype, grad=True)],
                             bound)

    def test_rms_norm(self):
        for dtype, bound in ((torch.float32, 2e-5), (torch.float64, 1e-13)):
            for shape in [*self.shapes(8), (600, 70)]:
                inputs = [self.normal(*shape, dtype=dtype, grad=True), self.normal(shape[-1], dtype=dtype, grad=True)]
                self.compare(ops.rms_norm, self.reference_rms_norm, inputs, bound)

    def test_linear_relu(self):
        for dtype, bound in ((torch.bfloat16, 1.2e-2), (torch.float32, 2e-5), (torch.float64, 1e-13)):
            for _ in range(5):
                m, n, k = (self.random.randrange(1, 400) for _ in range(3))
                inputs = [self.normal(2, m, k, dtype=dtype, grad=True), self.normal(n, k, dtype=dtype, grad=True),
                          self.normal(n, dtype=dtype, grad=True)]
                self.compare(ops.linear_relu, self.reference_linear_relu, inputs, bound)

    def test_any_strides_and_sizes(self):
        x = self.normal(6, 50, 40)
        for part in (x[:, ::3, 5:], x.transpose(1, 2), x[0].t(), x[:1].expand(5, 50, 40), x[:, :0], x[:, 0, 0]):
            y = ops.softmax(part)
            self.assertLess((y.double() - torch.softmax(part.double(), -1)).abs().sum(), 1e-3)
        grad = torch.autograd.grad(ops.softmax(x.requires_grad_()).sum(), x)[0]  # a gradient of stride 0
        self.assertLess(grad.abs().max(), 1e-5)
        empty = ops.linear_relu(self.normal(3, 0), self.normal(4, 0), torch.tensor([-1.0, 0, 1, 2], device=DEVICE))
        self.assertTrue(torch.equal(empty, torch.tensor([[0.0, 0, 1, 2]] * 3, device=DEVICE)))

    def test_infinities_and_nan(self):
        inf, nan = float("inf"), float("nan")
        for width in (100, 3000):
            x = self.normal(5, width)
            x[0, : width - 1] = -inf  # whole tiles of -inf before the first number
            x[1] = -inf
            x[2, 7] = nan
            x[3, 7] = inf
            y, expected = ops.softmax(x), torch.softmax(x, -1)
            self.assertTrue(torch.equal(y.isnan(), expected.isnan()))
            self.assertTrue(torch.allclose(y, expected, rtol=1e-5, atol=1e-7, equal_nan=True))
        z = ops.linear_relu(torch.full((2, 3), nan, device=DEVICE), self.normal(4, 3), self.normal(4))
        self.assertTrue(z.isnan().all())

    def test_gradcheck(self):
        double = {"dtype": torch.float64, "grad": True}
        self.assertTrue(torch.autograd.gradcheck(ops.softmax, [self.normal(3, 7, **double)]))
        self.assertTrue(torch.autograd.gradcheck(ops.softmax, [self.normal(1, 1100, **double)], fast_mode=True))
        self.assertTrue(torch.autograd.gradcheck(ops.rms_norm, [self.normal(2, 3, 9, **double), self.normal(9, **double)]))
        self.assertTrue(torch.autograd.gradcheck(
            ops.linear_relu, [self.normal(5, 6, **double), self.normal(4, 6, **double), self.normal(4, **double)]))

    def test_opcheck(self):
        for dtype in (torch.float32, torch.float64):
            x, weight = self.normal(3, 40, dtype=dtype, grad=True), self.normal(40, dtype=dtype, grad=True)
            opcheck(ops.softmax, (x,))
            opcheck(ops.rms_norm, (x, weight, 1e-5))
            opcheck(ops.linear_relu, (x, self.normal(8, 40, dtype=dtype, grad=True), self.normal(8, dtype=dtype)))
            with torch.no_grad():
                opcheck(ops.softmax_backward, (ops.softmax(x), torch.ones_like(x)))
                opcheck(ops.rms_norm_backward, (x.detach(), weight.detach(), 1e-5, torch.ones_like(x)))
                opcheck(ops.linear_relu_backward, (x.detach(), torch.ones_like(x), torch.ones(3, 3, dtype=dtype).to(x),
                                                   torch.ones(3, 3, dtype=dtype).to(x)))

    def network(self, x, weight, bias, scale):
        return ops.softmax(ops.linear_relu(ops.rms_norm(x * 2, scale), weight, bias)) + 1

    @unittest.skipUnless(shutil.which("c++") or shutil.which("g++"), "torch.compile needs a C++ compiler")
    def test_compile(self):
        compiled = torch.compile(self.network, fullgraph=True, dynamic=True)
        for rows, width, outputs in ((5, 30, 20), (17, 64, 33), (130, 7, 9)):
            inputs = [self.normal(rows, width, grad=True), self.normal(outputs, width, grad=True),
                      self.normal(outputs, grad=True), self.normal(width, grad=True)]
            own, expected = compiled(*inputs), self.network(*inputs)
            dy = torch.randn_like(own)
            self.assertTrue(torch.allclose(own, expected, atol=1e-6))
            for one, other in zip(torch.autograd.grad(own, inputs, dy), torch.autograd.grad(expected, inputs, dy)):
                self.assertTrue(torch.allclose(one, other, rtol=1e-4, atol=1e-5))

    def test_refuses_what_does_not_fit(self):
        x, weight, bias = self.normal(5, 30), self.normal(20, 30), self.normal(20)
        for error, words, call in (
            (TypeError, ("softmax: x is torch.float16", "torch.float64"), lambda: ops.softmax(x.half())),
            (ValueError, ("softmax: x has 0 axes",), lambda: ops.softmax(x[0, 0])),
            (TypeError, ("rms_norm: weight is torch.float64", "x is torch.float32"),
             lambda: ops.rms_norm(x, weight[0].double())),
            (ValueError, ("rms_norm: weight has the shape (20,)", "(30,)"), lambda: ops.rms_norm(x, bias)),
            (ValueError, ("weight has the shape (30, 20)", "30 elements"), lambda: ops.linear_relu(x, weight.t(), bias)),
            (ValueError, ("bias has the shape (30,)", "(20,)"), lambda: ops.linear_relu(x, weight, x[0])),
            (ValueError, ("weight has 1 axes",), lambda: ops.linear_relu(x, bias, bias)),
            (NotImplementedError, ("softmax",), lambda: ops.softmax(x.to_sparse())),
        ):
            with self.subTest(words=words):
                with self.assertRaises(error) as raised:
                    call()
                for word in words:
                    self.assertIn(word, str(raised.exception))
        with self.assertRaisesRegex(Exception, r"rms_norm: weight has the shape \(20,\)"):  # found while it is traced
            torch.compile(lambda a, b: ops.rms_norm(a, b), backend="eager", fullgraph=True)(x, bias)
        with self.assertRaisesRegex(Exception, r"weight has the shape"):
            ops.rms_norm(x.to("meta"), bias.to("meta"))
        if DEVICE == "cuda":
            with self.assertRaisesRegex(ValueError, "rms_norm: weight is on cpu, but x is on cuda"):
                ops.rms_norm(x, weight[0].cpu())

    def test_gradients_of_gradients_are_refused(self):
        x = self.normal(3, 5, dtype=torch.float64, grad=True)
        (dx,) = torch.autograd.grad(ops.softmax(x).square().sum(), x, create_graph=True)
        with self.assertRaises(RuntimeError):
            torch.autograd.grad(dx.sum(), x)

    @unittest.skipUnless(DEVICE == "cuda", "needs a GPU")
    def test_streams_and_graphs(self):
        x, weight = self.normal(300, 1000), self.normal(1000)
        expected = self.reference_rms_norm(x.double(), weight.double())
        other = torch.cuda.Stream()
        other.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(other):
            y = ops.rms_norm(x, weight)
        other.synchronize()
        self.assertLess((y.double() - expected).abs().max(), 1e-4)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = ops.softmax(ops.rms_norm(x, weight))
        for _ in range(3):
            x.copy_(torch.randn_like(x))
            graph.replay()
            torch.cuda.synchronize()
            expected = torch.softmax(self.reference_rms_norm(x.double(), weight.double()), -1)
            self.assertLess((y.double() - expected).abs().max(), 1e-5)


if __name__ == "__main__":
    if np is None and torch is None:
        print("skipped: neither NumPy nor PyTorch is installed")
        sys.exit(4)
    print("NumPy", np and np.__version__, "PyTorch", torch and torch.__version__, "on", DEVICE)
    unittest.main(verbosity=2)
