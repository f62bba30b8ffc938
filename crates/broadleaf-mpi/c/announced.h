/* Ranks' announcements that they run with this library, made in MPI_Init before the MPI's own exchange of addresses and
 * found after it. Flux passes nothing on to other hosts that ranks post later. */
#ifndef BROADLEAF_ANNOUNCED_H
#define BROADLEAF_ANNOUNCED_H

/* Whether Flux started this process: only then do ranks announce themselves. */
int bl_is_under_flux(void);
/* Before the MPI's MPI_Init; the first call counts. */
void bl_announce(void);
/* After it: whether that rank of MPI_COMM_WORLD has announced itself. All ranks get the same answer. */
int bl_has_announced(int rank);

#endif
