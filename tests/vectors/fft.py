"""Writes fft.json: what NumPy gives for Fourier transforms of float64 and
complex128, with sizes that trim and pad, axes and each way to scale.

Each case is the name of the operator, its arguments, and operand and result as
shapes with the parts of their elements in row-major order.

Run with a Python that has NumPy, in this directory: python fft.py
"""

import json

import numpy as np

rng = np.random.default_rng(5)
cases = []


def rnd(shape, real):
    x = rng.integers(-2048, 2049, shape) / 1024
    return x if real else x + 1j * rng.integers(-2048, 2049, shape) / 1024


def dump(x):
    x = np.asarray(x)
    out = {"shape": list(x.shape), "re": x.real.ravel().tolist()}
    if np.iscomplexobj(x):
        out["im"] = x.imag.ravel().tolist()
    return out


def case(op, shape, sizes=None, dim=None, norm="backward", real=False):
    x = rnd(shape, real)
    f = getattr(np.fft, op)
    if op[-1] in "2n":
        axes = dim
        if dim is None and sizes is not None:
            axes = list(range(-len(sizes), 0))
        kwargs = {} if axes is None else {"axes": axes}
        s = None
        if sizes is not None:
            s = [x.shape[a] if n == -1 else n for n, a in zip(sizes, axes)]
        y = f(x, s=s, norm=norm, **kwargs)
    else:
        y = f(x, n=sizes[0] if sizes else None, axis=dim[0] if dim else -1, norm=norm)
    cases.append({"op": op, "sizes": sizes, "dim": dim, "norm": norm, "in": dump(x), "out": dump(y)})


norms = ["backward", "ortho", "forward"]
for op in ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]:
    real = op in ("rfft", "ihfft")
    for i, (shape, sizes, dim) in enumerate([
        ([8], None, None), ([2, 7], None, None), ([5, 3], None, [0]), ([2, 6], [9], None), ([2, 6], [4], [-1]), ([3, 2, 2], [5], [0]),
    ]):
        case(op, shape, sizes, dim, norms[i % 3], real)
for op in ["fft", "ifft", "irfft"]:  # real operands
    case(op, [2, 5], None, None, "backward", True)
for op in ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"]:
    real = op.startswith("rfft")
    for i, (shape, sizes, dim) in enumerate([
        ([3, 4], None, None), ([2, 3, 5], None, [0, 2]), ([2, 3, 5], None, [2, 0]), ([2, 4, 3], [5, 2], None), ([3, 2, 4], [-1, 6], [1, 2]),
    ]):
        case(op, shape, sizes, dim, norms[i % 3], real)
case("fftn", [2, 3, 4], None, None)
case("irfftn", [2, 3, 3], None, None, "ortho")
case("fftn", [3, 2, 4], [3], None)

shifts = []
for shape, dim in [([5], None), ([4], None), ([4, 3], None), ([4, 3], [1])]:
    x = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    for op in ["fftshift", "ifftshift"]:
        shifts.append({"op": op, "dim": dim, "in": dump(x), "out": dump(getattr(np.fft, op)(x, axes=dim))})
freqs = [{"op": op, "n": n, "d": d, "out": dump(getattr(np.fft, op)(n, d))} for op in ["fftfreq", "rfftfreq"] for n, d in [(1, 1.0), (8, 0.5), (9, 2.0)]]

with open("fft.json", "w", encoding="utf-8") as out:
    json.dump({"numpy": np.__version__, "cases": cases, "shifts": shifts, "frequencies": freqs}, out, separators=(",", ":"))
    out.write("\n")
