"""Writes what PyTorch answers where the first release was wrong or refused.

    python3 tests/vectors/edges.py [--out tests/samples/edges.jsonl.gz]

Each line is a call of an operator of ops.yaml, as samples.py writes them: operands, attributes, results and
gradients. 16-bit floats are held against what float64 gives, rounded once. Needs torch (2.11 made the
committed file) and expecttest.
"""
import argparse
import gzip
import itertools
import json
import math
import types

import torch
import torch.nn.functional as F

from names import entries, forms
from samples import sample_line

INF, NAN = math.inf, math.nan
HALVES = (torch.float16, torch.bfloat16)
FLOATS = (torch.float32, torch.float64)
COMPLEX = (torch.complex64, torch.complex128)
INTS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)

table = entries('ops.yaml')
library = {name: infos[0].op for name, infos in forms(table).items()}
lines = []


def call(name, *args, by=None, **kwargs):
    """Writes one call; by is the function that answers where PyTorch's has other arguments."""
    info = types.SimpleNamespace(op=by or library[name])

    class Sample(types.SimpleNamespace):
        def transform(self, f):
            inside = lambda v: type(v)(map(f, v)) if isinstance(v, (list, tuple)) else f(v)
            return Sample(input=inside(self.input), args=tuple(map(inside, self.args)), kwargs={k: inside(v) for k, v in self.kwargs.items()})

    sample = Sample(input=args[0], args=args[1:], kwargs=kwargs)
    bound = sample
    if name in ('einsum', 'embedding', 'where'):  # sample_line knows these in the order of PyTorch's suite
        bound = Sample(input=args[1], args=(args[0], *args[2:]), kwargs=kwargs)
        if by is None:
            info.op = (lambda xs, equation: torch.einsum(equation, *xs)) if name == 'einsum' else (lambda w, i, **k: F.embedding(i, w, **k))
    lines.append(sample_line(info, name, table[name].params, bound, 20000, True))


def of(values, dtype=torch.float32, grad=None):
    t = torch.tensor(values, dtype=dtype)
    return t.requires_grad_(dtype.is_floating_point or dtype.is_complex if grad is None else grad)


def spread(*shape, dtype=torch.float32, lo=-2.0, hi=2.0, grad=None):
    """Numbers of no pattern, the same with every version of PyTorch."""
    n = math.prod(shape)
    i = torch.arange(n, dtype=torch.float64)
    part = lambda k: lo + (hi - lo) * torch.frac((i + 1) * k)
    t = torch.complex(part(0.6180339887), part(0.7548776662)) if dtype.is_complex else part(0.6180339887)
    t = t.to(dtype).reshape(shape)
    return t.requires_grad_((dtype.is_floating_point or dtype.is_complex) if grad is None else grad)


def index(values, dtype=torch.int32):
    return torch.tensor(values, dtype=dtype)


def intermediates():
    """Compositions of 16-bit floats compute wider and round once."""
    for d in HALVES:
        x = spread(4, 6, dtype=d, lo=200, hi=300)
        y = spread(4, 6, dtype=d, lo=-300, hi=300)
        for p in (1.0, 2.0, 3.0, INF):
            call('norm', y, p=p, by=lambda x, p: torch.linalg.vector_norm(x, p))
            call('norm', y, p=p, dim=[1], by=lambda x, p, dim: torch.linalg.vector_norm(x, p, dim))
        call('normalize', y, [1], by=lambda x, dim: F.normalize(x, dim=dim[0]))
        call('cosine_similarity', x, y, 1, by=lambda x, y, dim: F.cosine_similarity(x, y, dim))
        call('cdist', x, spread(3, 6, dtype=d, lo=-300, hi=0), by=lambda x, y: torch.cdist(x, y))
        for name in ('std', 'variance', 'var_mean'):
            by = {'std': torch.std, 'variance': torch.var, 'var_mean': torch.var_mean}[name]
            call(name, x, dim=[1], by=lambda x, dim, by=by: by(x, dim=dim))
        z = spread(6, 3, dtype=d, lo=-30, hi=30)
        call('addmm', spread(4, 3, dtype=d, lo=-900, hi=900), x, z)
        call('addmv', spread(4, dtype=d, lo=-900, hi=900), x, spread(6, dtype=d))
        call('baddbmm', spread(2, 4, 3, dtype=d, lo=-900, hi=900), torch.stack([x.detach(), y.detach()]).requires_grad_(), torch.stack([z.detach()] * 2).requires_grad_())
        call('logsumexp', y, [1])
        call('mse_loss', x, y)


