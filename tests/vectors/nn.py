"""Writes nn.json: what PyTorch gives for layers, optimizers, schedules and
gradient clipping, all in float64.

layers:     operand, state, result and the gradients of sum(result * weight) over
            the operand and every parameter, weight being 1, 2, 3 ... / elements.
batchnorm:  results and running statistics over several training steps, then
            the result in evaluation.
optimizers: parameters after each of ten steps with given gradients; a step
            without a gradient for a parameter is null.
schedules:  learning rates.
clip:       gradients before and after, and their norm.
inits:      what initialisers draw from: [bound or deviation, shape].
training:   a model trained by AdamW: losses and final state.

Run with a Python that has PyTorch, in this directory: python nn.py
"""

import json
import math
import warnings

import torch
from torch import nn

warnings.simplefilter("ignore")
torch.manual_seed(11)
torch.set_default_dtype(torch.float64)


def rnd(*shape, lo=-2.0, hi=2.0):
    x = torch.rand(shape) * (hi - lo) + lo
    return (x * 1024).round() / 1024


def dump(t):
    return {"shape": list(t.shape), "data": t.detach().flatten().tolist()}


def state(m):
    return {k: dump(v) for k, v in m.state_dict().items() if not k.endswith("num_batches_tracked")}


def shorten(m):
    for p in m.parameters():
        p.data = rnd(*p.shape)


class RMSNorm(nn.Module):
    """Version 1.12 has none: the formula of later versions."""

    def __init__(self, shape, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(shape)), eps
        self.dims = tuple(range(-len(self.weight.shape), 0))

    def forward(self, x):
        return x / (x.square().mean(self.dims, keepdim=True) + self.eps).sqrt() * self.weight


def layers():
    cases = [
        ("linear", nn.Linear(3, 4), rnd(2, 5, 3)),
        ("linear without bias", nn.Linear(3, 2, bias=False), rnd(2, 3)),
        ("conv1d", nn.Conv1d(4, 6, 3, stride=2, padding=2, dilation=2, groups=2), rnd(2, 4, 7)),
        ("conv2d", nn.Conv2d(2, 3, (3, 2), stride=(2, 1), padding=(1, 0)), rnd(2, 2, 5, 4)),
        ("conv2d without bias", nn.Conv2d(2, 4, 1, groups=2, bias=False), rnd(1, 2, 3, 3)),
        ("conv3d", nn.Conv3d(1, 2, 2), rnd(1, 1, 3, 2, 3)),
        ("conv transpose 1d", nn.ConvTranspose1d(4, 2, 3, stride=2, padding=1, output_padding=1, groups=2), rnd(2, 4, 3)),
        ("conv transpose 2d", nn.ConvTranspose2d(2, 3, 3, stride=2, dilation=(1, 2)), rnd(1, 2, 3, 2)),
        ("layer norm", nn.LayerNorm((3, 4)), rnd(2, 3, 4)),
        ("layer norm eps", nn.LayerNorm(4, eps=0.5, elementwise_affine=False), rnd(3, 4)),
        ("rms norm", RMSNorm((4,), 1e-6), rnd(2, 3, 4)),
        ("group norm", nn.GroupNorm(2, 4), rnd(3, 4, 3)),
        ("batch norm 1d", nn.BatchNorm1d(3), rnd(5, 3)),
        ("batch norm 2d", nn.BatchNorm2d(2, momentum=0.3, eps=1e-3), rnd(2, 2, 3, 2)),
        ("prelu", nn.PReLU(3), rnd(2, 3, 4)),
        ("relu", nn.ReLU(), rnd(3, 4)),
        ("relu6", nn.ReLU6(), rnd(3, 4, lo=-4, hi=9)),
        ("leaky relu", nn.LeakyReLU(0.2), rnd(3, 4)),
        ("elu", nn.ELU(), rnd(3, 4)),
        ("selu", nn.SELU(), rnd(3, 4)),
        ("gelu", nn.GELU(), rnd(3, 4)),
        ("gelu tanh", nn.GELU(approximate="tanh"), rnd(3, 4)),
        ("silu", nn.SiLU(), rnd(3, 4)),
        ("mish", nn.Mish(), rnd(3, 4)),
        ("sigmoid", nn.Sigmoid(), rnd(3, 4)),
        ("tanh", nn.Tanh(), rnd(3, 4)),
        ("softplus", nn.Softplus(), rnd(3, 4)),
        ("hardswish", nn.Hardswish(), rnd(3, 4, lo=-5, hi=5)),
        ("softmax", nn.Softmax(dim=1), rnd(3, 4)),
        ("log softmax", nn.LogSoftmax(dim=-1), rnd(3, 4)),
        ("max pool 1d", nn.MaxPool1d(3, stride=2, padding=1), rnd(2, 2, 7)),
        ("max pool 2d", nn.MaxPool2d(2), rnd(1, 2, 4, 5)),
        ("avg pool 1d", nn.AvgPool1d(2), rnd(2, 2, 7)),
        ("avg pool 2d", nn.AvgPool2d((3, 2), stride=2, padding=(1, 0)), rnd(1, 2, 4, 5)),
        ("adaptive avg pool 2d", nn.AdaptiveAvgPool2d((2, 3)), rnd(1, 2, 5, 4)),
        ("flatten", nn.Flatten(), rnd(2, 3, 2)),
        ("embedding", nn.Embedding(5, 3), torch.tensor([[1, 4, 1], [0, 2, 4]])),
        ("embedding with padding", nn.Embedding(5, 2, padding_idx=2), torch.tensor([2, 0, 2, 4])),
        ("embedding by frequency", nn.Embedding(5, 2, scale_grad_by_freq=True), torch.tensor([2, 0, 2, 4])),
        ("embedding of limited norm", nn.Embedding(5, 3, max_norm=0.5, norm_type=1.0), torch.tensor([1, 0, 1])),
        ("conv1d same", nn.Conv1d(2, 3, 4, padding="same"), rnd(2, 2, 5)),
        ("conv2d same", nn.Conv2d(2, 3, (3, 2), padding="same", dilation=(1, 3)), rnd(2, 2, 5, 4)),
        ("conv3d same", nn.Conv3d(1, 2, 2, padding="same"), rnd(1, 1, 3, 2, 3)),
        ("conv transpose 1d of one", nn.ConvTranspose1d(4, 2, 3, stride=2), rnd(4, 3)),
        ("max pool 3d", nn.MaxPool3d((2, 1, 2), stride=(1, 2, 2), padding=(1, 0, 1)), rnd(1, 2, 2, 3, 4)),
        ("avg pool 3d", nn.AvgPool3d(2, stride=1), rnd(1, 2, 2, 3, 4)),
    ]
    out = []
    for name, m, x in cases:
        shorten(m)
        before = state(m)
        x.requires_grad_(x.is_floating_point())
        y = m(x)
        w = torch.arange(1, y.numel() + 1, dtype=torch.float64).reshape(y.shape) / y.numel()
        (y * w).sum().backward()
        grads = {k: dump(p.grad) for k, p in m.named_parameters()}
        if x.grad is not None:
            grads[""] = dump(x.grad)
        out.append({"name": name, "x": dump(x), "state": before, "y": dump(y), "grads": grads})
    return out


