#!/usr/bin/env python3
"""Compiles the CUDA sources of a directory ahead: cubins, and PTX as the floor.

usage: build.py [--dir DIR] [--jobs N] [--all] [MODULE...]   compile what is stale into DIR/bin
       build.py [--dir DIR] --check                          list what is stale; compile nothing
       build.py [--dir DIR] [--all] --raw OUT [MODULE...]    compile into OUT/<target>.tar.xz
       build.py [--dir DIR] --pack OUT                       take those archives into DIR/bin

DIR is the directory of this file, or that of a program's own kernels (*.cu and
*.cuh; a header that is not there is looked for here). build.json beside this file
says which NVRTC, options and targets, and one in DIR which other targets, and with
"more" which options more, its sources have; no GPU and no toolkit are needed:

  pip install --target /tmp/nvrtc $(python3 -c 'import json; print(json.load(open("kernels/build.json"))["wheel"])')
  PYTHONPATH=/tmp/nvrtc python3 kernels/build.py

DIR/bin holds <target>/<module>.cubin.zst, ptx/<module>.ptx.zst, and manifest.json:
for every target and module the SHA-256 of what it was made of (its source, the
headers that it includes, the compiler's version and options), the SHA-256 of the
file, and its size before and after compression. The package in kernels.go reads
them, and uses nothing whose sources have changed since.

--raw and --pack are for compiling on another machine, which then needs neither
zstd nor the repository's history: only the Python standard library and libnvrtc.
"""

import argparse
import concurrent.futures
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time

sys.dont_write_bytecode = True  # beside the sources
from check import HERE, Compiler, library_path

INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.MULTILINE)

with open(os.path.join(HERE, "build.json"), encoding="utf-8") as settings:
    SETTINGS = json.load(settings)


class Tree:
    """The sources in a directory and what was compiled of them."""

    def __init__(self, directory):
        self.dir = directory
        self.bin = os.path.join(directory, "bin")
        self.modules = sorted(f[:-3] for f in os.listdir(directory) if f.endswith(".cu"))
        self.settings = {"more": [], **SETTINGS}
        own = os.path.join(directory, "build.json")
        if os.path.exists(own):
            with open(own, encoding="utf-8") as f:
                self.settings.update(json.load(f))
        try:
            with open(os.path.join(self.bin, "manifest.json"), encoding="utf-8") as f:
                self.manifest = json.load(f)
        except FileNotFoundError:
            self.manifest = {}

    def read(self, name):
        for directory in (self.dir, HERE):
            path = os.path.join(directory, name)
            if os.path.exists(path):
                with open(path, "rb") as f:
                    return f.read()
        sys.exit(f"build.py: {name} is included and is neither in {self.dir} nor in {HERE}")

    def source_hash(self, module):
        """Returns the SHA-256 of what a module is made of. kernels.go computes the same."""
        files, todo = {}, [module + ".cu"]
        while todo:
            name = todo.pop()
            if name not in files:
                files[name] = self.read(name)
                todo += [found.decode() for found in INCLUDE.findall(files[name])]
        h = hashlib.sha256()
        for word in ["nvrtc " + SETTINGS["nvrtc"], "ptx " + SETTINGS["ptx"], *SETTINGS["options"], *self.settings["more"]]:
            h.update(word.encode() + b"\n")
        for name in sorted(files):
            h.update(f"{name} {len(files[name])}\n".encode() + files[name])
        return h.hexdigest()

    def path(self, target, module):
        if target.startswith("sm_"):
            return os.path.join(self.bin, target, module + ".cubin.zst")
        return os.path.join(self.bin, "ptx", module + ".ptx.zst")

    def fresh(self, target, module):
        entry = self.manifest.get(target, {}).get(module)
        if not entry or entry["source"] != self.source_hash(module):
            return False
        try:
            with open(self.path(target, module), "rb") as f:
                return hashlib.sha256(f.read()).hexdigest() == entry["sha256"]
        except FileNotFoundError:
            return False

    def stale(self, modules, everything=False):
        """Returns the (target, module) that are not compiled of what is there, longest sources first."""
        found = [(t, m) for t in self.settings["targets"] for m in modules if everything or not self.fresh(t, m)]
        return sorted(found, key=lambda x: -os.path.getsize(os.path.join(self.dir, x[1] + ".cu")))

    def orphans(self):
        """Returns the files in bin that belong to no module."""
        known = {self.path(t, m) for t in self.settings["targets"] for m in self.modules}
        known.add(os.path.join(self.bin, "manifest.json"))
        return sorted(p for top, _, names in os.walk(self.bin) for p in (os.path.join(top, n) for n in names) if p not in known)

    def store(self, target, module, source, code):
        """Compresses code into its place and notes it; save writes the notes."""
        path = self.path(target, module)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        packed = compress(code)
        with open(path, "wb") as f:
            f.write(packed)
        self.manifest.setdefault(target, {})[module] = {
            "source": source, "sha256": hashlib.sha256(packed).hexdigest(), "bytes": len(code), "compressed": len(packed)}
        return len(packed)

    def save(self):
        for path in self.orphans():
            os.remove(path)
        kept = {t: {m: e for m, e in self.manifest.get(t, {}).items() if m in self.modules} for t in self.settings["targets"]}
        self.manifest = kept
        os.makedirs(self.bin, exist_ok=True)
        with open(os.path.join(self.bin, "manifest.json"), "w", encoding="utf-8") as f:
            json.dump(kept, f, indent=1, sort_keys=True)
            f.write("\n")

    def report(self):
        """Prints the sizes."""
        for target, modules in self.manifest.items():
            raw, packed = (sum(e[k] for e in modules.values()) for k in ("bytes", "compressed"))
            print(f"{target}: {len(modules)} modules, {raw} bytes, {packed} compressed")
            for module, e in sorted(modules.items(), key=lambda x: -x[1]["bytes"])[:5]:
                print(f"  {module}: {e['bytes']} bytes, {e['compressed']} compressed")


