"""The search for hyper-parameters of a recipe (AMCP, appendix C.1), by TPE.

The paper's space, as far as this network has what it names: hidden layers and neurons are the
blocks of its encoder and their width, the coefficient lambda weighs the loss of whole clusters, and
the standard deviation of the prior is that of a cluster. The paper's dropout is not searched: there
is none here. Trials are kept in a file, so a search that was stopped goes on.
"""

import json
import math
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from types import ModuleType
from typing import Any, NamedTuple

from coterie.training.callbacks import Validation
from coterie.training.recipe import Recipe

BLOCKS = (0, 3)
NEURONS = (100, 1000, 100)  # from, to, in steps of
LEARNING_RATE = (1e-8, 1.0)
WEIGHT_DECAY = (1e-12, 1.0)
OVERLAP_WEIGHT = (1.0, 10.0)
CLUSTER_SCALE = (0.01, 0.5)
HEADS = 4  # divides every number of neurons
TRIALS = "trials.db"
DIVERGED = -1.0  # the score of a training whose numbers were no longer finite


class Best(NamedTuple):
    """The best trial: its score and hyper-parameters, and how many trials there are in all."""

    score: float
    settings: dict[str, Any]
    n_trials: int


def optuna() -> ModuleType:
    """Optuna, or an error that names the extra to install."""
    try:
        import optuna as library
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "the search for hyper-parameters needs optuna: pip install 'coterie[tune]'",
            name="optuna",
        ) from error
    return library


def suggested(recipe: Recipe, trial: Any) -> Recipe:
    """The recipe with the hyper-parameters that a trial suggests."""
    known = {
        "encoder_blocks": trial.suggest_int("encoder_blocks", *BLOCKS),
        "width": trial.suggest_int("width", NEURONS[0], NEURONS[1], step=NEURONS[2]),
        "overlap_weight": trial.suggest_float("overlap_weight", *OVERLAP_WEIGHT),
        "cluster_scale": trial.suggest_float("cluster_scale", *CLUSTER_SCALE),
    }
    training = {
        "learning_rate": trial.suggest_float("learning_rate", *LEARNING_RATE, log=True),
        "weight_decay": trial.suggest_float("weight_decay", *WEIGHT_DECAY, log=True),
    }
    return replace(
        recipe,
        settings={**recipe.settings, **known, "heads": HEADS, "read_width": _read_width(recipe)},
        training=replace(recipe.training, **training),
    )


def _read_width(recipe: Recipe) -> int:
    """The width of the read-out, which heads must divide too."""
    return -(-int(recipe.settings.get("read_width", 128)) // HEADS) * HEADS


def search(
    recipe: Recipe,
    folder: Path,
    *,
    n_trials: int,
    seed: int = 0,
    n_sets: int = 32,
    accelerator: str = "auto",
    say: Callable[[str], None] = lambda line: None,
) -> Best:
    """Train a recipe of AMCP until there are n_trials, each scored by the ARI of held-out sets.

    folder receives the trials, `trials.db`. Those that are there already count: the same call
    again goes on, with more trials if more are asked for. Trials of another recipe are refused.
    """
    from coterie.training.trainer import train

    if recipe.system != "amcp":
        raise ValueError(f"recipe {recipe.name!r} is of {recipe.system!r}; the search is for AMCP")
    library = optuna()
    library.logging.set_verbosity(library.logging.WARNING)
    folder.mkdir(parents=True, exist_ok=True)
    with _readable(folder / TRIALS, library):
        study = library.create_study(
            study_name=recipe.name,
            storage=_storage(folder / TRIALS, library),
            load_if_exists=True,
            direction="maximize",
        )
        _refuse_another(study, folder, {**recipe.describe(), "n_sets": n_sets})
        # So that a search that goes on draws others than at first.
        study.sampler = library.samplers.TPESampler(seed=seed + _n_finished(study, library))

    def objective(trial: Any) -> float:
        own = suggested(recipe, trial)
        validation = Validation(
            folder / f"trial{trial.number}.jsonl",
            own.prior,
            every=own.training.steps,
            n_sets=n_sets,
        )
        run = folder / f"trial{trial.number}"
        try:
            train(own, run, callbacks=[validation], accelerator=accelerator)
        except (FloatingPointError, RuntimeError) as error:
            if "finite" not in str(error):
                raise
            return DIVERGED
        finally:
            rmtree(run, ignore_errors=True)  # its scores stay, beside it
        score = validation.latest["ari"]
        say(f"trial {trial.number}: ARI {score:.3f}")
        return score if math.isfinite(score) else DIVERGED

    with _readable(folder / TRIALS, library):
        missing = n_trials - _n_finished(study, library)
        if missing > 0:
            study.optimize(objective, n_trials=missing)
        best = study.best_trial
        return Best(float(best.value), dict(best.params), _n_finished(study, library))


def _storage(path: Path, library: ModuleType) -> Any:
    """Trials in a file, whatever signs its path has: in an address some would mean something."""
    made = {"creator": lambda: sqlite3.connect(path, check_same_thread=False)}
    return library.storages.RDBStorage("sqlite:///", engine_kwargs=made)


@contextmanager
def _readable(path: Path, library: ModuleType) -> Iterator[None]:
    """Whatever is wrong with the file of the trials is said in a line."""
    from sqlalchemy.exc import SQLAlchemyError  # Optuna's own dependency

    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, library.exceptions.StorageInternalError) as error:
        reason = error.__cause__ or error
        raise ValueError(f"{path} cannot be used: {getattr(reason, 'orig', reason)}") from error


def _refuse_another(study: Any, folder: Path, recipe: dict[str, Any]) -> None:
    """Raise where the trials of a folder are of a recipe by this name, but another one."""
    told = json.loads(json.dumps(recipe))
    if study.user_attrs.setdefault("recipe", told) != told:
        raise ValueError(
            f"{folder} has trials of another {study.study_name!r}, perhaps of other --steps: choose"
            " another folder"
        )
    study.set_user_attr("recipe", told)


def _n_finished(study: Any, library: ModuleType) -> int:
    """Trials that ended; one that was killed is tried again."""
    return len(study.get_trials(states=(library.trial.TrialState.COMPLETE,)))