def batchnorm():
    m = nn.BatchNorm1d(3, momentum=0.2)
    shorten(m)
    out = {"state": state(m), "momentum": 0.2, "steps": []}
    for n in (4, 2, 7, 3):
        x = rnd(n, 3, 2) * n
        y = m(x)
        out["steps"].append({"x": dump(x), "y": dump(y), "mean": dump(m.running_mean), "var": dump(m.running_var)})
    m.eval()
    x = rnd(1, 3)
    out["eval"] = {"x": dump(x), "y": dump(m(x))}
    return out


def optimizers():
    kinds = {
        "sgd": lambda p: torch.optim.SGD(p, 0.1),
        "sgd weight decay": lambda p: torch.optim.SGD(p, 0.1, weight_decay=0.05),
        "sgd momentum": lambda p: torch.optim.SGD(p, 0.05, momentum=0.9),
        "sgd dampening": lambda p: torch.optim.SGD(p, 0.05, momentum=0.8, dampening=0.3, weight_decay=0.01),
        "sgd nesterov": lambda p: torch.optim.SGD(p, 0.05, momentum=0.9, nesterov=True, weight_decay=0.02),
        "adam": lambda p: torch.optim.Adam(p, 0.02),
        "adam options": lambda p: torch.optim.Adam(p, 0.02, betas=(0.8, 0.95), eps=1e-4, weight_decay=0.1),
        "adamw": lambda p: torch.optim.AdamW(p, 0.02, weight_decay=0.1),
        "adamw options": lambda p: torch.optim.AdamW(p, 0.01, betas=(0.7, 0.9), eps=1e-3, weight_decay=0.3),
    }
    start = [rnd(3), rnd(2, 2)]
    steps = []
    for i in range(10):
        # The second parameter has its first gradient late and none now and then.
        steps.append([dump(rnd(3)), dump(rnd(2, 2)) if i in (2, 3, 5, 6, 9) else None])
    out = {"start": [dump(p) for p in start], "grads": steps, "after": {}}
    for name, make in kinds.items():
        params = [nn.Parameter(p.clone()) for p in start]
        opt = make(params)
        after = []
        for grads in steps:
            for p, g in zip(params, grads):
                p.grad = None if g is None else torch.tensor(g["data"]).reshape(g["shape"])
            opt.step()
            after.append([dump(p) for p in params])
        out["after"][name] = after
    return out


