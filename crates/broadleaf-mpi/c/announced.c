/* By PMI-1, or else by PMIx. Slurm's PMI-1 server refuses a second `init`, so only Flux is asked. */
#include "announced.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmi.h"
#include "pmix.h"

#define HERE "here"

static char own_key[64];
static int is_at_pmi;

int bl_is_under_flux(void)
{
    return getenv("FLUX_JOB_ID") != NULL;
}

static void name_key(int rank, char key[static 64])
{
    snprintf(key, 64, "broadleaf-here-%d", rank);
}

void bl_announce(void)
{
    if (own_key[0] != '\0' || !bl_is_under_flux()) return;
    const char *rank = getenv("PMIX_RANK");
    if (rank == NULL) rank = getenv("PMI_RANK");
    if (rank == NULL) return;
    name_key(atoi(rank), own_key);
    is_at_pmi = bl_pmi_put(own_key, HERE);
    if (!is_at_pmi) bl_pmix_put_at_commit(own_key, HERE);
}

int bl_has_announced(int rank)
{
    char key[64], value[sizeof HERE];
    name_key(rank, key);
    if (!(is_at_pmi ? bl_pmi_get(key, value, sizeof value)
                    : bl_pmix_is_put() && bl_pmix_get(rank, key, value, sizeof value)))
        return 0;
    return strcmp(value, HERE) == 0;
}
