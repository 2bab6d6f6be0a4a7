/* SPDX-License-Identifier: Apache-2.0
 *
 * test_resolve.c: host names are resolved within the time that a caller has,
 * whatever the name server does.  The server is the test's own, in network and
 * mount namespaces of its own.
 */
#include "../suite.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "fleet/resolve.h"

static char root[200];

/* A loopback address. */
static const char *loopback(char text[16], unsigned last)
{
    (void)snprintf(text, 16, "%u.0.0.%u", 127u, last);
    return text;
}

/* ---- a name server ------------------------------------------------------- */

typedef struct server {
    int socket;
    unsigned delay_ms; /* before each answer */
    atomic_bool knows; /* resolves any name to loopback address 7; else none */
} server;

/* Turns a question into its answer in place. */
static size_t write_answer(const server *s, uint8_t *packet, size_t bytes)
{
    static const uint8_t address[] = {0xc0, 12, 0, 1, 0,   1, 0, 0,
                                      0,    1,  0, 4, 127, 0, 0, 7};
    bool v4 = packet[bytes - 3] == 1; /* A, not AAAA */

    packet[2] = 0x81;
    packet[3] = s->knows ? 0x80 : 0x83; /* NXDOMAIN */
    packet[7] = s->knows && v4;
    memset(packet + 8, 0, 4);
    if (!s->knows || !v4)
        return bytes;
    memcpy(packet + bytes, address, sizeof(address));
    return bytes + sizeof(address);
}

static void *serve(void *user)
{
    const server *s = user;
    uint8_t packet[512 + 16];
    struct sockaddr_in from;

    for (;;) {
        socklen_t len = sizeof(from);
        ssize_t bytes =
            recvfrom(s->socket, packet, 512, 0, (struct sockaddr *)&from, &len);

        if (bytes < 17)
            return NULL;
        (void)usleep(s->delay_ms * 1000);
        (void)sendto(s->socket, packet, write_answer(s, packet, (size_t)bytes),
                     0, (struct sockaddr *)&from, len);
    }
}

static void serve_names(server *s)
{
    const struct sockaddr_in here = {.sin_family = AF_INET,
                                     .sin_port = htons(53),
                                     .sin_addr.s_addr = htonl(0x7f000001)};
    pthread_t thread;

    s->socket = socket(AF_INET, SOCK_DGRAM, 0);
    ck_assert_int_eq(
        bind(s->socket, (const struct sockaddr *)&here, sizeof(here)), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, serve, s), 0);
    (void)pthread_detach(thread);
}

/* ---- a private network --------------------------------------------------- */

static bool write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    bool good = file != NULL && fputs(text, file) >= 0;

    return file != NULL && fclose(file) == 0 && good;
}

static bool raise_loopback(void)
{
    struct ifreq request = {.ifr_name = "lo"};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    bool good = ioctl(fd, SIOCGIFFLAGS, &request) == 0;

    request.ifr_flags |= IFF_UP;
    good = good && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
    (void)close(fd);
    return good;
}

/* Returns false where the process may not create namespaces. */
static bool enter_network(const char *folder)
{
    char names[256];
    char text[80];
    char here[16];

    (void)snprintf(text, sizeof(text),
                   "nameserver %s\noptions timeout:2 attempts:1\n",
                   loopback(here, 1));
    (void)snprintf(names, sizeof(names), "%s/resolv.conf", folder);
    return unshare(CLONE_NEWNS | CLONE_NEWNET |
                   (geteuid() == 0 ? 0 : CLONE_NEWUSER)) == 0 &&
           raise_loopback() &&
           mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0 &&
           write_text(names, text) &&
           mount(names, "/etc/resolv.conf", "none", MS_BIND, NULL) == 0;
}

static void setup(void)
{
    make_folder(root, sizeof(root));
    ck_assert(enter_network(root));
}

static void teardown(void)
{
    (void)umount("/etc/resolv.conf");
    remove_folder(root);
}

static bool may_have_networks(void)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        bool made = folder_make(root, sizeof(root), "net");
        bool entered = made && enter_network(root);

        (void)umount("/etc/resolv.conf");
        if (made)
            folder_remove(root);
        _exit(entered ? 0 : 1);
    }
    return waitpid(pid, &status, 0) == pid && status == 0;
}

/* ---- cases -------------------------------------------------------------- */

static void check_address(struct addrinfo *found, const char *address)
{
    char text[64];

    ck_assert_ptr_nonnull(found);
    ck_assert_int_eq(getnameinfo(found->ai_addr, found->ai_addrlen, text,
                                 sizeof(text), NULL, 0, NI_NUMERICHOST),
                     0);
    ck_assert_str_eq(text, address);
    freeaddrinfo(found);
}

START_TEST(addresses_need_no_server)
{
    groat__resolver resolver = {0};
    const char *why = NULL;

    char nine[16];

    check_address(groat__resolve(&resolver, loopback(nine, 9), 0, &why), nine);
    check_address(groat__resolve(&resolver, "::1", 0, &why), "::1");
    ck_assert_ptr_null(resolver.pending);
    groat__resolver_close(&resolver);
}
END_TEST

START_TEST(names)
{
    server s = {.knows = true};
    groat__resolver resolver = {0};
    const char *why = NULL;
    char seven[16];

    serve_names(&s);
    check_address(groat__resolve(&resolver, "a.example", 1500, &why),
                  loopback(seven, 7));
    s.knows = false;
    ck_assert_ptr_null(groat__resolve(&resolver, "b.example", 1500, &why));
    ck_assert_str_eq(why, gai_strerror(EAI_NONAME));
    ck_assert_ptr_null(resolver.pending);
    groat__resolver_close(&resolver);
}
END_TEST

/* The answer comes after the caller gave up; a later call finds it. */
START_TEST(a_slow_server)
{
    server s = {.knows = true, .delay_ms = 300};
    groat__resolver resolver = {0};
    const char *why = NULL;
    struct addrinfo *found = NULL;
    char seven[16];

    serve_names(&s);
    ck_assert_ptr_null(groat__resolve(&resolver, "a.example", 20, &why));
    ck_assert_str_eq(why, "its name is not resolved in time");
    for (int i = 0; i < 200 && found == NULL; i++)
        found = groat__resolve(&resolver, "a.example", 20, &why);
    check_address(found, loopback(seven, 7));
    groat__resolver_close(&resolver);
}
END_TEST

/* The look-up goes on for two seconds after the resolver was closed. */
START_TEST(a_silent_server)
{
    server s = {.delay_ms = 60000};
    groat__resolver resolver = {0};
    double start_ms = groat__now_ms();
    const char *why = NULL;

    serve_names(&s);
    ck_assert_ptr_null(groat__resolve(&resolver, "a.example", 50, &why));
    groat__resolver_close(&resolver);
    ck_assert(groat__now_ms() - start_ms < 1500);
    (void)sleep(3);
}
END_TEST

int main(void)
{
    Suite *suite;
    TCase *tests;

    if (!may_have_networks()) {
        (void)puts("SKIP: this user may have no namespaces");
        return 77;
    }
    suite = suite_create("resolve");
    tests = tcase_create("resolve");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, addresses_need_no_server);
    tcase_add_test(tests, names);
    tcase_add_test(tests, a_slow_server);
    tcase_add_test(tests, a_silent_server);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
