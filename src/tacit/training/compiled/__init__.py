"""The compiled path: feed-forward nets and pooled embeddings in numba kernels, in threads."""
