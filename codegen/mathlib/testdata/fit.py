"""Prints the coefficients of package mathlib, under their names or their functions'.

Run it with Python 3 and mpmath 1.3: python3 fit.py [name...]
Each is a minimax fit by Remez' exchange on a grid of Chebyshev points, with the error
weighted to be relative to the function. Coefficients are rounded to the dtype one
after the other, from the lowest power on, and the rest is fitted again each time.
"""

import re
import sys

import mpmath as mp

mp.mp.prec = 260
mpf = mp.mpf
LN2 = mp.log(2)
FITS = {}  # target, interval, number of terms, weight, bits


def grid(lo, hi, n):
    return [(lo + hi) / 2 - (hi - lo) / 2 * mp.cos(mp.pi * i / (n - 1)) for i in range(n)]


def rounded(c, bits):
    with mp.workprec(bits):
        return +c


def extrema(e):
    """The index of the largest error in every run of one sign."""
    ext, i = [], 0
    while i < len(e):
        j = k = i
        while j < len(e) and (e[j] > 0) == (e[i] > 0):
            if abs(e[j]) > abs(e[k]):
                k = j
            j += 1
        ext.append(k)
        i = j
    return ext


def thin(ext, e, n):
    """n alternating extrema: the smallest pairs, or the smaller end, left out."""
    while len(ext) > n:
        if len(ext) - n == 1:
            del ext[0 if abs(e[ext[0]]) < abs(e[ext[-1]]) else -1]
            continue
        k = min(range(len(ext) - 1), key=lambda q: max(abs(e[ext[q]]), abs(e[ext[q + 1]])))
        if k == 0 and abs(e[ext[0]]) < abs(e[ext[-1]]):
            del ext[0]
        else:
            del ext[k:k + 2]
    return ext


def remez(xs, fs, ws, powers):
    """Minimises max |w·(f - sum c·x^p)|; gives the coefficients."""
    n = len(powers)
    rows = [[x**p for p in powers] for x in xs]
    ref = [round(i * (len(xs) - 1) / n) for i in range(n + 1)]
    best = None
    for _ in range(30):
        a, b = mp.matrix(n + 1, n + 1), mp.matrix(n + 1, 1)
        for i, r in enumerate(ref):
            for j in range(n):
                a[i, j] = rows[r][j]
            a[i, n] = (-1)**i / ws[r]
            b[i] = fs[r]
        c = list(mp.lu_solve(a, b))[:n]
        e = [w * (f - mp.fsum(u * v for u, v in zip(c, row))) for w, f, row in zip(ws, fs, rows)]
        m = max(map(abs, e))
        if best is None or m < best[1]:
            best = (c, m)
        ext = thin(extrema(e), e, n + 1)
        if len(ext) < n + 1 or ext == ref:
            break
        ref = ext
        if m < min(abs(e[r]) for r in ref) * mpf("1.0005"):
            break
    return best


def fit(target, lo, hi, terms, weight, bits):
    """The rounded coefficients and the greatest weighted error."""
    xs = [x for x in grid(mpf(lo), mpf(hi), 24 * (terms + 2)) if weight(x) != 0]
    fs, ws = [target(x) for x in xs], [weight(x) for x in xs]
    powers, out, last = list(range(terms)), [], None
    while powers:
        c, m = remez(xs, fs, ws, powers)
        if last and 2 * greatest(xs, fs, ws, powers, last) < m:
            c = last  # what is left is even where the powers are odd, or the reverse: it has too few extrema
        out.append(rounded(c[0], bits))
        fs = [f - out[-1] * x**powers[0] for f, x in zip(fs, xs)]
        powers, last = powers[1:], c[1:]
    return out, max(abs(w * f) for w, f in zip(ws, fs))


def greatest(xs, fs, ws, powers, c):
    return max(abs(w * (f - mp.fsum(v * x**p for v, p in zip(c, powers)))) for x, f, w in zip(xs, fs, ws))


# Functions of √z over √z, less what is not fitted, are given in z from TINY on.
TINY = mpf(10)**-12
HALF = LN2 / 2


def over(f):
    return lambda z: f(mp.sqrt(z)) / mp.sqrt(z)


def tail(f, z):
    """(f(√z)/√z - 1)/z and its weight relative to f(√z)/√z."""
    g = over(f)
    return (lambda x: (g(x) - 1) / x), TINY, z, (lambda x: x / g(x))


def exp_tail(r):
    return (mp.exp(r) - 1 - r) / r**2


