/* The end of a program none of whose broadcasts came by. */
#ifndef BROADLEAF_UNSEEN_H
#define BROADLEAF_UNSEEN_H

/* One line on rank 0 where it has seen no broadcast at all, with the likely reason. */
void bl_unseen_report(void);

#endif
