"""Writes indexing.json: what PyTorch reads at index expressions.

A case is a shape, an index and what PyTorch gives for it on the numbers 0, 1, ... of that shape:
the shape of the result and its elements, which are so the places that the index names. An entry
of the index is a text (integers, ranges, newaxis, ellipsis), or the shape and elements of a
tensor of places or a mask. PyTorch has no ranges that go down: these are applied by NumPy first,
each to its own axis, which is the same.

Run with a Python that has PyTorch and NumPy, in this directory: python indexing.py
"""

import json
import random

import numpy as np
import torch

random.seed(11)
torch.manual_seed(11)


def span(n):
    """A range as a text and as a slice."""
    bound = lambda: random.choice([None, None, random.randint(-n - 2, n + 2)])
    s = slice(bound(), bound(), random.choice([None, None, None, 1, 2, 3, -1, -1, -2]))
    show = lambda v: "" if v is None else str(v)
    return show(s.start) + ":" + show(s.stop) + ("" if s.step is None else ":" + show(s.step)), s


def places(n, block):
    """A tensor of places whose shape broadcasts to block."""
    keep = random.randint(0, len(block))
    shape = [d if random.random() < 0.8 else 1 for d in block[len(block) - keep:]]
    return torch.tensor(np.random.default_rng(random.randrange(1 << 30)).integers(-n, n, shape), dtype=random.choice([torch.int32, torch.int64]))


def case(shape):
    """One index into a tensor of the shape: entries as they are written down, and as Python takes them."""
    block = random.choice([[2], [3], [2, 3], [4], [1, 2]])
    words, index, axis, tensors = [], [], 0, random.random() < 0.6
    dots = random.random() < 0.3
    while axis < len(shape) and random.random() < 0.9:
        n, what = shape[axis], random.random()
        if what < 0.1:
            words.append("newaxis"), index.append(None)
            continue
        if dots and what < 0.3:
            dots = False
            skip = random.randint(0, len(shape) - axis)
            words.append("..."), index.append(Ellipsis)
            axis += skip
            rest = len(shape) - axis
            for i in range(rest):  # an ellipsis stands for the axes that others leave: fill the rest
                word, s = span(shape[axis + i])
                words.append(word), index.append(s)
            break
        if tensors and what < 0.65 and n > 0:
            if random.random() < 0.15:
                m = torch.rand(shape[axis:axis + random.randint(1, min(2, len(shape) - axis))]) < 0.4
                words.append({"mask": m.flatten().tolist(), "shape": list(m.shape)}), index.append(m)
                axis += m.dim()
                continue
            p = places(n, block)
            words.append({"places": p.flatten().tolist(), "shape": list(p.shape), "dtype": str(p.dtype)[6:]}), index.append(p)
        elif what < 0.75 and n > 0:
            i = random.randint(-n, n - 1)
            words.append(str(i)), index.append(i)
        else:
            word, s = span(n)
            words.append(word), index.append(s)
        axis += 1
    return words, index


def read(shape, index):
    """The places that index names, by PyTorch."""
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    used = sum(0 if i is None or i is Ellipsis else i.dim() if isinstance(i, torch.Tensor) and i.dtype == torch.bool else 1 for i in index)
    axis, out = 0, []
    for i in index:
        if i is Ellipsis:
            axis += len(shape) - used
        elif isinstance(i, slice) and i.step is not None and i.step < 0:
            x = x[(slice(None),) * axis + (i,)]
            i, axis = slice(None), axis + 1
        elif i is not None:
            axis += i.dim() if isinstance(i, torch.Tensor) and i.dtype == torch.bool else 1
        out.append(i)
    return torch.from_numpy(x.copy())[tuple(out)]


cases = []
while len(cases) < 600:
    shape = [random.choice([1, 2, 3, 4, 5, 5, 0 if random.random() < 0.1 else 2]) for _ in range(random.randint(1, 4))]
    words, index = case(shape)
    try:
        out = read(shape, index)
    except IndexError:  # tensors of places and a mask that do not broadcast
        continue
    if out.numel() <= 400:
        cases.append({"shape": shape, "index": words, "result": list(out.shape), "places": out.flatten().tolist()})
with open("indexing.json", "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n")
