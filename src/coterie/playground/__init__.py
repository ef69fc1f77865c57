"""The playground: a page to draw points on and watch them being clustered, and its REST API."""
