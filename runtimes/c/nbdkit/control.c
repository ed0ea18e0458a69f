#include "control.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <nbdkit-filter.h>

#include "fills.h"

#define MOST_BYTES 16384             /* of a command */
#define WAIT_NS UINT64_C(5000000000) /* for its lines, and as long for its answer to be taken */
#define REST_MS 100                  /* where no connection can be taken, as too many files are open */

static struct {
    const char *path;
    opened *opened;
    void (*status)(FILE *file);
    pthread_t thread;
    struct stat made; /* the socket, so that no other one is removed */
    int listens, ends;
} control = {.listens = -1, .ends = -1};

/* ---- commands ---- */

static void refuse(FILE *answer, const char *text) {
    fputc('{', answer);
    stats_text(answer, "error", text);
    fputs("}\n", answer);
}

static bool is_one_of(const char *key, const char *const *keys) {
    while (*keys && strcmp(*keys, key) != 0)
        keys++;
    return *keys != NULL;
}

/* Lines of key=value, of the keys that a command takes; what is a path begins with a slash, as the working folder is
 * not the client's. */
static int take_lines(char *lines, const char *command, const char *const *keys, config *config, cz_error *error) {
    static const char *const paths[] = {"cz-bundle", "cz-monitor", "cz-models", "cz-key", "cz-ssd", "cz-label", NULL};
    char *rest = lines;
    for (char *line = strsep(&rest, "\n"); line && *line; line = strsep(&rest, "\n")) {
        char *value = strchr(line, '=');
        if (!value)
            return cz_fail(error, CZ_BAD_CALL, "%.64s: lines are key=value", line);
        *value++ = 0;
        if (!is_one_of(line, keys))
            return cz_fail(error, CZ_BAD_CALL, "%s does not take %.64s", command, line);
        const char *second = strcmp(line, "cz-models") == 0 ? strchr(value, ':') : NULL;
        while (second && second[1] == '/')
            second = strchr(second + 1, ':');
        if (is_one_of(line, paths) && (*value != '/' || second))
            return cz_fail(error, CZ_BAD_CALL, "%s=%.200s: give the whole path, from /", line, value);
        if (config_take(config, line, value, error))
            return error->code;
    }
    return CZ_OK;
}

static bool decides(const choice *choice) {
    return choice->policy || choice->bundle || choice->monitor || choice->models[0] || choice->prefetch ||
           choice->mode >= 0 || choice->window >= 0 || choice->max_misses || choice->vote_every >= 0;
}

static void set_rate(opened *opened, int64_t rate) {
    pthread_mutex_lock(&opened->changes);
    pthread_mutex_lock(&opened->served.lock);
    policy_rate(&opened->policy, rate, &opened->served);
    opened->config.write_rate = rate;
    pthread_mutex_unlock(&opened->served.lock);
    pthread_mutex_unlock(&opened->changes);
}

static int reload(char *lines, FILE *answer, cz_error *error) {
    static const char *const keys[] = {
        "cz-policy", "cz-bundle", "cz-prefetch-bundle", "cz-monitor", "cz-models",   "cz-vote-every",
        "cz-key",    "cz-mode",   "cz-window",          "cz-misses",  "cz-prefetch", "cz-write-rate",
        NULL};
    opened *opened = control.opened;
    uint64_t begin = now_ns();
    int64_t kept = 0;
    config next;
    config_start(&next);
    int code = take_lines(lines, "reload", keys, &next, error);
    bool change = decides(&next.choice);
    if (code == CZ_OK && !change && next.write_rate < 0)
        code = cz_fail(error, CZ_BAD_CALL, "reload needs cz-policy, cz-bundle or cz-mode, or cz-write-rate");
    if (code == CZ_OK && next.key && !next.choice.bundle)
        code = cz_fail(error, CZ_BAD_CALL,
                       "cz-key is of the release that cz-bundle is in; give that too, or leave it out");
    if (code == CZ_OK && change)
        code = change_policy(opened, &next, &kept, error);
    if (code == CZ_OK && next.write_rate >= 0)
        set_rate(opened, next.write_rate);
    config_free(&next);
    if (code != CZ_OK)
        return code;
    const policy *policy = &opened->policy; /* this thread alone changes it */
    fputs("{\"done\": \"reload\", ", answer);
    stats_text(answer, "mode", config_mode(&opened->config));
    fputs(", ", answer);
    stats_text(answer, "policy", opened->config.choice.policy);
    fputs(", ", answer);
    stats_text(answer, "bundle", opened->config.choice.bundle ? policy->info.id : "");
    fputs(", ", answer);
    stats_text(answer, "model_digest", policy->bundle ? policy->info.model_digest : "");
    fprintf(answer, ", \"kept_units\": %lld, \"seconds\": %.3f}\n", (long long)kept, (double)(now_ns() - begin) / 1e9);
    return CZ_OK;
}

