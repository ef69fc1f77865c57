"""ACT-ST: a set transformer that decides how many clusters it decodes (DAC, appendix A)."""
