"""PyTorch's side of cmd/bench: does what JSON lines on its input ask for.

Argument: the device. Every line is answered by one line. A batch runs the row's
statement with timeit, so no time goes to calls of Python functions but those of
PyTorch.
"""

import itertools
import json
import math
import os
import re
import sys
import time
import timeit

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what libraries print goes to standard error


def answer(**values):
    answers.write(json.dumps(values) + "\n")
    answers.flush()


try:
    import torch
    import torch.nn as nn
    import torch.nn.functional as F
except Exception as error:  # also broken installations
    answer(error=f"import torch: {type(error).__name__}: {error}")
    sys.exit(0)

device = torch.device(sys.argv[1])
on_gpu = device.type == "cuda"


def synchronize():
    if on_gpu:
        torch.cuda.synchronize(device)


def training(model, opt, how, images, labels):
    """Returns step(images, labels) of a classifier: eager, compiled, or replayed from a CUDA
    graph, whose arguments are like images and labels."""
    forward = torch.compile(model) if how == "compile" else model

    def step(images, labels):
        opt.zero_grad()
        F.cross_entropy(forward(images), labels).backward()
        opt.step()

    if how != "graph":
        return step
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step(images, labels)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step(images, labels)

    def replay(x, y):
        images.copy_(x)
        labels.copy_(y)
        graph.replay()

    return replay


def mlp(optimizer, rate, how="eager"):
    """Returns step(images, labels) of a perceptron 784-1024-1024-10."""
    model = nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)).to(device)
    images, labels = torch.randn(128, 784, device=device), torch.randint(0, 10, (128,), device=device)
    return training(model, optimizer(model.parameters(), lr=rate), how, images, labels)


def digits(how="eager"):
    """Returns step(images, labels) of the digits example: images of 8 by 8."""
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.3), nn.Linear(512, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 10),
    ).to(device)
    images, labels = torch.randn(64, 1, 8, 8, device=device), torch.randint(0, 10, (64,), device=device)
    return training(model, torch.optim.Adam(model.parameters(), lr=1e-3, capturable=how == "graph"), how, images, labels)


class Bottleneck(nn.Module):
    """A block of ResNet-50."""

    def __init__(self, inside, width, stride):
        super().__init__()
        outside = 4 * width
        self.body = nn.Sequential(
            nn.Conv2d(inside, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, outside, 1, bias=False), nn.BatchNorm2d(outside),
        )
        self.shortcut = None
        if inside != outside or stride != 1:
            self.shortcut = nn.Sequential(nn.Conv2d(inside, outside, 1, stride=stride, bias=False), nn.BatchNorm2d(outside))

    def forward(self, x):
        beside = x if self.shortcut is None else self.shortcut(x)
        return F.relu(self.body(x) + beside, inplace=True)


def resnet50_layers():
    layers = [nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inside = 64
    for i, n in enumerate((3, 4, 6, 3)):
        for k in range(n):
            layers.append(Bottleneck(inside, 64 << i, 2 if i > 0 and k == 0 else 1))
            inside = 256 << i
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inside, 1000))


def folded(model):
    """Folds norms into the convolutions before them."""
    for child in model.children():
        folded(child)
    if isinstance(model, nn.Sequential):
        for i in range(len(model) - 1, 0, -1):
            if isinstance(model[i], nn.BatchNorm2d):
                model[i - 1] = torch.nn.utils.fusion.fuse_conv_bn_eval(model[i - 1], model[i])
                del model[i]
    return model


def resnet50_infers(dtype, how="eager"):
    """Returns infer(images) of ResNet-50, batch 32, whose norms are folded and whose channels are last."""
    model = folded(resnet50_layers().eval()).to(device, dtype).to(memory_format=torch.channels_last)
    images = torch.randn(32, 3, 224, 224, device=device, dtype=dtype).to(memory_format=torch.channels_last)
    forward = torch.compile(model) if how == "compile" else model

    def infer(x):
        with torch.no_grad():
            return forward(x.to(memory_format=torch.channels_last))

    if how != "graph":
        return infer
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            infer(images)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        infer(images)

    def replay(x):
        images.copy_(x)
        graph.replay()

    return replay


def resnet50(dtype=torch.float32, how="eager"):
    """Returns step(images, labels) of ResNet-50, batch 64, SGD; in 16 bits with its channels last."""
    model = resnet50_layers().to(device, dtype)
    images, labels = torch.randn(64, 3, 224, 224, device=device, dtype=dtype), torch.randint(0, 1000, (64,), device=device)
    if dtype != torch.float32:
        model, images = model.to(memory_format=torch.channels_last), images.to(memory_format=torch.channels_last)
        model.register_forward_pre_hook(lambda _, x: (x[0].to(dtype, memory_format=torch.channels_last),))
    return training(model, torch.optim.SGD(model.parameters(), lr=0.01), how, images, labels)


def function(name):
    """Returns what a statement of an operator calls by its name alone."""
    for module in (torch, F, torch.special):
        found = getattr(module, name, None)
        if callable(found):
            return found
    raise NameError(f"PyTorch has no function {name}")


