package load

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A scripted server: answer is called with each request, whose body it has to
// read, and the connection. An error closes that.
func script(t *testing.T, answer func(req *http.Request, conn net.Conn) error) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer func() { _ = conn.Close() }()
				in := bufio.NewReader(conn)
				for {
					req, err := http.ReadRequest(in)
					if err != nil || answer(req, conn) != nil {
						return
					}
				}
			})
		}
	})
	return "http://" + l.Addr().String() + "/d/{n}"
}

// errDone makes a scripted server close the connection.
var errDone = errors.New("done")

const small = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

func TestRun_ReadsAnswersByteByByte(t *testing.T) {
	eachForm(t, func(t *testing.T, f engine) {
		url := script(t, func(_ *http.Request, conn net.Conn) error {
			for i := range len(small) {
				if _, err := conn.Write([]byte{small[i]}); err != nil {
					return err
				}
			}
			return nil
		})
		checked := func(a Answer) error {
			if string(a.Body) != "hello" {
				return errors.New(string(a.Body))
			}
			return nil
		}
		r := mustRun(t, Config{
			URL: url, Connections: 3, Pipeline: 2, engine: f, Check: checked, CheckEvery: 1,
		})
		wantNoErrors(t, r)
	})
}

func TestRun_OpensClosedConnectionsAgain(t *testing.T) {
	tests := []struct {
		name   string
		answer string
		fails  bool
	}{
		{"said so", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", false},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", false},
		{"ends the body", "HTTP/1.1 200 OK\r\n\r\nsome length", false},
		{"without a word", small, false},
		{"within a body", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nok", true},
		{"within a head", "HTTP/1.1 200 OK\r\nContent-Le", true},
		{"no HTTP", "220 smtp.example.org ESMTP\r\n\r\n", true},
	}
	eachForm(t, func(t *testing.T, f engine) {
		for _, tt := range tests {
			url := script(t, func(_ *http.Request, conn net.Conn) error {
				_, _ = io.WriteString(conn, tt.answer)
				return errDone
			})
			r := mustRun(t, Config{URL: url, Connections: 2, engine: f})
			if failed := r.Failed() > 0; failed != tt.fails && tt.name != "without a word" {
				t.Errorf("%s: errors %v (%s)", tt.name, r.Errors, r.FirstError)
			}
			if tt.fails == (r.Reads.Count > 0) {
				t.Errorf("%s: %d answers were measured", tt.name, r.Reads.Count)
			}
			if f == loopEngine && r.Reconnects == 0 {
				t.Errorf("%s: no connection was opened again", tt.name)
			}
		}
	})
}

func TestRun_GivesUpSlowAnswers(t *testing.T) {
	eachForm(t, func(t *testing.T, f engine) {
		hold := make(chan struct{})
		url := script(t, func(*http.Request, net.Conn) error {
			<-hold
			return errDone
		})
		defer close(hold)
		r := mustRun(t, Config{
			URL: url, Connections: 2, Timeout: 50 * time.Millisecond, engine: f,
			Duration: 300 * time.Millisecond,
		})
		if n := r.Errors["timeout"]; n < 2 || r.Failed() != n {
			t.Errorf("errors %v, want timeouts only", r.Errors)
		}
	})
}

// TestRun_CountsUnfinished: what an open loop could not get answered is in its
// latencies, with the time that it has waited at least.
func TestRun_CountsUnfinished(t *testing.T) {
	eachForm(t, func(t *testing.T, f engine) {
		hold := make(chan struct{})
		url := script(t, func(*http.Request, net.Conn) error {
			<-hold
			return errDone
		})
		defer close(hold)
		r := mustRun(t, Config{
			URL: url, Connections: 2, Rate: 100, Timeout: time.Second, engine: f,
			Duration: 500 * time.Millisecond,
		})
		if n := r.Unfinished + r.Failed(); n != 50 {
			t.Errorf("%d unfinished, errors %v; want 50 of 100/s for 0.5s", r.Unfinished, r.Errors)
		}
		if r.Reads.P50 < 100_000 {
			t.Errorf("p50 is %.0f µs, want the time waited", r.Reads.P50)
		}
	})
}

// TestRun_SendsLargeBodies needs short writes: the kernel takes less than such a
// body at once.
func TestRun_SendsLargeBodies(t *testing.T) {
	eachForm(t, func(t *testing.T, f engine) {
		want := strings.Repeat("0123456789abcdef", 4<<20/16)
		url := script(t, func(req *http.Request, conn net.Conn) error {
			body, err := io.ReadAll(req.Body)
			if err != nil {
				return err
			}
			status := "204 No Content"
			if string(body) != want {
				status = "400 Bad Request"
			}
			_, err = io.WriteString(conn, "HTTP/1.1 "+status+"\r\nContent-Length: 0\r\n\r\n")
			return err
		})
		r := mustRun(t, Config{
			URL: url, Connections: 2, engine: f, Duration: time.Second,
			Write: Write{Percent: 100, Body: want},
		})
		if r.Failed() > 0 || r.Writes.Count == 0 {
			t.Errorf("%d writes, errors %v (%s)", r.Writes.Count, r.Errors, r.FirstError)
		}
	})
}

func TestRun_ReadsLargeAnswers(t *testing.T) {
	eachForm(t, func(t *testing.T, f engine) {
		body := strings.Repeat("0123456789abcdef", 1<<16)
		for _, chunked := range []bool{false, true} {
			url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if !chunked {
					w.Header().Set("Content-Length", strconv.Itoa(len(body)))
				}
				_, _ = io.WriteString(w, body)
			})
			r := mustRun(t, Config{
				URL: url, Connections: 2, engine: f, CheckEvery: 1, Duration: 300 * time.Millisecond,
				Check: func(a Answer) error {
					if string(a.Body) != body {
						return errors.New("another body")
					}
					return nil
				},
			})
			wantNoErrors(t, r)
		}
	})
}

func TestRun_AsksForHeads(t *testing.T) {
	eachForm(t, func(t *testing.T, f engine) {
		r := mustRun(t, Config{URL: serve(t, document) + "/1", Method: "HEAD", Pipeline: 4, engine: f})
		wantNoErrors(t, r)
	})
}