def complex_compositions():
    for d in COMPLEX:
        x, y = spread(3, 4, dtype=d), spread(3, 4, dtype=d, lo=-1, hi=3)
        call('variance', x, dim=[1], by=lambda x, dim: torch.var(x, dim=dim))
        call('std', x, dim=[1], by=lambda x, dim: torch.std(x, dim=dim))
        call('logsumexp', x, [1])
        call('logcumsumexp', spread(3, 4, dtype=d, lo=-0.7, hi=0.7), 1)
        call('norm', x, by=lambda x: torch.linalg.vector_norm(x))


def ends():
    """Ends of ranges, infinities and zeros."""
    for d in FLOATS:
        for n in (0, 1, 2, 5):
            call('linspace', 3.0, 4.0, n, by=lambda a, b, n, d=d: torch.linspace(a, b, n, dtype=d))
            call('logspace', 0.0, 2.0, n, 10.0, by=lambda a, b, n, base, d=d: torch.logspace(a, b, n, base, dtype=d))
        call('make_complex', of([1.0, INF, 0.0], d), of([INF, 2.0, -0.0], d))
        call('logit', of([-1.0, 0.0, 0.25, 1.0, 2.0, NAN], d, grad=False))
        call('logit', of([-1.0, 0.1, 0.25, 0.9, 2.0], d, grad=False), eps=0.2)
        large = 1e30 if d == torch.float32 else 1e160
        for name, by in (('fmax', torch.fmax), ('fmin', torch.fmin)):
            call(name, of([1.0, NAN, 3.0, INF, NAN], d), of([2.0, 1.0, NAN, -INF, NAN], d), by=by)
        call('sinh', of([88.5, -88.5, 709.7, -709.7, 710.4, 0.0, -0.0], d))
        call('cosh', of([88.5, -88.5, 709.7, -709.7, 710.4, 0.0, -0.0], d))
        for beta in (0, 0.5):
            x = of([[NAN, INF], [1.0, 2.0]], d, grad=False)
            call('addmm', x, spread(2, 3, dtype=d), spread(3, 2, dtype=d), beta=beta)
            call('addmv', x[0], spread(2, 3, dtype=d), spread(3, dtype=d), beta=beta)
            call('baddbmm', x[None], spread(1, 2, 3, dtype=d), spread(1, 3, 2, dtype=d), beta=beta)
    # The squares of 1e30 are no float32.
    call('std', of([1e30, -1e30, 2e30]), by=lambda x: torch.std(x.double()).float())
    call('variance', of([1e30, -1e30, 2e30], torch.float64), by=torch.var)
    call('einsum', 'ij->i', [of([[200, 100, 7], [255, 255, 255]], torch.uint8)])
    call('movedim', spread(2, 3, 4), [0, 2], [2, 0])
    for d in INTS:
        for name, by in (('fmax', torch.fmax), ('fmin', torch.fmin)):
            call(name, of([1, 5, 100], d), of([2, 3, 100], d), by=by)
        call('logsumexp', of([[100, 127, 3], [1, 2, 3]], d), [1])
    call('cosine_similarity', spread(3, 1, 4), spread(2, 4), -1, by=lambda x, y, dim: F.cosine_similarity(x, y, dim))


def bools():
    a, b = of([False, False, True, True], torch.bool), of([False, True, False, True], torch.bool)
    for name in ('fmax', 'fmin', 'maximum', 'minimum'):
        call(name, a, b, by=getattr(torch, name))
    grid = of([[True, True, False], [True, True, True]], torch.bool)
    for name in ('max', 'min', 'amax', 'amin'):
        if name in table:
            by = getattr(torch, 'a' + name.lstrip('a'))
            call(name, grid, by=lambda x, by=by: by(x))
            call(name, grid, dim=[1], by=lambda x, dim, by=by: by(x, dim))
    for name in ('max_dim', 'min_dim'):
        call(name, grid, 1, by=lambda x, dim, by=getattr(torch, name[:3]): tuple(by(x, dim)))
    call('aminmax', grid, dim=[1], by=lambda x, dim: tuple(torch.aminmax(x, dim=dim[0])))
    call('prod', grid, by=torch.prod)
    call('prod', grid, dim=[1], by=lambda x, dim: torch.prod(x, dim[0]))
    call('prod', grid, dim=[1], dtype=torch.bool, by=lambda x, dim, dtype: torch.prod(x, dim[0], dtype=dtype))
    call('prod', of([3, 0, 2], torch.int32), dtype=torch.bool, by=lambda x, dtype: torch.prod(x, dtype=dtype))
    call('sum', grid, dim=[1], dtype=torch.bool, by=lambda x, dim, dtype: torch.sum(x, dim, dtype=dtype))
    call('cumprod', grid, 1, by=torch.cumprod)
    call('cumsum', grid, 1, by=torch.cumsum)
    call('sign', a)
    call('sgn', a)
    call('clamp_min', a, b, by=torch.clamp_min)
    call('clamp_max', a, b, by=torch.clamp_max)


