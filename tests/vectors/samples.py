"""Writes what PyTorch answers for the operator samples of its own test suite.

    python3 tests/vectors/samples.py [--seed 0] [--most 3] [--out tests/samples/samples.jsonl.gz]
    python3 tests/vectors/samples.py --special --large 450 --out tests/samples/special.jsonl.gz

torch.testing has, for every operator, arguments that its authors found worth testing:
broadcasts, empty and 0-dim tensors, negative axes, extreme options. Each that can be
bound to a signature in ops.yaml becomes a line: the operator, its operands and
attributes by the names of the schema, the results, and the gradients of
sum(out * cotangent), where element i of the cotangents is cos(i) (cos(i) + sin(i)j
for complex results). With --special the elements of floats and complex numbers are infinities, NaN, zeros of both signs,
numbers near the ends of the range and a few others, in float32, float64, complex64 and complex128. What cannot be bound is counted on standard error.

Needs torch (2.11 made the committed file) and expecttest. PyTorch's names of operators are those that
names.py finds in ops.yaml.
"""
import argparse
import base64
import collections
import gzip
import json
import math
import re
import sys
import warnings

import torch

from arguments import adapted
from names import KEYWORDS, entries, forms

warnings.filterwarnings('ignore')

# Names of modes that the schema calls otherwise.
WORDS = {'use_mm_for_euclid_dist': 'mm', 'donot_use_mm_for_euclid_dist': 'direct', 'use_mm_for_euclid_dist_if_necessary': 'mm_if_large'}
# Positions among equal elements are not specified: they are left out where elements are equal, of integers and 16-bit floats.
TIES = ('topk', 'kthvalue', 'sort', 'argsort', 'median', 'mode')
# What PyTorch takes where an argument is left out that the schema requires.
DEFAULTS = {
    'topk': {'dim': -1}, 'sort': {'dim': -1}, 'argsort': {'dim': -1}, 'kthvalue': {'dim': -1}, 'chunk': {'dim': 0}, 'split': {'dim': 0},
    'split_sizes': {'dim': 0}, 'unbind': {'dim': 0}, 'tril': {'diagonal': 0}, 'triu': {'diagonal': 0}, 'cosine_similarity': {'dim': 1},
    'flatten': {}, 'cat': {'dim': 0}, 'stack': {'dim': 0}, 'glu': {'dim': -1}, 'normalize': {'dim': [1]},
}
DTYPES = {
    torch.bool: 'bool', torch.uint8: 'uint8', torch.int8: 'int8', torch.int16: 'int16', torch.int32: 'int32', torch.int64: 'int64',
    torch.float16: 'float16', torch.bfloat16: 'bfloat16', torch.float32: 'float32', torch.float64: 'float64', torch.complex64: 'complex64',
    torch.complex128: 'complex128',
}


ALL = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.int64, torch.int32, torch.uint8, torch.bool)
MORE = (torch.int8, torch.int16, torch.complex128)
SPECIAL = (torch.float32, torch.float64, torch.complex64, torch.complex128)
INF, NAN = math.inf, math.nan
# What is put in the place of a sample's elements; of complex numbers each part is one of the first.
REAL = [0.0, 1.0, -INF, NAN, -0.0, 0.5, INF, -1.0, 2.5, -3.0, 1e-40, 1e30, -1e30, 88.0, -0.25, 1e-8, 3e38]
PARTS = [0.0, 1.0, -INF, NAN, -0.0, 0.5, INF, -1.0, -2.5, 1e3, 1e-40]


class Unbound(Exception):
    pass


def tensor(t):
    t = t.detach().resolve_conj().resolve_neg().contiguous()
    if t.dtype not in DTYPES or t.layout != torch.strided:
        raise Unbound('dtype or layout')
    flat = t.reshape(-1)
    raw = flat.view(torch.uint8).numpy().tobytes() if flat.numel() and t.dtype != torch.bool else flat.to(torch.uint8).numpy().tobytes() if flat.numel() else b''
    return {'dtype': DTYPES[t.dtype], 'shape': list(t.shape), 'data': base64.b64encode(raw).decode()}


