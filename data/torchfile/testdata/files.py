"""Writes the files of this directory with PyTorch, and their tensors' bytes as JSON.

    python3 files.py
"""

import collections
import json
import os
import sys

import torch

os.chdir(os.path.dirname(os.path.abspath(__file__)))
torch.manual_seed(1)

model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.Linear(3, 2))
optimizer = torch.optim.Adam(model.parameters())
model[2](torch.randn(4, 3)).sum().backward()
optimizer.step()

base = torch.arange(24, dtype=torch.float32).reshape(4, 6)
dtypes = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8,
          torch.bool, torch.complex64, torch.complex128]
files = {
    "state": model.state_dict(),
    "checkpoint": {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "loss": 0.25, "name": "net", "best": None,
                   "done": False, "big": 1 << 40, "minus": -129, "history": [1, 2.5, torch.tensor([7, 8])]},
    "dtypes": {str(d).removeprefix("torch."): torch.tensor([0, 1, 2, 0, 5], dtype=torch.float32).to(d) for d in dtypes},
    "views": collections.OrderedDict([
        ("base", base), ("transposed", base.t()), ("columns", base[:, 1::2]), ("row", base[2]), ("expanded", base[:1, :3].expand(5, 3)),
        ("scalar", base[1, 1]), ("empty", base[:0]), ("parameter", torch.nn.Parameter(base[1:3]))]),
    "tensor": torch.tensor([[1.5, -2], [3, 4]]),
    "more": {"u16": torch.tensor([1, 65535], dtype=torch.uint16), "f8": torch.ones(2).to(torch.float8_e4m3fn), "f32": torch.ones(1)},
}


def described(value, name=""):
    if isinstance(value, torch.Tensor):
        value = value.detach()
        if value.dtype in dtypes or value.dtype == torch.uint16:
            flat = value.contiguous().reshape(-1)
            data = flat.view(torch.uint8).numpy().tobytes().hex() if flat.numel() else ""
        else:
            data = ""
        yield {"name": name, "dtype": str(value.dtype).removeprefix("torch."), "shape": list(value.shape), "data": data}
    elif isinstance(value, dict):
        for k, v in value.items():
            yield from described(v, f"{name}.{k}" if name else str(k))
    elif isinstance(value, (list, tuple)):
        for i, v in enumerate(value):
            yield from described(v, f"{name}.{i}" if name else str(i))


for name, value in files.items():
    torch.save(value, name + ".pt")
torch.save(files["state"], "protocol5.pt", pickle_protocol=5)
torch.save(files["state"], "old.pt", _use_new_zipfile_serialization=False)
torch.save(model, "model.pt")
torch.save({"sparse": torch.eye(2).to_sparse()}, "sparse.pt")
torch.save({"conj": torch.ones(2, dtype=torch.complex64).conj()}, "conj.pt")
with open("tensors.json", "w") as f:
    json.dump({name: list(described(value)) for name, value in files.items()}, f, indent=1)
    f.write("\n")
print(sys.version.split()[0], torch.__version__)
