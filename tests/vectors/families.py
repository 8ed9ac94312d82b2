"""Writes families.json: what PyTorch gives for the layers that are made of matrix
products and convolutions, all in float64.

operators: as in structured.json: operands, results and the gradients of
           sum(result * weight), weight being 1, 2, 3 ... / elements; null where an
           operand has none.
recurrent: parameters, operand, first states, then outputs, last states and the
           gradients of the same sum over all of them; in evaluation.
adaptive:  parameters, operand, targets, then the targets' logarithms, the loss, its
           gradients, the logarithms of all classes and the most probable ones.

Run with a Python that has PyTorch, in this directory: python families.py
"""

import json
import warnings

import torch
import torch.nn.functional as F
from torch import nn

warnings.simplefilter("ignore")
torch.manual_seed(19)
torch.set_default_dtype(torch.float64)


def rnd(*shape, lo=-2.0, hi=2.0):
    x = torch.rand(shape) * (hi - lo) + lo
    return (x * 1024).round() / 1024


def dump(t):
    out = {"shape": list(t.shape), "data": t.detach().flatten().tolist()}
    if t.dtype == torch.int64:
        out["int"] = True
    return out


def weighted(t):
    return (t * torch.arange(1, t.numel() + 1).reshape(t.shape) / max(t.numel(), 1)).sum()


def operators():
    cases = []

    def case(name, f, *inputs, grad=True):
        leaves = [x.clone().requires_grad_(True) for x in inputs]
        y = f(*leaves)
        weighted(y).backward()
        grads = [dump(x.grad) if x.grad is not None else dump(torch.zeros_like(x)) for x in leaves]
        cases.append({"name": name, "in": [dump(x) for x in inputs], "out": [dump(y)], "grad": grads if grad else None})

    grid, deep = rnd(2, 3, 4, 2, lo=-1.6, hi=1.6), rnd(1, 2, 3, 2, 3, lo=-1.6, hi=1.6)
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for corners in (False, True):
                def f(x, g):
                    return F.grid_sample(x, g, mode=mode, padding_mode=padding, align_corners=corners)
                name = f"grid_sample %dd {mode} {padding} {corners}"
                case(name % 2, f, rnd(2, 3, 4, 5), grid)
                if mode != "bicubic":
                    case(name % 3, f, rnd(1, 2, 3, 4, 5), deep)
    for corners in (False, True):
        case(f"affine_grid 2d {corners}", lambda t: F.affine_grid(t, [2, 3, 4, 5], align_corners=corners), rnd(2, 2, 3))
        case(f"affine_grid 3d {corners}", lambda t: F.affine_grid(t, [2, 1, 3, 1, 2], align_corners=corners), rnd(2, 3, 4))
    x, y = rnd(2, 5, 3), rnd(2, 4, 3)
    y[0, 1] = x[0, 2]  # a pair at distance zero
    for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf")):
        case(f"cdist p={p:g}", lambda a, b: torch.cdist(a, b, p=p), x, y, grad=p > 0)
    case("cdist large", torch.cdist, rnd(30, 3), rnd(7, 3))
    case("cdist by products", lambda a, b: torch.cdist(a, b, compute_mode="use_mm_for_euclid_dist"), rnd(5, 3), rnd(1, 4, 3))
    case("cdist large direct", lambda a, b: torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist"), rnd(27, 2), rnd(3, 2))
    case("tensordot", lambda a, b: torch.tensordot(a, b, dims=([2, 0], [0, 1])), rnd(2, 3, 4), rnd(4, 2, 5))
    case("conv3d full", lambda a, w, b: F.conv3d(a, w, b, stride=(1, 2, 1), padding=(1, 0, 2), dilation=(1, 1, 2), groups=2),
         rnd(2, 4, 3, 5, 4), rnd(6, 2, 2, 3, 2), rnd(6))
    case("conv1x1", F.conv2d, rnd(2, 3, 4, 5), rnd(6, 3, 1, 1), rnd(6))
    return cases


def recurrent():
    out = []
    for name, m, x, states in [
        ("lstm", nn.LSTM(3, 4), rnd(5, 2, 3), 0),
        ("lstm states", nn.LSTM(3, 4, num_layers=2), rnd(3, 2, 3), 2),
        ("lstm both ways", nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True, dropout=0.5), rnd(2, 5, 3), 4),
        ("lstm without bias or batch", nn.LSTM(2, 3, bias=False), rnd(4, 2), 1),
        ("gru", nn.GRU(3, 4), rnd(5, 2, 3), 0),
        ("gru both ways", nn.GRU(3, 4, num_layers=2, bidirectional=True, batch_first=True), rnd(2, 5, 3), 4),
        ("gru without bias or batch", nn.GRU(2, 3, bias=False), rnd(4, 2), 1),
        ("rnn", nn.RNN(3, 4, num_layers=2), rnd(5, 2, 3), 2),
        ("rnn relu", nn.RNN(3, 4, nonlinearity="relu", bidirectional=True), rnd(5, 2, 3), 0),
    ]:
        for p in m.parameters():
            p.data = rnd(*p.shape, lo=-0.75, hi=0.75)
        m.eval()
        batch = [] if x.dim() == 2 else [x.shape[0 if m.batch_first else 1]]
        count = 2 if isinstance(m, nn.LSTM) else 1
        first = [rnd(states, *batch, m.hidden_size).requires_grad_(True) for _ in range(count)] if states else []
        x.requires_grad_(True)
        y, last = m(x, (tuple(first) if count == 2 else first[0])) if first else m(x)
        last = list(last) if count == 2 else [last]
        (weighted(y) + sum(weighted(s) for s in last)).backward()
        out.append({
            "name": name, "x": dump(x), "state": {k: dump(v) for k, v in m.state_dict().items()}, "first": [dump(s) for s in first],
            "y": dump(y), "last": [dump(s) for s in last],
            "grads": {"": dump(x.grad), **{k: dump(p.grad) for k, p in m.named_parameters()}}, "firstGrads": [dump(s.grad) for s in first],
        })
    return out


def adaptive():
    out = []
    for kwargs in ({}, {"div_value": 2.0, "head_bias": True}):
        m = nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 5, 9], **kwargs)
        for p in m.parameters():
            p.data = rnd(*p.shape)
        x, target = rnd(6, 8).requires_grad_(True), torch.tensor([0, 4, 11, 2, 3, 9])
        y, loss = m(x, target)
        loss.backward()
        out.append({
            "x": dump(x), "target": dump(target), "state": {k: dump(v) for k, v in m.state_dict().items()}, "y": dump(y), "loss": dump(loss),
            "grads": {"": dump(x.grad), **{k: dump(p.grad if p.grad is not None else torch.zeros_like(p)) for k, p in m.named_parameters()}},
            "logProb": dump(m.log_prob(x)), "predict": dump(m.predict(x)),
        })
    return out


with open("families.json", "w") as f:
    json.dump({"torch": torch.__version__, "operators": operators(), "recurrent": recurrent(), "adaptive": adaptive()}, f, separators=(",", ":"))
    f.write("\n")
