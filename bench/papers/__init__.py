"""The papers' experiments on the pocket file system; bench/papers/README.md has the idea."""
