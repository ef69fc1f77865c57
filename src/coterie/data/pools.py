"""Pools of labelled images from which the sets of an episode are drawn.

A pool is one side of a public collection: classes to train on, or classes to be tested on that no
training has seen. Its images are sorted by class; classes may belong to groups, as characters
belong to alphabets.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.data.collections import data_folder, open_collection
from coterie.data.image_rows import scaled

OMNIGLOT_PAGE = 105  # pixels, the side of a drawing
OMNIGLOT_SIDE = 28
HELD_OUT_EVERY = 4  # every fourth image of a seen class is for tests
EMNIST_SEEN = 30  # of 47 classes: those to train on


class ImagePool(NamedTuple):
    """Images (n, C, H, W) uint8, ink or light bright, sorted by class.

    counts: (K,), the images of each class; class_names: (K,); groups: (K,), which group a class
    belongs to; group_names: one for each group.
    """

    images: NDArray[np.uint8]
    counts: NDArray[np.int64]
    class_names: tuple[str, ...]
    groups: NDArray[np.int64]
    group_names: tuple[str, ...]

    @property
    def labels(self) -> NDArray[np.int64]:
        """The class of each image: (n,)."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def only(self, groups: tuple[str, ...]) -> "ImagePool":
        """The pool of some groups, in the order of the pool."""
        unknown = sorted(set(groups) - set(self.group_names))
        if unknown:
            raise ValueError(f"no group {', '.join(unknown)}; known: {', '.join(self.group_names)}")
        wanted = np.array([name in groups for name in self.group_names])
        kept = wanted[self.groups]  # (K,)
        return ImagePool(
            self.images[np.repeat(kept, self.counts)],
            self.counts[kept],
            tuple(np.array(self.class_names, dtype=object)[kept]),
            (wanted.cumsum() - 1)[self.groups[kept]],
            tuple(name for name in self.group_names if name in groups),
        )

    def first(self, n_classes: int | None) -> "ImagePool":
        """The pool of the first so many classes; None for all."""
        if n_classes is None:
            return self
        if not 1 <= n_classes <= len(self.counts):
            raise ValueError(f"there are {len(self.counts)} classes, not {n_classes}")
        return self._replace(
            images=self.images[: int(self.counts[:n_classes].sum())],
            counts=self.counts[:n_classes],
            class_names=self.class_names[:n_classes],
            groups=self.groups[:n_classes],
        )

    def without(self, groups: tuple[str, ...]) -> "ImagePool":
        """The pool of all other groups."""
        self.only(groups)  # refuses unknown ones
        return self.only(tuple(name for name in self.group_names if name not in groups))


@cache
def open_pool(name: str) -> ImagePool:
    """A pool by name, read from the folder in COTERIE_DATA."""
    if name not in POOLS:
        raise ValueError(f"unknown pool {name!r}; known: {', '.join(sorted(POOLS))}")
    return POOLS[name](data_folder(name))


def _omniglot(folder: Path, *, split: str) -> ImagePool:
    """Characters of the background or the evaluation alphabets, 20 drawings each."""
    with np.load(folder / "omniglot.npz") as file:
        packed, characters = file[f"{split}_bits"], file[f"{split}_character"]
        alphabets, numbers = file[f"{split}_alphabet"], file[f"{split}_character_id"]
        names = tuple(str(name) for name in file[f"{split}_alphabet_names"])
    side = OMNIGLOT_PAGE
    pages = np.unpackbits(packed, axis=1, count=side**2).reshape(-1, side, side).astype(bool)
    order = np.argsort(characters, kind="stable")
    first = np.unique(characters[order], return_index=True)[1]
    groups = alphabets[order][first].astype(np.int64)
    class_names = tuple(
        f"{names[group]}/{number}"
        for group, number in zip(groups, numbers[order][first], strict=True)
    )
    small = scaled(pages[order][:, None].astype(np.float32), OMNIGLOT_SIDE, OMNIGLOT_SIDE)
    images = (small * 255).round().astype(np.uint8)
    return ImagePool(images, np.bincount(characters), class_names, groups, names)


