"""The bodies of requests and responses, as described by OpenAPI."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Coordinate = Annotated[float, Field(allow_inf_nan=False)]
TrueCluster = Annotated[int, Field(ge=-1, le=1_000_000)]


class PointsBody(BaseModel):
    """Points to cluster, in JSON."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        json_schema_extra={
            "example": {"points": [[0.1, 0.2], [0.0, 0.1], [4.1, 4.0], [4.0, 4.2], [4.2, 3.9]]}
        },
    )

    points: list[Annotated[list[Coordinate], Field(min_length=1)]] = Field(
        min_length=1, description="One row per point, all of the same length."
    )
    truth: list[TrueCluster] | None = Field(
        default=None,
        description="The true cluster of each point, -1 if unknown; the response then includes"
        " the ARI. The methods do not use it.",
    )


class StepAnswer(BaseModel):
    """One step: the points it claimed, and the membership of each remaining point."""

    claimed: list[int] = Field(description="Indices of the points that joined the cluster.")
    offered: list[int] = Field(description="Indices of the points that remained before the step.")
    probabilities: list[float] = Field(description="Membership of each of these points.")


class ClusterAnswer(BaseModel):
    """A finished clustering."""

    method: str
    n_clusters: int
    labels: list[int] = Field(
        description="Cluster of each point, 0..k-1 by decreasing size; -1 is noise."
    )
    confidence: list[float] | None = Field(
        description="Probability of the point's own cluster; null if the method has none."
    )
    probabilities: list[list[float]] | None = Field(
        description="(n, k), if requested and available."
    )
    steps: list[StepAnswer] | None = Field(
        description="How the clusters were found, if requested and available."
    )
    log_likelihood: float | None = Field(description="Mean per point, if there is a density.")
    ari: float | None = Field(description="Adjusted Rand index, if the truth is known.")
    seconds: float = Field(description="Time of the clustering alone.")
    warnings: list[str]
    code: str = Field(description="Equivalent Python code for an array X.")


class LeftOutColumn(BaseModel):
    """A dropped column and the reason."""

    name: str
    reason: str


class TableAnswer(BaseModel):
    """A table: the points to cluster and their positions in the plane."""

    names: list[str] = Field(description="All columns of the file.")
    columns: list[str] = Field(description="The clustered columns.")
    left_out: list[LeftOutColumn]
    points: list[list[float]] = Field(description="(n, d)")
    plane: list[list[float]] = Field(description="(n, 2), positions in the plane.")
    axes: list[str] = Field(description="What the two directions of the plane are.")
    is_own: bool = Field(description="Whether the positions are the points themselves.")
    truth: list[int] | None = Field(description="From the column named as the truth.")
    notes: list[str] = Field(description="Which missing values were filled.")


class MethodAnswer(BaseModel):
    """An available method."""

    name: str
    title: str
    kind: str = Field(description='"system" for our models, "peer" for other methods.')
    details: str
    default: bool = Field(description="Whether it is the default method.")
    initial: bool = Field(description="Whether it is the initial method of the page.")
    code: str = Field(description="Equivalent Python code for an array X.")


class Range(BaseModel):
    """The range of a slider."""

    title: str
    lowest: float
    highest: float
    start: float


class PresetAnswer(BaseModel):
    """A family of example sets."""

    name: str
    title: str
    k: Range | None = Field(description="Null if the number of clusters is fixed.")
    overlap: Range


class DrawAnswer(BaseModel):
    """One example set."""

    points: list[list[float]] = Field(description="(n, 2)")
    truth: list[int] = Field(description="(n,), -1 for noise.")


class LimitsAnswer(BaseModel):
    """The limits of this server."""

    version: str
    max_points: int
    max_columns: int
    max_bytes: int
    seconds: float
    workers: int
    waiting: int
