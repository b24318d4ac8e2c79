/*
 * tlsload asks an HTTPS server for random keys over keep-alive connections, each of
 * which sends its next request once it has the answer to the last one. It exists to
 * cost less than the servers that it measures: a client of Go's crypto/tls costs as
 * much as they do, and wrk reads each record with three system calls. This one takes
 * one recv and one send for a request.
 *
 * One thread, one epoll instance. An answer is checked for its status and its
 * length, and must come as often as it was asked for.
 *
 *     cc -O2 -o tlsload tlsload.c -lssl -lcrypto
 *     tlsload PORT CONNECTIONS SECONDS SEED FIRST KEYS PATH
 *
 * PATH has one %lu, where the key goes: one of KEYS numbers from FIRST on. It prints
 * what it has measured as one JSON object, times in microseconds.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	REQUESTS = 10000, /* made beforehand: to make one costs as much as to send it */
	LONGEST = 512,    /* request */
	ROOM = 64 << 10,  /* for an answer */
	EVENTS = 512,
	SLOWEST = 2000000 /* µs that have a place of their own */
};

struct connection {
	SSL *ssl;
	char *in;
	size_t have;   /* bytes of the answer in in */
	size_t whole;  /* how long it will be; 0: not known yet */
	double sent;   /* when its request was */
};

static char requests[REQUESTS][LONGEST];
static int sizes[REQUESTS];
static unsigned long counts[SLOWEST + 1], answers, failed;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void die(const char *what)
{
	fprintf(stderr, "tlsload: %s: %s\n", what, strerror(errno));
	ERR_print_errors_fp(stderr);
	exit(1);
}

static uint64_t state;

static uint64_t any(void) /* xorshift64* */
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 0x2545F4914F6CDD1DULL;
}

static void ask(struct connection *c)
{
	int i = any() % REQUESTS;
	c->have = c->whole = 0;
	c->sent = now();
	if (SSL_write(c->ssl, requests[i], sizes[i]) != sizes[i])
		die("send a request"); /* the last one was answered: there is room */
}

/* length returns how long the answer at c will be, 0 while nobody can know. */
static size_t length(struct connection *c)
{
	char *end = memmem(c->in, c->have, "\r\n\r\n", 4), *value;
	if (!end)
		return 0;
	*end = 0;
	value = strcasestr(c->in, "\r\ncontent-length:");
	*end = '\r';
	if (!value)
		die("an answer without Content-Length");
	return end + 4 - c->in + strtoul(value + strlen("\r\ncontent-length:"), NULL, 10);
}

static void receive(struct connection *c)
{
	for (;;) {
		int n = SSL_read(c->ssl, c->in + c->have, ROOM - c->have);
		if (n <= 0) {
			if (SSL_get_error(c->ssl, n) == SSL_ERROR_WANT_READ)
				return;
			die("receive an answer");
		}
		c->have += n;
		if (!c->whole && (c->whole = length(c)) > ROOM)
			die("an answer that is too long");
		if (c->whole && c->have >= c->whole)
			break;
	}
	double took = now() - c->sent;
	long us = took * 1e6;
	if (c->have != c->whole || memcmp(c->in, "HTTP/1.1 200 ", 13))
		failed++;
	answers++;
	counts[us < SLOWEST ? us : SLOWEST]++;
	ask(c);
}

static void dial(struct connection *c, SSL_CTX *ctx, int port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to))
		die("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	c->ssl = SSL_new(ctx);
	c->in = malloc(ROOM);
	if (!c->ssl || !c->in || !SSL_set_fd(c->ssl, fd) || SSL_connect(c->ssl) != 1)
		die("TLS handshake");
	fcntl(fd, F_SETFL, O_NONBLOCK);
}

static double quantile(double q)
{
	unsigned long sum = 0;
	for (long i = 0; i <= SLOWEST; i++)
		if ((sum += counts[i]) >= q * answers && sum)
			return i;
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 8) {
		fprintf(stderr, "usage: tlsload PORT CONNECTIONS SECONDS SEED FIRST KEYS PATH\n");
		return 2;
	}
	int port = atoi(argv[1]), n = atoi(argv[2]);
	double seconds = atof(argv[3]);
	unsigned long first = strtoul(argv[5], NULL, 10), keys = strtoul(argv[6], NULL, 10);
	state = strtoull(argv[4], NULL, 10) * 0x9E3779B97F4A7C15ULL | 1;
	for (int i = 0; i < REQUESTS; i++) {
		char path[LONGEST / 2];
		snprintf(path, sizeof path, argv[7], first + any() % keys);
		sizes[i] = snprintf(requests[i], LONGEST,
			"GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", path, port);
	}
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	struct connection *all = calloc(n, sizeof *all);
	int ep = epoll_create1(0);
	if (!ctx || !all || ep < 0)
		die("begin");
	SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_NONE, NULL); /* the certificate is made for the run */
	SSL_CTX_set_read_ahead(ctx, 1);                 /* head and record in one recv */
	for (int i = 0; i < n; i++) {
		struct epoll_event e = {.events = EPOLLIN, .data.ptr = &all[i]};
		dial(&all[i], ctx, port);
		if (epoll_ctl(ep, EPOLL_CTL_ADD, SSL_get_fd(all[i].ssl), &e))
			die("epoll_ctl");
	}
	double begin = now(), end = begin;
	double deadline = begin + seconds;
	for (int i = 0; i < n; i++)
		ask(&all[i]);
	while ((end = now()) < deadline) {
		struct epoll_event events[EVENTS];
		int got = epoll_wait(ep, events, EVENTS, 1000);
		for (int i = 0; i < got; i++)
			receive(events[i].data.ptr);
	}
	printf("{\"answers\":%lu,\"failed\":%lu,\"seconds\":%.6f,\"p50_us\":%.0f,"
	       "\"p90_us\":%.0f,\"p99_us\":%.0f,\"p999_us\":%.0f}\n",
	       answers, failed, end - begin, quantile(0.5), quantile(0.9), quantile(0.99),
	       quantile(0.999));
	return 0;
}
