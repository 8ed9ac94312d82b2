"""Writes structured.json: what PyTorch gives for operators whose meaning is in
how elements meet, not in one expression.

Each case is a name, the operands (shape and values; an integer dtype where it
says so), the results and, where a gradient is wanted, the gradients of the sum
of result*weight over all results, weight being 1, 2, 3 and so on divided by the
number of elements.

Run with a Python that has PyTorch, in this directory: python structured.py
"""

import json
import math

import torch
import torch.nn.functional as F

torch.manual_seed(7)
cases = []


def rnd(*shape, lo=-2.0, hi=2.0):
    x = torch.rand(shape, dtype=torch.float64) * (hi - lo) + lo
    return (x * 1024).round() / 1024  # short numbers, exact in every float dtype that matters


def idx(n, *shape):
    return torch.randint(0, n, shape)


def dump(t):
    data = [v if math.isfinite(v) else str(v) for v in t.flatten().tolist()]
    out = {"shape": list(t.shape), "data": data}
    if t.dtype in (torch.int64, torch.bool):
        out["int"] = True
        out["data"] = [int(v) for v in out["data"]]
    return out


def case(name, f, *inputs, grad=True, fixed=()):
    """Adds a case. PyTorch has no gradient for the inputs in fixed."""
    wanted = [grad and x.is_floating_point() and i not in fixed for i, x in enumerate(inputs)]
    leaves = [x.clone().requires_grad_(True) if w else x for x, w in zip(inputs, wanted)]
    res = f(*leaves)
    res = list(res) if isinstance(res, (tuple, list)) else [res]
    entry = {"name": name, "in": [dump(x.detach()) for x in inputs], "out": [dump(r.detach()) for r in res]}
    if grad:
        loss = 0
        for r in res:
            if r.requires_grad:
                w = torch.arange(1, r.numel() + 1, dtype=torch.float64).reshape(r.shape) / max(r.numel(), 1)
                loss = loss + (r * w).sum()
        loss.backward()
        entry["grad"] = [dump(x.grad) if w else None for x, w in zip(leaves, wanted)]
    cases.append(entry)


# Reductions and scans.
case("sum dims", lambda x: x.sum((0, 2)), rnd(2, 3, 4))
case("mean keepdim", lambda x: x.mean((1,), keepdim=True), rnd(2, 3, 4))
z = rnd(3, 4); z[0, 1] = 0; z[2, 0] = 0; z[2, 3] = 0
case("prod dim with zeros", lambda x: x.prod(1), z)
case("prod all", lambda x: x.prod(), rnd(2, 3))
case("cumprod with zeros", lambda x: x.cumprod(1), z)
case("cumsum", lambda x: x.cumsum(0), rnd(3, 4))
case("logcumsumexp", lambda x: x.logcumsumexp(1), rnd(3, 4))
ties = torch.tensor([[1.0, 3, 3, 2], [0, -1, 0, 0]], dtype=torch.float64)
case("amax ties", lambda x: x.amax(1), ties)
case("max dim", lambda x: x.max(1), rnd(3, 4))
case("min dim", lambda x: x.min(0), rnd(3, 4))
case("var", lambda x: x.var((0, 2), keepdim=True), rnd(2, 3, 4))
case("std", lambda x: x.std(1, unbiased=False), rnd(2, 3, 4))
const = torch.ones(2, 3, dtype=torch.float64)
case("std of a constant", lambda x: x.std(1), const)
case("norm 2", lambda x: x.norm(2, (1,)), rnd(2, 3))
case("norm 3", lambda x: x.norm(3, (0,), keepdim=True), rnd(2, 3))
case("norm 1", lambda x: x.norm(1, (0, 1)), rnd(2, 3))
case("norm inf", lambda x: x.norm(float("inf"), (1,)), rnd(2, 3))
zero = torch.zeros(2, 2, dtype=torch.float64); zero[0, 0] = 1
case("norm of zero", lambda x: x.norm(2, (1,)), zero)
case("logsumexp", lambda x: x.logsumexp((0, 1)), rnd(2, 3))
inf = torch.tensor([[float("-inf")] * 3, [1.0, 2, float("-inf")]], dtype=torch.float64)
case("logsumexp infinities", lambda x: x.logsumexp((1,)), inf, grad=False)
case("count_nonzero", lambda x: x.count_nonzero(1), z, grad=False)

