"""Measures what BenchmarkFused does with PyTorch: a copy, and work in eager code and by torch.compile.

    python3 cmd/bench/fused.py [cpu|cuda] [threads]
"""

import sys
import time

import torch


def chain(x, y, w):
    return torch.tanh(x * torch.sigmoid(x) * y + w) * 0.5 + x


def rms_norm(x, w):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * w


def scaled_softmax(x):
    s = x * 0.125
    e = torch.exp(s - s.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


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
    for n in [1 << 20, 1 << 26] if device == "cuda" else [1 << 14, 1 << 24]:
        line = [torch.randn(n, device=device) for _ in range(3)]
        rows = torch.randn(n // 1024, 1024, device=device)
        to = torch.empty_like(rows)
        with torch.no_grad():
            report(device, "copy", n, 8 * n, lambda a: to.copy_(a), [rows])
            for name, f, x, size in [
                ("chain", chain, line, 16 * n),
                ("chain, of a row", chain, [rows, torch.randn_like(rows), torch.randn(1024, device=device)], 12 * n),
                ("rms norm", rms_norm, [rows, torch.randn(1024, device=device)], 8 * n),
                ("scaled softmax", scaled_softmax, [rows], 8 * n),
            ]:
                report(device, name + "/eager", n, size, f, x)
                report(device, name + "/torch.compile", n, size, torch.compile(f), x)


def report(device, name, n, size, f, x):
    took = measure(f, x, device)
    print(f"{device}/{name}/{n >> 10}Ki {took * 1e6:.1f} us {size / took / 1e6:.0f} MB/s", flush=True)


main()
