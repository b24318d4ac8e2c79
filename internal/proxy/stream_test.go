package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestStream_EachPieceArrivesAtOnce(t *testing.T) {
	next := make(chan string)
	up := upstreamScript(t, func(nc net.Conn, br *bufio.Reader) {
		if _, _, err := readRequest(br); err != nil {
			return
		}
		_, _ = io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"+
			"Transfer-Encoding: chunked\r\n\r\n")
		for piece := range next {
			_, _ = fmt.Fprintf(nc, "%x\r\n%s\r\n", len(piece), piece)
		}
		_, _ = io.WriteString(nc, "0\r\n\r\n")
	})
	_, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}})
	c := call(t, addr)
	c.send("GET / HTTP/1.1\r\nHost: up\r\n\r\n")
	resp, err := http.ReadResponse(c.br, nil)
	if err != nil {
		t.Fatal(err)
	}
	best := time.Hour
	for i := range 20 {
		began := time.Now()
		next <- fmt.Sprintf("data: %d\n\n", i)
		b := make([]byte, 100)
		n, err := resp.Body.Read(b)
		if want := fmt.Sprintf("data: %d\n\n", i); err != nil || string(b[:n]) != want {
			t.Fatalf("%q, %v, want %q", b[:n], err, want)
		}
		best = min(best, time.Since(began))
	}
	close(next)
	if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	if best > 5*time.Millisecond { // the fastest of twenty: the machine may be busy
		t.Errorf("the fastest event took %v, want less than 5 ms", best)
	}
}

func TestStream_BothWaysAtOnce(t *testing.T) {
	up := upstreamScript(t, func(nc net.Conn, br *bufio.Reader) {
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		_, _ = io.WriteString(nc, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		b := make([]byte, 100)
		for {
			n, err := req.Body.Read(b)
			if n > 0 {
				_, _ = fmt.Fprintf(nc, "%x\r\n%s\r\n", n, b[:n])
			}
			if err != nil {
				break
			}
		}
		_, _ = io.WriteString(nc, "0\r\n\r\n")
	})
	_, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}})
	c := call(t, addr)
	c.send("POST / HTTP/1.1\r\nHost: up\r\nTransfer-Encoding: chunked\r\n\r\n")
	resp, err := http.ReadResponse(c.br, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	for i := range 10 {
		c.send(fmt.Sprintf("1\r\n%d\r\n", i))
		if n, err := resp.Body.Read(b); err != nil || string(b[:n]) != fmt.Sprint(i) {
			t.Fatalf("%q, %v", b[:n], err)
		}
	}
	c.send("0\r\n\r\n")
	if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
}

func TestStream_AnAnswerBeforeTheRequestHasEnded(t *testing.T) {
	for _, how := range []string{"keeps", "closes"} {
		t.Run(how, func(t *testing.T) {
			up := upstreamScript(t, func(nc net.Conn, br *bufio.Reader) {
				if _, err := http.ReadRequest(br); err != nil {
					return
				}
				_, _ = io.WriteString(nc, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig")
				if how == "keeps" {
					_, _ = io.Copy(io.Discard, br)
				}
			})
			_, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}})
			c := call(t, addr)
			c.send("POST / HTTP/1.1\r\nHost: up\r\nContent-Length: 100000000\r\n\r\n" + strings.Repeat("x", 1<<16))
			resp, body := c.answer("POST")
			if resp.StatusCode != 413 || body != "big" || !resp.Close {
				t.Errorf("%d %q, closed %v", resp.StatusCode, body, resp.Close)
			}
		})
	}
}

func TestStream_ExpectIsBetweenTheEnds(t *testing.T) {
	up := upstreamScript(t, func(nc net.Conn, br *bufio.Reader) {
		for {
			req, err := http.ReadRequest(br)
			if err != nil || req.Header.Get("Expect") != "100-continue" {
				return
			}
			_, _ = io.WriteString(nc, "HTTP/1.1 100 Continue\r\n\r\n")
			body, _ := io.ReadAll(req.Body)
			_, _ = fmt.Fprintf(nc, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		}
	})
	_, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}})
	c := call(t, addr)
	for range 200 { // an answer may overtake the end of the last write
		c.send("POST / HTTP/1.1\r\nHost: up\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
		if line := c.line(); line != "HTTP/1.1 100 Continue\r\n" || c.line() != "\r\n" {
			t.Fatalf("%q", line)
		}
		c.send("abc")
		if resp, body := c.answer("POST"); body != "abc" || resp.Close {
			t.Fatalf("%q %v", body, resp.Header)
		}
	}
	if up.opened() != 1 {
		t.Errorf("%d connections", up.opened())
	}
}

func TestStream_AClientThatLeavesCancels(t *testing.T) {
	for name, answer := range map[string]string{
		"before the answer": "", "within the answer": "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na",
	} {
		t.Run(name, func(t *testing.T) {
			asked, left := make(chan struct{}), make(chan struct{})
			up := upstreamScript(t, func(nc net.Conn, br *bufio.Reader) {
				if _, _, err := readRequest(br); err == nil {
					_, _ = io.WriteString(nc, answer)
					close(asked)
					_, _ = io.Copy(io.Discard, br)
					close(left)
				}
			})
			s, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}})
			c := call(t, addr)
			c.send("GET / HTTP/1.1\r\nHost: up\r\n\r\n")
			<-asked
			_ = c.nc.Close()
			select {
			case <-left:
			case <-time.After(patience):
				t.Fatal("the upstream still waits")
			}
			eventually(t, "499 counted", func() bool { return s.Stats().Statuses[499] == 1 })
		})
	}
}

