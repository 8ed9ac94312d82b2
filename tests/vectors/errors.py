"""Writes calls that PyTorch refuses.

    python3 tests/vectors/errors.py [--out tests/samples/errors.jsonl.gz]

Each line is a call of an operator of ops.yaml, as samples.py writes them, with PyTorch's message in the place of results:
the wrong calls that torch.testing has for its operators, and arguments outside their range. Needs torch (2.11 made the
committed file) and expecttest.
"""
import argparse
import collections
import gzip
import json
import math
import sys

import torch
import torch.nn.functional as F

from names import entries, forms
from samples import Unbound, bind

NAN = math.nan
table = entries('ops.yaml')
lines, reasons = [], collections.Counter()


def refused(name, call, *args, **kwargs):
    """Writes the call of an operator with these arguments, if PyTorch's refuses what it is given."""
    try:
        operands, attrs, _ = bind(name, table[name].params, args, kwargs)
    except Unbound as e:
        reasons[f'{name}: {e}'] += 1
        return
    try:
        call()
    except Exception as e:
        lines.append({'op': name, 'in': operands, 'attrs': attrs, 'out': [], 'refused': str(e).split('\n')[0][:100]})
    else:
        reasons[name + ': is not refused'] += 1


def suite():
    """The wrong calls of PyTorch's own suite."""
    for name, infos in forms(table).items():
        for info in infos:
            for wrong in info.error_inputs('cpu') if info.error_inputs_func else ():
                s = wrong.sample_input
                if 'dtype' in s.kwargs or 'out' in s.kwargs:  # of tensors to write to
                    continue
                args = (s.input, *s.args)
                if name == 'einsum':
                    args = (args[1], list(args[0]))
                elif name == 'embedding':
                    args = (args[1], args[0])
                refused(name, lambda: info.op(s.input, *s.args, **s.kwargs), *args, **s.kwargs)


def ranges():
    """Numbers outside the range of an argument."""
    x = torch.linspace(-2, 2, 12).reshape(3, 4)
    y, part = x.flip(1), torch.softmax(x, 1)
    whole = torch.ones(3, 4, dtype=torch.int16)
    ones = torch.ones(4)
    for bad in (-0.5, 1.5):
        refused('dropout', lambda: F.dropout(x, bad), x, bad, 1, 0)
        if bad > 1:
            refused('cross_entropy_probs', lambda: F.cross_entropy(x, part, label_smoothing=bad), x, part, label_smoothing=bad)
            refused('cross_entropy', lambda: F.cross_entropy(x, torch.tensor([0, 1, 2]), label_smoothing=bad), x, torch.tensor([0, 1, 2]), label_smoothing=bad)
    for bad in (-1.0, 0.0, NAN):
        refused('huber_loss', lambda: F.huber_loss(x, y, delta=bad), x, y, delta=bad)
    for bad in (-1.0, NAN):
        refused('smooth_l1_loss', lambda: F.smooth_l1_loss(x, y, beta=bad), x, y, beta=bad)
        refused('softshrink', lambda: F.softshrink(x, bad), x, lambd=bad)
        refused('cdist', lambda: torch.cdist(x, y, bad), x, y, p=bad)
        refused('isclose', lambda: torch.isclose(x, y, rtol=bad), x, y, rtol=bad)
        refused('isclose', lambda: torch.isclose(x, y, atol=bad), x, y, atol=bad)
    refused('celu', lambda: F.celu(x, 0.0), x, alpha=0.0)
    refused('hardtanh', lambda: F.hardtanh(x, 2.0, 1.0), x, lo=2.0, hi=1.0)
    refused('cosine_similarity', lambda: F.cosine_similarity(x, y, eps=-1.0), x, y, 1, eps=-1.0)
    refused('batch_norm_train', lambda: F.batch_norm(x, None, None, ones, ones, True, 0.1, -1.0), x, weight=ones, bias=ones, eps=-1.0)
    # Norms of integers, with weights that are none.
    refused('batch_norm_train', lambda: F.batch_norm(whole, None, None, ones, ones, True), whole, weight=ones, bias=ones)
    refused('layer_norm', lambda: F.layer_norm(whole, [4], ones, ones), whole, [4], weight=ones, bias=ones)
    refused('group_norm', lambda: F.group_norm(whole, 2, ones, ones), whole, 2, weight=ones, bias=ones)
    refused('rms_norm', lambda: F.rms_norm(whole, [4], ones), whole, [4], weight=ones)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--out', default='tests/samples/errors.jsonl.gz')
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    suite()
    ranges()
    with gzip.GzipFile(options.out, 'wb', mtime=0) as f:
        for line in lines:
            f.write((json.dumps(line, separators=(',', ':')) + '\n').encode())
    print(f'{len(lines)} calls of {len({line["op"] for line in lines})} operators')
    for reason, n in reasons.most_common(40):
        print(f'{n:5d} left out, {reason}', file=sys.stderr)


if __name__ == '__main__':
    main()
