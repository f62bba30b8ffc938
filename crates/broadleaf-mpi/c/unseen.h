/* The report at the end of a program in which no broadcast was intercepted. */
#ifndef BROADLEAF_UNSEEN_H
#define BROADLEAF_UNSEEN_H

/* One line on rank 0, with the likely reason, if it has intercepted no broadcast at all. */
void bl_unseen_report(void);

#endif