func TestStream_LimitsOfTime(t *testing.T) {
	silent := upstreamScript(t, func(_ net.Conn, br *bufio.Reader) { _, _ = io.Copy(io.Discard, br) })
	_, addr := start(t, Options{
		Upstreams: []string{"http://" + silent.addr}, ProxyRead: 300 * time.Millisecond,
		Header: 300 * time.Millisecond, Read: 300 * time.Millisecond, Idle: 300 * time.Millisecond,
	})
	t.Run("an upstream that does not answer", func(t *testing.T) {
		c := call(t, addr)
		c.send("GET / HTTP/1.1\r\nHost: up\r\n\r\n")
		if resp, _ := c.answer("GET"); resp.StatusCode != 504 || resp.Close {
			t.Errorf("%d, closed %v", resp.StatusCode, resp.Close)
		}
	})
	t.Run("a client that does not go on", func(t *testing.T) {
		c := call(t, addr)
		c.send("POST / HTTP/1.1\r\nHost: up\r\nContent-Length: 5\r\n\r\nab")
		if resp, _ := c.answer("POST"); resp.StatusCode != 408 || !resp.Close {
			t.Errorf("%d", resp.StatusCode)
		}
	})
	t.Run("half a head", func(t *testing.T) {
		c := call(t, addr)
		c.send("GET / HTTP/1.1\r\nHo")
		if rest := c.rest(); rest != "" {
			t.Errorf("%q", rest)
		}
	})
	t.Run("nothing", func(t *testing.T) {
		if rest := call(t, addr).rest(); rest != "" {
			t.Errorf("%q", rest)
		}
	})
}

// A client that stops reading is cut off, and so is the upstream behind it.
func TestStream_AReaderThatStops(t *testing.T) {
	left := make(chan struct{})
	up := upstreamScript(t, func(nc net.Conn, br *bufio.Reader) {
		if _, _, err := readRequest(br); err == nil {
			_, _ = io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
			_, _ = io.CopyN(nc, zeros{}, 1_000_000_000)
			close(left)
		}
	})
	s, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}, Write: 500 * time.Millisecond})
	c := call(t, addr)
	c.send("GET / HTTP/1.1\r\nHost: up\r\n\r\n")
	select {
	case <-left:
	case <-time.After(patience):
		t.Fatal("the upstream still sends")
	}
	eventually(t, "the client is gone", func() bool { return s.Stats().Clients == 0 })
}

func TestStream_LargeBodiesTakeLittleMemory(t *testing.T) {
	const size = 256 << 20
	up := upstreamScript(t, func(nc net.Conn, br *bufio.Reader) {
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		n, _ := io.Copy(io.Discard, req.Body)
		_, _ = fmt.Fprintf(nc, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", n)
		_, _ = io.CopyN(nc, zeros{}, n)
	})
	_, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}})
	c := call(t, addr)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c.send(fmt.Sprintf("PUT / HTTP/1.1\r\nHost: up\r\nContent-Length: %d\r\n\r\n", size))
	if _, err := io.CopyN(c.nc, zeros{}, size); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(c.br, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, resp.Body); n != size || err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
		t.Errorf("%d bytes were allocated", grown)
	}
}

// zeros is a reader without end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

func TestUpgrade_TunnelsBothWays(t *testing.T) {
	up := upstreamScript(t, func(nc net.Conn, br *bufio.Reader) {
		req, err := http.ReadRequest(br)
		if err != nil || req.Header.Get("Upgrade") != "websocket" ||
			!strings.EqualFold(req.Header.Get("Connection"), "upgrade") || req.Header.Get("Sec-WebSocket-Key") != "k" {
			_, _ = io.WriteString(nc, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
			return
		}
		_, _ = io.WriteString(nc, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"+
			"Connection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\nhello ")
		_, _ = io.Copy(nc, br)
	})
	s, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}})
	c := call(t, addr)
	c.send("GET /chat HTTP/1.1\r\nHost: up\r\nupgrade: websocket\r\nconnection: keep-alive, Upgrade\r\n" +
		"Sec-WebSocket-Key: k\r\n\r\nearly ")
	resp, err := http.ReadResponse(c.br, nil)
	if err != nil || resp.StatusCode != 101 || resp.Header.Get("Upgrade") != "websocket" ||
		resp.Header.Get("Connection") != "Upgrade" || resp.Header.Get("Sec-WebSocket-Accept") != "x" {
		t.Fatalf("%v %+v", err, resp)
	}
	b := make([]byte, len("hello early "))
	if _, err := io.ReadFull(c.br, b); err != nil || string(b) != "hello early " {
		t.Fatalf("%q, %v", b, err)
	}
	for i := range 10 {
		c.send(fmt.Sprint(i))
		if got, err := c.br.ReadByte(); err != nil || got != byte('0'+i) {
			t.Fatalf("%q, %v", got, err)
		}
	}
	_ = c.nc.(*net.TCPConn).CloseWrite()
	if rest := c.rest(); rest != "" {
		t.Errorf("%q", rest)
	}
	eventually(t, "counted", func() bool { return s.Stats().Statuses[101] == 1 && s.Stats().Tunnels == 1 })
}

func TestUpgrade_RefusedIsAnAnswer(t *testing.T) {
	up := echo(t)
	_, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}})
	c := call(t, addr)
	for range 2 {
		c.send("GET / HTTP/1.1\r\nHost: up\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
		if resp, _ := c.answer("GET"); resp.StatusCode != 200 {
			t.Errorf("%d", resp.StatusCode)
		}
	}
}
