/* The MPI's own connection to its launcher, while the MPI is not using it: each command is one line, and so is each
 * answer. MPI_Lookup_name sends the same commands, but MPICH 5 takes Slurm's `info=fail` for success and reads an
 * uninitialised address. */
#include "pmi.h"

#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int connection;

/* Open MPI does not speak it, and MPICH need not. */
static int is_spoken(void)
{
#ifdef OPEN_MPI
    return 0;
#else
    static const char *const settings[] = {"MPIR_CVAR_PMI_VERSION", "MPIR_PARAM_PMI_VERSION", "MPICH_PMI_VERSION"};
    /* Other clients, linked in place of MPICH's own; Slurm's first speaks PMI-2. */
    static const char *const clients[] = {"libpmi2.so.0", "libpmi.so.0"};
    for (size_t at = 0; at < sizeof settings / sizeof *settings; at++) {
        const char *version = getenv(settings[at]);
        if (version != NULL && strcmp(version, "1") != 0) return 0;
    }
    for (size_t at = 0; at < sizeof clients / sizeof *clients; at++) {
        void *client = dlopen(clients[at], RTLD_LAZY | RTLD_NOLOAD);
        if (client == NULL) continue;
        dlclose(client);
        return 0;
    }
    const char *descriptor = getenv("PMI_FD");
    connection = descriptor == NULL ? -1 : atoi(descriptor);
    return connection > 0;
#endif
}

static int send_all(const char *bytes, size_t count)
{
    while (count > 0) {
        const ssize_t sent = write(connection, bytes, count);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return 0;
        bytes += sent;
        count -= (size_t)sent;
    }
    return 1;
}

/* Without a time limit, as in the MPI: it would take an unread answer for the answer to its next command. */
static int receive_line(char *line, size_t room)
{
    for (size_t count = 0; count < room; count++) {
        ssize_t got;
        do got = read(connection, line + count, 1);
        while (got < 0 && errno == EINTR);
        if (got != 1) return 0;
        if (line[count] != '\n') continue;
        line[count] = '\0';
        return 1;
    }
    return 0;
}

/* Sends a command and takes a field of its answer; whether the answer has it. */
static int ask(const char *field, char *value, size_t room, const char *command, ...)
{
    char line[2048];
    va_list arguments;
    va_start(arguments, command);
    const int count = vsnprintf(line, sizeof line, command, arguments);
    va_end(arguments);
    if (count >= (int)sizeof line || !send_all(line, (size_t)count) || !receive_line(line, sizeof line)) return 0;
    const char *found = strstr(line, field);
    if (found == NULL) return 0;
    found += strlen(field);
    snprintf(value, room, "%.*s", (int)strcspn(found, " "), found);
    return 1;
}

int bl_pmi_open(char world[256])
{
    return is_spoken() && ask(" kvsname=", world, 256, "cmd=get_my_kvsname\n");
}

static char key_space[256];

static int is_zero(const char *code)
{
    return strcmp(code, "0") == 0;
}

/* The MPI begins a session of its own after this one, on the same connection. */
int bl_pmi_put(const char *key, const char *value)
{
    char code[8];
    return is_spoken() && ask(" rc=", code, sizeof code, "cmd=init pmi_version=1 pmi_subversion=1\n") &&
           is_zero(code) && ask(" kvsname=", key_space, sizeof key_space, "cmd=get_my_kvsname\n") &&
           ask(" rc=", code, sizeof code, "cmd=put kvsname=%s key=%s value=%s\n", key_space, key, value) &&
           is_zero(code);
}

int bl_pmi_get(const char *key, char *value, size_t room)
{
    return ask(" value=", value, room, "cmd=get kvsname=%s key=%s\n", key_space, key);
}

int bl_pmi_post(const char *name, const char *value)
{
    char outcome[8];
    /* Hydra answers with a code, Slurm with a word. */
    return ask("publish_result ", outcome, sizeof outcome, "cmd=publish_name service=%s port=%s\n", name, value) &&
           (strcmp(outcome, "rc=0") == 0 || strcmp(outcome, "info=ok") == 0);
}

int bl_pmi_find(const char *name, char *value, size_t room)
{
    return ask(" port=", value, room, "cmd=lookup_name service=%s\n", name);
}
