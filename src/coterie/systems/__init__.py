"""One file per paper: configuration, network, step, loss."""
