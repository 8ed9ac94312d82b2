"""Measures the chain of BenchmarkFused with PyTorch: a copy, eager, and torch.compile.

    python3 cmd/bench/fused.py [cpu|cuda] [threads]
"""

import sys
import time

import torch


def chain(x, y, w):
    return torch.tanh(x * torch.sigmoid(x) * y + w) * 0.5 + x


def measure(f, x, device):
    sync = torch.cuda.synchronize if device == "cuda" else lambda: None
    for _ in range(3):
        f(*x)
    sync()
    best = float("inf")
    for _ in range(5):
        n, start = 0, time.perf_counter()
        while n < 3 or time.perf_counter() - start < 0.2:
            f(*x)
            n += 1
            if device == "cuda" and n >= 200:
                break
        sync()
        best = min(best, (time.perf_counter() - start) / n)
    return best


def main():
    device = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    if len(sys.argv) > 2:
        torch.set_num_threads(int(sys.argv[2]))
    compiled = torch.compile(chain)
    for n in [1 << 20, 1 << 26] if device == "cuda" else [1 << 14, 1 << 24]:
        x = [torch.randn(n, device=device) for _ in range(3)]
        to = torch.empty_like(x[0])
        with torch.no_grad():
            for name, f, size in [
                ("copy", lambda a, b, c: to.copy_(a), 8 * n),
                ("eager", chain, 16 * n),
                ("torch.compile", compiled, 16 * n),
            ]:
                took = measure(f, x, device)
                print(f"{device}/{name}/{n >> 10}Ki {took * 1e6:.1f} us {size / took / 1e6:.0f} MB/s", flush=True)


main()