static int attach(char *lines, FILE *answer, cz_error *error) {
    static const char *const keys[] = {"cz-ssd", "cz-size", "cz-format", "cz-label", NULL};
    opened *opened = control.opened;
    uint64_t begin = now_ns();
    config next;
    config_start(&next);
    int code = take_lines(lines, "attach", keys, &next, error);
    if (code == CZ_OK && !next.ssd)
        code = cz_fail(error, CZ_BAD_CALL, "attach needs cz-ssd");
    if (code == CZ_OK)
        code = change_tier(opened, &next, error);
    config_free(&next);
    if (code != CZ_OK)
        return code;
    fputs("{\"done\": \"attach\", ", answer);
    stats_text(answer, "ssd", opened->config.ssd);
    fprintf(answer, ", \"cache_bytes\": %lld, \"seconds\": %.3f}\n",
            (long long)(opened->served.n_slots * opened->served.unit_bytes), (double)(now_ns() - begin) / 1e9);
    return CZ_OK;
}

static void serve_command(char *command, FILE *answer) {
    cz_error error = {0};
    char *lines = command;
    const char *first = strsep(&lines, "\n");
    int code = CZ_OK;
    if (strcmp(first, "status") == 0 && (!lines || !*lines || *lines == '\n'))
        control.status(answer);
    else if (strcmp(first, "reload") == 0 && lines)
        code = reload(lines, answer, &error);
    else if (strcmp(first, "attach") == 0 && lines)
        code = attach(lines, answer, &error);
    else
        code = cz_fail(&error, CZ_BAD_CALL, "%.64s: the commands are status, reload and attach, with lines key=value",
                       first);
    if (code != CZ_OK)
        refuse(answer, error.text);
}

/* ---- the socket ---- */

/* Wait until the peer has sent more, or can take more; false where neither comes before `until`, or the filter ends. */
static bool wait_for(int fd, short event, uint64_t until) {
    struct pollfd waits[] = {{.fd = fd, .events = event}, {.fd = control.ends, .events = POLLIN}};
    for (uint64_t now = now_ns(); now < until; now = now_ns()) {
        int found = poll(waits, 2, (int)((until - now) / 1000000 + 1));
        if (found < 0 && errno != EINTR)
            return false;
        if (found > 0)
            return !waits[1].revents;
    }
    return false;
}