def log_sums():
    """Rows with infinities and NaN, and the gradients beside them."""
    rows = [[INF, 1.0, 2.0], [-INF, 1.0, 2.0], [-INF, -INF, -INF], [INF, INF, 1.0], [INF, -INF, 1.0], [NAN, 1.0, INF], [NAN, -INF, -INF], [0.0, -0.0, 1.0]]
    for d in (*FLOATS, *HALVES):
        for row in rows:
            if d in FLOATS:
                call('logsumexp', of(row, d), [0])
            call('logsumexp', of(row, d, grad=False), [0])
            call('logcumsumexp', of(row, d, grad=False), 0)
        call('logsumexp', of(rows, d, grad=False), [0, 1])
        call('logsumexp', of(rows, d, grad=False), [1], keepdim=True)
        call('logsumexp', of(rows, d, grad=False), [0])
        call('logsumexp', torch.zeros(0, 3, dtype=d), [0])
        call('logsumexp', torch.zeros(3, 0, dtype=d), [1])
        # PyTorch rounds the sum before it subtracts it in the gradient.
        call('logsumexp', of([1e4, 1e4, -1e4], d), [0], by=lambda x, dim: torch.logsumexp(x.double(), dim).to(x.dtype))
    for d in FLOATS:
        call('logaddexp', of([INF, INF, -INF, NAN, -INF, 1.0], d, grad=False), of([INF, -INF, -INF, 1.0, 2.0, INF], d, grad=False))
    for d in COMPLEX:
        for row in ([INF, 1.0, 2.0], [-INF, 1.0, 2.0], [-INF, -INF, -INF], [complex(1, 2), complex(700, 1), complex(-3, 3)]):
            call('logsumexp', of(row, d, grad=False), [0])


def gradients():
    for d in FLOATS:
        for row in ([1000.0, -1000.0, 1000.0, 3.0], [-1000.0, 0.0, 50.0, 100.0]):
            call('logcumsumexp', of(row, d), 0, by=lambda x, dim: torch.logcumsumexp(x.double(), dim).to(x.dtype))
        call('atan2', of([0.0, 0.0, 1.0, -1.0], d), of([1.0, -1.0, 0.0, 0.0], d), by=torch.atan2)
        for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, INF):
            call('norm', of([[1.0, -2.0, 3.0], [0.5, 0.25, -4.0]], d), p=p, dim=[1], by=lambda x, p, dim: torch.linalg.vector_norm(x, p, dim))
        call('digamma', of([0.3, 1.0, 2.5, 30.0, -0.7, -3.2], d))
        x, y = of([5.0, -5.0, 3.5, 1.0], d), of([2.0, 3.0, -0.5, 7.0], d)
        # PyTorch has no gradient of floor_divide.
        call('trunc_divide', x, y, by=lambda x, y: torch.div(x, y, rounding_mode='trunc'))
        call('floor_divide', x, y, by=lambda x, y: torch.div(x, y, rounding_mode='floor'))