def compress(data):
    """Compresses with zstd, by the package zstandard or the program."""
    try:
        import zstandard
        return zstandard.ZstdCompressor(level=19).compress(data)
    except ImportError:
        pass
    if not shutil.which("zstd"):
        sys.exit("build.py: no zstd: pip install zstandard, or install the program zstd")
    command = ["zstd", "-19", "--quiet", "--no-check", f"--stream-size={len(data)}", "--stdout"]
    return subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True).stdout


def slim(ptx):
    """Returns PTX with the same code that a sixth fewer bytes are left of when it is compressed.

    Labels and parameters belong to their function: without its number or name in theirs they
    are the same in all functions. The version is the oldest driver's, which the code needs
    nothing newer than, without the hints that later versions have; NVRTC writes its own.
    """
    ptx = re.sub(rb"^\.version .*$", b".version " + SETTINGS["ptx"].encode(), ptx, count=1, flags=re.MULTILINE)
    ptx = re.sub(rb"//[^\n]*", b"", ptx)
    ptx = re.sub(rb'\.pragma "used_bytes_mask [^"]*";', b"", ptx)
    ptx = re.sub(rb"\n\s+", b"\n", ptx)
    ptx = re.sub(rb"\$L__BB\d+_", b"$L", ptx)
    return re.sub(rb"\b\w+_param_(\d+)\b", rb"p\1", ptx)


def compile_module(directory, target, module, more):
    """Compiles one module for one target, in a process of its own."""
    start = time.monotonic()
    result = "CUBIN" if target.startswith("sm_") else "PTX"
    compiler = Compiler(library_path())
    name = module + ".cu"  # the result holds it, and is to be the same wherever it is made
    log, code = compiler.compile(os.path.join(directory, name), ["--gpu-architecture=" + target, *more], result, name)
    if code is not None and result == "PTX":
        code = slim(code.rstrip(b"\0"))
    return target, module, log, code, time.monotonic() - start


