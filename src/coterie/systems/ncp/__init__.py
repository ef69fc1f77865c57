"""NCP: the neural clustering process, which seats one point after another (Pakman et al. 2019)."""