def _emnist(folder: Path, *, seen: bool, held_out: bool | None = None) -> ImagePool:
    """Digits and letters: the classes to train on, or the others (DAC, appendix E).

    held_out: every fourth image of a class, or the others; None for all.
    """
    with np.load(folder / "emnist_bymerge_subset.npz") as file:
        images, labels = file["x"][:, None], file["y"].astype(np.int64)
        characters = [str(character) for character in file["class_chars"]]
    if held_out is not None:
        order = np.argsort(labels, kind="stable")
        in_class = np.empty_like(labels)
        sizes = np.bincount(labels)
        in_class[order] = np.arange(len(labels)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        wanted_images = (in_class % HELD_OUT_EVERY == 0) == held_out
        images, labels = images[wanted_images], labels[wanted_images]
    wanted = np.arange(len(characters))
    wanted = wanted[wanted < EMNIST_SEEN] if seen else wanted[wanted >= EMNIST_SEEN]
    return _of_classes(images, labels, wanted, characters)


def _collection(
    folder: Path,
    *,
    name: str,
    classes: Sequence[int],
    names: Sequence[str],
    train: bool | None = None,
) -> ImagePool:
    """Some classes of a collection: of its training split, of the other one, or all images."""
    images, labels, n_train = open_collection(name)
    if train is not None:
        split = slice(n_train) if train else slice(n_train, None)
        images, labels = images[split], labels[split]
    return _of_classes(images, labels, np.array(classes), list(names))


def _tiny_imagenet(folder: Path, *, classes: range) -> ImagePool:
    """Some classes of Tiny-ImageNet, in its own order; training and validation images."""
    images, labels, _ = open_collection("tinyimagenet")
    with np.load(folder / "tiny_imagenet_subset.npz") as file:
        names = [
            f"{wnid} {name}" for wnid, name in zip(file["wnid"], file["class_name"], strict=True)
        ]
    return _of_classes(images, labels, np.array(classes), names)


def _letters(folder: Path) -> ImagePool:
    """The letters of EMNIST, without its digits."""
    with np.load(folder / "emnist_bymerge_subset.npz") as file:
        images, labels = file["x"][:, None], file["y"].astype(np.int64)
        characters = [str(character) for character in file["class_chars"]]
    wanted = [place for place, name in enumerate(characters) if not name.isdigit()]
    return _of_classes(images, labels, np.array(wanted), characters)


def _digits_and_letters(folder: Path) -> ImagePool:
    """The even digits of MNIST's training split, and the letters of EMNIST."""
    digits, letters = (POOLS[name](folder) for name in ("mnist-even", "emnist-letters"))
    return digits._replace(
        images=np.concatenate([digits.images, letters.images]),
        counts=np.concatenate([digits.counts, letters.counts]),
        class_names=digits.class_names + letters.class_names,
        groups=np.concatenate([digits.groups, letters.groups]),
    )


def _of_classes(
    images: NDArray[np.uint8],
    labels: NDArray[np.int64],
    wanted: NDArray[np.int64],
    names: list[str],
) -> ImagePool:
    """Some classes as a pool whose only group is all of them."""
    order = np.argsort(labels, kind="stable")
    order = order[np.isin(labels[order], wanted)]
    counts = np.bincount(labels, minlength=len(names))[wanted]
    class_names = tuple(names[number] for number in wanted)
    groups = np.zeros(len(wanted), dtype=np.int64)
    return ImagePool(images[order], counts, class_names, groups, ("all",))


EVEN, ODD = (0, 2, 4, 6, 8), (1, 3, 5, 7, 9)
DIGITS = tuple("0123456789")
CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_mnist = partial(_collection, name="mnist", names=DIGITS)
_cifar10 = partial(_collection, name="cifar10", names=CIFAR10)
POOLS: dict[str, Callable[[Path], ImagePool]] = {
    "omniglot-background": partial(_omniglot, split="background"),
    "omniglot-evaluation": partial(_omniglot, split="evaluation"),
    "emnist-seen": partial(_emnist, seen=True),
    "emnist-seen-train": partial(_emnist, seen=True, held_out=False),
    "emnist-seen-test": partial(_emnist, seen=True, held_out=True),
    "emnist-unseen": partial(_emnist, seen=False),
    "emnist-letters": _letters,
    "mnist-train": partial(_mnist, classes=range(10), train=True),
    "mnist-test": partial(_mnist, classes=range(10), train=False),
    "mnist-even": partial(_mnist, classes=EVEN, train=True),
    "mnist-even-test": partial(_mnist, classes=EVEN, train=False),
    "mnist-odd": partial(_mnist, classes=ODD),
    "mnist-even-letters": _digits_and_letters,
    "cifar10-even": partial(_cifar10, classes=EVEN, train=True),
    "cifar10-even-test": partial(_cifar10, classes=EVEN, train=False),
    "cifar10-odd": partial(_cifar10, classes=ODD),
    "tinyimagenet-first": partial(_tiny_imagenet, classes=range(100)),
    "tinyimagenet-last": partial(_tiny_imagenet, classes=range(100, 200)),
}
