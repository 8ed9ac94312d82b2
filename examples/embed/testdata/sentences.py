"""Keeps what Python makes of sentences, to compare with:

    pip install sentence-transformers && python3 examples/models.py embed &&
    python3 examples/embed/testdata/sentences.py

sentences.txt are the sentences, written by hand; vectors.npy has the vectors of the package
sentence-transformers for them, and tokens.json.gz the tokens for these and for stranger texts.
"""

import gzip, json, pathlib, random, tempfile, shutil, unicodedata

import numpy as np
import sentence_transformers
from sentence_transformers import models

HERE = pathlib.Path(__file__).resolve().parent
MODEL = HERE.parent / "model"


def strange(sentences):
    rng = random.Random(1)
    yield from ["", " ", "\t\n", "[CLS] a [SEP]", "[MASK][PAD]x[UNK]", "[cls]", "x" * 100, "x" * 101, "a" * 5000]
    yield from ["don't-stop...now!?", "e\u0301le\u0300ve \u00c9LAN \u0130stanbul", "\u4e2d\u6587\u5b57 a\u4e2db", "\u3053\u3093\u306b\u3061\u306f", "\u0928\u092e\u0938\u094d\u0924\u0947", "\ud55c\uad6d\uc5b4"]
    yield from ["soft\u00adhyphen zero\u200bwidth", "nul\0l \ufffd \x07 bell", "a\u00a0b\u2003c\u3000d\u2028e\u0085f\x1cg", "\u00a1hola! \u00bfqu\u00e9?", "\u03a3\u03a3 \u03c2", "$5+3=8 <b>^`~|", "\U0001f600 \U0001f970 \U0001fae8", "\ufb01n \u00df \u01c5"]
    words = " ".join(sentences).split()
    for n in (10, 100, 250, 256, 300, 600):
        yield " ".join(rng.choices(words, k=n))
    old = unicodedata.ucd_3_2_0  # what changed later, such as U+166D, is not told apart alike
    for low, high in ((0x20, 0x250), (0x250, 0x800), (0x800, 0x2000), (0x2000, 0x3100), (0x3100, 0xD800), (0xF900, 0x10000), (0x10000, 0x30000)):
        points = [chr(c) for c in range(low, high) if old.category(chr(c)) != "Cn" and c != 0x166D]
        for _ in range(40):
            yield "".join(rng.choice(points) + rng.choice(["", "", "a", " ", "b-"]) for _ in range(30))


def main():
    sentences = (HERE / "sentences.txt").read_text().splitlines()
    with tempfile.TemporaryDirectory() as temp:
        for name in ("model.safetensors", "config.json", "vocab.txt"):
            shutil.copy(MODEL / name, temp)
        bert = models.Transformer(temp, max_seq_length=256, tokenizer_args={"do_lower_case": True})
        model = sentence_transformers.SentenceTransformer(modules=[bert, models.Pooling(384), models.Normalize()], device="cpu")
        np.save(HERE / "vectors.npy", model.encode(sentences, batch_size=len(sentences)))
        texts = sentences + list(strange(sentences))
        tokens = [[t, model.tokenizer(t, truncation=True, max_length=256)["input_ids"]] for t in texts]
    with open(HERE / "tokens.json.gz", "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as z:
        z.write(json.dumps(tokens).encode())
    print(len(sentences), "sentences,", len(tokens), "texts")


if __name__ == "__main__":
    main()
