"""Writes float8.json: the codes that PyTorch gives numbers as floats of 8 bits, and the
numbers of all codes. NaN is null.

Run with a Python that has PyTorch, in this directory: python float8.py
"""

import json
import math

import torch

FORMATS = ["e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz"]


def numbers(t):
    return [None if math.isnan(v) else v if not math.isinf(v) else math.copysign(1e300, v) for v in t.tolist()]


out = {}
for name in FORMATS:
    dtype = getattr(torch, "float8_" + name)
    values = torch.arange(256, dtype=torch.uint8).view(dtype).to(torch.float32)
    finite = values[torch.isfinite(values)].sort().values
    middle = (finite[1:] + finite[:-1]) / 2
    top = finite[-1] + (finite[-1] - finite[-2]) / 2
    at = torch.cat([finite, middle, top.reshape(1), torch.tensor([3.0, -0.0, 1e-9, 1e9, -1e9])])
    up, down = torch.tensor(float("inf")), torch.tensor(float("-inf"))
    x = torch.cat([at, torch.nextafter(at, up), torch.nextafter(at, down)])
    out[name] = {"values": numbers(values), "x": x.tolist(), "codes": x.to(dtype).view(torch.uint8).tolist(), "top": float(finite[-1])}
with open("float8.json", "w") as f:
    json.dump(out, f)
    f.write("\n")