def compile_all(tree, work, jobs, done):
    """Compiles work in parallel and calls done for each result; returns the failures."""
    version = Compiler(library_path()).version
    if version != SETTINGS["nvrtc"]:
        sys.exit(f"build.py: {library_path()} is NVRTC {version}; build.json asks for {SETTINGS['nvrtc']}: pip install {SETTINGS['wheel']}")
    failures = 0
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        tasks = [pool.submit(compile_module, tree.dir, t, m, tree.settings["more"]) for t, m in work]
        for task in concurrent.futures.as_completed(tasks):
            target, module, log, code, seconds = task.result()
            if code is None:
                failures += 1
                print(f"{log}\n{module}: {target}: FAILED", flush=True)
                continue
            done(target, module, code)
            print(f"{module}: {target}: {seconds:.1f} s, {len(code)} bytes{': ' + log if log else ''}", flush=True)
    return failures


def build_raw(tree, work, jobs, out):
    """Compiles work into one archive a target, with a list of the source hashes."""
    results = {}
    hashes = {m: tree.source_hash(m) for _, m in work}  # before compiling: what changes meanwhile is stale
    failures = compile_all(tree, work, jobs, lambda t, m, code: results.setdefault(t, {}).update({m: code}))
    os.makedirs(out, exist_ok=True)
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        paths = [os.path.join(out, t + ".tar.xz") for t in results]
        for path, size in zip(paths, pool.map(write_archive, paths, results.values(), [hashes] * len(paths))):
            print(f"{path}: {size} bytes")
    return failures


def write_archive(path, codes, hashes):
    with tarfile.open(path, "w:xz") as archive:
        hashes = json.dumps({m: hashes[m] for m in codes}).encode()
        for name, data in [("sources.json", hashes), *sorted(codes.items())]:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return os.path.getsize(path)


def pack(tree, out):
    """Takes the archives in; returns how many modules were compiled of other sources."""
    refused = 0

    def store(target, module, source, code):
        size = tree.store(target, module, source, code)
        print(f"{module}: {target}: {len(code)} bytes, {size} compressed", flush=True)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:  # compression leaves the interpreter's lock
        stored = []
        for target in tree.settings["targets"]:
            path = os.path.join(out, target + ".tar.xz")
            if not os.path.exists(path):
                continue
            with tarfile.open(path, "r:xz") as archive:
                members = {i.name: archive.extractfile(i).read() for i in archive}
            for module, source in json.loads(members["sources.json"]).items():
                if module not in tree.modules or tree.source_hash(module) != source:
                    print(f"{module}: {target}: compiled of other sources than are here; left out")
                    refused += 1
                    continue
                stored.append(pool.submit(store, target, module, source, members[module]))
        for result in stored:
            result.result()
    tree.save()
    return refused


def build(tree, work, jobs):
    """Compiles work into the tree; what is done stays if the rest fails."""
    hashes = {m: tree.source_hash(m) for _, m in work}
    try:
        return compile_all(tree, work, jobs, lambda t, m, code: tree.store(t, m, hashes[m], code))
    finally:
        tree.save()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dir", default=HERE, help="directory of the sources")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="modules compiled at a time")
    parser.add_argument("--all", action="store_true", help="compile what is fresh, too")
    parser.add_argument("--check", action="store_true", help="list what is stale or left over")
    parser.add_argument("--raw", metavar="OUT", help="compile into archives in OUT")
    parser.add_argument("--pack", metavar="OUT", help="take the archives in OUT into DIR/bin")
    parser.add_argument("modules", nargs="*", help="modules, without the extension; all if none is named")
    args = parser.parse_args()
    tree = Tree(os.path.abspath(args.dir))
    for name in args.modules:
        if name not in tree.modules:
            sys.exit(f"build.py: no {name}.cu in {tree.dir}")
    modules = args.modules or tree.modules
    if args.check:
        lines = [f"{tree.path(t, m)} is stale or missing" for t, m in tree.stale(modules)]
        lines += [f"{p} belongs to no source" for p in tree.orphans()]
        print("\n".join([*lines, f"build.py: {len(lines)} of {len(modules) * len(tree.settings['targets'])} files stale, missing or left over"]))
        return 1 if lines else 0
    if args.pack:
        failures = pack(tree, args.pack)
        tree.report()
        return 1 if failures else 0
    work = tree.stale(modules, args.all)
    if args.raw:
        return 1 if build_raw(tree, work, args.jobs, args.raw) else 0
    failures = build(tree, work, args.jobs)
    tree.report()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
