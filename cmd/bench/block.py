"""Measures what BenchmarkBlock and BenchmarkPerceptron do with PyTorch on a GPU: eager code and CUDA graphs.

    python3 cmd/bench/block.py
"""

import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    """A transformer's block: attention and a perceptron, each after a norm."""

    def __init__(self, width, heads, fused):
        super().__init__()
        self.heads, self.fused = heads, fused
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.shrink = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        n, steps, width = x.shape
        q, k, v = [p.reshape(n, steps, self.heads, width // self.heads).transpose(1, 2) for p in self.qkv(self.norm1(x)).chunk(3, 2)]
        if self.fused:
            mixed = F.scaled_dot_product_attention(q, k, v)
        else:
            mixed = ((q @ k.transpose(2, 3)) * 0.125).softmax(3) @ v
        x = x + self.out(mixed.transpose(1, 2).reshape(n, steps, width))
        return x + self.shrink(F.gelu(self.widen(self.norm2(x))))


def timed(step, n):
    for _ in range(5):
        step()
    torch.cuda.synchronize()
    best = float("inf")
    for _ in range(4):
        start = time.perf_counter()
        for _ in range(n):
            step()
        torch.cuda.synchronize()
        best = min(best, (time.perf_counter() - start) / n)
    return best * 1e6


def captured(step):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def report(name, opt, loss, n):
    def step():
        opt.zero_grad()
        loss().backward()
        opt.step()

    eager = timed(step, n)
    print(f"{name}: eager {eager:.1f} us, CUDA graph {timed(captured(step), n):.1f} us", flush=True)


def main():
    x = torch.randn(8, 1024, 768, device="cuda", dtype=torch.bfloat16)
    for fused in False, True:
        block = Block(768, 12, fused).to("cuda", torch.bfloat16)
        opt = torch.optim.SGD(block.parameters(), lr=1e-6)
        report("block, attention " + ("fused" if fused else "of parts"), opt, lambda: block(x).square().mean(), 50)
    x, y = torch.randn(128, 784, device="cuda"), torch.randint(0, 10, (128,), device="cuda")
    for tf32, adam in (False, False), (True, False), (True, True):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        mlp = nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)).to("cuda")
        opt = torch.optim.Adam(mlp.parameters(), lr=1e-3, capturable=True) if adam else torch.optim.SGD(mlp.parameters(), lr=0.01)
        report(f"perceptron, {'Adam' if adam else 'SGD'}, TF32 {tf32}", opt, lambda: F.cross_entropy(mlp(x), y), 300)


main()