def padded():
    """An infinite weight times padding is NaN."""
    w = of([[[[INF, 1.0, 2.0], [1.0, 1.0, 1.0], [0.5, 1.0, -1.0]]]], grad=False)
    call('conv2d', spread(1, 1, 4, 4, grad=False), w, padding=[1, 1])
    call('conv2d', spread(1, 1, 4, 4, grad=False), w, padding=[1, 1], stride=[2, 2])
    call('conv_transpose2d', spread(1, 1, 3, 3, grad=False), of([[[[INF, 1.0], [1.0, 2.0]]]], grad=False), stride=[2, 2])
    call('conv_transpose2d', spread(1, 2, 3, 3), spread(2, 3, 2, 2), stride=[1, 1], dilation=[3, 3], output_padding=[2, 1])
    call('conv_transpose1d', spread(1, 2, 4), spread(2, 3, 2), stride=[1], dilation=[2], output_padding=[1])
    for name, by, dims in (('conv1d', F.conv1d, 1), ('conv2d', F.conv2d, 2), ('conv3d', F.conv3d, 3)):
        for size in (2, 3):
            x, w = spread(2, 3, *[6] * dims), spread(2, 3, *[size] * dims)
            call(name, x, w, auto_pad='same', by=lambda x, w, auto_pad, by=by: by(x, w, padding=auto_pad))
            call(name, x, w, auto_pad='same', dilation=[2] * dims, by=lambda x, w, auto_pad, dilation, by=by: by(x, w, padding=auto_pad, dilation=dilation))
        call(name, spread(1, 2, *[4] * dims, dtype=torch.complex64), spread(2, 2, *[3] * dims, dtype=torch.complex64), by=by)
    far = of([[[[NAN, 0.0], [INF, 0.0], [-INF, 0.5]], [[1e30, 0.0], [-1e30, 0.1], [0.5, -0.25]]]], grad=False)
    for mode in ('zeros', 'border'):
        for interpolation in ('bilinear', 'nearest', 'bicubic'):
            call('grid_sample', spread(1, 2, 4, 4, grad=False), far[:, 1:, 1:2], interpolation=interpolation, padding_mode=mode,
                 by=lambda x, g, interpolation, padding_mode: F.grid_sample(x, g, interpolation, padding_mode, align_corners=False))
    for mode in ('reflect', 'replicate', 'circular', 'constant'):
        call('pad', spread(1, 2, 5), [-1, 2], mode=mode, by=lambda x, p, mode: F.pad(x, p, mode))
        call('pad', spread(1, 2, 5, 6), [2, -1, -2, 1], mode=mode, by=lambda x, p, mode: F.pad(x, p, mode))
        call('pad', spread(1, 2, 5), [-1, -1], mode=mode, by=lambda x, p, mode: F.pad(x, p, mode))


def indices():
    for d in (torch.int32, torch.int64):
        x = spread(3, 4)
        i = index([[0, 2, 1, 0], [1, 1, 0, 2]], d)
        wide = lambda f: (lambda *a, **k: f(*[v.long() if isinstance(v, torch.Tensor) and not v.dtype.is_floating_point else v for v in a], **k))
        call('gather', x, 0, i, by=wide(torch.gather))
        call('scatter', x, 0, i, spread(2, 4, lo=5, hi=6), by=wide(torch.scatter))
        call('scatter_add', x, 0, i, spread(2, 4, lo=5, hi=6), by=wide(torch.scatter_add))
        for reduce in ('sum', 'prod', 'mean', 'amax', 'amin'):
            call('scatter_reduce', x, 0, i, spread(2, 4, lo=5, hi=6), reduce, by=wide(torch.scatter_reduce))
        call('index_select', x, 1, index([3, 0, 0], d), by=torch.index_select)
        call('index_add', x, 1, index([3, 0], d), spread(3, 2), by=torch.index_add)
        call('take', x, index([-1, 0, -12, 11], d), by=wide(torch.take))
        call('embedding', index([[0, 2], [1, 2]], d), spread(3, 4))
        call('embedding', index([[0, 2], [1, 2]], d), spread(3, 4, lo=2, hi=4, grad=False), max_norm=1.0, by=lambda w, i, max_norm: F.embedding(i, w.clone(), max_norm=max_norm))
        call('cross_entropy', spread(3, 4), index([1, 3, 0], d), by=wide(F.cross_entropy))
    call('repeat_interleave_by', spread(3, 2), index([2, 0, 1], torch.int64), 0, by=torch.repeat_interleave)
    for name, by, dims in (('max_pool1d_with_indices', F.max_pool1d, 1), ('max_pool2d_with_indices', F.max_pool2d, 2)):
        call(name, spread(2, 3, *[7] * dims), [3], stride=[2], padding=[1], by=lambda x, k, stride, padding, by=by: by(x, k, stride, padding, return_indices=True))


def powers():
    """Powers of 0, where PyTorch has a number: 0^0 and powers with an infinite or no argument have none there."""
    for d in COMPLEX:
        exponents = of([1, 2 - 3j, complex(INF, 1), complex(0.5, -2), complex(1, NAN), complex(INF, NAN)], d, grad=False)
        call('pow', torch.zeros(6, dtype=d), exponents, by=torch.pow)
        call('pow', torch.full((6,), complex(-0.0, -0.0), dtype=d), exponents, by=torch.pow)


