"""What goes over the wire, as OpenAPI describes it."""

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
        min_length=1, description="One row for each point, all of the same length."
    )
    truth: list[TrueCluster] | None = Field(
        default=None,
        description="The true cluster of each point, -1 where nobody knows; the answer then has"
        " the ARI. The methods never see it.",
    )


class StepAnswer(BaseModel):
    """One step of a system: what it claimed, and how sure it was of each point on offer."""

    claimed: list[int] = Field(description="Indices of the points that joined.")
    offered: list[int] = Field(description="Indices of the points that had no cluster yet.")
    probabilities: list[float] = Field(description="Membership of each point on offer.")


class ClusterAnswer(BaseModel):
    """A finished clustering."""

    method: str
    n_clusters: int
    labels: list[int] = Field(description="Cluster of each point, 0..k-1 by falling size.")
    confidence: list[float] | None = Field(
        description="Probability of the point's own cluster; null where the method has none."
    )
    probabilities: list[list[float]] | None = Field(
        description="(n, k), where asked for and where the method has them."
    )
    steps: list[StepAnswer] | None = Field(
        description="How the clusters were found, where asked for and where there are steps."
    )
    log_likelihood: float | None = Field(description="Mean per point, where there is a density.")
    ari: float | None = Field(description="Adjusted Rand index, where the truth is known.")
    seconds: float = Field(description="Time of the clustering alone.")
    warnings: list[str]


class LeftOutColumn(BaseModel):
    """A column of a table that is not clustered, and why."""

    name: str
    reason: str


class TableAnswer(BaseModel):
    """A table, read: the points to cluster and how to draw them."""

    names: list[str] = Field(description="All columns of the file.")
    columns: list[str] = Field(description="Those that are clustered.")
    left_out: list[LeftOutColumn]
    points: list[list[float]] = Field(description="(n, d)")
    plane: list[list[float]] = Field(description="(n, 2), to draw them.")
    truth: list[int] | None = Field(description="Of the column that was named as the truth.")
    notes: list[str] = Field(description="Which gaps were filled, and with what.")


class MethodAnswer(BaseModel):
    """A way to cluster that the server offers."""

    name: str
    title: str
    kind: str = Field(description='"system" for ours, "peer" for others.')
    details: str
    default: bool = Field(description="Whether it is used where no method is named.")
    initial: bool = Field(description="Whether the page starts with it.")
    code: str = Field(description="Python that does the same to an array X.")


class Range(BaseModel):
    """What a slider allows."""

    title: str
    lowest: float
    highest: float
    start: float


class PresetAnswer(BaseModel):
    """A family of example sets."""

    name: str
    title: str
    k: Range | None = Field(description="Null where the number of clusters is fixed.")
    overlap: Range


class DrawAnswer(BaseModel):
    """One example set."""

    points: list[list[float]] = Field(description="(n, 2)")
    truth: list[int] = Field(description="(n,), -1 for noise.")


class LimitsAnswer(BaseModel):
    """What this server allows."""

    version: str
    max_points: int
    max_columns: int
    max_bytes: int
    seconds: float
    workers: int
    waiting: int