# Views and data movement.
case("slice step", lambda x: x[:, 1:6:2], rnd(3, 7))
case("diagonal", lambda x: x.diagonal(-1, 0, 2), rnd(3, 2, 4))
case("diag_embed", lambda x: torch.diag_embed(x, 1), rnd(2, 3))
case("unfold", lambda x: x.unfold(0, 3, 2), rnd(7, 2))
case("as_strided", lambda x: x.as_strided((3, 2), (1, 1), 1), rnd(6))
case("movedim", lambda x: x.movedim((0, 1), (2, 0)), rnd(2, 3, 4))
case("flip", lambda x: x.flip((0, 2)), rnd(2, 3, 2))
case("roll", lambda x: x.roll((1, -2), (0, 1)), rnd(3, 5))
case("roll flat", lambda x: x.roll(2), rnd(2, 3))
case("repeat", lambda x: x.repeat(2, 2, 3), rnd(2, 3))
case("tile", lambda x: x.tile((2,)), rnd(2, 3))
case("repeat_interleave", lambda x: x.repeat_interleave(2, 1), rnd(2, 3))
case("pad constant", lambda x: F.pad(x, (1, -1, 2, 0), value=1.5), rnd(3, 4))
case("pad reflect", lambda x: F.pad(x, (2, 1, 1, 2), "reflect"), rnd(1, 2, 3, 4))
case("pad replicate", lambda x: F.pad(x, (2, 1, 1, 2), "replicate"), rnd(1, 2, 3, 4))
case("pad circular", lambda x: F.pad(x, (2, 1, 1, 2), "circular"), rnd(1, 2, 3, 4))
case("tril", lambda x: x.tril(-1), rnd(2, 3, 4))
case("triu", lambda x: x.triu(1), rnd(2, 3, 4))
case("split", lambda x: x.split(2, 1), rnd(2, 5))
case("chunk", lambda x: x.chunk(3, 0), rnd(7, 2))
case("stack", lambda x, y: torch.stack((x, y), 1), rnd(2, 3), rnd(2, 3))
case("cat", lambda x, y: torch.cat((x, y), -1), rnd(2, 3), rnd(2, 1))

# Indexing and order.
case("gather", lambda x, i: x.gather(1, i), rnd(3, 4), idx(4, 2, 5))
perm = torch.stack([torch.randperm(5)[:3] for _ in range(2)])
case("scatter", lambda x, i, s: x.scatter(1, i, s), rnd(2, 5), perm, rnd(2, 3))
case("scatter_add", lambda x, i, s: x.scatter_add(0, i, s), rnd(4, 3), idx(4, 6, 3), rnd(6, 3))
case("index_select", lambda x, i: x.index_select(1, i), rnd(3, 4), idx(4, 5))
case("index_add", lambda x, i, s: x.index_add(0, i, s), rnd(3, 4), idx(3, 5), rnd(5, 4))
case("take", lambda x, i: x.take(i), rnd(3, 4), idx(12, 2, 3))
case("masked_select", lambda x: x.masked_select(x > 0), rnd(3, 4))
case("nonzero", lambda x: x.nonzero(), z, grad=False)
case("one_hot", lambda i: F.one_hot(i, 5), idx(5, 2, 3), grad=False)
case("embedding", lambda i, w: F.embedding(i, w, padding_idx=1), torch.tensor([[0, 1, 3], [3, 1, 1]]), rnd(4, 2))
case("sort", lambda x: x.sort(1, descending=True), rnd(3, 5))
case("sort stable", lambda x: x.sort(dim=1, stable=True), ties)
case("topk", lambda x: x.topk(2, 1), rnd(3, 5))
case("topk smallest", lambda x: x.topk(2, 0, largest=False), rnd(4, 2))
case("kthvalue", lambda x: x.kthvalue(2, 1), rnd(3, 5))
case("unique", lambda x: torch.unique(x, return_inverse=True, return_counts=True), torch.tensor([[3.0, 1, 2], [1, 3, 1]], dtype=torch.float64), grad=False)
row = rnd(6).sort().values
case("searchsorted", lambda s, v: torch.searchsorted(s, v), row, torch.cat((row[1:3], rnd(3))), grad=False)
case("searchsorted right", lambda s, v: torch.searchsorted(s, v, right=True), row, torch.cat((row[1:3], rnd(3))), grad=False)

