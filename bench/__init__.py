"""Speed side by side with peers: `python -m bench round|overhead|kernels|growth|start|all`."""
