"""Speed side by side with peers: `python -m bench round|parts|overhead|kernels|growth|start|share|step|all`."""
