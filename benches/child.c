/* What the benchmarks run.
 *
 *   child NAME SOCKET          tells "NAME PID NANOSECONDS" (its own start by CLOCK_MONOTONIC)
 *                              in one datagram, then sleeps until a signal ends it
 *   child --floor N SOCKET     the least that a supervisor can do: starts N of the above, each in
 *                              a session of its own, and starts one anew when it dies; keeps no
 *                              record, no log, no configuration. What this machine cannot go below.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void announce(const char *name, const char *path) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    char text[200];
    int size = snprintf(text, sizeof text, "%s %d %lld", name, getpid(),
                        at.tv_sec * 1000000000LL + at.tv_nsec);
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    strncpy(to.sun_path, path, sizeof to.sun_path - 1);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || sendto(fd, text, size, 0, (struct sockaddr *)&to, sizeof to) != size) _exit(3);
    close(fd);
}

static pid_t launch(int number, char *self, char *path) {
    char name[16];
    snprintf(name, sizeof name, "h%04d", number);
    char *argv[] = {self, name, path, NULL};
    posix_spawnattr_t how;
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSID);
    pid_t pid = -1;
    if (posix_spawn(&pid, self, NULL, &how, argv, environ) != 0) _exit(4);
    posix_spawnattr_destroy(&how);
    return pid;
}

static pid_t *pids;
static int count;

static void end(int signal) {
    (void)signal;
    for (int i = 0; i < count; i++) kill(pids[i], SIGTERM);
    while (wait(NULL) > 0) {
    }
    _exit(0);
}

int main(int argc, char **argv) {
    if (argc == 3) {
        announce(argv[1], argv[2]);
        for (;;) pause();
    }
    if (argc != 4 || strcmp(argv[1], "--floor") != 0) return 2;
    int wanted = atoi(argv[2]);
    pids = calloc(wanted, sizeof *pids);
    for (int i = 0; i < wanted; i++) pids[i] = launch(i, argv[0], argv[3]);
    count = wanted;
    signal(SIGTERM, end);
    for (;;) {
        pid_t gone = wait(NULL);
        for (int i = 0; i < count; i++)
            if (pids[i] == gone) pids[i] = launch(i, argv[0], argv[3]);
    }
}
