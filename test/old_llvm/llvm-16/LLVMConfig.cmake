# Stands for an LLVM that is too old; only its version is ever read.
set(LLVM_PACKAGE_VERSION 16.0.6)
set(LLVM_VERSION_MAJOR 16)
