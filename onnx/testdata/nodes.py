"""Packs the node tests of the ONNX standard into nodes.tar.zst, beside this file:

    pip install onnx && python3 onnx/testdata/nodes.py    # and the program zstd

It holds for every case what the standard's own files do: model.onnx, the inputs and
outputs as test_data_set_N/input_N.pb and output_N.pb, and the tolerance of the comparison,
relative and absolute, as text. The same bytes come of every run.
"""

import io
import pathlib
import subprocess
import tarfile
import warnings

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

warnings.filterwarnings("ignore")


def message(value, kind, name):
    """Returns a value as the message that holds it."""
    if isinstance(value, (onnx.TensorProto, onnx.SequenceProto, onnx.OptionalProto)):
        return value
    make = {
        "sequence_type": numpy_helper.from_list,
        "optional_type": numpy_helper.from_optional,
        "map_type": numpy_helper.from_dict,
    }.get(kind.WhichOneof("value"))
    return make(value, name) if make else numpy_helper.from_array(np.asarray(value), name)


def pack(cases, path):
    packed = io.BytesIO()
    archive = tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT)

    def add(name, data):
        entry = tarfile.TarInfo(name)
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))

    for case in sorted(cases, key=lambda case: case.name):
        graph = case.model.graph
        add(f"{case.name}/model.onnx", case.model.SerializeToString(deterministic=True))
        add(f"{case.name}/tolerance", f"{case.rtol} {case.atol}\n".encode())
        for k, (inputs, outputs) in enumerate(case.data_sets or []):
            for side, values, infos in (("input", inputs, graph.input), ("output", outputs, graph.output)):
                for i, value in enumerate(values):
                    data = message(value, infos[i].type, infos[i].name).SerializeToString(deterministic=True)
                    add(f"{case.name}/test_data_set_{k}/{side}_{i}.pb", data)
    archive.close()
    command = ["zstd", "-q", "-19", "--long=24", "-f", "-o", str(path)]
    subprocess.run(command, input=packed.getvalue(), check=True)


if __name__ == "__main__":
    pack(collect_testcases(None), pathlib.Path(__file__).with_name("nodes.tar.zst"))
