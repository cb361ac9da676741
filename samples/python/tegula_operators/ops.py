"""Offers the kernels as operators of PyTorch: softmax, rms_norm, linear_relu.

They run on CPUs and on Hopper GPUs, on the current stream, have gradients, and stand in torch.compile and in CUDA graphs.
A mistake in the arguments is a TypeError (elements) or a ValueError (shapes, devices), when the operator is called and
when it is traced. Gradients of gradients and vmap are not supported.
"""

import torch
from torch import Tensor
from torch.library import custom_op

from . import kernels

__all__ = ["linear_relu", "rms_norm", "softmax"]

DEVICES = ("cpu", "cuda")
FLOATS = (torch.float32, torch.float64)
FLOATS_OF_PRODUCTS = (torch.bfloat16, torch.float32, torch.float64)


# --- checks and launches ---------------------------------------------------------------------------------------------


def check_elements(operator, allowed, **tensors):
    """All tensors have the element of the first, which is an allowed one, and are on its device."""
    first_name, first = next(iter(tensors.items()))
    if first.dtype not in allowed:
        names = ", ".join(str(each) for each in allowed)
        raise TypeError(f"{operator}: {first_name} is {first.dtype}, but {names} are supported; convert it")
    for name, tensor in tensors.items():
        if tensor.dtype != first.dtype:
            raise TypeError(
                f"{operator}: {name} is {tensor.dtype}, but {first_name} is {first.dtype}; convert one of them"
            )
        if tensor.device != first.device:
            raise ValueError(
                f"{operator}: {name} is on {tensor.device}, but {first_name} is on {first.device}; move one of them"
            )


def check_axes(operator, name, tensor, least):
    if tensor.dim() < least:
        raise ValueError(f"{operator}: {name} has {tensor.dim()} axes, but at least {least} are needed")


def check_shape(operator, name, tensor, expected, why):
    if tuple(tensor.shape) != tuple(expected):
        raise ValueError(f"{operator}: {name} has the shape {tuple(tensor.shape)}, but {tuple(expected)} is expected: {why}")


def matrix(tensor):
    """A tensor as rows; a copy where its strides need one."""
    return tensor.detach().reshape(-1, tensor.shape[-1])


def dense(tensor):
    return torch.empty_like(tensor, memory_format=torch.contiguous_format)


def sums_of(tensor):
    """The element in which kernels sum those of a tensor."""
    return torch.float64 if tensor.dtype == torch.float64 else torch.float32


