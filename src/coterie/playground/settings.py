"""The limits of a server."""

import os
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Settings:
    """Limits of a server; the defaults keep a laptop responsive.

    max_points, max_columns, max_bytes: the size of one request; seconds: time limit of one
    clustering, and of its wait in the queue; workers: concurrent clusterings, one process each;
    waiting: length of the queue.
    """

    max_points: int = 20_000
    max_columns: int = 64
    max_bytes: int = 8_000_000
    seconds: float = 20.0
    workers: int = max(2, min(4, os.cpu_count() or 1))
    waiting: int = 32

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            lowest = 0 if field.name == "waiting" else 1
            if field.name != "seconds" and value < lowest:
                raise ValueError(f"{field.name} must be at least {lowest}, not {value}")
        if not 0 < self.seconds < float("inf"):
            raise ValueError(f"seconds must be a positive number, not {self.seconds}")