def draw(spec, shape, dtype, place):
    low, high = spec.get("low", 0), spec.get("high", 0)
    if spec.get("perm") and len(shape) == 1:
        return torch.randperm(spec["below"], dtype=dtype, device=place)[: shape[0]].clone()
    if spec.get("perm"):
        return torch.rand(shape, device=place).argsort(spec.get("axis", 0)).to(dtype)
    if spec.get("below"):
        return torch.randint(0, spec["below"], shape, dtype=dtype, device=place)
    if low == high:
        return torch.randn(shape, dtype=dtype, device=place)
    if dtype == torch.bool:
        return torch.rand(shape, device=place) > 0.5
    if dtype.is_complex:
        return torch.complex(*(torch.rand(shape, device=place) * (high - low) + low for _ in range(2))).to(dtype)
    if not dtype.is_floating_point:
        return torch.randint(math.ceil(low), math.floor(high) + 1, shape, dtype=dtype, device=place)
    x = torch.rand(shape, dtype=dtype, device=place) * (high - low) + low
    return x.sort().values if spec.get("sorted") else x


def operand(spec):
    shape, dtype = list(spec["shape"]), getattr(torch, spec["dtype"])
    where = spec.get("where", "")
    place = device if where == "" else torch.device("cpu")
    if where == "peer":
        place = torch.device(device.type, (device.index or 0) + 1)
    if spec.get("transposed"):
        shape[-1], shape[-2] = shape[-2], shape[-1]
    x = draw(spec, shape, dtype, place)
    if spec.get("positive"):
        x = x.abs() + 0.01
    if where == "pinned":
        x = x.pin_memory()
    x = x.transpose(-1, -2) if spec.get("transposed") else x
    return x.requires_grad_() if spec.get("grad") else x


def operands(specs):
    """Returns fresh operands by name; those of a list are together."""
    found = {}
    for name, spec in zip("abc" + "?" * len(specs), specs):
        name = spec.get("name", name)
        if spec.get("list"):
            found.setdefault(name, []).append(operand(spec))
        else:
            found[name] = operand(spec)
    return found


def tensors(value):
    """Returns the tensors in a result."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for part in value for t in tensors(part)] if isinstance(value, (list, tuple)) else []


class Work:
    """One row."""

    def __init__(self, ask):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = ask["tf32"]
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = True
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = True
        if ask["threads"]:
            torch.set_num_threads(ask["threads"])
        sets = [operands(ask["in"]) for _ in range(ask["sets"])]
        names = list(sets[0])
        space = {"torch": torch, "nn": nn, "F": F, "device": device, "mlp": mlp, "digits": digits, "resnet50": resnet50, "resnet50_infers": resnet50_infers, **sets[0], **(ask.get("attrs") or {})}
        exec(ask["setup"], space)
        statement = ask["statement"]
        if ask.get("attrs") is not None and (called := re.match(r"(\w+)\(", statement)):
            space[called[1]] = function(called[1])
        if ask.get("gradients"):
            statement = self.differentiated(statement, space, ask["in"])
        sets = [tuple(s.values()) for s in sets]
        if len(sets) > 1:
            space["turn"] = itertools.cycle(sets).__next__
            statement = f"{','.join(names)}, = turn(); {statement}"
        self.timer = timeit.Timer(statement, globals=space)
        self.clock = ask["clock"] if on_gpu or ask["clock"] == "used" else "wall"
        if self.clock == "device":
            self.start, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        synchronize()

    def differentiated(self, statement, space, specs):
        """Returns the statement with the gradients of its results, from ones."""
        results = tensors(eval(statement, space))
        wanted = [i for i, t in enumerate(results) if t.requires_grad]
        space["dy"] = [torch.ones_like(results[i]) for i in wanted]
        leaves = {}
        for spec in specs:
            if spec.get("grad"):
                leaves[spec["name"]] = ("*" if spec.get("list") else "") + spec["name"]
        leaves = ", ".join(leaves.values())
        if len(results) > 1:
            space["tensors"] = tensors
            statement = f"r = tensors({statement}); r = [r[i] for i in {wanted}]"
        else:
            statement = f"r = {statement}"
        return f"{statement}; torch.autograd.grad(r, [{leaves}], dy, allow_unused=True)"

    def batch(self, n):
        synchronize()
        if self.clock == "device":
            self.start.record()
            self.timer.timeit(n)
            self.end.record()
            self.end.synchronize()
            return self.start.elapsed_time(self.end) / 1e3
        if self.clock == "used":
            used = time.process_time()
            self.timer.timeit(n)
            return time.process_time() - used
        began = time.perf_counter()
        host = self.timer.timeit(n)
        synchronize()
        return host if self.clock == "host" else time.perf_counter() - began


def hello():
    answer(version=torch.__version__, device=torch.cuda.get_device_name(device) if on_gpu else "cpu", threads=torch.get_num_threads())


work = None
try:
    hello()
except Exception as error:
    answer(error=f"{type(error).__name__}: {error}")
    sys.exit(0)
for line in sys.stdin:
    try:
        ask = json.loads(line)
        if ask["do"] == "prepare":
            work = Work(ask)
            answer()
        elif ask["do"] == "batch":
            answer(seconds=work.batch(ask["n"]))
        else:  # drop
            work = None
            if on_gpu:
                torch.cuda.empty_cache()
            answer()
    except Exception as error:
        answer(error=f"{type(error).__name__}: {error}".split("\n")[0])