# Linear algebra.
case("matmul batches", lambda x, y: x @ y, rnd(5, 1, 2, 3), rnd(6, 3, 4))
case("matmul folded", lambda x, y: x @ y, rnd(5, 2, 3), rnd(3, 4))
case("matmul row", lambda x, y: x @ y, rnd(3), rnd(2, 3, 4))
case("matmul column", lambda x, y: x @ y, rnd(2, 2, 3), rnd(3))
case("dot", lambda x, y: x @ y, rnd(3), rnd(3))
case("addmm", lambda b, x, y: torch.addmm(b, x, y, beta=2, alpha=3), rnd(4), rnd(2, 3), rnd(3, 4))
case("linear", lambda x, w, b: F.linear(x, w, b), rnd(5, 2, 3), rnd(4, 3), rnd(4))
case("outer", lambda x, y: torch.outer(x, y), rnd(3), rnd(4))
case("einsum bij,bjk,k->bi", lambda x, y, v: torch.einsum("bij,bjk,k->bi", x, y, v), rnd(2, 2, 3), rnd(2, 3, 4), rnd(4))
case("einsum ii->i", lambda x: torch.einsum("ii->i", x), rnd(3, 3))
case("einsum ij,kj", lambda x, y: torch.einsum("ij,kj", x, y), rnd(2, 3), rnd(4, 3))
case("einsum ...i,ji->...j", lambda x, y: torch.einsum("...i,ji->...j", x, y), rnd(2, 2, 3), rnd(4, 3))
case("tensordot", lambda x, y: torch.tensordot(x, y, dims=([1, 2], [1, 0])), rnd(2, 3, 4), rnd(4, 3, 5))
case("kron", lambda x, y: torch.kron(x, y), rnd(2, 3), rnd(2, 2))

# Normalization.
case("softmax", lambda x: x.softmax(1), rnd(2, 3, 4))
case("log_softmax", lambda x: x.log_softmax(-1), rnd(2, 3, 4))
case("layer_norm", lambda x, w, b: F.layer_norm(x, (3, 4), w, b), rnd(2, 3, 4), rnd(3, 4), rnd(3, 4))
case("rms_norm", lambda x, w: x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * w, rnd(2, 3, 4), rnd(4))
case("batch_norm train", lambda x, w, b: F.batch_norm(x, None, None, w, b, True), rnd(4, 3, 2), rnd(3), rnd(3))
case("batch_norm", lambda x, m, v, w, b: F.batch_norm(x, m, v, w, b), rnd(4, 3, 2), rnd(3), rnd(3, lo=0.5), rnd(3), rnd(3), fixed=(1, 2))
case("group_norm", lambda x, w, b: F.group_norm(x, 2, w, b), rnd(2, 4, 3, 2), rnd(4), rnd(4))
case("instance_norm", lambda x: F.instance_norm(x), rnd(2, 3, 4))
case("normalize", lambda x: F.normalize(x, dim=1), rnd(2, 3))

# Losses.
case("mse sum", lambda x, y: F.mse_loss(x, y, reduction="sum"), rnd(2, 3), rnd(2, 3))
case("l1", lambda x, y: F.l1_loss(x, y), rnd(2, 3), rnd(2, 3))
case("smooth_l1", lambda x, y: F.smooth_l1_loss(x, y, beta=0.7), rnd(3, 4), rnd(3, 4))
case("huber", lambda x, y: F.huber_loss(x, y, delta=0.7, reduction="none"), rnd(3, 4), rnd(3, 4))
target = idx(5, 4)
case("cross_entropy", lambda x, t: F.cross_entropy(x, t), rnd(4, 5), target)
case("cross_entropy all", lambda x, t, w: F.cross_entropy(x, t, w, ignore_index=2, label_smoothing=0.1), rnd(4, 5, 2), idx(5, 4, 2), rnd(5, lo=0.5).detach(), fixed=(2,))
case("cross_entropy none", lambda x, t: F.cross_entropy(x, t, ignore_index=2, label_smoothing=0.1, reduction="none"), rnd(4, 5), torch.tensor([0, 2, 4, 2]))
case("cross_entropy sum", lambda x, t, w: F.cross_entropy(x, t, w, label_smoothing=0.2, reduction="sum"), rnd(4, 5), idx(5, 4), rnd(5, lo=0.5), fixed=(2,))
case("cross_entropy one", lambda x, t: F.cross_entropy(x, t), rnd(5), torch.tensor(3))
case("cross_entropy probs", lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1), rnd(4, 5), rnd(4, 5, lo=0.1, hi=1), fixed=(1,))
case("nll weights", lambda x, t: F.nll_loss(x, t, torch.tensor([0.5, 1, 2], dtype=torch.float64), ignore_index=1), rnd(2, 3, 4), idx(3, 2, 4))
case("bce", lambda x, t: F.binary_cross_entropy(x, t), rnd(2, 3, lo=0.1, hi=0.9), rnd(2, 3, lo=0.1, hi=0.9))
case("bce_with_logits", lambda x, t, w, p: F.binary_cross_entropy_with_logits(x, t, w, pos_weight=p), rnd(2, 3), rnd(2, 3, lo=0, hi=1), rnd(3, lo=0.5), rnd(3, lo=0.5), fixed=(1, 2, 3))
case("bce_with_logits at zero", lambda x, t: F.binary_cross_entropy_with_logits(x, t), torch.zeros(3, dtype=torch.float64), rnd(3, lo=0, hi=1), fixed=(1,))
case("kl_div", lambda x, t: F.kl_div(x, t, reduction="sum"), rnd(2, 3), rnd(2, 3, lo=0.1, hi=1))
case("kl_div log", lambda x, t: F.kl_div(x, t, reduction="mean", log_target=True), rnd(2, 3), rnd(2, 3))
case("cosine_similarity", lambda x, y: F.cosine_similarity(x, y, 1), rnd(2, 3), rnd(2, 3))

