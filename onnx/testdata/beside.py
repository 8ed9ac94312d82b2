"""Measures models beside onnxruntime, in turn, and prints a table of the times of a run:

    python3 onnx/testdata/models.py DIR && go build -o /tmp/onnx ./cmd/onnx
    python3 onnx/testdata/beside.py DIR /tmp/onnx [THREADS[,THREADS...] [NAME...]]

Every figure is the best of ROUNDS processes of each side, which take turns. A time is the
shortest of a process; loading is until the first result is there; memory is what the process
has resident after its runs, less what it had before the model was loaded.
"""

import json
import math
import pathlib
import subprocess
import sys

ROUNDS, SPAN = 3, 0.4

PEER = """
import sys, time, json
import numpy as np, onnxruntime
def resident():
    return int(next(l for l in open("/proc/self/status") if l.startswith("VmRSS")).split()[1]) * 1024
file, threads, span = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
inputs = dict(np.load(file + ".in.npz"))
before, start = resident(), time.perf_counter()
o = onnxruntime.SessionOptions()
o.intra_op_num_threads, o.log_severity_level = threads, 4
s = onnxruntime.InferenceSession(file + ".onnx", o, providers=["CPUExecutionProvider"])
s.run(None, inputs)
first, times = time.perf_counter() - start, []
end = time.perf_counter() + span
while time.perf_counter() < end or len(times) < 3:
    start = time.perf_counter()
    s.run(None, inputs)
    times.append(time.perf_counter() - start)
print(json.dumps({"run": 1e3 * min(times), "first": 1e3 * first, "memory": (resident() - before) / 1e6}))
"""


def last(command, **env):
    out = subprocess.run(command, env={**__import__("os").environ, **env}, capture_output=True, text=True)
    return json.loads(out.stdout.splitlines()[-1]) if out.returncode == 0 else {"error": out.stderr.strip()}


def measure(file, program, threads):
    best = [{}, {}]
    for _ in range(ROUNDS):
        ours = [program, "bench", "-json", "-span", f"{SPAN}s", "-in", f"{file}.in.npz", f"{file}.onnx"]
        sides = last(ours, GOMAXPROCS=str(threads)), last([sys.executable, "-c", PEER, file, str(threads), str(SPAN)])
        for to, got in zip(best, sides):
            for key, v in got.items():
                to[key] = min(v, to.get(key, v))
    return best


def main(folder, program, threads="1", *names):
    print("| model | threads | ms | onnxruntime | ratio | to the first result, ms | onnxruntime | ratio | memory, MB | onnxruntime | ratio |")
    print("| --- " * 11 + "|")
    logs = []
    for count in map(int, threads.split(",")):
        for file in sorted(pathlib.Path(folder).glob("*.onnx")):
            if names and file.stem not in names:
                continue
            ours, theirs = measure(str(file.with_suffix("")), program, count)
            if error := ours.get("error") or theirs.get("error"):
                print(f"| {file.stem} | {count} | {error.splitlines()[0]}", flush=True)
                continue
            cells = [file.stem, str(count)]
            for key in "run", "first", "memory":
                cells += [f"{ours[key]:.3g}", f"{theirs[key]:.3g}", f"{ours[key] / theirs[key]:.2f}"]
            logs.append(math.log(ours["run"] / theirs["run"]))
            print("| " + " | ".join(cells) + " |", flush=True)
    print(f"\ngeometric mean of the ratios of a run: {math.exp(sum(logs) / len(logs)):.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
