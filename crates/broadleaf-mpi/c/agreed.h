/* What all ranks of MPI_COMM_WORLD share from MPI_Init on. */
#ifndef BROADLEAF_AGREED_H
#define BROADLEAF_AGREED_H

#include <stdint.h>

#include "bound.h"
#include "engine.h"

/* Collective over MPI_COMM_WORLD, where all ranks are known to take part: rank 0's settings, each rank's place on
 * its host, and a communicator for messages. */
int bl_agree(int rank, int size);
/* In place of bl_agree where some rank does not take part: nothing is planned, and only rank 0's own statistics are
 * written. */
void bl_agree_alone(int rank);
void bl_agreed_finish(void);

/* Lowers the threshold to `min_bytes` on all ranks, if it is higher. */
void bl_agree_on_less(uint64_t min_bytes);

const bl_config *bl_agreed_config(void);
/* The caller's place among the ranks of its host in MPI_COMM_WORLD. */
uint32_t bl_host_index(void);
/* The duplicate of MPI_COMM_WORLD that carries all messages; there is none in a world of one rank, or where Broadleaf is
 * disabled and neither statistics nor a trace are wanted. */
typedef struct {
    int is_there;
    MPI_Comm comm;
} bl_message_comm;
extern bl_message_comm bl_messages_of_all;
/* MPI_COMM_NULL: there is none. */
static inline MPI_Comm bl_messages(void)
{
    return bl_messages_of_all.is_there ? bl_messages_of_all.comm : MPI_COMM_NULL;
}
/* After a failed call messages may come that no rank receives. MPICH would end a program that freed their communicator,
 * so it is kept. */
void bl_keep_messages(void);

#endif
