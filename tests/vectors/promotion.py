"""Writes promotion.txt: PyTorch's answers for every pair of dtypes.

Each line of the first part is two operands and the dtype that PyTorch computes
them in. An operand is a dtype with [2] for a tensor with axes, with [] for a
scalar tensor, or a Python number's type. Each line of the second part, after
an empty one, is two dtypes and whether the first may be stored as the second.

Run with a Python that has PyTorch, in this directory: python promotion.py
"""

import torch

NAMES = [
    "bool", "uint8", "int8", "int16", "int32", "int64",
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
]
NUMBERS = {"bool": True, "int": 5, "float": 1.5, "complex": 1 + 2j}


def name(dtype):
    return str(dtype).removeprefix("torch.")


def operands():
    for n in NAMES:
        dtype = getattr(torch, n)
        yield n + "[2]", torch.ones(2, dtype=dtype)
        yield n + "[]", torch.ones((), dtype=dtype)
    yield from NUMBERS.items()


def main():
    with open("promotion.txt", "w") as out:
        print(f"# torch.result_type and torch.can_cast of PyTorch {torch.__version__}, by promotion.py", file=out)
        for a, x in operands():
            for b, y in operands():
                # complex64 stands in for complex32, which is not supported here
                result = name(torch.result_type(x, y)).replace("complex32", "complex64")
                print(a, b, result, file=out)
        print(file=out)
        for a in NAMES:
            for b in NAMES:
                print(a, b, str(torch.can_cast(getattr(torch, a), getattr(torch, b))).lower(), file=out)


main()
