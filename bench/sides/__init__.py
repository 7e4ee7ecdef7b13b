"""What is measured: one file a contender. Each runs as a process of its own, in the environment of
its peer.

These files import nothing of `bench` but `bench.lines`, `bench.clock` and `bench.shapes`, which
need only the standard library, so that they run where Tacit is not installed.
"""