for name, terms, bits, margin in (("expTail32", 5, 24, "1.001"), ("expTail64", 10, 53, "1.0001")):
    h = HALF * mpf(margin)
    FITS[name] = (exp_tail, -h, h, terms, lambda r: r * r / mp.exp(r), bits)
for name, terms, bits, margin in (("expm1Tail32", 5, 24, "1.001"), ("expm1Tail64", 11, 53, "1.0001")):
    h = HALF * mpf(margin)
    FITS[name] = (exp_tail, -h, h, terms, lambda r: r * r / abs(mp.exp(r) - 1), bits)
for name, terms, bits, h in (("exp2Tail32", 6, 24, "0.5005"), ("exp2Short32", 5, 24, "0.5005"),
                             ("exp2Tail64", 12, 53, "0.50005"), ("powWide, exp2", 7, 53, "0.50005")):
    FITS[name] = (lambda r: (mpf(2)**r - 1) / r, -mpf(h), mpf(h), terms, lambda r: abs(r) / mpf(2)**r, bits)
FITS["expShort32"] = (exp_tail, -LN2 / 32 * mpf("1.001"), LN2 / 32 * mpf("1.001"), 2, lambda r: r * r / mp.exp(r), 24)
FITS["gelu32, e"] = (exp_tail, -HALF * mpf("1.001"), HALF * mpf("1.001"), 4, lambda r: r * r / mp.exp(r), 24)
for name, lo, hi in (("logTail32", -mpf(1) / 3, mpf(1) / 3), ("log1pTail32", -mpf(1) / 4, mpf(1) / 2)):
    FITS[name] = (lambda f: (mp.log1p(f) - f) / f**2, lo, hi, 9, lambda f: f**2 / abs(mp.log1p(f)), 24)
FITS["logShort32"] = (lambda f: (mp.log1p(f) - f) / f**2, -mpf("1.01") / 64, mpf("1.01") / 32, 3, lambda f: f**2 / abs(mp.log1p(f)), 24)


def log_quotient(z):
    """log((1+s)/(1-s))/s of s = √z."""
    s = mp.sqrt(z)
    return mp.log((1 + s) / (1 - s)) / s


ROOT2 = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1))**2 * mpf("1.0001")
C0, C1 = 2 / LN2, 2 / (3 * LN2)
FITS["logTail64"] = (lambda z: (log_quotient(z) - 2) / z, TINY, ROOT2, 7, lambda z: z / 2, 53)
FITS["log1pTail64"] = (lambda z: (log_quotient(z) - 2) / z, TINY, mpf(1) / 25, 8, lambda z: z / 2, 53)
FITS["powWide, log2"] = (lambda z: log_quotient(z) / LN2, TINY, ROOT2, 6, lambda z: LN2 / 2, 53)
FITS["log2Pair"] = (lambda z: (log_quotient(z) / LN2 - C0 - C1 * z) / z**2, TINY, ROOT2, 7, lambda z: z * z / C0, 53)
FITS["sinhTail32"] = (*tail(mp.sinh, mpf(1))[:3], 4, tail(mp.sinh, mpf(1))[3], 24)
FITS["sinhTail64"] = (*tail(mp.sinh, mpf(1))[:3], 7, tail(mp.sinh, mpf(1))[3], 53)
Q32, Q64 = (mp.pi / 4 * mpf("1.001"))**2, (mp.pi / 4 * mpf("1.0001"))**2
for name, f, z, terms, bits in (
        ("sinTail32", mp.sin, Q32, 3, 24), ("sinTail64", mp.sin, Q64, 6, 53),
        ("tanTail32", mp.tan, Q32, 7, 24), ("tanTail64", mp.tan, Q64, 15, 53),
        ("asinTail32", mp.asin, mpf("0.2501"), 5, 24), ("asinTail64", mp.asin, mpf("0.250001"), 12, 53),
        ("atanTail32", mp.atan, mpf(1), 9, 24), ("atanTail64", mp.atan, (mp.sqrt(2) - 1)**2 * mpf("1.0001"), 11, 53)):
    target, lo, hi, weight = tail(f, z)
    FITS[name] = (target, lo, hi, terms, weight, bits)
