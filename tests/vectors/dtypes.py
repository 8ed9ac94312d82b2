"""Writes dtypes.txt: which dtypes PyTorch's operators take on the CPU, and what they give.

A line is an operator of ops.yaml, a dtype and the dtypes of the results of its own suite's
first sample in that dtype, or - where they are none. An operator that PyTorch's suite has
under no name is not in the file.

Run with a Python that has PyTorch, in this directory: python dtypes.py
"""

import re
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db

warnings.simplefilter("ignore")
DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]

# What has another name there.
NAMES = {
    "variance": "var", "max": "amax", "min": "amin", "max_dim": "max", "min_dim": "min", "make_complex": "complex",
    "sub": "sub", "logsigmoid": "nn.functional.logsigmoid", "rand": "rand_like", "randn": "randn_like",
    "norm": "linalg.vector_norm", "trunc_divide": "div", "t": "t", "mt": "mT", "flip": "flip", "pad": "nn.functional.pad",
    "cross_entropy": "nn.functional.cross_entropy", "conj": "conj", "select_index": "select",
    "slice": "slice", "fft": "fft.fft", "ifft": "fft.ifft",
}
# Which of several forms under one name.
VARIANTS = {"div": "no_rounding_mode", "trunc_divide": "trunc_rounding", "max_dim": "reduction_with_dim", "min_dim": "reduction_with_dim"}

spec = open("../../ops.yaml").read()
entries = re.findall(r"^  - op: (\w+)\((.*?)\) ->.*?(?=^  - op: |\Z)", spec, re.S | re.M)
hidden = {m.group(1) for m in re.finditer(r"^  - op: (\w+)\((?:(?!^  - op: ).)*?^    tags: \[hidden", spec, re.S | re.M)}


def find(name):
    for full in (NAMES.get(name), name, "nn.functional." + name, "fft." + name, "special." + name, "linalg." + name):
        found = [o for o in op_db if full and o.name == full]
        if name in VARIANTS:
            found = [o for o in found if o.variant_test_name == VARIANTS[name]]
        if found:
            return found[0]
    return None


def results(op, dtype):
    """The dtypes of what op gives, - where the suite's samples have no tensor result."""
    sample = next(iter(op.sample_inputs("cpu", dtype, requires_grad=False)))
    out = op(sample.input, *sample.args, **sample.kwargs)
    out = list(out) if isinstance(out, (tuple, list)) else [out]
    return ",".join(str(r.dtype).split(".")[1] for r in out if isinstance(r, torch.Tensor)) or "-"


with open("dtypes.txt", "w") as f:
    for name, _ in entries:
        op = None if name in hidden else find(name)
        if op is None:
            continue
        for d in DTYPES:
            dtype = getattr(torch, d)
            if dtype in op.supported_dtypes("cpu"):
                try:
                    print(name, d, results(op, dtype), file=f)
                except Exception as e:  # the declaration is of other samples than the first
                    print("no sample:", name, d, str(e).splitlines()[0][:100])
