"""The estimator of MiCE: learn the clusters of one collection of images, or use learnt ones."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, NamedTuple, Self, cast, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from coterie.data.collections import held
from coterie.encoders.resnet import Backbone
from coterie.estimators.image_input import as_images, brightness_note, refuse_other_shape
from coterie.estimators.integers import Integers
from coterie.inference.result import Clustering
from coterie.systems.mice.config import MOST_CLUSTERS
from coterie.systems.mice.mice import MiCE as Network
from coterie.systems.mice.ordering import reordered
from coterie.systems.mice.trimming import trimmed
from coterie.training.collection_outputs import read_collection
from coterie.training.image_recipes import LARGEST_BATCH, recipe_of_images
from coterie.training.recipe import Recipe
from coterie.weights.catalogue import SUFFIX, open_card, open_model
from coterie.weights.compact import save_compact
from coterie.weights.devices import require_device

HISTORY = "history.jsonl"
NEVER = 10**9  # epochs between the checkpoints of a run that nobody can resume


class _Trained(NamedTuple):
    """A network that was just trained, and what its card says of the training."""

    network: Network
    trained_on: str
    recipe: dict[str, Any]
    history: list[dict[str, Any]]


class MiCE(ClusterMixin, BaseEstimator):
    """Mixture of contrastive experts (Tsai, Li and Zhu 2021): clusters of unlabelled images.

    Unlike the other estimators, `fit` trains a network on the images it is given, which takes
    minutes on a GPU and hours on a CPU. With `weights` the network is trained already, and `fit`
    only labels the images, in seconds. Training needs `pip install 'coterie[train]'`.

    Images are arrays (n, H, W), (n, H, W, C) or (n, C, H, W) with one or three channels, of whole
    numbers 0 to 255, floats in [0, 1] or booleans; all of one size.

    Parameters
    ----------
    weights : str, Path or None, default=None
        A shipped model's name (see `coterie.models()`) or a weights file, from which the network is
        read; None for a new one.
    n_clusters : int or None, default=None
        The number of clusters, from 2 to 129: MiCE does not infer it. None: that of the weights.
    train : bool or None, default=None
        Whether `fit` trains. None: only where there are no weights. True with weights: training
        starts from these.
    backbone : {"resnet34", "resnet18", "medium", "small"} or None, default=None
        The network of a training without weights. None: "resnet18" for colour images, "medium" for
        grey ones. The paper's is "resnet34".
    epochs : int, default=200
        Number of passes over the images. The paper uses 1,000.
    checkpoint : str, Path or None, default=None
        A folder for the state of training, written after every epoch. The same fit with the same
        folder resumes where it stopped, even if it was killed; a finished one is not repeated.
    progress : bool, default=True
        Whether training shows a bar, if stderr is a terminal.
    device : str, default="auto"
        Where the network runs, for example "cuda"; "auto": on a GPU if there is one.
    random_state : int, RandomState or None, default=None
        Determines the initial weights, the order of the images and their views; None for 0.

    Attributes
    ----------
    labels_ : ndarray (n,)
        Clusters 0..k-1 by decreasing size.
    probabilities_ : ndarray (n, k)
        The posterior of the clusters (eq. 10); rows sum to 1. It is not calibrated: at the paper's
        temperature even images in the middle of a cluster have about one half.
    n_clusters_ : int
        k, the number of clusters; some may have no image of X, they have the last numbers.
    clustering_ : Clustering
        Labels and probabilities in one frozen object, without the clusters that are empty.
    history_ : list of dict
        Of each epoch: ELBO, entropy of the posterior, share of the largest and of the smallest
        cluster. Empty if `fit` did not train.
    """

    system: ClassVar[str] = "mice"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "weights": [str, Path, None],
        "n_clusters": [Integers(2), None],
        "train": ["boolean", None],
        "backbone": [StrOptions(set(get_args(Backbone))), None],
        "epochs": [Integers(1)],
        "checkpoint": [str, Path, None],
        "progress": ["boolean"],
        "device": [str],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        weights: str | Path | None = None,
        *,
        n_clusters: int | None = None,
        train: bool | None = None,
        backbone: Backbone | None = None,
        epochs: int = 200,
        checkpoint: str | Path | None = None,
        progress: bool = True,
        device: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.weights = weights
        self.n_clusters = n_clusters
        self.train = train
        self.backbone = backbone
        self.epochs = epochs
        self.checkpoint = checkpoint
        self.progress = progress
        self.device = device
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Train on images X, unless the weights are trained already, and label them; y is ignored.

        With weights and no training, clusters are numbered by their size in X, so the same images
        may have other numbers than `predict` gives before `fit`.
        """
        images = as_images(X)
        if self._known() is not None:
            refuse_other_shape(images, open_card(self._weights()).traits.item_shape)
        trained = self._learn(images) if self._trains() else None
        network = self._pretrained() if trained is None else trained.network
        notes = self._notes(network, images)
        found = _posterior(read_collection(network, torch.from_numpy(images)))
        sizes = np.bincount(found.argmax(1), minlength=found.shape[1])
        order = np.argsort(-sizes, kind="stable")
        self._network = reordered(network, order.tolist()).eval()
        self.n_clusters_ = len(sizes)
        self.probabilities_ = found[:, order]
        self.labels_ = self.probabilities_.argmax(1)
        self._trained = trained
        self.history_ = [] if trained is None else trained.history
        self.clustering_ = Clustering(
            self.labels_,
            _without_empty(self.probabilities_, int((sizes > 0).sum())),
            None,
            (),
            notes,
            len(images),
        )
        for note in notes:
            warnings.warn(note, UserWarning, stacklevel=4)
        return self

    def predict(self, X: Any) -> NDArray[np.intp]:
        """The cluster of each image (n,); also of a model with weights that was not fitted."""
        labels: NDArray[np.intp] = self.predict_proba(X).argmax(1)
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The posterior of the clusters for each image (n, k); rows sum to 1."""
        return _posterior(self._read(X))

    def embed(self, X: Any) -> NDArray[np.float32]:
        """The gate's embeddings of images (n, 128), unit vectors."""
        return cast("NDArray[np.float32]", self._read(X)["embeddings"].cpu().numpy())

    def save(self, path: str | Path) -> Path:
        """Write the network for inference, in half precision: a weights file for `coterie.load`.

        The clusters of the file are those of this model, in the same order.
        """
        path, network, done = Path(path), self._current(), getattr(self, "_trained", None)
        if path.suffix != SUFFIX:
            raise ValueError(f"a file of weights must end in {SUFFIX}, got {path}")
        if done is not None:
            save_compact(
                path, network, trained_on=done.trained_on, provenance={"recipe": done.recipe}
            )
        else:
            card = open_card(self._weights())
            save_compact(path, network, trained_on=card.trained_on, provenance=card.provenance)
        return path

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_network") or self._known() is not None

    def _trains(self) -> bool:
        return self.weights is None if self.train is None else self.train

    def _known(self) -> str | Path | None:
        """The weights, if there are any, and of this system and number of clusters."""
        if self.weights is None:
            if self.train is False:
                raise ValueError("train=False needs weights")
            return None
        card = open_card(self.weights)
        if card.system != self.system:
            raise ValueError(
                f"weights {str(self.weights)!r} are of the system {card.system!r}, MiCE needs"
                f" {self.system!r}"
            )
        if self.n_clusters not in (None, card.traits.k_max):
            raise ValueError(
                f"weights {str(self.weights)!r} have {card.traits.k_max} clusters, not"
                f" n_clusters={self.n_clusters}"
            )
        return self.weights

    def _weights(self) -> str | Path:
        known = self._known()
        assert known is not None
        return known

    def _pretrained(self) -> Network:
        return cast(Network, open_model(self._weights(), self._device())[0])

    def _current(self) -> Network:
        """The fitted network, else that of the weights."""
        if hasattr(self, "_network"):
            return self._network
        if self._known() is None:
            raise NotFittedError("this MiCE is not fitted yet: call fit, or give weights")
        return self._pretrained()

    def _read(self, X: Any) -> dict[str, torch.Tensor]:
        network, images = self._current(), as_images(X)
        refuse_other_shape(images, network.traits.item_shape)
        for note in self._notes(network, images):
            warnings.warn(note, UserWarning, stacklevel=4)
        return read_collection(network, torch.from_numpy(images))

    def _notes(self, network: Network, images: NDArray[np.uint8]) -> tuple[str, ...]:
        note = brightness_note(images, *network.brightness)
        return () if note is None else (note,)

    def _device(self) -> str:
        if self.device == "auto":
            return "cuda" if torch.cuda.is_available() else "cpu"
        require_device(self.device)
        return self.device

    def _learn(self, images: NDArray[np.uint8]) -> _Trained:
        """Train on images (n, C, H, W), or go on with it."""
        from coterie.training.epoch_history import EpochHistory, read_history  # slow, with metrics

        trainer = _trainer()
        device = self._device()
        with held(images) as name, self._folder() as folder:
            recipe = self._recipe(name, images, device)
            pace = cast(int, recipe.steps_per_epoch)
            bar = _bar(pace) if self.progress else None
            history = EpochHistory(
                folder / HISTORY,
                torch.from_numpy(images),
                pace,
                None if bar is None else bar.show,
            )
            try:
                network = trainer(
                    recipe,
                    folder,
                    resume=True,
                    callbacks=[history],
                    accelerator=torch.device(device).type,
                )
            finally:
                if bar is not None:
                    bar.stop()
            lines = read_history(folder / HISTORY)
        small = trimmed(cast(Network, network)).to(device)
        trained_on = f"{len(images):,} images, without labels"
        return _Trained(small, trained_on, recipe.describe(), lines)

    def _recipe(self, name: str, images: NDArray[np.uint8], device: str) -> Recipe:
        seed = check_random_state(0 if self.random_state is None else self.random_state)
        known = self._known()
        n_clusters = self.n_clusters
        if known is not None:
            n_clusters = open_card(known).traits.k_max
        if n_clusters is None:
            raise ValueError("n_clusters is needed: MiCE does not infer the number of clusters")
        if n_clusters > MOST_CLUSTERS:
            raise ValueError(f"n_clusters must be {MOST_CLUSTERS} or less, got {n_clusters}")
        if len(images) < n_clusters:
            raise ValueError(f"{len(images)} images are fewer than {n_clusters} clusters")
        recipe = recipe_of_images(
            name,
            images,
            n_clusters=n_clusters,
            backbone=self.backbone,
            epochs=self.epochs,
            seed=int(seed.randint(2**31 - 1)),
            most=LARGEST_BATCH if known is None else open_card(known).settings["queue"],
            checkpoint_every=1 if self.checkpoint is not None else NEVER,
            precision="bf16-mixed" if torch.device(device).type == "cuda" else "32-true",
        )
        if known is None:
            return recipe
        return replace(recipe, settings=open_card(known).settings, start_from=str(known))

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        if self.checkpoint is not None:
            yield Path(self.checkpoint)
            return
        with TemporaryDirectory(prefix="coterie-") as folder:
            yield Path(folder)


def _posterior(read: dict[str, torch.Tensor]) -> NDArray[np.float64]:
    """The posteriors (n, K), whose rows sum to 1 in float64 too."""
    posterior: NDArray[np.float64] = read["posterior"].double().cpu().numpy()
    return posterior / posterior.sum(1, keepdims=True)


def _without_empty(probabilities: NDArray[np.float64], n_clusters: int) -> NDArray[np.float64]:
    """The first columns of probabilities (n, K), rescaled."""
    kept = probabilities[:, :n_clusters]
    return cast("NDArray[np.float64]", kept / kept.sum(1, keepdims=True))


def _trainer() -> Any:
    """The trainer, whose library is optional."""
    try:
        from coterie.training.trainer import train
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"training needs {error.name}: pip install 'coterie[train]'", name=error.name
        ) from error
    return train


def _bar(steps_per_epoch: int) -> Any:
    """A bar, if stderr is a terminal."""
    if not sys.stderr.isatty():
        return None
    from rich.console import Console

    from coterie.training.epoch_bar import EpochBar

    return EpochBar(Console(stderr=True), steps_per_epoch)