FITS["cosTail32"] = (lambda z: (mp.cos(mp.sqrt(z)) - 1) / z, TINY, Q32, 4, lambda z: z / mp.cos(mp.sqrt(z)), 24)
FITS["cosTail64"] = (lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, TINY, Q64, 6, lambda z: z * z / mp.cos(mp.sqrt(z)), 53)
FITS["sinPi64"] = (over(mp.sinpi), TINY, mpf("0.2500001"), 9, lambda z: 1 / over(mp.sinpi)(z), 53)
FITS["cosPi64"] = (lambda z: mp.cospi(mp.sqrt(z)) / (1 - 4 * z), TINY, mpf("0.2499999"), 9,
                   lambda z: (1 - 4 * z) / mp.cospi(mp.sqrt(z)), 53)

FITS["erf32, small"] = (lambda z: over(mp.erf)(z) - 1, mpf(10)**-9, mpf("0.875")**2, 6, lambda z: 1 / over(mp.erf)(z), 24)
FITS["erf32, large"] = (lambda a: mp.log(mp.erfc(a), 2), mpf("0.875"), mpf("3.95"), 7, lambda a: mp.erfc(a) * LN2 / mp.erf(a), 24)
FITS["erf64, small"] = (lambda z: over(mp.erf)(z) - 1, TINY, mpf(1), 13, lambda z: 1 / over(mp.erf)(z), 53)


def erfc_tail(k, end, terms, bits):
    def target(t):
        with mp.workprec(1300):
            a = k * (1 + t) / (1 - t)
            return mp.exp(a * a) * mp.erfc(a) * (a + k)
    return target, mpf(-1), (mpf(end) - k) / (mpf(end) + k), terms, lambda t: 1 / target(t), bits


FITS["erfcTail32"] = erfc_tail(2, "10.06", 10, 24)
FITS["erfcTail64"] = erfc_tail(4, "26.6", 23, 53)


def erfinv_ratio(w):
    """erfinv(x)/x of w = -log(1 - x²)."""
    x = mp.sqrt(1 - mp.exp(-w))
    return mp.erfinv(x) / x


FITS["erfinvRatio, central"] = (lambda v: erfinv_ratio(v + mpf(2.5)), mpf(-2.5) + mpf(10)**-7, mpf(2.5), 10,
                             lambda v: 1 / erfinv_ratio(v + mpf(2.5)), 24)
FITS["erfinvRatio, tail of float32"] = (lambda v: erfinv_ratio((v + 3)**2), mp.sqrt(5) - 3, mp.sqrt(mpf("16.8")) - 3, 9,
                          lambda v: 1 / erfinv_ratio((v + 3)**2), 24)
FITS["erfinvRatio, tail of float64"] = (lambda v: erfinv_ratio((v + 4)**2), mp.sqrt(mpf("4.9")) - 4, mpf("2.08"), 11,
                                        lambda v: 1 / erfinv_ratio((v + 4)**2), 53)
FITS["cbrtNormal"] = (lambda r: r**(-mpf(1) / 3), mpf("0.88"), mpf("1.12"), 5, lambda r: r**(mpf(1) / 3), 53)


def stirling(u):
    z = 1 / mp.sqrt(u)
    return (mp.loggamma(z) - (z - mpf(0.5)) * mp.log(z) + z - mp.log(2 * mp.pi) / 2) * z


def asymptotic(u):
    z = 1 / mp.sqrt(u)
    return (mp.log(z) - mpf(0.5) / z - mp.digamma(z)) * z * z


FITS["lgammaWide"] = (stirling, mpf(10)**-8, mpf(1) / 64, 6, lambda u: mpf(1), 53)
FITS["digammaWide"] = (asymptotic, mpf(10)**-8, mpf(1) / 64, 7, lambda u: mpf(1), 53)


def short(v):
    """v in Go, without zeros at the end."""
    return re.sub("0+p", "p", float(v).hex()).replace(".p", "p")


def gelu_ratio():
    """gelu32's P/Q, Q = 1 + ..., by Lawson's weights on a linear fit of P - f·Q."""
    xs = grid(mpf(0), mpf("14.5"), 200)
    fs = [mp.exp(x * x / 2) * mp.erfc(x / mp.sqrt(2)) / 2 for x in xs]
    weight, q = [mpf(1)] * len(xs), [mpf(1)] * len(xs)
    best = None
    for step in range(80):
        a, b = mp.matrix(8, 8), mp.matrix(8, 1)
        for x, f, w, d in zip(xs, fs, weight, q):
            row = [x**i for i in range(4)] + [-f * x**i for i in range(1, 5)]
            scale = w / (f * d)**2
            for i in range(8):
                b[i] += row[i] * f * scale
                for j in range(8):
                    a[i, j] += row[i] * row[j] * scale
        c = list(mp.lu_solve(a, b))
        q = [1 + sum(v * x**(i + 1) for i, v in enumerate(c[4:])) for x in xs]
        e = [abs(sum(v * x**i for i, v in enumerate(c[:4])) / d / f - 1) for x, f, d in zip(xs, fs, q)]
        if best is None or max(e) < best[0]:
            best = (max(e), c)
        if step >= 3:
            weight = [w * v for w, v in zip(weight, e)]
            weight = [w / sum(weight) for w in weight]
    m, c = best
    print(f"gelu32, ratio: {', '.join(float(rounded(v, 24)).hex() for v in c)} // 2^{mp.nstr(mp.log(m, 2), 4)}", flush=True)


