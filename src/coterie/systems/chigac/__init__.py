"""CHiGac: a generative model of whole clusters, one after another (Liu, Wang, Jing 2021)."""
