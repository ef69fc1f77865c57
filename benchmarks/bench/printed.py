"""Figures printed in papers, for comparison; measured on other sets and another machine."""

from typing import NamedTuple


class Printed(NamedTuple):
    """A table of a paper, cell by cell as printed; None where a cell is not known."""

    source: str
    note: str
    header: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]


# Cells that are not known for certain are empty.
DAC_TABLE_1 = Printed(
    source="paper: DAC Table 1",
    note="mean of 5 runs on 1,000 sets",
    header=("(n_max, k_max)", "method", "LL", "ARI", "NMI", "k-MAE", "seconds"),
    rows=(
        ("(1000, 4)", "oracle", "-0.693", None, None, None, None),
        ("(1000, 4)", "VBMOG", "-0.719 ± 0.002", None, None, None, None),
        ("(1000, 4)", "ACT-ST", "-0.721 ± 0.008", None, None, None, None),
        ("(1000, 4)", "DAC", "-0.692 ± 0.002", None, None, None, None),
        ("(3000, 12)", "oracle", "-1.527", None, None, None, None),
        ("(3000, 12)", "VBMOG", "-1.561 ± 0.001", None, None, None, None),
        (
            "(3000, 12)",
            "ACT-ST",
            "-5.278 ± 0.573",
            "0.781 ± 0.008",
            "0.855 ± 0.004",
            "1.993 ± 0.082",
            "0.024 ± 0.001",
        ),
        ("(3000, 12)", "DAC", "-1.544 ± 0.006", None, None, None, None),
    ),
)

DAC_TABLE_5 = Printed(
    source="paper: DAC Table 5",
    note="100 sets of (3000, 12); S samples per set",
    header=("method", "LL", "ARI", "k-MAE", "seconds"),
    rows=(
        ("oracle", "-1.5309", None, None, None),
        ("DAC", "-1.5640", "0.9616", "0.2800", "0.0208"),
        ("NCP (S = 1)", None, "0.7947", "1.6333", "4.1435"),
        ("NCP (S = 10)", None, "0.8955", "0.8000", "5.8920"),
        ("NCP (S = 50)", None, "0.9098", "0.6444", "6.7936"),
    ),
)

DAC_TABLE_6 = Printed(
    source="paper: DAC Table 6",
    note="warped Gaussians; spectral clustering is given the true k",
    header=("(n_max, k_max)", "method", "LL", "ARI", "NMI", "k-MAE", "seconds"),
    rows=(
        ("(1000, 4)", "spectral clustering", None, None, "0.889 ± 0.002", None, "0.103 ± 0.000"),
        ("(1000, 4)", "DAC", "-1.275 ± 0.015", None, "0.970 ± 0.001", None, "0.011 ± 0.000"),
        ("(3000, 12)", "spectral clustering", None, "0.592 ± 0.001", None, None, "0.572 ± 0.003"),
        (
            "(3000, 12)",
            "DAC",
            "-2.436 ± 0.029",
            "0.923 ± 0.002",
            None,
            "1.345 ± 0.099",
            "0.037 ± 0.001",
        ),
    ),
)

DAC_TABLE_7 = Printed(
    source="paper: DAC Table 7",
    note="EMNIST Balanced; ARI and k-MAE are not known",
    header=("(n_max, k_max)", "method", "LL/pixel"),
    rows=(("(1000, 4)", "DAC", "-0.193 ± 0.002"), ("(3000, 12)", "DAC", "-0.199 ± 0.003")),
)

AMCP_TABLE_5 = Printed(
    source="paper: AMCP Table 5",
    note="AMCP* updates earlier clusters",
    header=("sets", "method", "LL", "seconds"),
    rows=(
        ("Scenario 1", "AMCP", "-1.2517 ± 0.035", "0.0113 ± 0.003"),
        ("Scenario 1", "AMCP*", "-1.2587 ± 0.052", "0.0143 ± 0.003"),
        ("Scenario 2", "AMCP", "-1.8420 ± 0.025", "0.0124 ± 0.002"),
        ("Scenario 2", "AMCP*", "-1.8323 ± 0.056", "0.0154 ± 0.003"),
    ),
)

AMCP_TABLE_6 = Printed(
    source="paper: AMCP Table 6",
    note="AMCP* updates earlier clusters; eight RTX 2080 Ti",
    header=("data", "method", "ACC", "seconds"),
    rows=(
        ("mnist", "AMCP", "0.9845 ± 0.001", "18.22 ± 3.74"),
        ("mnist", "AMCP*", "0.9764 ± 0.002", "21.44 ± 2.85"),
        ("tinyimagenet", "AMCP", "0.1324 ± 0.002", "1186.4 ± 19.37"),
        ("tinyimagenet", "AMCP*", "0.1378 ± 0.002", "1273.4 ± 26.25"),
        ("cifar10", "AMCP", "0.9024 ± 0.002", "59.33 ± 5.59"),
        ("cifar10", "AMCP*", "0.9085 ± 0.003", "65.44 ± 4.21"),
    ),
)
