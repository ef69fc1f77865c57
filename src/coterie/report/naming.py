"""The names of clusters, which readers can change in the page."""

from coterie.report.markup import Html, element


def name_of(cluster: int, *, brief: bool = False) -> Html:
    """A place where the name of a cluster stands; brief: as its number, until it has a name."""
    return element("span", default_name(cluster, brief=brief), **naming(cluster, brief=brief))


def naming(cluster: int, *, brief: bool = False) -> dict[str, str]:
    """The attributes of an element whose text is the name of a cluster."""
    default = default_name(cluster, brief=brief)
    return {"class_": "name", "data_name": str(cluster), "data_default": default}


def default_name(cluster: int, *, brief: bool = False) -> str:
    """The name of a cluster that nobody has named."""
    return str(cluster) if brief else f"Cluster {cluster}"
