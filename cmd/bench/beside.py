"""PyTorch's side of cmd/bench: does what JSON lines on its input ask for.

Argument: the device. Every line is answered by one line. A batch runs the row's
statement with timeit, so no time goes to calls of Python functions but those of
PyTorch.
"""

import itertools
import json
import os
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


def mlp(optimizer, rate, how="eager"):
    """Returns step(images, labels) of a perceptron 784-1024-1024-10."""
    model = nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)).to(device)
    opt = optimizer(model.parameters(), lr=rate)
    forward = torch.compile(model) if how == "compile" else model

    def step(images, labels):
        opt.zero_grad()
        F.cross_entropy(forward(images), labels).backward()
        opt.step()

    if how != "graph":
        return step
    images = torch.randn(128, 784, device=device)
    labels = torch.randint(0, 10, (128,), device=device)
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


def digits():
    """Returns step(images, labels) of the digits example: images of 8 by 8."""
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.3), nn.Linear(512, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 10),
    ).to(device)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step(images, labels):
        opt.zero_grad()
        F.cross_entropy(model(images), labels).backward()
        opt.step()

    return step


def operand(spec):
    shape, dtype = list(spec["shape"]), getattr(torch, spec["dtype"])
    where = spec.get("where", "")
    place = device if where == "" else torch.device("cpu")
    if where == "peer":
        place = torch.device(device.type, (device.index or 0) + 1)
    if spec.get("transposed"):
        shape[-1], shape[-2] = shape[-2], shape[-1]
    if spec.get("below"):
        x = torch.randint(0, spec["below"], shape, dtype=dtype, device=place)
    else:
        x = torch.randn(shape, dtype=dtype, device=place)
    if spec.get("positive"):
        x = x.abs() + 0.01
    if where == "pinned":
        x = x.pin_memory()
    return x.transpose(-1, -2) if spec.get("transposed") else x


class Work:
    """One row."""

    def __init__(self, ask):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = ask["tf32"]
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = True
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = True
        if ask["threads"]:
            torch.set_num_threads(ask["threads"])
        names = "abc"[: len(ask["in"])]
        sets = [tuple(operand(o) for o in ask["in"]) for _ in range(ask["sets"])]
        space = {"torch": torch, "nn": nn, "F": F, "device": device, "mlp": mlp, "digits": digits, **dict(zip(names, sets[0]))}
        exec(ask["setup"], space)
        statement = ask["statement"]
        if len(sets) > 1:
            space["turn"] = itertools.cycle(sets).__next__
            statement = f"{','.join(names)}, = turn(); {statement}"
        self.timer = timeit.Timer(statement, globals=space)
        self.clock = ask["clock"] if on_gpu else "wall"
        if self.clock == "device":
            self.start, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        synchronize()

    def batch(self, n):
        synchronize()
        if self.clock == "device":
            self.start.record()
            self.timer.timeit(n)
            self.end.record()
            self.end.synchronize()
            return self.start.elapsed_time(self.end) / 1e3
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
