"""Writes what others give for the functions of complex numbers, a line each: name, parts of
the operand, parts of the result.

complex_values.txt: by mpmath at 1400 digits, rounded to float64; no part is 0, many are near
                    branch cuts, zeros and poles, or cancel.
complex_limits.txt: by PyTorch: zeros of both signs, infinities, NaN, and what overflows.

Run with a Python that has PyTorch and mpmath, in this directory: python complexfuncs.py
"""

import random

import mpmath as mp
import torch

mp.mp.dps = 1400
NAMES = ("sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sigmoid sin cos tan asin acos atan sinh cosh tanh "
         "asinh acosh atanh").split()
OWN = {
    "rsqrt": lambda z: 1 / mp.sqrt(z), "exp2": lambda z: mp.exp(z * mp.log(2)), "expm1": lambda z: mp.exp(z) - 1,
    "log2": lambda z: mp.log(z) / mp.log(2), "log10": lambda z: mp.log(z) / mp.log(10), "log1p": lambda z: mp.log(1 + z),
    "sigmoid": lambda z: 1 / (1 + mp.exp(-z)),
}
random.seed(5)
points = [complex(random.uniform(-4, 4), random.uniform(-4, 4)) for _ in range(12)]
for x in (1e-300, 1e-12, 0.3, 0.999999999, 1.0, 1.0000001, 1.5707963, 3.25, 20.5):
    for y in (1e-300, 1e-9, 0.5, 1.0, 3.1415926, 17.0):
        points.append(complex(random.choice((x, -x)), random.choice((y, -y))))
points += [complex(0.6, 0.8), complex(-0.28, 0.96), complex(-1e-12, 1.4142e-6), complex(-1e-300, 1.41421356e-150), complex(1e5, 1e-5)]
huge = [complex(1e200, 1e200), complex(-1e300, 1e-300), complex(1e-200, -1e250)]
growing = "exp exp2 expm1 sigmoid sin cos tan sinh cosh tanh".split()

with open("complex_values.txt", "w") as f:
    for name in NAMES:
        for z in points + (huge if name not in growing else []):
            if name in growing and max(abs(z.real), abs(z.imag)) > 100:
                continue
            w = OWN.get(name, getattr(mp, name, None))(mp.mpc(z.real, z.imag))
            print(name, repr(z.real), repr(z.imag), repr(float(w.real)), repr(float(w.imag)), file=f)

inf, nan = float("inf"), float("nan")
parts = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, inf, -inf, nan, -1e300, 710.0]
with open("complex_limits.txt", "w") as f:
    for name in NAMES:
        for x in parts:
            for y in parts:
                w = getattr(torch, name)(torch.tensor(complex(x, y), dtype=torch.complex128)).item()
                print(name, repr(x), repr(y), repr(w.real), repr(w.imag), file=f)