def parts_for(rows):
    """An uninitialised tensor for the sums of blocks of rows."""
    count = -(-rows.shape[0] // kernels.rows_per_part)
    return torch.empty(count, rows.shape[1], dtype=sums_of(rows), device=rows.device)


def run(kernel, first, *others):
    """Launches on the current stream of the device of the first tensor."""
    if first.is_cuda:
        with torch.cuda.device(first.device):
            kernel(first, *others, torch.cuda.current_stream().cuda_stream)
    else:
        kernel(first, *others)


# --- softmax ---------------------------------------------------------------------------------------------------------


def check_softmax(x):
    check_elements("softmax", FLOATS, x=x)
    check_axes("softmax", "x", x, 1)


@custom_op("tegula_operators::softmax", mutates_args=(), device_types=DEVICES)
def softmax(x: Tensor) -> Tensor:
    """exp(x) / sum(exp(x)) along the last axis, of float32 or float64."""
    check_softmax(x)
    y = dense(x)
    if x.numel() != 0:
        run(kernels.softmax, matrix(x), matrix(y))
    return y


@softmax.register_fake
def _(x):
    check_softmax(x)
    return dense(x)


@custom_op("tegula_operators::softmax_backward", mutates_args=(), device_types=DEVICES)
def softmax_backward(y: Tensor, dy: Tensor) -> Tensor:
    dx = dense(y)
    if y.numel() != 0:
        run(kernels.softmax_backward, matrix(y), matrix(dy), matrix(dx))
    return dx


@softmax_backward.register_fake
def _(y, dy):
    return dense(y)


def keep_result(ctx, inputs, output):
    ctx.save_for_backward(output)


def backward_of_softmax(ctx, dy):
    (y,) = ctx.saved_tensors
    return softmax_backward(y, dy)


softmax.register_autograd(backward_of_softmax, setup_context=keep_result)


# --- rms_norm --------------------------------------------------------------------------------------------------------


def check_rms_norm(x, weight):
    check_elements("rms_norm", FLOATS, x=x, weight=weight)
    check_axes("rms_norm", "x", x, 1)
    check_shape("rms_norm", "weight", weight, x.shape[-1:], "one element for each of the last axis of x")


@custom_op("tegula_operators::rms_norm", mutates_args=(), device_types=DEVICES)
def rms_norm(x: Tensor, weight: Tensor, epsilon: float = 1e-6) -> Tensor:
    """x * weight / sqrt(mean(x * x) + epsilon) along the last axis, of float32 or float64."""
    check_rms_norm(x, weight)
    y = dense(x)
    if x.numel() != 0:
        run(kernels.rms_norm, matrix(x), weight.detach(), epsilon, matrix(y))
    return y


@rms_norm.register_fake
def _(x, weight, epsilon=1e-6):
    check_rms_norm(x, weight)
    return dense(x)


@custom_op("tegula_operators::rms_norm_backward", mutates_args=(), device_types=DEVICES)
def rms_norm_backward(x: Tensor, weight: Tensor, epsilon: float, dy: Tensor) -> tuple[Tensor, Tensor]:
    dx, dweight = dense(x), torch.zeros_like(weight, memory_format=torch.contiguous_format)
    if x.numel() != 0:
        rows, gradients = matrix(x), matrix(dy)
        inverse = torch.empty(rows.shape[0], dtype=rows.dtype, device=rows.device)
        parts = parts_for(rows)
        run(kernels.rms_norm_backward, rows, weight.detach(), epsilon, gradients, matrix(dx), inverse)
        run(kernels.rms_norm_parts, rows, gradients, inverse, parts)
        run(kernels.column_sums, parts, dweight)
    return dx, dweight


@rms_norm_backward.register_fake
def _(x, weight, epsilon, dy):
    return dense(x), dense(weight)


def keep_rms_norm(ctx, inputs, output):
    x, weight, ctx.epsilon = inputs
    ctx.save_for_backward(x, weight)


def backward_of_rms_norm(ctx, dy):
    x, weight = ctx.saved_tensors
    dx, dweight = rms_norm_backward(x, weight, ctx.epsilon, dy)
    return dx, dweight, None


rms_norm.register_autograd(backward_of_rms_norm, setup_context=keep_rms_norm)


# --- linear_relu -----------------------------------------------------------------------------------------------------


def check_linear_relu(x, weight, bias):
    check_elements("linear_relu", FLOATS_OF_PRODUCTS, x=x, weight=weight, bias=bias)
    check_axes("linear_relu", "x", x, 1)
    if weight.dim() != 2:
        raise ValueError(f"linear_relu: weight has {weight.dim()} axes, but 2 are expected: (out, in)")
    if weight.shape[1] != x.shape[-1]:
        raise ValueError(
            f"linear_relu: weight has the shape {tuple(weight.shape)}, but the last axis of x has {x.shape[-1]} elements;"
            " weight is (out, in)"
        )
    check_shape("linear_relu", "bias", bias, weight.shape[:1], "one element for each row of weight")


def new_result(x, weight):
    return x.new_empty((*x.shape[:-1], weight.shape[0]))


@custom_op("tegula_operators::linear_relu", mutates_args=(), device_types=DEVICES)
def linear_relu(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """relu(x @ weight.T + bias), of bfloat16, float32 or float64; weight is (out, in) as that of torch.nn.Linear."""
    check_linear_relu(x, weight, bias)
    y = new_result(x, weight)
    if y.numel() != 0 and x.shape[-1] != 0:
        run(kernels.linear_relu, matrix(x), weight.detach(), bias.detach(), matrix(y))
    elif y.numel() != 0:
        y.copy_(bias.relu())
    return y


@linear_relu.register_fake
def _(x, weight, bias):
    check_linear_relu(x, weight, bias)
    return new_result(x, weight)


@custom_op("tegula_operators::linear_relu_backward", mutates_args=(), device_types=DEVICES)
def linear_relu_backward(x: Tensor, weight: Tensor, y: Tensor, dy: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    dx, dweight = dense(x).zero_(), dense(weight).zero_()
    dbias = weight.new_zeros(weight.shape[0])
    if y.numel() != 0:
        results, dz = matrix(y), matrix(dense(y))
        parts = parts_for(results)
        run(kernels.relu_backward, results, matrix(dy), dz, parts)
        run(kernels.column_sums, parts, dbias)
        if x.numel() != 0:
            run(kernels.product, dz, weight.detach(), matrix(dx))
            run(kernels.transposed_product, dz, matrix(x), dweight)
    return dx, dweight, dbias


@linear_relu_backward.register_fake
def _(x, weight, y, dy):
    return dense(x), dense(weight), weight.new_empty(weight.shape[0])


def keep_linear_relu(ctx, inputs, output):
    x, weight, _ = inputs
    ctx.save_for_backward(x, weight, output)


def backward_of_linear_relu(ctx, dy):
    return linear_relu_backward(*ctx.saved_tensors, dy)


linear_relu.register_autograd(backward_of_linear_relu, setup_context=keep_linear_relu)
