"""Writes vectors.txt: function values to 400 bits by mpmath, rounded to float64.

Run it with Python 3 and mpmath 1.3: python3 vectors.py > vectors.txt
Each line is a function, its arguments and its value, as hexadecimal floats.
"""

import random
import struct

import mpmath as mp

mp.mp.prec = 1400  # arguments of sines are up to 2^1024
random.seed(2)


def spread(lo, hi, n=40):
    """Arguments evenly spread."""
    return [random.uniform(lo, hi) for _ in range(n)]


def scales(lo, hi, n=40):
    """Arguments of all sizes, in powers of two from lo to hi, of both signs."""
    return [random.choice([-1, 1]) * mp.ldexp(random.uniform(1, 2), random.randint(lo, hi - 1)) for _ in range(n)]


def about(*centres):
    """Neighbours of centres."""
    xs = []
    for c in centres:
        b = struct.unpack("<q", struct.pack("<d", c))[0]
        xs += [struct.unpack("<d", struct.pack("<q", b + d))[0] for d in (-3, -2, -1, 0, 1, 2, 3)]
    return xs


def multiples(step):
    """Neighbours of multiples of step of all sizes."""
    return [float(step * random.getrandbits(k)) for k in (2, 3, 5, 8, 13, 21, 29, 30, 31, 40, 51, 80, 300, 900)]


def positive(xs):
    return [abs(x) for x in xs]


def inverse_erf(x):
    with mp.workprec(200):
        return mp.erfinv(x)


halfpi = mp.pi / 2
one = {
    "rsqrt": (lambda x: 1 / mp.sqrt(x), positive(scales(-1074, 1024))),
    "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), scales(-1074, 1024, 80)),
    "exp": (mp.exp, spread(-745, 709.7) + scales(-60, 9) + about(-708.3964185322641, 709.782712893384, -745.1332191019411)),
    "expneg": (mp.exp, spread(-745, 0) + [-x for x in positive(scales(-60, 9))] + about(-708.3964185322641)),
    "exp2": (lambda x: mp.power(2, x), spread(-1074, 1023) + scales(-60, 9) + about(-1022.0, 1023.5)),
    "expm1": (mp.expm1, spread(-40, 709.7) + scales(-60, 5) + about(0.34657359027997264, -0.34657359027997264)),
    "sigmoid": (lambda x: 1 / (1 + mp.exp(-x)), spread(-745, 40) + scales(-60, 6)),
    "log": (mp.log, positive(scales(-1074, 1024)) + spread(0.4, 2.5) + about(1.0, 1.4142135623730951, 0.7071067811865476)),
    "log1p": (mp.log1p, scales(-60, 0) + positive(scales(0, 1024)) + about(0.5, -0.25, -0.9999999)),
    "log2": (lambda x: mp.log(x, 2), positive(scales(-1074, 1024)) + spread(0.4, 2.5) + about(1.0, 1.4142135623730951)),
    "log10": (lambda x: mp.log(x, 10), positive(scales(-1074, 1024)) + spread(0.4, 2.5) + about(1.0, 1.4142135623730951)),
    "sin": (mp.sin, scales(-30, 1024, 80) + spread(-30, 30) + multiples(mp.pi) + about(2.0**30)),
    "cos": (mp.cos, scales(-30, 1024, 80) + spread(-30, 30) + multiples(halfpi) + about(2.0**30)),
    "tan": (mp.tan, scales(-30, 1024, 80) + spread(-30, 30) + multiples(halfpi) + about(2.0**30)),
    "asin": (mp.asin, spread(-1, 1) + scales(-60, 0) + about(0.5) + [1 - 2.0**-k for k in range(1, 54, 4)]),
    "acos": (mp.acos, spread(-1, 1) + scales(-60, 0) + about(0.5, -0.5) + [1 - 2.0**-k for k in range(1, 54, 4)]),
    "atan": (mp.atan, scales(-60, 70) + spread(-4, 4) + about(0.41421356237309503, 2.414213562373095)),
    "sinh": (mp.sinh, scales(-60, 9) + spread(-710.4, 710.4) + about(1.0)),
    "cosh": (mp.cosh, scales(-60, 9) + spread(-710.4, 710.4)),
    "tanh": (mp.tanh, scales(-60, 5) + spread(-20, 20)),
    "asinh": (mp.asinh, scales(-60, 1024, 60) + spread(-4, 4) + about(2.0**500)),
    "acosh": (mp.acosh, [1 + abs(x) for x in scales(-50, 3)] + positive(scales(1, 1024))),
    "atanh": (mp.atanh, scales(-60, 0) + spread(-1, 1) + [1 - 2.0**-k for k in range(1, 54, 4)]),
    "erf": (mp.erf, scales(-60, 3) + spread(-6, 6) + about(1.0)),
    "erfc": (mp.erfc, scales(-60, 3) + spread(-6, 27) + about(26.543258430632303)),
    "erfinv": (inverse_erf, scales(-60, -1) + spread(-1, 1) + [1 - 2.0**-k for k in range(1, 54, 3)]),
}

two = {
    "atan2": (mp.atan2, list(zip(scales(-8, 8), scales(-8, 8))) + list(zip(scales(-1000, 1024), scales(-1000, 1024)))),
    "hypot": (mp.hypot, list(zip(scales(-8, 8), scales(-8, 8))) + [(x, x * random.uniform(0.3, 3)) for x in scales(-1060, 1022)]),
    "pow": (mp.power, list(zip(positive(scales(-9, 9)), spread(-70, 70)))
            + [(1 + float(x), random.uniform(-1, 1) / float(abs(x)) * 500) for x in scales(-40, -2)]
            + list(zip(positive(scales(-1074, 1024)), spread(-1, 1)))),
}


def line(name, args, f):
    args = [float(a) for a in args]
    v = f(*[mp.mpf(a) for a in args])
    print(name, *[a.hex() for a in args], float(v).hex())


for name, (f, xs) in one.items():
    for x in xs:
        line(name, [x], f)
for name, (f, pairs) in two.items():
    for pair in pairs:
        line(name, pair, f)
