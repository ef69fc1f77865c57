"""Models in folders and on the Hub: `save_pretrained`, `from_pretrained`, `push_to_hub`.

The names are those of huggingface_hub's `ModelHubMixin`, which is not inherited: it would have to
be imported with every estimator. A model is its network and settings, not what was fitted. It is
safetensors and JSON; nothing is unpickled. Folders work offline and without huggingface_hub.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Self

from coterie.estimators.deprecation import DEPRECATED
from coterie.files.replacing import replacing
from coterie.weights.catalogue import find
from coterie.weights.format import Card, WeightsError, load_card

WEIGHTS, CONFIG, PAGE = "weights.safetensors", "config.json", "README.md"
# Where and from which seed a model runs, and on which columns, is the user's, not the model's.
NOT_THE_MODELS = ("weights", "device", "random_state", "columns", "exclude", "categorical")


class Pretrained:
    """An estimator that can be kept in a folder or on the Hub, and made from there."""

    system: ClassVar[str]
    weights: Any

    def save_pretrained(self, folder: str | Path) -> Path:
        """Write weights, settings and a page about the model into a folder."""
        folder, source = Path(folder), find(self.weights)
        card = load_card(source)
        folder.mkdir(parents=True, exist_ok=True)
        if source.resolve() != (folder / WEIGHTS).resolve():
            with replacing(folder / WEIGHTS) as part:
                part.write_bytes(source.read_bytes())
        given: dict[str, Any] = self.get_params()  # type: ignore[attr-defined]
        settings = {
            name: value
            for name, value in given.items()
            if name not in NOT_THE_MODELS and value != DEPRECATED
        }
        config = {"library_name": "coterie", "system": card.system, "settings": settings}
        for name, text in (
            (CONFIG, json.dumps(config, indent=2) + "\n"),
            (PAGE, _page(type(self).__name__, card)),
        ):
            with replacing(folder / name) as part:
                part.write_text(text)
        return folder

    @classmethod
    def from_pretrained(
        cls, name: str | Path, *, revision: str | None = None, **given: Any
    ) -> Self:
        """The estimator of a folder, or of a repository "owner/name" on the Hub.

        Settings that are given replace those of the model. A folder with `weights.safetensors`
        alone will do, such as `coterie train` leaves.
        """
        folder = Path(name)
        if folder.is_dir():
            weights, config = folder / WEIGHTS, folder / CONFIG
        else:
            weights, config = _fetch(str(name), revision)
        card = load_card(weights)
        if card.system != cls.system:
            raise WeightsError(f"{name} is of the system {card.system!r}, not {cls.system!r}")
        try:
            return cls(weights, **{**_settings(config), **given})  # type: ignore[call-arg]
        except TypeError as error:
            raise WeightsError(f"{config} does not fit {cls.__name__}: {error}") from error

    def push_to_hub(
        self,
        repo_id: str,
        *,
        private: bool | None = None,
        token: str | None = None,
        commit_message: str = "Push a model of coterie",
    ) -> str:
        """Write the model to the repository "owner/name" on the Hub; gives its address."""
        try:
            from huggingface_hub import HfApi
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "models go to the Hub by huggingface_hub: pip install 'coterie[hub]'",
                name="huggingface_hub",
            ) from error

        api = HfApi(token=token)
        with TemporaryDirectory() as folder:
            self.save_pretrained(folder)
            address = api.create_repo(repo_id, private=private, exist_ok=True)
            api.upload_folder(repo_id=repo_id, folder_path=folder, commit_message=commit_message)
        return str(address)


def _fetch(name: str, revision: str | None) -> tuple[Path, Path]:
    """The weights and the settings of a repository, from the Hub or its cache."""
    try:
        from huggingface_hub import hf_hub_download
    except ModuleNotFoundError as error:
        raise WeightsError(
            f"no folder {name!r}; for models on the Hub: pip install 'coterie[hub]'"
        ) from error
    try:
        weights, config = (
            Path(hf_hub_download(name, file, revision=revision)) for file in (WEIGHTS, CONFIG)
        )
    except (OSError, ValueError) as error:
        raise WeightsError(f"no folder {name!r}, and none from the Hub: {error}") from error
    return weights, config


def _settings(config: Path) -> dict[str, Any]:
    """The settings that a model came with, none where it has no file of them."""
    if not config.is_file():
        return {}
    try:
        settings = json.loads(config.read_text())["settings"]
        return {name: settings[name] for name in settings if name not in NOT_THE_MODELS}
    except (KeyError, TypeError, ValueError) as error:
        raise WeightsError(f"{config} has no readable settings: {error}") from error


def _page(estimator: str, card: Card) -> str:
    return (
        f"---\nlibrary_name: coterie\ntags: [clustering, {card.system}]\n---\n\n"
        f"# A model of coterie: {card.system}\n\n"
        f"Trained on: {card.trained_on or 'not said'}. Reads {card.traits.reads},"
        f" frame: {card.traits.frame}.\n\n"
        "```python\nimport coterie\n\n"
        f'model = coterie.{estimator}.from_pretrained("owner/name").fit(X)\n```\n'
    )
