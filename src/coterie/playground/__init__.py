"""The playground: a page to draw and cluster points, and its REST API."""
