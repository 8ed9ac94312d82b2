"""PyTorch's side of cmd/several: the same rows, a process for each device.

The arguments are the sizes as JSON, a part of the names of the rows that are wanted, and the
kind of device. Rank 0 prints a line of JSON for each row. Without GPUs it runs on the CPU by
gloo, which shows that it runs and no more.
"""

import json
import math
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

size, wanted, kind = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]
gpu = kind == "cuda"
rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if gpu else torch.device("cpu")
if gpu:
    torch.cuda.set_device(device)
torch.backends.cuda.matmul.allow_tf32 = True
dist.init_process_group("nccl" if gpu else "gloo")


def synchronize():
    if gpu:
        torch.cuda.synchronize()


def seconds(call):
    """The median over rounds of the time of one call; the first round warms up."""
    rounds = []
    for _ in range(size["Rounds"] + 1):
        synchronize()
        dist.barrier()
        synchronize()
        began = time.perf_counter()
        for _ in range(size["Calls"]):
            call()
        synchronize()
        rounds.append((time.perf_counter() - began) / size["Calls"])
    return statistics.median(rounds[1:])


def row(name, measure):
    """Measures a row; measure is given nothing and returns the figure."""
    if wanted in name or wanted.split(":")[0] in name:
        try:
            value = measure()
        except Exception as why:  # the other rows are wanted all the same
            print(f"{name}: {why!r}", file=sys.stderr, flush=True)
            return
        if rank == 0:
            print(json.dumps({"row": name, "value": value}), flush=True)
    if gpu:
        torch.cuda.empty_cache()


def bandwidth(mega):
    x = torch.ones(mega << 18, device=device)
    t = seconds(lambda: dist.all_reduce(x))
    return 2 * (ranks - 1) / ranks * (mega << 20) / t / 1e9


def latency():
    x = torch.ones(64, device=device)

    def call():
        dist.all_reduce(x)
        synchronize()

    return seconds(call) * 1e6


def perceptron():
    layers = []
    for _ in range(size["Layers"]):
        layers += [nn.Linear(size["Width"], size["Width"]), nn.ReLU()]
    return nn.Sequential(*layers).to(device), torch.randn(size["Batch"], size["Width"], device=device)


class Block(nn.Module):
    """Attention made of its parts, and a perceptron."""

    def __init__(self, width, heads):
        super().__init__()
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.queries, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.heads = heads

    def forward(self, x):
        n, t, c = x.shape
        y = self.queries(self.before(x)).reshape(n, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = y[0], y[1], y[2]
        weights = ((q @ k.transpose(-2, -1)) * (1 / math.sqrt(c // self.heads))).softmax(-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(n, t, c))
        return x + self.down(nn.functional.gelu(self.up(self.between(x))))


def transformer():
    blocks = [Block(size["Model"], size["Heads"]) for _ in range(size["Blocks"])]
    x = torch.randn(size["Sequences"], size["Sequence"], size["Model"], device=device, dtype=torch.bfloat16)
    return nn.Sequential(*blocks).to(device, torch.bfloat16), x


def step(make, compress=False):
    model, x = make()
    wrapped = model
    if ranks > 1:
        wrapped = DistributedDataParallel(model, gradient_as_bucket_view=True)
        if compress:
            from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook

            wrapped.register_comm_hook(None, bf16_compress_hook)
    sgd = torch.optim.SGD(model.parameters(), 1e-3)

    def call():
        sgd.zero_grad(set_to_none=True)
        wrapped(x).float().square().mean().backward()
        sgd.step()

    return seconds(call)


def peak(way):
    model, x = perceptron()
    if way == "fully sharded":
        from torch.distributed.fsdp import fully_shard

        for layer in model:
            if isinstance(layer, nn.Linear):
                fully_shard(layer)
        fully_shard(model)
        wrapped = model
    else:
        wrapped = DistributedDataParallel(model, gradient_as_bucket_view=True)
    if way == "divided state":
        from torch.distributed.optim import ZeroRedundancyOptimizer

        adam = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=1e-4)
    else:
        adam = torch.optim.Adam(model.parameters(), 1e-4)
    for k in range(3):
        if k == 2 and gpu:
            torch.cuda.reset_peak_memory_stats()
        adam.zero_grad(set_to_none=True)
        wrapped(x).square().mean().backward()
        adam.step()
    return torch.cuda.max_memory_allocated() / (1 << 20) if gpu else 0.0


if ranks > 1:
    for mega in size["Mega"]:
        row(f"all-reduce of {mega} MiB, bus bandwidth", lambda: bandwidth(mega))
    row("all-reduce of 256 bytes, host to done", latency)
row("perceptron", lambda: step(perceptron))
row("perceptron, bf16 compression", lambda: step(perceptron, compress=True))
row("transformer blocks", lambda: step(transformer))
if ranks > 1:
    for way in "replicas", "divided state", "fully sharded":
        row(f"perceptron with Adam, peak memory: {way}", lambda: peak(way))
dist.destroy_process_group()
