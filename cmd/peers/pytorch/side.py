"""PyTorch's side. Its sizes, numbers and answers are those of side/side.go."""
import sys
import time

import numpy
import torch
import torch.nn.functional as F

ELEMENTS, SIDE, ROWS, IMAGES, CHANNELS, EXTENT, FILTERS = 1 << 20, 512, 1024, 16, 16, 32, 32
BATCH, INPUTS, HIDDEN, CLASSES, RATE, CHECK_STEPS = 64, 784, 256, 10, 0.1, 3


def filled(seed, scale, *shape):
    i = numpy.arange(numpy.prod(shape), dtype=numpy.uint64) + 1
    mixed = (i * 2654435761 * (2 * seed + 1)) & 0xFFFFFFFF
    values = ((mixed >> 8).astype(numpy.float32) / numpy.float32(1 << 24) - numpy.float32(0.5)) * numpy.float32(scale)
    return torch.from_numpy(values.reshape(shape))


def work(f):
    return f, lambda: f().double().square().mean().item()


def add():
    x, y = filled(1, 1, ELEMENTS), filled(2, 1, ELEMENTS)
    return work(lambda: x + y)


def matmul():
    x, y = filled(1, 1, SIDE, SIDE), filled(2, 1, SIDE, SIDE)
    return work(lambda: x @ y)


def softmax():
    x = filled(1, 8, ROWS, ROWS)
    return work(lambda: torch.softmax(x, 1))


def conv2d():
    x, weight = filled(1, 1, IMAGES, CHANNELS, EXTENT, EXTENT), filled(2, 1, FILTERS, CHANNELS, 3, 3)
    return work(lambda: F.conv2d(x, weight, padding=1))


def step():
    x, labels = filled(1, 1, BATCH, INPUTS), torch.arange(BATCH) * 7 % CLASSES
    weights = [filled(2, 0.1, HIDDEN, INPUTS), filled(3, 0.1, HIDDEN), filled(4, 0.1, CLASSES, HIDDEN), filled(5, 0.1, CLASSES)]
    weights = [w.requires_grad_() for w in weights]
    sgd = torch.optim.SGD(weights, RATE)

    def train():
        sgd.zero_grad()
        loss = F.cross_entropy(F.linear(F.linear(x, weights[0], weights[1]).relu(), weights[2], weights[3]), labels)
        loss.backward()
        sgd.step()
        return loss

    return train, lambda: [train().item() for _ in range(CHECK_STEPS)][-1]


def timed(call, limit):
    call()
    call()
    start, n = time.perf_counter_ns(), 0
    while True:
        call()
        n += 1
        passed = time.perf_counter_ns() - start
        if passed >= limit * 1e6:
            return passed / n


def main():
    rows = {'add': add, 'matmul': matmul, 'softmax': softmax, 'conv2d': conv2d, 'step': step}
    ready = {}
    grads = {'step'}
    for line in sys.stdin:
        words = line.split()
        row = ready.setdefault(words[1], None) or rows[words[1]]()
        ready[words[1]] = row
        with torch.set_grad_enabled(words[1] in grads):
            print('%.9g' % (row[1]() if words[0] == 'check' else timed(row[0], int(words[2]))), flush=True)


torch.set_num_threads(int(sys.argv[1]))
main()