# Convolution and pooling.
case("conv1d", lambda x, w, b: F.conv1d(x, w, b, padding=1), rnd(2, 3, 8), rnd(4, 3, 3), rnd(4))
case("conv2d", lambda x, w, b: F.conv2d(x, w, b, stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2), rnd(2, 4, 6, 5), rnd(6, 2, 3, 2), rnd(6))
case("conv2d one", lambda x, w: F.conv2d(x, w), rnd(3, 5, 5), rnd(2, 3, 2, 2))
case("conv3d", lambda x, w: F.conv3d(x, w, stride=2), rnd(1, 2, 4, 4, 3), rnd(2, 2, 2, 2, 2))
case("conv_transpose1d", lambda x, w: F.conv_transpose1d(x, w, stride=2, output_padding=1), rnd(2, 3, 5), rnd(3, 4, 3))
case("conv_transpose2d", lambda x, w, b: F.conv_transpose2d(x, w, b, stride=(2, 1), padding=(1, 0), groups=2, dilation=(1, 2)), rnd(2, 4, 3, 3), rnd(4, 2, 3, 2), rnd(4))
case("max_pool2d", lambda x: F.max_pool2d(x, (3, 2), (2, 1), (1, 1), return_indices=True), rnd(2, 3, 6, 5))
case("max_pool2d ceil", lambda x: F.max_pool2d(x, 2, ceil_mode=True), rnd(1, 2, 5, 5))
case("max_pool1d dilated", lambda x: F.max_pool1d(x, 3, 2, dilation=2), rnd(2, 3, 9))
case("avg_pool2d", lambda x: F.avg_pool2d(x, (3, 2), padding=(1, 0), count_include_pad=False), rnd(2, 3, 6, 5))
case("avg_pool2d ceil", lambda x: F.avg_pool2d(x, 2, padding=1, ceil_mode=True), rnd(1, 2, 6, 5))
case("avg_pool1d", lambda x: F.avg_pool1d(x, 3, 2), rnd(2, 3, 8))
case("adaptive_avg_pool1d", lambda x: F.adaptive_avg_pool1d(x, 3), rnd(2, 3, 7))
case("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, (3, 4)), rnd(2, 3, 7, 3))

# More equations. The test reads the equation from the name.
for equation, *shapes in [
    ("i->", (5,)), ("ij->ji", (2, 3)), ("ij->j", (2, 3)), ("ii", (3, 3)), ("i,i->", (4,), (4,)), ("i,j->ij", (2,), (3,)),
    ("ij,ij->", (2, 3), (2, 3)), ("ij,ij->i", (2, 3), (2, 3)), ("bij,bkj->bik", (2, 2, 3), (2, 4, 3)), ("abc,cd->abd", (2, 2, 3), (3, 2)),
    ("bhqd,bhkd->bhqk", (1, 2, 2, 3), (1, 2, 3, 3)), ("ij,jk,kl->il", (2, 3), (3, 2), (2, 2)), ("iij->j", (3, 3, 2)),
    ("...ij,...jk->...ik", (2, 1, 2, 3), (2, 3, 2)), ("i...,i...->...", (3, 2), (3, 2)), ("...i->...", (2, 2, 3)), ("ab,cd->dacb", (2, 2), (1, 3)),
    ("ij,k->ik", (2, 3), (2,)), ("ba,b", (2, 3), (2,)),
]:
    case("einsum " + equation, lambda *x: torch.einsum(equation, *x), *[rnd(*shape) for shape in shapes])

# Matrix products.
case("matmul both batched", lambda x, y: x @ y, rnd(2, 1, 2, 3), rnd(1, 3, 3, 2))
case("matmul vector matrix", lambda x, y: x @ y, rnd(3), rnd(3, 2))
case("matmul inner of none", lambda x, y: x @ y, rnd(2, 0), rnd(0, 3))
case("matmul of a transpose", lambda x, y: x.mT @ y.mT, rnd(2, 3, 2), rnd(4, 3))
case("mv", lambda x, y: torch.mv(x, y), rnd(2, 3), rnd(3))
case("bmm", lambda x, y: torch.bmm(x, y), rnd(2, 2, 3), rnd(2, 3, 2))
case("addmv", lambda b, x, y: torch.addmv(b, x, y, beta=0.5, alpha=2), rnd(2), rnd(2, 3), rnd(3))
case("baddbmm", lambda b, x, y: torch.baddbmm(b, x, y, beta=-1, alpha=0.5), rnd(2, 1, 2), rnd(2, 2, 3), rnd(2, 3, 2))
case("trace", lambda x: x.trace(), rnd(3, 3))
case("tensordot one", lambda x, y: torch.tensordot(x, y, dims=([2], [0])), rnd(2, 2, 3), rnd(3, 2))
case("linear without bias", lambda x, w: F.linear(x, w), rnd(3), rnd(2, 3))

# Reductions and scans.
for p in [0, 0.5, 1.5, 4, math.inf, -math.inf]:
    case(f"norm p={p}", lambda x: x.norm(p, (1,)), rnd(2, 3, lo=0.2), grad=p != 0)
case("norm over two dims", lambda x: torch.linalg.vector_norm(x, 2, (0, 2), True), rnd(2, 3, 2))
case("var correction", lambda x: torch.var(x, (1,), correction=2, keepdim=False), rnd(2, 5))
case("var all", lambda x: x.var(), rnd(2, 3))
case("std keepdim", lambda x: x.std((0, 1), keepdim=True), rnd(2, 3))
case("var_mean", lambda x: torch.var_mean(x, (1,), unbiased=False), rnd(2, 4))
case("amin ties", lambda x: x.amin((0, 1)), ties)
case("max all", lambda x: x.max(), rnd(2, 3))
case("argmax", lambda x: x.argmax(1), ties, grad=False)
case("argmin keepdim", lambda x: x.argmin(0, keepdim=True), rnd(3, 2), grad=False)
case("argmax all", lambda x: x.argmax(), ties, grad=False)
case("prod keepdim", lambda x: x.prod(0, keepdim=True), z)
case("prod of two zeros", lambda x: x.prod(), torch.tensor([[0.0, 2], [0, 3]], dtype=torch.float64))
case("prod of one zero", lambda x: x.prod(), torch.tensor([[0.0, 2], [5, 3]], dtype=torch.float64))
case("cumprod dim 0", lambda x: x.cumprod(0), z)
case("cumprod without zeros", lambda x: x.cumprod(-1), rnd(2, 4))
case("cumsum middle", lambda x: x.cumsum(-2), rnd(2, 3, 2))
case("logcumsumexp infinities", lambda x: x.logcumsumexp(1), inf[1:, :2])
case("logsumexp keepdim", lambda x: x.logsumexp((1,), keepdim=True), rnd(2, 3, lo=-80, hi=80))
case("mean all", lambda x: x.mean(), rnd(2, 3))
case("sum of integers", lambda x: x.sum(0), idx(100, 3, 2), grad=False)
case("cumsum of integers", lambda x: x.cumsum(0), idx(100, 4), grad=False)

# Views and data movement.
case("diagonal above", lambda x: x.diagonal(1), rnd(3, 4))
case("diagonal of the last axes", lambda x: x.diagonal(0, -2, -1), rnd(2, 2, 3))
case("diag_embed below", lambda x: torch.diag_embed(x, -1), rnd(3))
case("unfold middle", lambda x: x.unfold(1, 2, 1), rnd(2, 3, 2))
case("unfold with gaps", lambda x: x.unfold(0, 2, 3), rnd(8))
case("as_strided rows", lambda x: x.as_strided((2, 3), (2, 1)), rnd(5))
case("as_strided one element", lambda x: x.as_strided((4,), (0,), 2), rnd(3))
case("expand", lambda x: x.expand(3, 2, 4), rnd(2, 1))
case("permute", lambda x: x.permute(2, 0, 1), rnd(2, 3, 2))
case("select", lambda x: x.select(1, -1), rnd(2, 3))
case("narrow", lambda x: x.narrow(-1, 1, 2), rnd(2, 4))
case("squeeze", lambda x: x.squeeze(1), rnd(2, 1, 2))
case("unbind", lambda x: x.unbind(1), rnd(2, 3))
case("split sizes", lambda x: x.split([1, 0, 3], 0), rnd(4, 2))
case("cat of an empty one", lambda x, y: torch.cat((x, y), 0), rnd(0, 2), rnd(2, 2))
case("roll back", lambda x: x.roll(-4, 1), rnd(2, 3))
case("repeat none", lambda x: x.repeat(0, 2), rnd(1, 2))
case("repeat_interleave rows", lambda x: x.repeat_interleave(3, 0), rnd(2, 2))
case("pad three axes", lambda x: F.pad(x, (1, 0, 0, 1, 1, 1)), rnd(2, 1, 2))
case("pad reflect one axis", lambda x: F.pad(x, (2, 3), "reflect"), rnd(1, 2, 4))
case("pad replicate three axes", lambda x: F.pad(x, (1, 0, 0, 1, 2, 0), "replicate"), rnd(1, 1, 2, 2, 2))
case("pad circular one axis", lambda x: F.pad(x, (3, 2), "circular"), rnd(1, 2, 3))
case("flip all", lambda x: x.flip((0, 1)), rnd(2, 3))
case("where", lambda x, y: torch.where(x > 0, x, y), rnd(2, 3), rnd(3))
case("masked_fill", lambda x: x.masked_fill(x > 0.5, 7), rnd(2, 3))

# Indexing and order.
twice = torch.tensor([[0, 0, 2, 1], [3, 3, 3, 0]])
case("gather repeated", lambda x, i: x.gather(1, i), rnd(2, 4), twice)
case("gather dim 0", lambda x, i: x.gather(0, i), rnd(4, 3), idx(4, 2, 3))
case("scatter_add repeated", lambda x, i, s: x.scatter_add(1, i, s), rnd(2, 4), twice, rnd(2, 4))
case("scatter of a number", lambda x, i: x.scatter(1, i, 2.5), rnd(2, 5), perm)
case("index_fill", lambda x, i: x.index_fill(1, i, -1), rnd(2, 4), torch.tensor([2, 0]))
case("index_copy", lambda x, i, s: x.index_copy(0, i, s), rnd(4, 2), torch.tensor([3, 1]), rnd(2, 2))
case("index_select repeated", lambda x, i: x.index_select(0, i), rnd(3, 2), torch.tensor([1, 1, 2, 1]))
case("index_add middle", lambda x, i, s: x.index_add(1, i, s), rnd(2, 3, 2), torch.tensor([0, 0]), rnd(2, 2, 2))
case("embedding all", lambda i, w: F.embedding(i, w), torch.tensor([2, 0, 2]), rnd(3, 2))
case("kthvalue keepdim", lambda x: x.kthvalue(1, 0, keepdim=True), rnd(3, 2))
case("topk all", lambda x: x.topk(3, 1), rnd(2, 3))
odd = torch.tensor([[3.0, float("nan"), -1, float("inf")], [float("-inf"), 2, 2, 1]], dtype=torch.float64)
case("sort special", lambda x: x.sort(dim=1, stable=True), odd, grad=False)
case("sort special descending", lambda x: x.sort(dim=1, stable=True, descending=True), odd, grad=False)
case("argsort", lambda x: x.argsort(0), rnd(4, 2), grad=False)
case("unique integers", lambda x: torch.unique(x, return_inverse=True, return_counts=True), torch.tensor([5, -1, 5, 3]), grad=False)
case("bucketize", lambda v, b: torch.bucketize(v, b, right=True), torch.cat((row[1:3], rnd(2))), row, grad=False)
rows = rnd(2, 4).sort(1).values
case("searchsorted rows", lambda s, v: torch.searchsorted(s, v), rows, rnd(2, 3), grad=False)

# Normalization.
case("softmax dim 0", lambda x: x.softmax(0), rnd(3, 2, lo=-40, hi=40))
case("softmin", lambda x: F.softmin(x, 1), rnd(2, 3))
case("log_softmax far", lambda x: x.log_softmax(0), rnd(3, lo=-500, hi=500))
case("layer_norm bare", lambda x: F.layer_norm(x, (3,), eps=0.1), rnd(2, 3))
case("group_norm one", lambda x: F.group_norm(x, 1), rnd(2, 2, 3))
case("batch_norm train matrix", lambda x: F.batch_norm(x, None, None, training=True, eps=0.01), rnd(4, 2))
case("batch_norm bare", lambda x, m, v: F.batch_norm(x, m, v, eps=0.1), rnd(2, 3), rnd(3), rnd(3, lo=0.5), fixed=(1, 2))
case("instance_norm weights", lambda x, w, b: F.instance_norm(x, weight=w, bias=b), rnd(2, 2, 3), rnd(2), rnd(2))
case("normalize p=1", lambda x: F.normalize(x, p=1, dim=0), rnd(2, 3))
case("glu", lambda x: F.glu(x, 1), rnd(2, 4))
case("prelu", lambda x, w: F.prelu(x, w), rnd(2, 3), rnd(1))

# Losses, each with each reduction. The test reads both from the name.
positive = lambda: rnd(2, 3, lo=0.1, hi=0.9)
for reduction in ["none", "mean", "sum"]:
    for name, f, x, y in [
        ("mse", F.mse_loss, rnd(2, 3), rnd(2, 3)), ("l1", F.l1_loss, rnd(2, 3), rnd(2, 3)),
        ("smooth_l1", F.smooth_l1_loss, rnd(2, 3), rnd(2, 3)), ("huber", F.huber_loss, rnd(2, 3), rnd(2, 3)),
        ("bce", F.binary_cross_entropy, positive(), positive()), ("bce_with_logits", F.binary_cross_entropy_with_logits, rnd(2, 3), positive()),
        ("kl_div", F.kl_div, rnd(2, 3), positive()),
    ]:
        case(f"loss {name} {reduction}", lambda x, y: f(x, y, reduction=reduction), x, y, fixed=(1,) if "bce" in name else ())
    for name, f in [("cross_entropy", F.cross_entropy), ("nll", F.nll_loss)]:
        case(f"loss {name} {reduction}", lambda x, t, w: f(x, t, w, ignore_index=1, reduction=reduction), rnd(4, 3), torch.tensor([0, 1, 2, 2]), rnd(3, lo=0.5), fixed=(2,))
case("cross_entropy images", lambda x, t: F.cross_entropy(x, t), rnd(2, 3, 2, 2), idx(3, 2, 2, 2))
case("cross_entropy nothing left", lambda x, t: F.cross_entropy(x, t, ignore_index=0, reduction="sum"), rnd(2, 3), torch.tensor([0, 0]))
case("cross_entropy far", lambda x, t: F.cross_entropy(x, t), rnd(2, 3, lo=-900, hi=900), idx(3, 2))
case("cross_entropy probs sum", lambda x, t, w: F.cross_entropy(x, t, w, reduction="sum"), rnd(2, 3), positive(), rnd(3, lo=0.5), fixed=(1, 2))
case("cosine_similarity of rows", lambda x, y: F.cosine_similarity(x, y, 0), rnd(2, 3), rnd(2, 3))

# Convolution and pooling.
case("conv1d grouped", lambda x, w: F.conv1d(x, w, stride=2, padding=2, dilation=2, groups=2), rnd(1, 4, 7), rnd(2, 2, 3))
case("conv1d without batch", lambda x, w, b: F.conv1d(x, w, b), rnd(2, 5), rnd(3, 2, 2), rnd(3))
case("conv2d of each channel", lambda x, w: F.conv2d(x, w, padding=1, groups=3), rnd(1, 3, 3, 3), rnd(3, 1, 3, 3))
case("conv2d of points", lambda x, w, b: F.conv2d(x, w, b, stride=2), rnd(2, 3, 3, 4), rnd(2, 3, 1, 1), rnd(2))
case("conv2d wide", lambda x, w: F.conv2d(x, w, padding=(0, 3), dilation=(1, 3)), rnd(1, 2, 4, 5), rnd(2, 2, 2, 3))
case("conv3d grouped", lambda x, w, b: F.conv3d(x, w, b, padding=1, dilation=2, groups=2), rnd(1, 2, 3, 3, 3), rnd(2, 1, 2, 2, 2), rnd(2))
case("conv_transpose1d dilated", lambda x, w, b: F.conv_transpose1d(x, w, b, padding=1, dilation=2), rnd(1, 2, 4), rnd(2, 3, 3), rnd(3))
case("conv_transpose2d output padding", lambda x, w: F.conv_transpose2d(x, w, stride=3, padding=1, output_padding=2), rnd(1, 2, 2, 2), rnd(2, 1, 2, 3))
case("conv_transpose2d grouped", lambda x, w: F.conv_transpose2d(x, w, stride=2, output_padding=(1, 0), groups=3), rnd(1, 3, 2, 2), rnd(3, 1, 2, 2))
case("max_pool2d overlapping", lambda x: F.max_pool2d(x, 3, 1, 1), rnd(1, 2, 4, 3))
case("max_pool2d ceil padded", lambda x: F.max_pool2d(x, (2, 3), 2, (1, 1), ceil_mode=True, return_indices=True), rnd(1, 1, 6, 6))
case("max_pool2d without batch", lambda x: F.max_pool2d(x, 2), rnd(2, 4, 5))
case("max_pool2d ties", lambda x: F.max_pool2d(x, 2, 1, return_indices=True), ties.reshape(1, 1, 2, 4))
case("max_pool1d padded", lambda x: F.max_pool1d(x, 4, 3, padding=2, ceil_mode=True), rnd(1, 2, 8))
case("avg_pool2d ceil, counted", lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), rnd(1, 1, 6, 7))
case("avg_pool2d ceil, not counted", lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False), rnd(1, 1, 6, 7))
case("avg_pool2d ceil, not padded", lambda x: F.avg_pool2d(x, 2, 3, ceil_mode=True), rnd(1, 1, 5, 4))
case("avg_pool1d padded", lambda x: F.avg_pool1d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False), rnd(1, 2, 6))
case("adaptive_avg_pool1d more", lambda x: F.adaptive_avg_pool1d(x, 5), rnd(1, 2, 3))
case("adaptive_avg_pool2d one", lambda x: F.adaptive_avg_pool2d(x, 1), rnd(2, 2, 3, 4))