/* The command's lines and the empty one after them; -1 where they do not come, or are too many. */
static int receive(int fd, char *command) {
    const uint64_t until = now_ns() + WAIT_NS;
    size_t there = 0;
    command[0] = 0;
    while (!strstr(command, "\n\n")) {
        if (there + 1 == MOST_BYTES || !wait_for(fd, POLLIN, until))
            return -1;
        ssize_t more = recv(fd, command + there, MOST_BYTES - 1 - there, MSG_DONTWAIT);
        if (more < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (more <= 0)
            return -1;
        there += (size_t)more;
        command[there] = 0;
    }
    return 0;
}

static void send_all(int fd, const char *text, size_t size) {
    const uint64_t until = now_ns() + WAIT_NS;
    for (size_t sent = 0; sent < size && wait_for(fd, POLLOUT, until);) {
        ssize_t more = send(fd, text + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (more < 0 && errno != EINTR && errno != EAGAIN)
            return;
        sent += more > 0 ? (size_t)more : 0;
    }
}

static void serve_connection(int fd) {
    char *command = malloc(MOST_BYTES), *text = NULL;
    size_t size = 0;
    FILE *answer = command ? open_memstream(&text, &size) : NULL;
    if (answer) {
        if (receive(fd, command))
            refuse(answer, "no whole command came: lines, and an empty one after them");
        else
            serve_command(command, answer);
        if (fclose(answer) == 0)
            send_all(fd, text, size);
        free(text);
    }
    free(command);
}

static void *serve_control(void *nothing) {
    struct pollfd waits[] = {{.fd = control.listens, .events = POLLIN}, {.fd = control.ends, .events = POLLIN}};
    for (;;) {
        if (poll(waits, 2, -1) < 0 && errno != EINTR)
            return nothing;
        if (waits[1].revents)
            return nothing;
        if (!(waits[0].revents & POLLIN))
            continue;
        int fd = accept4(control.listens, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0) {
            (void)poll(&waits[1], 1, REST_MS);
            continue;
        }
        serve_connection(fd);
        close(fd);
    }
}

static int complain(const char *path, const char *what) {
    nbdkit_error("cachezoo: cz-control=%s: %s", path, what);
    return -1;
}

/* A socket that nobody listens at is one that a killed process has left. */
static int remove_stale(const char *path, const struct sockaddr_un *address) {
    struct stat found;
    if (lstat(path, &found))
        return errno == ENOENT ? 0 : complain(path, strerror(errno));
    if (!S_ISSOCK(found.st_mode))
        return complain(path, "it is there, and no socket");
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return complain(path, strerror(errno));
    bool used = connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 || errno != ECONNREFUSED;
    close(fd);
    if (used)
        return complain(path, "another process listens there");
    return unlink(path) ? complain(path, strerror(errno)) : 0;
}

/* The address of a path; -1 after a message where that is too long for a socket. */
static int address_of(const char *path, struct sockaddr_un *address) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address->sun_path)
        return complain(path, "longer than 107 bytes, which is what a socket's path may have");
    strcpy(address->sun_path, path);
    return 0;
}

static int bind_at(const char *path, const struct sockaddr_un *address, int *fd) {
    if (remove_stale(path, address))
        return -1;
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    /* The mode is there before the name is. */
    if (*fd < 0 || fchmod(*fd, 0600) || bind(*fd, (const struct sockaddr *)address, sizeof *address)) {
        int failed = errno;
        if (*fd >= 0)
            close(*fd);
        *fd = -1;
        return complain(path, strerror(failed));
    }
    return 0;
}

int control_check(const char *path) {
    struct sockaddr_un address;
    int fd;
    if (address_of(path, &address) || bind_at(path, &address, &fd))
        return -1;
    close(fd);
    return unlink(path) ? complain(path, strerror(errno)) : 0;
}

int control_begin(const char *path, opened *opened, void (*status)(FILE *file)) {
    struct sockaddr_un address;
    control.path = path;
    control.opened = opened;
    control.status = status;
    if (address_of(path, &address) || bind_at(path, &address, &control.listens))
        return -1;
    control.ends = eventfd(0, EFD_CLOEXEC);
    int failed = control.ends < 0 || lstat(path, &control.made) || listen(control.listens, 16) ? errno : 0;
    if (!failed)
        failed = pthread_create(&control.thread, NULL, serve_control, NULL);
    if (!failed)
        return 0;
    complain(path, strerror(failed));
    unlink(path);
    close(control.listens);
    if (control.ends >= 0)
        close(control.ends);
    control.listens = control.ends = -1;
    return -1;
}

void control_end(void) {
    const uint64_t one = 1;
    struct stat found;
    if (control.listens < 0)
        return;
    if (write(control.ends, &one, sizeof one) == sizeof one)
        pthread_join(control.thread, NULL);
    if (lstat(control.path, &found) == 0 && found.st_ino == control.made.st_ino && found.st_dev == control.made.st_dev)
        unlink(control.path);
    close(control.listens);
    close(control.ends);
    control.listens = control.ends = -1;
}
