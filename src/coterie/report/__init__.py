"""One HTML file that shows a clustering to people, and needs nothing else."""
