/*
 * floor answers every HTTP request with one constant answer and does nothing
 * else: the least that a server on epoll and TCP sockets can cost. What another
 * server takes beyond it is what that server itself costs; what floor takes is
 * the kernel's.
 *
 * One thread, one epoll instance, level triggered. A batch of requests costs one
 * recv, and each request in it one send. It reads nothing of a request but the
 * empty line at its end, and a request that arrives in two parts is not put
 * together: generators send theirs whole.
 *
 *     cc -O2 -o floor floor.c
 *     floor PORT FILE        answers with the bytes of FILE as JSON
 *     floor PORT FILE raw    answers with the bytes of FILE, head and all
 *
 * When it is told to hang up (SIGHUP) it prints how many connections it has accepted.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_BODY = 64 << 10, MAX_EVENTS = 512, READ_SIZE = 64 << 10, BACKLOG = 4096 };

static char answer[MAX_BODY + 256];
static size_t answer_size;
static unsigned long accepted;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* Makes the answer: a head, and the file behind it; or the file alone. */
static void load_answer(const char *path, int raw)
{
	static char body[MAX_BODY];
	FILE *f = fopen(path, "rb");
	if (f == NULL)
		die(path);
	size_t n = fread(body, 1, sizeof body, f);
	fclose(f);
	int head = raw ? 0 : snprintf(answer, sizeof answer,
			    "HTTP/1.1 200 OK\r\n"
			    "Content-Type: application/json\r\n"
			    "Content-Length: %zu\r\n\r\n", n);
	memcpy(answer + head, body, n);
	answer_size = (size_t)head + n;
}

static int listen_on(int port)
{
	int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons((unsigned short)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	if (fd < 0)
		die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(fd, (struct sockaddr *)&to, sizeof to) || listen(fd, BACKLOG))
		die("listen");
	return fd;
}

static void watch(int epoll, int fd)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e))
		die("epoll_ctl");
}

/* Takes every connection that waits to be accepted. */
static void accept_all(int epoll, int listener)
{
	int fd, on = 1;
	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
		accepted++;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
		watch(epoll, fd);
	}
}

/* Counts the requests in some bytes by their empty lines. */
static int count_requests(const char *at, const char *end)
{
	int n = 0;
	while ((at = memmem(at, (size_t)(end - at), "\r\n\r\n", 4)) != NULL) {
		at += 4;
		n++;
	}
	return n;
}

/* Reads once and answers each request. A client that does not take a whole
 * answer at once is cut off: this is no server for the world. */
static void serve(int fd)
{
	static char in[READ_SIZE];
	ssize_t n = recv(fd, in, sizeof in, 0);
	if (n <= 0) {
		close(fd);
		return;
	}
	for (int left = count_requests(in, in + n); left > 0; left--) {
		if (send(fd, answer, answer_size, MSG_NOSIGNAL) != (ssize_t)answer_size) {
			close(fd);
			return;
		}
	}
}

/* Interrupts the wait for events, and no more. */
static void wake(int signal)
{
	(void)signal;
}

/* Says how many connections were accepted. */
static void tell(void)
{
	printf("%lu\n", accepted);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static struct epoll_event events[MAX_EVENTS];
	if (argc != 3 && !(argc == 4 && strcmp(argv[3], "raw") == 0)) {
		fprintf(stderr, "usage: floor PORT FILE [raw]\n");
		return 2;
	}
	struct sigaction on_hangup = { .sa_handler = wake };
	sigaction(SIGHUP, &on_hangup, NULL);
	load_answer(argv[2], argc == 4);
	int listener = listen_on(atoi(argv[1]));
	int epoll = epoll_create1(0);
	if (epoll < 0)
		die("epoll_create1");
	watch(epoll, listener);
	for (;;) {
		int n = epoll_wait(epoll, events, MAX_EVENTS, -1);
		if (n < 0)
			tell();
		for (int i = 0; i < n; i++) {
			if (events[i].data.fd == listener)
				accept_all(epoll, listener);
			else
				serve(events[i].data.fd);
		}
	}
}
