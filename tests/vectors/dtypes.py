"""Writes dtypes.txt: which dtypes PyTorch's operators take on the CPU, and what they give.

A line is an operator of ops.yaml, a dtype and the dtypes of the results of its own suite's
first sample in that dtype, or - where they are none. An operator that PyTorch's suite has
under no name is not in the file.

Run with a Python that has PyTorch, in this directory: python dtypes.py
"""

import warnings

import torch

from names import entries, forms

warnings.simplefilter("ignore")
DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]


def results(op, dtype):
    """The dtypes of what op gives, - where the suite's samples have no tensor result."""
    sample = next(iter(op.sample_inputs("cpu", dtype, requires_grad=False)))
    out = op(sample.input, *sample.args, **sample.kwargs)
    out = list(out) if isinstance(out, (tuple, list)) else [out]
    return ",".join(str(r.dtype).split(".")[1] for r in out if isinstance(r, torch.Tensor)) or "-"


with open("dtypes.txt", "w") as f:
    for name, infos in forms(entries("../../ops.yaml")).items():
        op = infos[0]
        for d in DTYPES:
            dtype = getattr(torch, d)
            if dtype in op.supported_dtypes("cpu"):
                try:
                    print(name, d, results(op, dtype), file=f)
                except Exception as e:  # the declaration is of other samples than the first
                    print("no sample:", name, d, str(e).splitlines()[0][:100])
