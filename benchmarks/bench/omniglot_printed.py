"""Figures on Omniglot printed by others, in the order of the alphabets' names.

DAC, Tables 3, 4 and 8; ACC from the public code of MCL (GT-RIPL/L2C), k unknown.
"""

PAPER_K_ERRORS = (2, 5, 10, 1, 1, 3, 5, 7, 5, 2, 8, 8, 0, 3, 9, 5, 4, 4, 3, 6)
MCL_K_ERRORS = (2, 0, 1, 4, 3, 1, 9, 14, 11, 3, 12, 7, 1, 7, 14, 2, 1, 1, 8, 1)
PRINTED = {
    "DAC with anchored filtering, printed": {"nmi": 0.829, "k_error": 4.6, "seconds": 4.3},
    "MCL, printed": {"nmi": 0.893, "acc": 0.825, "k_error": 5.1, "seconds": 124.5},
    "KCL, printed": {"nmi": 0.874, "acc": 0.750, "k_error": 6.4, "seconds": 129.3},
    "MCL told k, printed": {"nmi": 0.897, "acc": 0.857},
}
