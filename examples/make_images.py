"""Labelled images for training: the handwritten digits of scikit-learn, one folder per class.

Run it with `python examples/make_images.py`; it writes 1,264 images of the digits 0 to 6 to
`digits/train` and 533 of 7 to 9 to `digits/test`.
"""

from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

if __name__ == "__main__":
    images, digits = load_digits().images, load_digits().target
    for number, (image, digit) in enumerate(zip(images, digits, strict=True)):
        folder = Path("digits", "train" if digit < 7 else "test", str(digit))
        folder.mkdir(parents=True, exist_ok=True)
        pixels = (image * 255 / images.max()).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{number:04}.png")