# Factories.
case("arange of a float end", lambda: torch.arange(0, 3.5, 1, dtype=torch.float64), grad=False)
case("arange down", lambda: torch.arange(5, -4, -3), grad=False)
case("logspace", lambda: torch.logspace(-1, 2, 4, base=2, dtype=torch.float64), grad=False)
case("arange", lambda: torch.arange(1, 10, 3), grad=False)
case("arange float", lambda: torch.arange(1, 2, 0.3, dtype=torch.float64), grad=False)
case("linspace", lambda: torch.linspace(-1, 2, 7, dtype=torch.float64), grad=False)
case("eye", lambda: torch.eye(2, 3, dtype=torch.float64), grad=False)

# Several results of one pass, and dot products.
def frexp(x):
    mantissa, exponent = torch.frexp(x)
    return mantissa, exponent.long()


def ends(*dim, **options):
    return lambda x: (torch.amin(x, dim, **options), torch.amax(x, dim, **options))  # aminmax has no gradient there


def complex_vecdot(a, b, c, d):
    out = torch.linalg.vecdot(torch.complex(a, b), torch.complex(c, d))
    return out.real, out.imag


tied = torch.tensor([[1.0, -2, 1, -2], [3, 3, 3, 3], [-0.0, 0, 5, 5]], dtype=torch.float64)
case("frexp", frexp, torch.tensor([0.0, -0.0, 1, -1, 0.5, 0.75, 3, -1000, 1e-30, 1e30, 2**-126, 1023.5], dtype=torch.float64), grad=False)
case("frexp, gradient", lambda x: torch.frexp(x)[0], rnd(3, 4, lo=0.1, hi=9))
case("aminmax", ends(0, 1), rnd(3, 4))
case("aminmax dim", ends(1), rnd(3, 4, 2))
case("aminmax keepdim", ends(-1, keepdim=True), rnd(3, 4, 2))
case("aminmax ties", ends(1), tied)
case("aminmax nan", lambda x: torch.aminmax(x, dim=0), torch.tensor([[1.0, math.nan, 2], [math.inf, 3, -math.inf]], dtype=torch.float64), grad=False)
case("vecdot", lambda x, y: torch.linalg.vecdot(x, y), rnd(3, 4), rnd(3, 4))
case("vecdot dim", lambda x, y: torch.linalg.vecdot(x, y, dim=1), rnd(2, 3, 4), rnd(3, 1))
case("vecdot complex", complex_vecdot, rnd(3, 4), rnd(3, 4), rnd(1, 4), rnd(1, 4))

