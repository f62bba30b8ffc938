/* The calls that were intercepted give the likely reason why no broadcast was. */
#include "unseen.h"

#include <dlfcn.h>
#include <stdio.h>

#include "bound.h"
#include "counted.h"
#include "passed.h"

/* Kinds of calls that the line names. */
enum { MOST_NAMED = 3 };

/* With other collectives listed in BROADLEAF_COLLECTIVES. */
#define LEFT_TO_THE_MPI \
    "which went to the MPI: it takes those without plans, those shorter than BROADLEAF_MIN_BYTES and, unless that is " \
    "set, those inside one host"

static void report_tool(void)
{
    Dl_info where = {.dli_fname = "a tool"};
    const void *tool = bl_tool_behind("MPI_Bcast");
    if (tool != NULL) (void)dladdr(tool, &where);
    fprintf(stderr,
            "broadleaf: nothing was planned: %s took %llu calls of MPI_Bcast past Broadleaf to the MPI; preload it "
            "before Broadleaf\n",
            where.dli_fname, (unsigned long long)bl_handed_on());
}

/* The most frequent kinds, as "MPI_Ibcast 12, MPI_Barrier 3". */
static void list(char *text, size_t room, const char **names, uint64_t *calls, uint32_t kinds)
{
    size_t length = 0;
    for (int named = 0; named < MOST_NAMED; named++) {
        uint32_t most = 0;
        for (uint32_t kind = 1; kind < kinds; kind++)
            if (calls[kind] > calls[most]) most = kind;
        if (calls[most] == 0 || length >= room) return;
        length += (size_t)snprintf(text + length, room - length, "%s%s %llu", named > 0 ? ", " : "", names[most],
                                   (unsigned long long)calls[most]);
        calls[most] = 0;
    }
}

void bl_unseen_report(void)
{
    int rank;
    if (bl_is_any_seen() || bl_mpi.Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS || rank != 0) return;
    const char *names[BL_MOST_COUNTED];
    uint64_t calls[BL_MOST_COUNTED];
    const uint32_t kinds = bl_counted(names, calls);
    char text[256] = "";
    if (kinds > 0) list(text, sizeof text, names, calls, kinds);
    if (bl_handed_on() > 0)
        report_tool();
    else if (kinds > 0)
        fprintf(stderr, "broadleaf: nothing was planned: rank 0 made no call of MPI_Bcast, but %s, %s\n", text,
                bl_is_any_listed_but(BL_BCAST) ? LEFT_TO_THE_MPI : "for which no plan is made");
    else
        fprintf(stderr, "broadleaf: nothing was planned: no collective call of rank 0 came by; the program makes none, "
                        "or calls its MPI past the dynamic linker\n");
}
