"""Draws pictures of text and keeps what RapidOCR's Python package reads in them:

    pip install rapidocr-onnxruntime==1.4.4 && python3 examples/ocr/testdata/pictures.py

The pictures are a page, a receipt that lies askew, signs upside down and on their side, a
strip with one line, and a street with signs in perspective, noise and blur. answers.json has
their lines: text, score and box.
"""

import json
import pathlib

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from rapidocr_onnxruntime import RapidOCR

HERE = pathlib.Path(__file__).resolve().parent
FONTS = "/usr/share/fonts/truetype/dejavu/"
rng = np.random.default_rng(1)


def font(size, name="DejaVuSans.ttf"):
    return ImageFont.truetype(FONTS + name, size)


def paper(w, h, color=(250, 248, 240)):
    img = Image.new("RGB", (w, h), color)
    return img, ImageDraw.Draw(img)


def page():
    img, draw = paper(800, 600)
    draw.text((60, 40), "Annual Report 2024", font=font(44, "DejaVuSans-Bold.ttf"), fill=(20, 20, 60))
    text = ["The river rose by 35 cm in March.", "Bridges stayed open on most days,", "except for 12 hours in April.", "Costs: $1,250.00 (estimated)", "Contact: office@example.org"]
    for i, line in enumerate(text):
        draw.text((60, 140 + 70 * i), line, font=font(30, "DejaVuSerif.ttf"), fill=(30, 30, 30))
    return img


def receipt():
    img, draw = paper(420, 560, (255, 255, 255))
    for i, (a, b) in enumerate([("COFFEE", "3.20"), ("BREAD", "2.75"), ("APPLES 1kg", "4.10"), ("MILK", "1.35"), ("TOTAL", "11.40")]):
        draw.text((40, 60 + 90 * i), a, font=font(34, "DejaVuSansMono.ttf"), fill=0)
        draw.text((290, 60 + 90 * i), b, font=font(34, "DejaVuSansMono.ttf"), fill=0)
    return img.rotate(9, expand=True, resample=Image.BICUBIC, fillcolor=(90, 80, 70))


def upside():
    img, draw = paper(700, 400, (30, 70, 120))
    draw.text((60, 60), "EMERGENCY EXIT", font=font(60, "DejaVuSans-Bold.ttf"), fill=(255, 255, 255))
    draw.text((60, 220), "Push the handle firmly", font=font(40), fill=(255, 255, 200))
    return img.rotate(180)


def side():
    img, draw = paper(640, 320)
    draw.text((40, 60), "Platform 7 north", font=font(48), fill=(120, 0, 0))
    draw.text((40, 180), "Departures 08:15", font=font(48), fill=(0, 80, 0))
    return img.rotate(90, expand=True)


def strip():
    img, draw = paper(560, 40)
    draw.text((10, 4), "one line of text in a narrow strip", font=font(26), fill=(0, 0, 0))
    return img


def street():
    img, draw = paper(900, 700, (120, 130, 140))
    draw.polygon([(0, 500), (900, 420), (900, 700), (0, 700)], fill=(80, 80, 80))
    for at, size, color, lines, quad in [
        ((80, 90), (420, 160), (250, 220, 60), ["OPEN 24 HOURS", "Fresh bread daily"], (0, 0, 15, 160, 420, 130, 400, 20)),
        ((560, 260), (300, 120), (240, 240, 240), ["Town Hall"], (10, 0, 0, 120, 300, 105, 285, 12)),
    ]:
        sign = Image.new("RGBA", size, color + (255,))
        d = ImageDraw.Draw(sign)
        for i, line in enumerate(lines):
            d.text((20, 25 + 60 * i), line, font=font(36, "DejaVuSans-Bold.ttf"), fill=(20, 20, 20, 255))
        sign = sign.transform(size, Image.QUAD, quad, Image.BICUBIC)
        img.paste(sign, at, sign)
    img = img.filter(ImageFilter.GaussianBlur(0.8))
    noisy = np.asarray(img).astype(np.float32) + rng.normal(0, 6, (700, 900, 3))
    return Image.fromarray(noisy.clip(0, 255).astype(np.uint8))


def main():
    engine = RapidOCR()
    answers = {}
    for make in (page, receipt, upside, side, strip, street):
        name = make.__name__ + (".jpg" if make is street else ".png")
        img = make()
        img.save(HERE / name, **({"quality": 85} if make is street else {"optimize": True}))
        result, _ = engine(str(HERE / name))
        answers[name] = [{"text": t, "score": s, "box": b} for b, t, s in result or []]
    answers["blank.png"] = []
    Image.new("RGB", (50, 50), (255, 255, 255)).save(HERE / "blank.png")
    (HERE / "answers.json").write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n")
    for name, lines in answers.items():
        print(name, [line["text"] for line in lines])


if __name__ == "__main__":
    main()