# Prefixes of extremes and of complex sums, whose logarithms here are all principal ones; windows over volumes.
def complex_logcumsumexp(a, b):
    out = torch.logcumsumexp(torch.complex(a, b), 0)
    return out.real, out.imag


case("cummax", lambda x: torch.cummax(x, 1), rnd(3, 7))
case("cummax ties", lambda x: torch.cummax(x, -1), tied)
case("cummax nan", lambda x: torch.cummax(x, 0), torch.tensor([1.0, 3, math.nan, 5, math.nan, -math.inf], dtype=torch.float64), grad=False)
case("cummax integers", lambda x: torch.cummax(x, 0), torch.tensor([[3, 1], [3, 2], [1, 2], [4, -7]]), grad=False)
case("cummin", lambda x: torch.cummin(x, 0), rnd(5, 3))
case("cummin ties", lambda x: torch.cummin(x, 1), tied)
case("cummin nan", lambda x: torch.cummin(x, 0), torch.tensor([math.inf, 3, 2, math.nan, 1], dtype=torch.float64), grad=False)
case("logcumsumexp complex", complex_logcumsumexp, rnd(5, lo=-1, hi=1), rnd(5, lo=-1, hi=1))
case("logcumsumexp complex of zeros", complex_logcumsumexp, torch.tensor([-math.inf, -math.inf, 0.5, -math.inf, 2], dtype=torch.float64), torch.tensor([0.0, 0, 1, 0, -1], dtype=torch.float64), grad=False)
case("max_pool3d", lambda x: F.max_pool3d(x, (2, 3, 2), (1, 2, 1), (1, 1, 0), return_indices=True), rnd(1, 2, 3, 5, 4))
case("max_pool3d ceil", lambda x: F.max_pool3d(x, 2, ceil_mode=True), rnd(2, 3, 5, 3))
case("max_pool3d dilated", lambda x: F.max_pool3d(x, 2, 1, dilation=(1, 2, 3)), rnd(1, 1, 3, 4, 5))
case("avg_pool3d", lambda x: F.avg_pool3d(x, (2, 1, 3), 2, (1, 0, 1)), rnd(1, 2, 4, 3, 5))
case("avg_pool3d ceil, not counted", lambda x: F.avg_pool3d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False), rnd(1, 1, 4, 5, 4))

with open("structured.json", "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
print(len(cases), torch.__version__)
