"""The PyTorch path: any nn.Module, in processes."""
