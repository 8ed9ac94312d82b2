#!/usr/bin/env python3
"""Writes data/npy/testdata and data/safetensors/testdata with the real packages.

The arrays come with arrays.json, which lists dtype, shape and little-endian
row-major bytes of each, so that no reader of ours is its own witness. Needs
numpy, ml_dtypes and safetensors. Run from the repository's root; it writes the
same bytes each time.
"""

import io
import json
import zipfile

import ml_dtypes
import numpy as np
from safetensors import TensorSpec, serialize

NPY = "data/npy/testdata/"
SAFETENSORS = "data/safetensors/testdata/"

DTYPES = {
    "bool": np.bool_,
    "uint8": np.uint8,
    "int8": np.int8,
    "int16": np.int16,
    "int32": np.int32,
    "int64": np.int64,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float32": np.float32,
    "float64": np.float64,
    "complex64": np.complex64,
    "complex128": np.complex128,
    "uint16": np.uint16,
    "uint32": np.uint32,
    "uint64": np.uint64,
}


def values(name, shape):
    """Returns distinct values whose bytes differ, signs and fractions included."""
    n = int(np.prod(shape))
    x = (np.arange(n) * 37 % 101).astype(np.float64)
    if name == "bool":
        x = x % 3 == 0
    elif "int" in name:
        x = x * (1 if name.startswith("u") else -1) + 3
        x *= {"int16": 211, "int32": 7654321, "int64": 2**44 + 1, "uint16": 600, "uint32": 40000000, "uint64": 2**57}.get(name, 1)
    else:
        x = (x - 50) / 7 * (1 - 2j if "complex" in name else 1)
    return x.astype(DTYPES[name]).reshape(shape)


def describe(array):
    data = np.ascontiguousarray(array)
    data = data.astype(data.dtype.newbyteorder("<")) if data.dtype.name != "bfloat16" else data
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": data.tobytes().hex()}


def member(archive, name, data, method=zipfile.ZIP_STORED):
    archive.writestr(zipfile.ZipInfo(name), data, method)


def npy(array, version=(1, 0)):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=version)
    return out.getvalue()


def write_npy():
    cases = {name: values(name, (2, 3)) for name in DTYPES}
    swapped = [n for n in DTYPES if n not in ("bool", "uint8", "int8", "bfloat16")]
    cases |= {f"{n}-big": cases[n].astype(cases[n].dtype.newbyteorder(">")) for n in swapped}
    for n in ("bool", "int16", "bfloat16", "complex128"):
        cases[f"{n}-fortran"] = np.asfortranarray(values(n, (2, 3, 4)))
    cases |= {
        "scalar": values("float32", ()),
        "empty": values("int64", (3, 0, 2)),
        "one": values("int8", (1,)),
        "deep": values("uint8", (2, 1, 2, 1, 2, 1, 2)),
        "big-fortran": np.asfortranarray(values("float32", (5, 4)).astype(">f4")),
    }
    with zipfile.ZipFile(NPY + "cases.npz", "w") as archive:
        for name, array in cases.items():
            member(archive, name + ".npy", npy(array), zipfile.ZIP_DEFLATED)
        for version in ((2, 0), (3, 0)):
            name = f"version{version[0]}"
            cases[name] = values("float64", (3, 2))
            member(archive, name + ".npy", npy(cases[name], version), zipfile.ZIP_DEFLATED)
    with open(NPY + "arrays.json", "w") as out:
        json.dump({name: describe(a) for name, a in cases.items()}, out, indent=1)
        out.write("\n")
    rejected = {
        "longdouble": np.zeros(2, np.longdouble),
        "unicode": np.array(["a", "bc"]),
        "bytes": np.array([b"a", b"bc"]),
        "object": np.array([1, None], dtype=object),
        "structured": np.zeros(2, [("x", "<f4"), ("y", "<i4")]),
        "datetime": np.zeros(2, "<M8[s]"),
        "void": np.zeros(2, "V2"),
        "float8": np.zeros(2, ml_dtypes.float8_e4m3fn),
    }
    with zipfile.ZipFile(NPY + "rejected.npz", "w") as archive:
        for name, array in rejected.items():
            member(archive, name + ".npy", npy(array), zipfile.ZIP_DEFLATED)
    pair = {"weight": cases["float32"], "nested/bias": cases["int16"]}
    np.savez(NPY + "stored.npz", **pair)
    np.savez_compressed(NPY + "deflated.npz", **pair)
    np.save(NPY + "matrix.npy", cases["float32"])


def spec(dtype, shape, data):
    """Returns the description of an array; the caller keeps data alive."""
    return TensorSpec(dtype=dtype, shape=shape, data_ptr=data.ctypes.data, data_len=data.nbytes)


def write_safetensors():
    arrays = {f"{n}.matrix": values(n, (2, 3)) for n in DTYPES if n != "complex128"}
    arrays |= {
        "scalar": values("float64", ()),
        "empty": values("float32", (2, 0, 3)),
        "z.first": values("int64", (1,)),
        "a.last": values("bool", (1, 1, 5)),
        'quote " slash \\ tab \t bell \a line \u2028 é': values("int8", (4,)),
    }
    specs = {name: spec(a.dtype.name, list(a.shape), a) for name, a in arrays.items()}
    with open(SAFETENSORS + "every.safetensors", "wb") as out:
        out.write(serialize(specs, {"format": 'any "kind" <of> text'}))
    with open(SAFETENSORS + "arrays.json", "w") as out:
        json.dump({name: describe(a) for name, a in arrays.items()}, out, indent=1)
        out.write("\n")
    with open(SAFETENSORS + "none.safetensors", "wb") as out:
        out.write(serialize({}))
    # One tensor of each dtype the format has, so that its name tells its place.
    sizes = {n: np.dtype(DTYPES[n]).itemsize for n in DTYPES if n != "complex128"}
    sizes |= {"float8_e5m2": 1, "float8_e4m3fn": 1}
    sizes |= {"float8_e5m2fnuz": 1, "float8_e4m3fnuz": 1, "float8_e8m0fnu": 1, "float4_e2m1fn_x2": 1}
    data = {name: np.zeros(2 * size, np.uint8) for name, size in sizes.items()}
    specs = {name: spec(name, [2], data[name]) for name in data}
    with open(SAFETENSORS + "order.safetensors", "wb") as out:
        out.write(serialize(specs))


if __name__ == "__main__":
    write_npy()
    write_safetensors()
