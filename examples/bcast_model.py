"""A plain mpi4py program: rank 0 sends a model's weights to all ranks, several times.

It does not refer to Broadleaf; start it with mpiexec or with `broadleaf run`:

    broadleaf run -n 8 --platform net.json -- python examples/bcast_model.py 67108864 3

Every rank compares every byte it received with the byte that rank 0 must have sent, and rank 0 prints the
total number of compared bytes.
"""

import sys

import numpy as np
from mpi4py import MPI


def main() -> None:
    world = MPI.COMM_WORLD
    size_bytes = int(sys.argv[1]) if len(sys.argv) > 1 else 64 << 20
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    compared = 0
    seconds = 0.0
    for number in range(rounds):
        # Every rank computes the weights itself, for the comparison.
        weights = np.random.default_rng(number).integers(256, size=size_bytes, dtype=np.uint8)
        model = weights.copy() if world.rank == 0 else np.zeros(size_bytes, dtype=np.uint8)
        world.Barrier()
        start = MPI.Wtime()
        world.Bcast(model, root=0)
        world.Barrier()
        seconds += MPI.Wtime() - start
        if not np.array_equal(model, weights):
            wrong = int(np.argmax(model != weights))
            print(f"rank {world.rank}: byte {wrong} of round {number} is wrong", file=sys.stderr)
            world.Abort(1)
        compared += size_bytes if world.rank != 0 else 0  # rank 0 received nothing
    total = world.reduce(compared, root=0)
    if world.rank == 0:
        print(f"{rounds} broadcasts, {total} bytes verified, {seconds / rounds:.4f} s each")


main()
