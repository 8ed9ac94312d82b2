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
import json
import os
import sys
import sysconfig
import time

HERE = os.path.dirname(os.path.abspath(__file__))

# What backend/cuda and build.py compile with, too; --fmad=false is part of the meaning.
# 186: a comparison of an unsigned integer with zero, which templates make.
with open(os.path.join(HERE, "build.json"), encoding="utf-8") as settings:
    OPTIONS = json.load(settings)["options"]


def library_path():
    """Returns the path of libnvrtc."""
    if os.environ.get("NVRTC_LIBRARY"):
        return os.environ["NVRTC_LIBRARY"]
    for site in dict.fromkeys([*sys.path, sysconfig.get_paths()["purelib"], sysconfig.get_paths()["platlib"]]):
        for pattern in ("nvidia/cuda_nvrtc/lib/libnvrtc.so.*", "nvidia/cu*/lib/libnvrtc.so.*"):
            found = sorted(p for p in glob.glob(os.path.join(site, pattern)) if ".alt." not in p)
            if found:
                return found[-1]
    sys.exit("no libnvrtc: pip install nvidia-cuda-nvrtc-cu12, or set NVRTC_LIBRARY to the file")


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

    def text(self, program, what):
        """Returns what nvrtcGet<what> has: ProgramLog, CUBIN or PTX."""
        size = ctypes.c_size_t()
        self.call(f"nvrtcGet{what}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self.call(f"nvrtcGet{what}", program, buffer)
        return buffer.raw

    def compile(self, path, options, result, name=None):
        """Returns the log and the result, "CUBIN" or "PTX", of the file at path, or None. The log calls it name."""
        name = name or path
        if path.endswith(".cuh"):
            text, name = f'#include "{os.path.basename(path)}"\n'.encode(), path + ".cu"
        else:
            with open(path, "rb") as source:
                text = source.read()
        program = ctypes.c_void_p()
        self.call("nvrtcCreateProgram", ctypes.byref(program), text, name.encode(), 0, None, None)
        try:
            options = OPTIONS + options + [f"--include-path={d}" for d in (os.path.dirname(path) or ".", HERE)]
            array = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
            failed = self.lib.nvrtcCompileProgram(program, len(options), array)
            log = self.text(program, "ProgramLog").rstrip(b"\0").decode().strip()
            return log, None if failed else self.text(program, result)
        finally:
            self.call("nvrtcDestroyProgram", ctypes.byref(program))


def check(path, arch, quick):
    """Compiles one file in a process of its own; returns what to report."""
    start = time.monotonic()
    options, result = [f"--gpu-architecture={arch}"], "CUBIN"
    if quick:
        options, result = [f"--gpu-architecture={arch.replace('sm_', 'compute_')}", "--device-debug"], "PTX"
    log, code = Compiler(library_path()).compile(path, options, result)
    return path, arch, code is not None, log, f"{time.monotonic() - start:.2f} s, {len(code or b'')} bytes of {result}"


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
