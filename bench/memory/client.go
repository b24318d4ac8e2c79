package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"strconv"
	"strings"
)

// A client is a connection to a server, over the protocol that rows are written by.
type client struct {
	conn  net.Conn
	in    *bufio.Reader
	out   *bufio.Writer
	speak speech
	body  []byte
}

// A speech is how a protocol asks for a row, writes one, and what it answers.
type speech struct {
	get, set func(out *bufio.Writer, key string, body []byte)
	got      func(in *bufio.Reader) (bytes int, err error) // of a body
	done     func(in *bufio.Reader) error
}

func dial(address string, speak speech) (*client, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &client{conn: conn, in: bufio.NewReader(conn), out: bufio.NewWriter(conn), speak: speak},
		nil
}

func (c *client) close() { _ = c.conn.Close() }

func keyOf(i int) string { return strconv.Itoa(firstKey + i) }

// read reads row i, and says whether its body has the right size.
func (c *client) read(s set, i int) error {
	c.speak.get(c.out, keyOf(i), nil)
	if err := c.out.Flush(); err != nil {
		return err
	}
	n, err := c.speak.got(c.in)
	if err == nil && n != s.size(i) {
		return fmt.Errorf("row %d has %d bytes, want %d", i, n, s.size(i))
	}
	return err
}

// write writes row i.
func (c *client) write(s set, i int, state byte) error {
	c.body = s.appendBody(c.body[:0], i, state)
	c.speak.set(c.out, keyOf(i), c.body)
	if err := c.out.Flush(); err != nil {
		return err
	}
	return c.speak.done(c.in)
}

var redisSpeech = speech{
	get: func(out *bufio.Writer, key string, _ []byte) {
		fmt.Fprintf(out, "*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n", len(key), key)
	},
	set: func(out *bufio.Writer, key string, body []byte) {
		fmt.Fprintf(out, "*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(key), key, len(body),
			body)
	},
	got:  bulk,
	done: func(in *bufio.Reader) error { return line(in, "+OK") },
}

// bulk reads a bulk string of Redis' protocol.
func bulk(in *bufio.Reader) (int, error) {
	return counted(in, "$", "")
}

// counted reads a line that ends with a number, and so many bytes and a line's end.
func counted(in *bufio.Reader, prefix, last string) (n int, err error) {
	head, err := in.ReadString('\n')
	if err != nil {
		return 0, err
	}
	head = strings.TrimSpace(head)
	n, err = strconv.Atoi(head[strings.LastIndexAny(head, " $")+1:])
	if err != nil || n < 0 || !strings.HasPrefix(head, prefix) {
		return 0, fmt.Errorf("it answers %q", head)
	}
	if _, err := in.Discard(n + len("\r\n")); err != nil || last == "" {
		return n, err
	}
	return n, line(in, last)
}

func line(in *bufio.Reader, want string) error {
	got, err := in.ReadString('\n')
	if err == nil && strings.TrimSpace(got) != want {
		err = fmt.Errorf("it answers %q, want %q", got, want)
	}
	return err
}

var memcachedSpeech = speech{
	get: func(out *bufio.Writer, key string, _ []byte) { fmt.Fprintf(out, "get %s\r\n", key) },
	set: func(out *bufio.Writer, key string, body []byte) {
		fmt.Fprintf(out, "set %s 0 0 %d\r\n%s\r\n", key, len(body), body)
	},
	got:  func(in *bufio.Reader) (int, error) { return counted(in, "VALUE ", "END") },
	done: func(in *bufio.Reader) error { return line(in, "STORED") },
}

var httpSpeech = speech{
	get: func(out *bufio.Writer, key string, _ []byte) {
		fmt.Fprintf(out, "GET /t/%s HTTP/1.1\r\nHost: localhost\r\n\r\n", key)
	},
	set: func(out *bufio.Writer, key string, body []byte) {
		fmt.Fprintf(out, "PUT /t/%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n"+
			"Content-Type: application/json\r\n\r\n%s", key, len(body), body)
	},
	got:  answer,
	done: func(in *bufio.Reader) error { _, err := answer(in); return err },
}

// answer reads an answer of HTTP, and returns how many bytes its body has.
func answer(in *bufio.Reader) (int, error) {
	r := textproto.NewReader(in)
	status, err := r.ReadLine()
	if err != nil {
		return 0, err
	}
	header, err := r.ReadMIMEHeader()
	if err != nil {
		return 0, err
	}
	n, _ := strconv.Atoi(header.Get("Content-Length")) // none: 204
	if _, err := in.Discard(n); err != nil {
		return 0, err
	}
	if code := strings.Fields(status); len(code) < 2 || code[1][0] != '2' {
		return 0, fmt.Errorf("it answers %q", status)
	}
	return n, nil
}

// writeRows writes the rows from one up to another.
func writeRows(c *client, s set, from, to int) error {
	for i := from; i < to; i++ {
		c.body = s.appendBody(c.body[:0], i, 0)
		c.speak.set(c.out, keyOf(i), c.body)
	}
	if err := c.out.Flush(); err != nil {
		return err
	}
	for range to - from {
		if err := c.speak.done(c.in); err != nil {
			return err
		}
	}
	return nil
}

// readRows has hotrow load the rows from one up to another, for a client of Redis.
func readRows(c *client, s set, from, to int) error {
	fmt.Fprintf(c.out, "*%d\r\n$4\r\nMGET\r\n", to-from+1)
	for i := from; i < to; i++ {
		fmt.Fprintf(c.out, "$%d\r\nt:%s\r\n", len("t:")+keyBytes, keyOf(i))
	}
	if err := errors.Join(c.out.Flush(), line(c.in, "*"+strconv.Itoa(to-from))); err != nil {
		return err
	}
	for i := from; i < to; i++ {
		if n, err := bulk(c.in); err != nil || n != s.size(i) {
			return fmt.Errorf("row %d: %d bytes, want %d; %v", i, n, s.size(i), err)
		}
	}
	return nil
}
