"""Collectives of mpi4py, each of whose results is as it must be."""

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
data, total, gathered = np.full(1000, world.rank), np.zeros(1000, int), np.zeros(1000 * world.size, int)
world.Bcast(data, root=1)
world.Ibcast(data, root=1).Wait()
world.Allreduce(data, total)
world.Allgather(data, gathered)
world.Allgatherv(data, [gathered, [1000] * world.size])
assert data[0] == 1
assert total[999] == world.size
assert (gathered == 1).all()

# Those with arrays of counts: rank r has r + 1 numbers for each, or as many as who sends them.
me, size = world.rank, world.size
own, sizes, sent = np.full(me + 1, me), np.arange(1, size + 1), np.full(size * (me + 1), me)
everyone, parts = np.repeat(np.arange(size), sizes), [me + 1] * size


def fresh():
    return np.full(sizes.sum(), -1)


got = fresh()
world.Gatherv(own, [got, sizes] if me == 0 else None, root=0)
assert me != 0 or (got == everyone).all()
world.Scatterv([everyone, sizes] if me == 0 else None, own, root=0)
assert (own == me).all()
got = fresh()
world.Alltoallv([sent, parts], [got, sizes])
assert (got == everyone).all()
for start in (world.Iallgatherv, world.Allgatherv_init):
    got = fresh()
    request = start(own, [got, sizes])
    if start == world.Allgatherv_init:
        request.Start()
    request.Wait()
    assert (got == everyone).all()
got, starts = fresh(), 8 * (np.cumsum(sizes) - sizes)
world.Alltoallw(
    [sent, parts, [8 * (me + 1) * r for r in range(size)], [MPI.INT64_T] * size],
    [got, sizes, starts, [MPI.INT64_T] * size],
)
assert (got == everyone).all()
got = np.zeros(me + 1, int)
world.Reduce_scatter(np.ones(sizes.sum(), int), got, sizes)
assert (got == size).all()
# A ring as each kind of topology; of the grid, a rank's neighbours are itself and itself, then the others.
before, after = (me - 1) % size, (me + 1) % size
cart = world.Create_cart([1, size], periods=[True, True])
edges = [neighbour % size for rank in range(size) for neighbour in (rank - 1, rank + 1)]
graph = world.Create_graph([2 * (rank + 1) for rank in range(size)], edges)
ring = world.Create_dist_graph_adjacent([before], [after])
for comm, sources, readers in (
    (cart, [me, me, before, after], 4),
    (graph, [before, after], 2),
    (ring, [before], 1),
):
    counts = [s + 1 for s in sources]
    expected = np.repeat(sources, counts)
    got = np.full(len(expected), -1)
    comm.Neighbor_allgatherv(own, [got, counts])
    assert (got == expected).all()
    got = np.full(len(expected), -1)
    comm.Neighbor_alltoallv([np.full(readers * (me + 1), me), [me + 1] * readers], [got, counts])
    assert (got == expected).all()
# Of two groups of unlike size, each rank has the other group's numbers.
half = world.Split(me % 2)
other = half.Create_intercomm(0, world, 1 - me % 2)
theirs = [r for r in range(size) if r % 2 != me % 2]
got = np.full(sum(r + 1 for r in theirs), -1)
other.Allgatherv(own, [got, [r + 1 for r in theirs]])
assert (got == np.repeat(theirs, [r + 1 for r in theirs])).all()
world.Barrier()
if me == 0:
    print("ok")