def quotients():
    """Quotients of numbers with zeros, infinities and NaN, where PyTorch has a part that is a number. Where both are NaN,
    C99 tells zeros and infinities apart, and so does sinter."""
    parts = (0.0, -0.0, 1.0, 0.5, -2.0, INF, -INF, NAN)
    numbers = [complex(a, b) for a, b in itertools.product(parts, parts)]
    for d in COMPLEX:
        x, y = (of(list(side), d, grad=False) for side in zip(*itertools.product(numbers, numbers)))
        known = ~((x / y).real.isnan() & (x / y).imag.isnan())
        call('div', x[known], y[known], by=torch.div)
        call('rdiv', y[known], x[known], by=lambda y, x: x / y)


def complex_functions():
    for d in COMPLEX:
        x, y = spread(3, 4, dtype=d), spread(3, 4, dtype=d, lo=-1, hi=3)
        for name in ('asin', 'acos', 'atan', 'asinh', 'acosh', 'atanh', 'sigmoid', 'exp2', 'expm1', 'log2', 'log10', 'log1p', 'rsqrt', 'sgn', 'angle'):
            call(name, x)
        call('silu', x, by=lambda x: x * torch.sigmoid(x))  # PyTorch's has no gradient
        call('isclose', x, x.detach() + 1e-9, by=torch.isclose)
        call('pow', x, y, by=torch.pow)
    for d in (*FLOATS, torch.int32, torch.uint8, torch.bool):
        call('angle', of([0, 1, 2] if d in (torch.uint8, torch.bool) else [-1, 0, 2], d))


def integers():
    for d in INTS:
        signed = d != torch.uint8
        x = of([-3 if signed else 3, 0, 5, 2], d)
        call('nan_to_num', x)
        if signed:
            call('hardtanh', x, by=lambda x: F.hardtanh(x))
        call('threshold', x, 1, 4, by=F.threshold)
        call('linear', of([[1, 2], [3, 4]], d), of([[1, 1], [2, 0], [0, 3]], d), by=F.linear)
        call('linspace', 1.0, 9.0, 5, by=lambda a, b, n, d=d: torch.linspace(a, b, n, dtype=d))


def shapes():
    for d in FLOATS:
        zero = of(2.5, d)
        call('topk', zero, 1, 0, by=lambda x, k, dim: tuple(torch.topk(x, k, dim)))
        call('kthvalue', zero, 1, 0, by=lambda x, k, dim: tuple(torch.kthvalue(x, k, dim)))
        call('unfold', zero, 0, 1, 1, by=lambda x, dim, n, s: x.unfold(dim, n, s))
        call('gather', zero, 0, index(0, torch.int64), by=torch.gather)
        call('kron', spread(2, dtype=d), spread(2, 3, 2, dtype=d), by=torch.kron)
        call('kron', spread(2, 2, dtype=d), spread(3, dtype=d), by=torch.kron)
        call('masked_fill', spread(2, 3, dtype=d), of([[True, False, True]] * 2, torch.bool), of(2, torch.int32), by=torch.masked_fill)
        for correction in (0, 1, 0.5):
            call('std', spread(4, 3, dtype=d), dim=[0], correction=float(correction), by=lambda x, dim, correction: torch.std(x, dim, correction=correction))
        call('norm', spread(4, 3, dtype=torch.float32, grad=False), dtype=d, by=lambda x, dtype: torch.linalg.vector_norm(x, dtype=dtype))
    for d in HALVES:
        # Computed wider: the weights are float32.
        call('norm', spread(4, 3, dtype=d, lo=200, hi=300, grad=False), dtype=torch.float32, by=lambda x, dtype: torch.linalg.vector_norm(x.float()))


PARTS = (intermediates, complex_compositions, ends, bools, log_sums, gradients, padded, indices, powers, quotients, complex_functions, integers, shapes)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--out', default='tests/samples/edges.jsonl.gz')
    options = parser.parse_args()
    torch.set_num_threads(1)
    for part in PARTS:
        part()
    with gzip.GzipFile(options.out, 'wb', mtime=0) as f:
        for line in lines:
            f.write((json.dumps(line, separators=(',', ':')) + '\n').encode())
    print(f'{len(lines)} calls')


if __name__ == '__main__':
    main()
