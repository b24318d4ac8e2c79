package restart

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/hotrow/hotrow/client"
)

// An httpAsker is net/http's client, which opens another connection by itself.
type httpAsker struct {
	client http.Client
	base   string
}

func newHTTP(l Load) asker {
	return &httpAsker{
		client: http.Client{Transport: &http.Transport{}, Timeout: patience},
		base:   "http://" + l.HTTP + "/" + l.Resource + "/",
	}
}

func (a *httpAsker) ask(keys []int) ([][]byte, error) {
	r, err := a.client.Get(a.base + strconv.Itoa(keys[0]))
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	if err == nil && r.StatusCode != http.StatusOK {
		err = errors.New(r.Status)
	}
	return [][]byte{body}, err
}

func (a *httpAsker) again() int64 { return 0 }
func (a *httpAsker) close()       { a.client.CloseIdleConnections() }

// A wireAsker is the Go client.
type wireAsker struct {
	client   *client.Client
	resource string
	err      error
}

func newWire(l Load) asker {
	c, err := client.Open("hotrow://"+l.Wire, client.WithConnections(1),
		client.WithTimeout(patience))
	return &wireAsker{client: c, resource: l.Resource, err: err}
}

func (a *wireAsker) ask(keys []int) ([][]byte, error) {
	if a.err != nil {
		return nil, a.err
	}
	doc, err := a.client.Get(context.Background(), a.resource, strconv.Itoa(keys[0]))
	return [][]byte{doc.Body}, err
}

func (a *wireAsker) again() int64 { return 0 }

func (a *wireAsker) close() {
	if a.err == nil {
		_ = a.client.Close()
	}
}

// A respAsker sends a batch of commands of Redis and reads their replies.
type respAsker struct {
	address, resource string

	conn  net.Conn
	in    *bufio.Reader
	out   []byte
	docs  [][]byte
	twice int64
}

func newRESP(l Load) asker { return &respAsker{address: l.RESP, resource: l.Resource} }

func (a *respAsker) again() int64 { return a.twice }

func (a *respAsker) close() {
	if a.conn != nil {
		_ = a.conn.Close()
		a.conn = nil
	}
}

// attempts is how many connections in a row may end without an answer.
const attempts = 3

func (a *respAsker) ask(keys []int) ([][]byte, error) {
	a.docs = a.docs[:0]
	var broken error
	for tries := 0; tries < attempts; {
		had := len(a.docs)
		broken = a.exchange(keys[had:])
		if broken == nil {
			return a.docs, nil
		}
		a.close()
		var refused replyError
		if errors.As(broken, &refused) {
			return nil, broken
		}
		if tries++; len(a.docs) > had {
			tries = 0
		}
		a.twice += int64(len(keys) - len(a.docs))
	}
	return nil, fmt.Errorf("%d connections in a row have ended: %w", attempts, broken)
}

// A replyError is one that the server has told.
type replyError string

func (e replyError) Error() string { return string(e) }

// exchange sends what is asked, over the connection that there is, and adds the replies.
func (a *respAsker) exchange(keys []int) error {
	if a.conn == nil {
		nc, err := net.DialTimeout("tcp", a.address, patience)
		if err != nil {
			return replyError(err.Error()) // a server that restarts refuses nobody
		}
		a.conn, a.in = nc, bufio.NewReaderSize(nc, 64<<10)
	}
	a.out = a.out[:0]
	for _, k := range keys {
		name := a.resource + ":" + strconv.Itoa(k)
		a.out = fmt.Appendf(a.out, "*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n", len(name), name)
	}
	if err := a.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := a.conn.Write(a.out); err != nil {
		return err
	}
	for range keys {
		doc, err := a.reply()
		if err != nil {
			return err
		}
		a.docs = append(a.docs, doc)
	}
	return nil
}

// reply reads a bulk string.
func (a *respAsker) reply() ([]byte, error) {
	line, err := a.in.ReadString('\n')
	if errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
		return nil, replyError(err.Error())
	}
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(line[1 : len(line)-2])
	if line[0] != '$' || err != nil || n < 0 {
		return nil, replyError(fmt.Sprintf("the reply is %.80q", line))
	}
	doc := make([]byte, n+2)
	if _, err := io.ReadFull(a.in, doc); err != nil {
		return nil, err
	}
	return doc[:n], nil
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}