def special(t, k, seed):
    """The k-th operand with special values: neighbours in it and in other operands meet in many combinations."""
    if not (t.is_floating_point() or t.is_complex()):
        return t
    i = torch.arange(t.numel())
    if t.is_complex():
        parts = torch.tensor(PARTS, dtype=torch.float64)
        n = len(PARTS)
        out = torch.complex(parts[(i + 4 * k + seed) % n], parts[(i // n + 3 * i + k) % n])
    else:
        values = torch.tensor(REAL, dtype=torch.float64)
        out = values[(i * (1 + k) + i // len(REAL) + 5 * k + seed) % len(REAL)]
    return out.to(t.dtype).reshape(t.shape).requires_grad_(t.requires_grad)


def number(v):
    if isinstance(v, bool):
        return v
    if isinstance(v, complex):
        return {'re': number(v.real), 'im': number(v.imag)}
    if isinstance(v, float):
        return {'float': repr(v)}
    return v


def bind(name, params, args, kwargs):
    """Operands and attributes by the names of the schema."""
    given = {}
    free = [p for p in params]
    for value, param in zip(args, free):
        given[param[0]] = value
    if len(args) > len(free):
        raise Unbound('more arguments than parameters')
    for key, value in kwargs.items():
        names = [p[0] for p in params]
        to = key if key in names else KEYWORDS.get(key, key)
        if to is None or to not in names:
            if value is None or value is False and key in ('return_indices', 'inplace', 'upper', 'sorted', 'return_inverse', 'stable'):
                continue
            raise Unbound('keyword ' + key)
        if to in given:
            raise Unbound('given twice: ' + key)
        given[to] = value
    operands, attrs, leaves = {}, {}, []
    for pname, ptype, _ in params:
        if pname not in given or given[pname] is None:
            continue
        v = given[pname]
        if 'Tensor' in ptype:
            if ptype.startswith('[]'):
                if not isinstance(v, (list, tuple)) or not all(isinstance(t, torch.Tensor) for t in v):
                    raise Unbound('not a list of tensors: ' + pname)
                operands[pname] = {'list': [tensor(t) for t in v]}
                leaves += list(v)
            elif isinstance(v, torch.Tensor):
                operands[pname] = tensor(v)
                leaves.append(v)
            elif 'Scalar' in ptype and isinstance(v, (bool, int, float, complex)):
                operands[pname] = {'number': number(v)}
            else:
                raise Unbound('not a tensor: ' + pname)
            continue
        kind = ptype
        if isinstance(v, torch.Tensor):
            raise Unbound('a tensor for ' + pname)
        if kind == '[]int':
            v = [v] if isinstance(v, int) else list(v)
            if not all(isinstance(i, int) and not isinstance(i, bool) for i in v):
                raise Unbound('not integers: ' + pname)
        elif kind == 'dtype':
            if v not in DTYPES:
                raise Unbound('dtype')
            v = DTYPES[v]
        elif kind.startswith('enum') or kind == 'string':
            v = WORDS.get(v, v)
            if not isinstance(v, str) or kind.startswith('enum') and v not in re.findall(r'\w+', kind[4:]):
                raise Unbound(f'no {pname} {v}')
        elif kind == 'bool':
            v = bool(v)
        elif kind == 'int':
            if not isinstance(v, int) or isinstance(v, bool):
                raise Unbound('not an integer: ' + pname)
        elif kind in ('float', 'Scalar'):
            if not isinstance(v, (bool, int, float, complex)):
                raise Unbound('not a number: ' + pname)
            v = number(v)
        attrs[pname] = v
    for key, value in DEFAULTS.get(name, {}).items():
        attrs.setdefault(key, value)
        given.setdefault(key, value)
    required = [p for p in params if p[0] not in given and not p[2] and 'Tensor?' not in p[1]]
    if required:
        raise Unbound('without ' + required[0][0])
    return operands, attrs, leaves


def cotangent(t, half):
    """Of results that stand for 16-bit floats it is rounded to these, as the test's is."""
    i = torch.arange(t.numel(), dtype=torch.float64).reshape(t.shape)
    if t.is_complex():
        return torch.complex(torch.cos(i), torch.sin(i)).to(t.dtype)
    return torch.cos(i).to(half if half and t.dtype == torch.float64 else t.dtype).to(t.dtype)


def results(out):
    if isinstance(out, torch.Tensor):
        return [out]
    if isinstance(out, bool):
        return [torch.tensor(out)]
    if isinstance(out, (list, tuple)) and all(isinstance(t, torch.Tensor) for t in out):
        return list(out)
    raise Unbound('results')


def sample_line(info, name, params, sample, large, ties):
    args, kwargs = (sample.input, *sample.args), dict(sample.kwargs)
    if name == 'einsum':  # the samples have the operands first
        args = (args[1], list(args[0]))
    if name == 'embedding':  # and the weights here
        args = (args[1], args[0])
    if name == 'where':
        args = (args[1], args[0], *args[2:])
    if name == 'as_strided' and sample.input.untyped_storage().nbytes() != sample.input.numel() * sample.input.element_size():
        raise Unbound('a part of a storage')
    args, kwargs = adapted(name, args, kwargs)
    operands, attrs, leaves = bind(name, params, args, kwargs)
    if sum(t.numel() for t in leaves) > large:
        raise Unbound('large')
    # 16-bit floats are held against what float64 gives, rounded once.
    if name == 'make_complex':
        if any(t.dtype == torch.float16 for t in leaves):
            raise Unbound('complex numbers of 16 bits')
    half = next((t.dtype for t in leaves if t.dtype in (torch.float16, torch.bfloat16)), None)
    narrow = lambda t: tensor(t.to(half) if half and t.dtype == torch.float64 and 'dtype' not in attrs else t)
    if half:
        def widen(t):
            return t.detach().double().requires_grad_(t.requires_grad) if t.dtype == half else t
        wide = {id(t): widen(t) for t in leaves}
        sample = sample.transform(lambda v: wide.get(id(v), v) if isinstance(v, torch.Tensor) else v)
        leaves = [wide[id(t)] for t in leaves]
    out = results(info.op(sample.input, *sample.args, **sample.kwargs))
    if name in TIES and (ties or half or not (leaves[0].is_floating_point() or leaves[0].is_complex())):
        out = out[:1] if name != 'argsort' else []
    line = {'op': name, 'in': operands, 'attrs': attrs, 'out': [narrow(t) for t in out]}
    wants = [] if name in TIES and half else [t for t in leaves if t.requires_grad and t.is_leaf]
    roots = [t for t in out if t.requires_grad]
    if wants and roots:
        grads = torch.autograd.grad(roots, wants, [cotangent(t, half) for t in roots], allow_unused=True)
        found = {id(w): g for w, g in zip(wants, grads) if g is not None}
        line['grad'] = [tensor(found[id(t)].to(half) if half and found[id(t)].dtype == torch.float64 else found[id(t)]) if id(t) in found else None for t in leaves]
    return line


def with_special(sample, seed):
    count = iter(range(99))
    return sample.transform(lambda v: special(v, next(count), seed) if isinstance(v, torch.Tensor) else v)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--large', type=int, default=300, help='elements of the operands together')
    parser.add_argument('--most', type=int, default=3, help='samples an operator and dtype')
    parser.add_argument('--out', default='tests/samples/samples.jsonl.gz')
    parser.add_argument('--schema', default='ops.yaml')
    parser.add_argument('--special', action='store_true', help='special values')
    parser.add_argument('--more', action='store_true', help='also dtypes that the committed samples leave out')
    options = parser.parse_args()
    table = entries(options.schema)
    counts, reasons, lines = collections.Counter(), collections.Counter(), []
    torch.set_num_threads(1)
    for name, info in ((name, info) for name, infos in forms(table).items() if not table[name].drawn for info in infos):
        for dtype in SPECIAL if options.special else ALL + MORE if options.more else ALL:
            if not info.supports_dtype(dtype, 'cpu'):
                continue
            grad = info.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
            torch.manual_seed(options.seed)
            most = options.most if dtype in (torch.float32, torch.float64) else max(1, options.most // 3)
            try:
                samples = list(info.sample_inputs('cpu', dtype, requires_grad=grad))
            except Exception as e:
                reasons['samples: ' + type(e).__name__] += 1
                continue
            if options.special:  # the largest of what may be written
                samples = [s for s in samples if isinstance(s.input, torch.Tensor) and 0 < s.input.numel() <= options.large]
                samples = sorted(samples, key=lambda s: -s.input.numel())[:most]
                samples = [with_special(s, options.seed) for s in samples]
            step = max(1, len(samples) // most)
            for sample in samples[options.seed % step::step][:most]:
                try:
                    lines.append(sample_line(info, name, table[name].params, sample, options.large, options.special))
                    counts[name] += 1
                except Unbound as e:
                    reasons[f'{name}: {e}'] += 1
                except Exception as e:
                    reasons[f'{name}: {type(e).__name__}: {str(e)[:60]}'] += 1
    with gzip.GzipFile(options.out, 'wb', mtime=0) as f:
        for line in lines:
            f.write((json.dumps(line, separators=(',', ':')) + '\n').encode())
    print(f'{len(lines)} samples of {len(counts)} operators', file=sys.stderr)
    for reason, n in reasons.most_common(60):
        print(f'{n:5d} not bound, {reason}', file=sys.stderr)
    print('without samples:', ' '.join(sorted(n for n in table if n not in counts)), file=sys.stderr)


if __name__ == '__main__':
    main()
