"""Kernels that are written in Tegula and compiled with this package.

tegula_operators.ops      operators of PyTorch: softmax, rms_norm, linear_relu, with gradients and for torch.compile
tegula_operators.kernels  the kernels themselves, for tensors of any library with DLPack; PyTorch is not needed
"""
