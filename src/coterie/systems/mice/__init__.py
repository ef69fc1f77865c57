"""MiCE, a mixture of contrastive experts (Tsai, Li and Zhu 2021), and MoCo, a baseline for it."""
