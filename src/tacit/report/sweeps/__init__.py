"""Pages and figures of sweeps and searches."""
