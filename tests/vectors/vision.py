"""Writes vision.json: what PyTorch and torchvision give for images in other sizes, blocks
of images, boxes and deformable convolutions, all in float64.

operators: as in families.json: operands, results and the gradients of
           sum(result * weight), weight being 1, 2, 3 ... / elements; null where there are
           none. A result of integers has no gradients.

Run with a Python that has PyTorch and torchvision, in this directory: python vision.py
"""

import json
import warnings

import torch
import torch.nn.functional as F
import torchvision.ops as vision

warnings.simplefilter("ignore")
torch.manual_seed(23)
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


CASES = []


def case(name, f, *inputs, grad=True):
    leaves = [x.clone().requires_grad_(grad and x.is_floating_point()) for x in inputs]
    y = f(*leaves)
    grads = None
    if grad:
        weighted(y).backward()
        grads = [dump(x.grad) if x.grad is not None else dump(torch.zeros_like(x)) for x in leaves]
    CASES.append({"name": name, "in": [dump(x) for x in inputs], "out": [dump(y)], "grad": grads})


def resizing():
    for mode, shape in (("linear", (2, 3, 7)), ("bilinear", (1, 2, 5, 6)), ("trilinear", (1, 1, 2, 4, 3)), ("bicubic", (1, 2, 5, 6))):
        for corners in (False, True):
            for to in (3, 7):
                size = [to] * (len(shape) - 2)
                case(f"interpolate {mode} {corners} {to}", lambda x: F.interpolate(x, size, mode=mode, align_corners=corners), rnd(*shape))
                if mode in ("bilinear", "bicubic"):
                    case(f"interpolate {mode} {corners} {to} antialias",
                         lambda x: F.interpolate(x, size, mode=mode, align_corners=corners, antialias=True), rnd(*shape))
    for mode in ("nearest", "nearest-exact"):
        for to in (1, 4, 11):
            case(f"interpolate {mode} {to}", lambda x: F.interpolate(x, (to, to), mode=mode), rnd(1, 2, 6, 5))


def blocks():
    case("im2col", lambda x: F.unfold(x, (2, 3), padding=(1, 0), stride=(2, 1)), rnd(2, 3, 5, 6))
    case("im2col dilated", lambda x: F.unfold(x, 2, dilation=(2, 3)), rnd(1, 2, 5, 6))
    case("col2im", lambda x: F.fold(x, (5, 6), (2, 3), padding=(1, 0), stride=(2, 1)), rnd(2, 18, 12))
    case("col2im one", lambda x: F.fold(x, (5, 6), 2, dilation=(2, 3)), rnd(8, 9))


def boxes(n, size):
    at = rnd(n, 2, lo=-1, hi=size)
    return torch.cat([at, at + rnd(n, 2, lo=0.25, hi=size)], 1)


def regions():
    x = rnd(2, 2, 6, 7)
    image = torch.tensor([0.0, 1.0, 1.0, 0.0, 1.0]).unsqueeze(1)
    for ratio in (0, 1, 2):
        for aligned in (False, True):
            b = torch.cat([image, boxes(5, 12)], 1)
            case(f"roi_align {ratio} {aligned}",
                 lambda x: vision.roi_align(x, b, (3, 2), spatial_scale=0.6, sampling_ratio=ratio, aligned=aligned), x)
            CASES[-1]["in"].append(dump(b))
            CASES[-1]["grad"].append(None)  # torchvision has none, which is not the derivative
    b, s = boxes(24, 8), rnd(24)
    s[7] = s[3]
    for limit in (0.1, 0.3, 0.7):
        case(f"nms {limit}", lambda b, s: vision.nms(b, s, limit), b, s, grad=False)
        c = torch.arange(24) % 3
        case(f"batched_nms {limit}", lambda b, s, c: vision.batched_nms(b, s, c, limit), b, s, c, grad=False)
    case("box_iou", vision.box_iou, boxes(4, 5), boxes(3, 5))


def deformed():
    for name, x, w, parts, opts in (
        ("plain", (2, 4, 6, 5), (3, 4, 3, 2), 1, {}),
        ("strided", (1, 4, 7, 8), (2, 4, 3, 3), 2, {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2)}),
        ("grouped", (2, 4, 6, 5), (6, 2, 2, 2), 4, {"padding": 1}),
    ):
        def at(o, i):
            v = opts.get(o, i)
            return v if isinstance(v, tuple) else (v, v)
        s, p, d = at("stride", 1), at("padding", 0), at("dilation", 1)
        out = [(x[2 + i] + 2 * p[i] - d[i] * (w[2 + i] - 1) - 1) // s[i] + 1 for i in range(2)]
        area = w[2] * w[3]
        offset, mask = rnd(x[0], 2 * parts * area, *out, lo=-1.5, hi=1.5), rnd(x[0], parts * area, *out, lo=0, hi=1)
        case(f"deform_conv2d {name}", lambda x, o, w, b, m: vision.deform_conv2d(x, o, w, b, mask=m, stride=s, padding=p, dilation=d),
             rnd(*x), offset, rnd(*w), rnd(w[0]), mask)
        case(f"deform_conv2d {name} without", lambda x, o, w: vision.deform_conv2d(x, o, w, stride=s, padding=p, dilation=d),
             rnd(*x), torch.zeros_like(offset), rnd(*w))


resizing()
blocks()
regions()
deformed()
with open("vision.json", "w") as f:
    json.dump({"torch": torch.__version__, "operators": CASES}, f)
    f.write("\n")
