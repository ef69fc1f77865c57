"""What an estimator is given, as numbers: arrays, data frames, tables that are encoded already."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from coterie.data.image_rows import image_rows
from coterie.estimators.bad_values import refuse_bad_values
from coterie.estimators.checks import (
    as_array,
    place_without_number,
    refuse_odd_arrays,
    refuse_text,
)
from coterie.frames.encoded_table import Encoded, EncodedTable, TableEncoding
from coterie.frames.table_columns import TOO_LARGE, column_names, with_distinct_names
from coterie.frames.table_encoding import ColumnChoice, fit_encoding


class TableReader:
    """Reads tables; how columns of a data frame become numbers is decided once, in `fit`."""

    columns: Sequence[str] | None
    exclude: Sequence[str] | None
    categorical: Sequence[str] | None
    _encoding: TableEncoding | None
    n_features_in_: int

    def _read(self, X: ArrayLike) -> NDArray:
        """Further rows as numbers."""
        check_is_fitted(self)
        table, notes = self._check(X, reset=False)
        for note in notes:
            warnings.warn(note, UserWarning, stacklevel=3)  # where predict was called
        return table

    def _check(self, X: Any, *, reset: bool) -> Encoded:
        """The numbers of X (n, d), or of a data frame whose columns become d of numbers."""
        if isinstance(X, EncodedTable):
            return self._check_encoded(X, reset=reset)
        X = as_array(X)
        refuse_odd_arrays(X)
        if reset:
            self._encoding = None
        many_axes = isinstance(X, np.ndarray) and X.ndim > 2
        if many_axes or self._reads_images(reset=reset):
            image = self._image(reset=reset)
            if image is not None:
                return self._check_images(X, image, reset=reset)
        names = column_names(X)
        if names is not None and not names:
            raise ValueError("X has no columns")
        is_frame = names is not None and 0 not in X.shape
        if is_frame:
            X = with_distinct_names(X)
        if is_frame and (reset or self._encoding is not None):
            return self._check_frame(X, reset=reset)
        if is_frame:
            refuse_text(X)
        elif reset and self._column_choice() != ColumnChoice():
            raise ValueError("columns, exclude and categorical apply to data frames only")
        table = self._numbers(X, reset=reset)
        if self._encoding is not None:
            if not self._encoding.takes_arrays:
                raise ValueError(
                    "the model was fitted to a data frame with columns that are not numbers: pass a"
                    " data frame here too"
                )
            table = self._encoding.of_array(table)
            refuse_bad_values(table, self._encoding.names)
        refuse_bad_values(table, getattr(self, "feature_names_in_", None))
        return Encoded(table, ())

    def _image(self, *, reset: bool) -> tuple[int, ...] | None:
        """The shape (C, H, W) of the images that the weights read; None for tables."""
        raise NotImplementedError

    def _reads_images(self, *, reset: bool) -> bool:
        """Whether rows of pixels are images too, in whatever range; else they are a table."""
        raise NotImplementedError

    def _check_images(self, X: Any, image: tuple[int, ...], *, reset: bool) -> Encoded:
        """Images as rows of pixels, whose number is that of the features."""
        if reset and self._column_choice() != ColumnChoice():
            raise ValueError("columns, exclude and categorical do not apply to images")
        rows, notes = image_rows(X, image)
        if reset:
            self.n_features_in_ = rows.shape[1]
        return Encoded(rows, notes)

    def _numbers(self, X: Any, *, reset: bool) -> NDArray:
        """An array (n, d) of floating-point numbers; what is none is refused by its place."""
        try:
            return validate_data(
                self, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite=False
            )
        except OverflowError:
            raise ValueError(f"X has {TOO_LARGE}{place_without_number(X)}") from None
        except (ValueError, TypeError) as error:
            place = place_without_number(X)
            if not place:
                raise
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{error}{place}") from None

    def _check_frame(self, X: Any, *, reset: bool) -> Encoded:
        validate_data(self, X, reset=reset, skip_check_array=True)
        if self._encoding is None:
            self._encoding = fit_encoding(X, self._column_choice())
        encoding = self._encoding
        table, notes = encoding(X)
        refuse_bad_values(table, encoding.names)
        return Encoded(table, (*encoding.notes, *notes) if reset else notes)

    def _check_encoded(self, X: EncodedTable, *, reset: bool) -> Encoded:
        """A table that somebody else encoded, who also tells what was changed."""
        if reset:
            self._encoding = X.encoding
            self.n_features_in_ = len(X.encoding.columns)
            self.feature_names_in_ = np.array(X.encoding.columns, dtype=object)
        refuse_bad_values(X.table, X.encoding.names)
        image = self._image(reset=reset) if self._reads_images(reset=reset) else None
        if image is not None:
            return Encoded(*image_rows(X.table, image))
        return Encoded(X.table, ())

    def _column_choice(self) -> ColumnChoice:
        given = (self.columns, self.exclude, self.categorical)
        return ColumnChoice(*(() if names is None else tuple(names) for names in given))