def schedules():
    s = torch.optim.lr_scheduler
    kinds = {
        "step": lambda o: s.StepLR(o, 3, gamma=0.5),
        "multi step": lambda o: s.MultiStepLR(o, [2, 5, 6], gamma=0.1),
        "exponential": lambda o: s.ExponentialLR(o, 0.9),
        "cosine": lambda o: s.CosineAnnealingLR(o, 12, eta_min=0.1 * 0.2),
        "linear warmup": lambda o: s.LinearLR(o, start_factor=0.25, end_factor=1, total_iters=4),
    }
    out = {}
    for name, make in kinds.items():
        opt = torch.optim.SGD([nn.Parameter(torch.zeros(1))], 0.2)
        sched, rates = make(opt), []
        for _ in range(12):
            rates.append(opt.param_groups[0]["lr"])
            opt.step()
            sched.step()
        out[name] = rates
    return out


def clip():
    out = []
    for limit in (0.5, 3.0, 100.0):
        params = [nn.Parameter(rnd(3)), nn.Parameter(rnd(2, 2)), nn.Parameter(rnd(2))]
        for p in params[:2]:  # the third has no gradient
            p.grad = rnd(*p.shape)
        before = [dump(p.grad) for p in params[:2]]
        norm = nn.utils.clip_grad_norm_(params, limit)
        case = {"limit": limit, "before": before, "norm": norm.item(), "after": [dump(p.grad) for p in params[:2]]}
        for p, b in zip(params, before):
            p.grad = torch.tensor(b["data"]).reshape(b["shape"])
        nn.utils.clip_grad_value_(params, limit)
        case["byValue"] = [dump(p.grad) for p in params[:2]]
        out.append(case)
    return out


def inits():
    out = {}
    gains = {"linear": 1.0, "tanh": 5 / 3, "relu": math.sqrt(2), "leaky": nn.init.calculate_gain("leaky_relu", 0.3), "selu": nn.init.calculate_gain("selu")}
    assert gains["tanh"] == nn.init.calculate_gain("tanh") and gains["relu"] == nn.init.calculate_gain("relu")
    out["gains"] = gains
    shape = [64, 24, 3, 2]
    w = torch.empty(shape)
    for name, f in {
        "kaiming uniform in": lambda: nn.init.kaiming_uniform_(w, nonlinearity="relu"),
        "kaiming uniform out": lambda: nn.init.kaiming_uniform_(w, mode="fan_out", nonlinearity="tanh"),
        "kaiming normal in": lambda: nn.init.kaiming_normal_(w, nonlinearity="linear"),
        "xavier uniform": lambda: nn.init.xavier_uniform_(w, gain=2),
        "xavier normal": lambda: nn.init.xavier_normal_(w, gain=0.5),
    }.items():
        f()
        out[name] = {"max": w.abs().max().item(), "std": w.std().item()}
    for name, m in {
        "linear": nn.Linear(24, 64),
        "conv": nn.Conv2d(24, 64, 3, groups=2),
        "conv transpose": nn.ConvTranspose2d(24, 64, 3, groups=2),
        "embedding": nn.Embedding(64, 24),
    }.items():
        out["layer " + name] = {"max": m.weight.abs().max().item(), "std": m.weight.std().item()}
    return out


def training():
    torch.manual_seed(5)
    m = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 3))
    shorten(m)
    out = {"state": state(m), "batches": []}
    opt = torch.optim.AdamW(m.parameters(), 0.05, weight_decay=0.1)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 6, eta_min=0.005)
    for _ in range(6):
        x, y = rnd(4, 1, 4, 4), torch.randint(0, 3, (4,))
        loss = nn.functional.cross_entropy(m(x), y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        opt.step()
        sched.step()
        out["batches"].append({"x": dump(x), "y": dump(y), "loss": loss.item()})
    out["after"] = state(m)
    return out


with open("nn.json", "w") as f:
    json.dump({
        "torch": torch.__version__, "layers": layers(), "batchnorm": batchnorm(), "optimizers": optimizers(),
        "schedules": schedules(), "clip": clip(), "inits": inits(), "training": training(),
    }, f, separators=(",", ":"))
    f.write("\n")
