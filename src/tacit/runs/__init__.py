"""Run folders: record, checkpoint, recovery, sweeps, verification."""