def pieces(f, step, count, terms, weight, start=None):
    """The coefficients of f about k·step by power and k, rounded all at once; about 0 with f(0) = start, if it is given."""
    columns = [[] for _ in range(terms)]
    for k in range(count):
        fixed = [] if k or start is None else [start]
        lo = -step / 2 if k else mpf(10)**-6
        xs = grid(lo * mpf("1.001"), step / 2 * mpf("1.001"), 24 * (terms + 2))
        fs = [f(k * step + x) - sum(fixed) for x in xs]
        c = remez(xs, fs, [weight / f(k * step + x) for x in xs], list(range(len(fixed), terms)))[0]
        for power, v in enumerate(fixed + c):
            columns[power].append(rounded(v, 24))
    for c in columns:
        lines = [", ".join(short(v) for v in c[i:i + 8]) for i in range(0, count, 8)]
        print("\t{\n\t\t" + ",\n\t\t".join(lines) + ",\n\t},")


def gelu_root(a):
    """The fourth root of the probability that a standard normal variable is below -a."""
    return (mp.erfc(a / mp.sqrt(2)) / 2)**mpf("0.25")


def log_table():
    """logInverse32 and logTable32: of the numbers within 2^-11 of the middle's reciprocal those whose logarithm is
    nearest to one of float32, that of the upper half less log 2."""
    top, inverses, logs = rounded(LN2, 24), [mpf(1)], [mpf(0)]
    for j in range(1, 31):
        middle, upper = rounded(mpf(64) / (65 + 2 * j), 24), j >= 14
        best = None
        for k in range(-8192, 8193):
            c = middle + k * mpf(2)**-24
            v = -mp.log(c) - (LN2 if upper else 0)
            t = mp.nint((v + top) * 2**24) / 2**24 if upper else rounded(v, 24)
            err = abs(t - top - v if upper else t - v)
            if best is None or err < best[0]:
                best = (err, c, t)
        inverses.append(best[1])
        logs.append(best[2])
    for c in (inverses + [mpf(1) / 2], logs + [top]):
        print("\n".join("\t" + " ".join(short(v) + "," for v in c[i:i + 8]) for i in range(0, 32, 8)) + "\n")


def exact_table():
    """The significand whose products with 2^(k/16) for k from 1 to 15 are nearest to numbers of float32."""
    factors = [int(mp.nint(mpf(2)**(mpf(k) / 16) * 2**60)) for k in range(1, 16)]
    best, least = 0, 1.0
    for m in range(1 << 23, 1 << 24):
        worst = 0.0
        for f in factors:
            v = m * f
            unit = 1 << v.bit_length() - 24
            rest = v & unit - 1
            worst = max(worst, min(rest, unit - rest) / v)
            if worst >= least:
                break
        else:
            best, least = m, worst
    print(f"sigmoid: {short(mpf(best) / 2**23)} // 2^{mp.nstr(mp.log(least, 2), 4)}")


OTHERS = {
    "sigmoid": exact_table,
    "gelu32, ratio": gelu_ratio,
    "erfTable32": lambda: pieces(mp.erf, mpf(65) / 256, 16, 6, 1, mpf(0)),
    "tanhTable32": lambda: pieces(mp.tanh, mpf(75) / 256, 32, 6, 1, mpf(0)),
    "geluTable32": lambda: pieces(gelu_root, mpf(117) / 256, 32, 8, 4, rounded(mpf(2)**mpf("-0.25"), 24)),
    "logTable32": log_table,
}
for name in sys.argv[1:] or [*FITS, *OTHERS]:
    if name in OTHERS:
        OTHERS[name]()
        continue
    with mp.workprec(1300 if name.startswith("erfc") else mp.mp.prec):
        c, m = fit(*FITS[name])
    print(f"{name}: {', '.join(float(v).hex() for v in c)} // 2^{mp.nstr(mp.log(m, 2), 4)}", flush=True)
