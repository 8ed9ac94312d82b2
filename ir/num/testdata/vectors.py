"""Writes vectors.txt: function values to 60 digits by mpmath, rounded to float64.

Run it with Python 3 and mpmath 1.3: python3 vectors.py > vectors.txt
Each line is a function, its arguments and its value, as hexadecimal floats.
"""

import random

import mpmath as mp

mp.mp.dps = 60
random.seed(1)


def near(lo, hi):
    """Arguments between lo and hi: evenly spread, and at every scale."""
    xs = [random.uniform(lo, hi) for _ in range(24)]
    for _ in range(16):
        x = random.choice([-1, 1]) * 2.0 ** random.uniform(-60, 10) * random.uniform(1, 2)
        if lo <= x <= hi:
            xs.append(x)
    return xs


def around(c):
    """Arguments close to c at every distance."""
    return [c * (1 + s * 2.0 ** -k) for k in (3, 8, 17, 30, 45, 51) for s in (-1, 1)]


def zeros_of_digamma():
    """Arguments about its negative zeros, where large numbers cancel."""
    zeros = [float(mp.findroot(mp.digamma, (k - 0.9, k - 0.05), solver="anderson")) for k in (0, -1, -2, -9, -29)]
    return [c + s * 2.0 ** -k for c in zeros for k in (4, 7, 10, 13) for s in (-1, 1)]


def fmod(x, y):
    r = abs(x) - abs(y) * mp.floor(abs(x) / abs(y))
    return -r if x < 0 else r


one = {
    "sqrt": (mp.sqrt, near(0, 1e4)),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), near(1e-300, 1e4)),
    "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), near(-1e4, 1e4)),
    "exp": (mp.exp, near(-700, 700)),
    "exp2": (lambda x: mp.power(2, x), near(-1000, 1000)),
    "expm1": (mp.expm1, near(-40, 700)),
    "log": (mp.log, near(0, 1e4) + around(1)),
    "log1p": (mp.log1p, near(-1, 1e4)),
    "log2": (lambda x: mp.log(x, 2), near(0, 1e4) + around(1) + around(2) + [2.0 ** k for k in range(-9, 9)]),
    "log10": (mp.log10, near(0, 1e4) + around(1) + around(10) + [10.0 ** k for k in range(23)]),
    "sin": (mp.sin, near(-1e4, 1e4) + around(3.141592653589793)),
    "cos": (mp.cos, near(-1e4, 1e4) + around(1.5707963267948966)),
    "tan": (mp.tan, near(-1e3, 1e3) + around(1.5707963267948966)),
    "asin": (mp.asin, near(-1, 1)),
    "acos": (mp.acos, near(-1, 1) + [1 - 2.0 ** -k for k in (3, 10, 30, 50)]),
    "atan": (mp.atan, near(-1e3, 1e3)),
    "sinh": (mp.sinh, near(-700, 700) + near(-2, 2)),
    "cosh": (mp.cosh, near(-700, 700) + near(-2, 2)),
    "tanh": (mp.tanh, near(-20, 20) + near(-2, 2)),
    "asinh": (mp.asinh, near(-1e4, 1e4) + near(-2, 2)),
    "acosh": (mp.acosh, near(1, 1e4) + [1 + 2.0 ** -k for k in (2, 10, 30, 50)]),
    "atanh": (mp.atanh, near(-1, 1) + [1 - 2.0 ** -k for k in (3, 10, 30, 50)]),
    "sigmoid": (lambda x: 1 / (1 + mp.exp(-x)), near(-700, 40)),
    "erf": (mp.erf, near(-6, 6)),
    "erfc": (mp.erfc, near(-6, 26)),
    "erfinv": (mp.erfinv, near(-1, 1) + [1 - 2.0 ** -k for k in (3, 10, 30, 50)]),
    "lgamma": (lambda x: mp.log(abs(mp.gamma(x))), near(0, 1e3) + near(-30, 0) + around(1) + around(2)),
    "digamma": (mp.digamma, near(0, 1e3) + near(-30, 0) + around(1.4616321449683623) + zeros_of_digamma()),
}

two = {
    "pow": (mp.power, [(random.uniform(0, 50), random.uniform(-50, 50)) for _ in range(40)]
            + [(2.0 ** random.uniform(-9, 9), random.uniform(-70, 70)) for _ in range(20)]),
    "atan2": (mp.atan2, [(random.uniform(-9, 9), random.uniform(-9, 9)) for _ in range(40)]),
    "hypot": (mp.hypot, [(2.0 ** random.uniform(-40, 40), 2.0 ** random.uniform(-40, 40)) for _ in range(40)]),
    "fmod": (fmod, [(random.uniform(-1e6, 1e6), random.uniform(-9, 9)) for _ in range(40)]),
    "remainder": (lambda x, y: x - y * mp.floor(x / y), [(random.uniform(-1e6, 1e6), random.uniform(-9, 9)) for _ in range(40)]),
}


def line(name, args, f):
    v = f(*[mp.mpf(a) for a in args])
    print(name, *[a.hex() for a in args], float(v).hex())


for name, (f, xs) in one.items():
    for x in xs:
        if x not in (0, 1) or name not in ("digamma", "lgamma", "log"):
            line(name, [x], f)
for name, (f, pairs) in two.items():
    for pair in pairs:
        line(name, pair, f)
