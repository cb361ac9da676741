"""Calls the kernels of tegula_sample on arrays of NumPy and tensors of PyTorch, and compares with float64.

check.py [FOLDER]: FOLDER holds the module. Status 4: skipped, because neither library is installed.
"""

import sys

if len(sys.argv) > 1:
    sys.path.insert(0, sys.argv[1])


def refuses(call, part, kind=ValueError):
    try:
        call()
    except kind as error:
        assert part in str(error), error
    else:
        raise AssertionError("not refused: " + part)


def check_numpy():
    import numpy as np

    import tegula_sample

    x = np.random.default_rng().uniform(-4, 4, (67, 2000)).astype(np.float32)
    for rows in (x[:, :1000], x[:, ::2], x[::-1, 3:30]):
        y = np.full(rows.shape, np.nan, np.float32)
        tegula_sample.softmax(rows, y)
        e = np.exp(rows.astype(np.float64))
        assert np.abs(y / (e / e.sum(1, keepdims=True)) - 1).max() < 2e-6
    refuses(lambda: tegula_sample.softmax(x.astype(np.float64), x), "element")
    refuses(lambda: tegula_sample.softmax(x[0], x[1]), "1 axes")
    refuses(lambda: tegula_sample.softmax(x, np.empty_like(x)), "a row must fit one tile")
    for stream in (-1, 2**64):
        refuses(lambda: tegula_sample.softmax(x, x, stream), "int", OverflowError)
    return "NumPy " + np.__version__


def check_torch():
    import torch

    import torch_operators  # noqa: F401  registers torch.ops.tegula

    where = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.randn(300, 1000, device=where)
    y = torch.ops.tegula.softmax(x)
    assert (y.double() / torch.softmax(x.double(), 1) - 1).abs().max() < 2e-6
    a = torch.rand(520, 264, device=where).sub(0.5).bfloat16()
    b = torch.rand(264, 392, device=where).sub(0.5).bfloat16()
    bias = torch.randn(392, device=where)

    def wanted():
        return torch.relu(a.double() @ b.double() + bias.double())

    def close(c):
        return ((c.double() - wanted()).abs() <= 4e-3 * (1 + wanted().abs())).all()

    assert close(torch.ops.tegula.product(a, b, bias))
    seen = "PyTorch " + torch.__version__ + " on " + where
    if where == "cuda":
        other = torch.cuda.Stream()
        other.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(other):
            c = torch.ops.tegula.product(a, b, bias)
        other.synchronize()
        assert close(c)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            c = torch.ops.tegula.product(a, b, bias)
            y = torch.ops.tegula.softmax(x)
        for _ in range(3):
            a.copy_(torch.rand_like(a).sub(0.5))
            x.copy_(torch.randn_like(x))
            graph.replay()
            torch.cuda.synchronize()
            assert close(c)
            assert (y.double() / torch.softmax(x.double(), 1) - 1).abs().max() < 2e-6
        compiled = torch.compile(lambda t: torch.ops.tegula.softmax(t * 2) + 1, backend="eager")
        assert (compiled(x).double() - 1 - torch.softmax(2 * x.double(), 1)).abs().max() < 2e-6
        seen += ", its streams and graphs"
    return seen


seen, missing = [], []
for check in (check_numpy, check_torch):
    try:
        seen.append(check())
    except ModuleNotFoundError as error:
        if error.name == "tegula_sample":
            raise
        missing.append("no module " + error.name)
if not seen:
    print("python  skipped: " + ", ".join(missing))
    sys.exit(4)
print("python  " + "; ".join(seen + missing) + ": ok")
