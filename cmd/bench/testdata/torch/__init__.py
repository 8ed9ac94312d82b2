"""Stands for PyTorch where torch.py itself is tested: vectors of numbers on the CPU."""

import random
from types import SimpleNamespace

__version__ = "0.test"
float32 = "float32"
int64 = "int64"


class Tensor(list):
    def __add__(self, other):
        return Tensor(a + b for a, b in zip(self, other, strict=True))

    def sum(self):
        if not any(self):
            raise RuntimeError("numbers to add must be random ones\nand this is a second line")
        return sum(self)

    def transpose(self, a, b):
        return self


def device(name):
    return SimpleNamespace(type=name)


def randn(shape, dtype, device):
    n = 1
    for d in shape:
        n *= d
    return Tensor(random.gauss(0, 1) for _ in range(n))


def empty(n, device):
    return Tensor([0.0] * n)


def get_num_threads():
    return 3


def set_num_threads(n):
    if n < 1:
        raise RuntimeError("expected a positive number of threads")


backends = SimpleNamespace(
    cuda=SimpleNamespace(matmul=SimpleNamespace()),
    cudnn=SimpleNamespace(),
)
