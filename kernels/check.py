#!/usr/bin/env python3
"""Compiles CUDA sources with NVRTC and reports what it says, as file(line).

usage: check.py [--arch sm_80,sm_90] [--quick] [--jobs N] [--verbose] FILE...

Needs no GPU and no toolkit: libnvrtc comes from the wheel nvidia-cuda-nvrtc or
nvidia-cuda-nvrtc-cu12, or from NVRTC_LIBRARY. A .cuh is compiled by itself, so
that it is known to include what it uses. --quick stops at unoptimised PTX, a
tenth of the time: it finds mistakes in the source, not those of the assembler
(too much shared memory, say). Exits with 1 if any file fails.
"""

import argparse
import concurrent.futures
import ctypes
import glob
import os
import sys
import sysconfig
import time

# The options that backend/cuda compiles with; --fmad=false is part of the meaning.
# 186: a comparison of an unsigned integer with zero, which templates make.
OPTIONS = ["--std=c++17", "--fmad=false", "--device-as-default-execution-space", "--diag-suppress=186"]


def library_path():
    """Returns the path of libnvrtc."""
    if os.environ.get("NVRTC_LIBRARY"):
        return os.environ["NVRTC_LIBRARY"]
    for site in {*sys.path, sysconfig.get_paths()["purelib"], sysconfig.get_paths()["platlib"]}:
        for pattern in ("nvidia/cuda_nvrtc/lib/libnvrtc.so.*", "nvidia/cu*/lib/libnvrtc.so.*"):
            found = sorted(p for p in glob.glob(os.path.join(site, pattern)) if ".alt." not in p)
            if found:
                return found[-1]
    sys.exit("check.py: no libnvrtc: pip install nvidia-cuda-nvrtc-cu12, or set NVRTC_LIBRARY to the file")


class Compiler:
    """NVRTC through ctypes."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.nvrtcGetErrorString.restype = ctypes.c_char_p
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.call("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
        self.version = f"{major.value}.{minor.value}"

    def call(self, name, *args):
        status = getattr(self.lib, name)(*args)
        if status:
            raise RuntimeError(f"{name}: {self.lib.nvrtcGetErrorString(status).decode()}")

    def compile(self, path, options):
        """Returns whether path compiles, the compiler's log, and the cubin's size."""
        name = path
        if path.endswith(".cuh"):
            text, name = f'#include "{os.path.basename(path)}"\n'.encode(), path + ".cu"
        else:
            with open(path, "rb") as source:
                text = source.read()
        program = ctypes.c_void_p()
        self.call("nvrtcCreateProgram", ctypes.byref(program), text, name.encode(), 0, None, None)
        try:
            here = os.path.dirname(os.path.abspath(__file__))
            options = OPTIONS + options + [f"--include-path={d}" for d in (here, os.path.dirname(path) or ".")]
            array = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
            failed = self.lib.nvrtcCompileProgram(program, len(options), array)
            size, cubin = ctypes.c_size_t(), ctypes.c_size_t()
            self.call("nvrtcGetProgramLogSize", program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            self.call("nvrtcGetProgramLog", program, log)
            if not failed:
                self.call("nvrtcGetCUBINSize", program, ctypes.byref(cubin))
            return not failed, log.value.decode().strip(), cubin.value
        finally:
            self.call("nvrtcDestroyProgram", ctypes.byref(program))


def check(path, arch, quick):
    """Compiles one file in a process of its own; returns what to report."""
    start = time.monotonic()
    options = [f"--gpu-architecture={arch}"]
    if quick:
        options = [f"--gpu-architecture={arch.replace('sm_', 'compute_')}", "--device-debug"]
    good, log, size = Compiler(library_path()).compile(path, options)
    return path, arch, good, log, f"{time.monotonic() - start:.2f} s, {size} bytes"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arch", default="sm_80,sm_90", help="architectures, separated by commas")
    parser.add_argument("--quick", action="store_true", help="stop at unoptimised PTX")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="files compiled at a time")
    parser.add_argument("--verbose", action="store_true", help="print each file's time and size")
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    failures = 0
    version = Compiler(library_path()).version
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        tasks = [pool.submit(check, path, arch, args.quick) for path in args.files for arch in args.arch.split(",")]
        for task in concurrent.futures.as_completed(tasks):
            path, arch, good, log, cost = task.result()
            failures += not good
            if log:
                print(log)
            if args.verbose or not good:
                print(f"{path}: {arch}: {'ok' if good else 'FAILED'}, {cost}", flush=True)
    print(f"check.py: NVRTC {version}: {len(args.files)} files, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
