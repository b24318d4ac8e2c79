package eventloop

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// TestLoop_RefusesGarbageAfterItsAnswers: what came before is answered in
// order, then comes one 400 or 431, then the end.
func TestLoop_RefusesGarbageAfterItsAnswers(t *testing.T) {
	request, answer := put("abc")
	tests := []struct {
		name, bad string
		status    int
	}{
		{"garbage", "\x00\x01\x02\x03", 400},
		{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc", 400},
		{"memcached", "get depts:10\r\n", 400},
		{"two lengths", "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n" +
			"abc" + get("/hit/forged"), 400},
		{"length and chunked", "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n" +
			"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + get("/hit/forged"), 400},
		{"bare LF", "GET /hit/forged HTTP/1.1\nHost: a\n\n", 400},
		{"huge header", get("/hit/x", "Cookie: "+strings.Repeat("x", 1<<20)), 431},
		{"huge header, many lines", get("/hit/x", strings.Repeat("Cookie: x\r\n", 100_000)), 431},
		{"two empty lines", "\r\n\r\n" + get("/hit/x"), 400},
		{"LF", "\n" + get("/hit/x"), 400},
		{"CR", "\r" + get("/hit/x"), 400},
	}
	eachAtOnce(t, loopForms, Config{}, func(t *testing.T, s *site) {
		for _, tt := range tests {
			for _, before := range []int{0, 1, 2} {
				c := s.dial(t)
				text := strings.Repeat(request+get("/hit/1")+get("/miss/2"), before)
				go func() { _, _ = io.WriteString(c, text+tt.bad) }() // may be cut short
				for range before {
					c.want(200, answer)
					c.want(200, "hit 1")
					c.want(200, "miss 2")
				}
				if a, _ := c.answer("GET"); a.StatusCode != tt.status || !a.Close {
					t.Errorf("%s: answer %d, close %v, want %d", tt.name, a.StatusCode, a.Close,
						tt.status)
				}
				c.wantEnd()
			}
		}
	})
}

// TestHandOver_BadChunksForgeNothing: where net/http is lenient with chunks, what
// it makes of the bytes behind them does not matter: the connection ends.
func TestHandOver_BadChunksForgeNothing(t *testing.T) {
	chunks := []string{
		"\r\n", "0x5\r\nabcde\r\n0\r\n\r\n", "+5\r\nabcde\r\n0\r\n\r\n", "5 ;a\r\nabcde\r\n0\r\n\r\n",
		"00000000000000005\r\nabcde\r\n0\r\n\r\n", "fffffffffffffffff\r\n", "5\nabcde\n0\n\n",
		"5;a=\rb\r\nabcde\r\n0\r\n\r\n", "5;a=\nb\r\nabcde\r\n0\r\n\r\n",
		"5;" + strings.Repeat("a", 10<<10) + "\r\nabcde\r\n0\r\n\r\n",
		"5\r\nabcdeX0\r\n\r\n", "5\r\nabcde\r0\r\n\r\n",
		"0\r\nContent-Length: 5\r\nHost: evil\r\n\r\n", "5\r\nabcde\r\n0\r\n\r\n",
	}
	eachAtOnce(t, loopForms, Config{}, func(t *testing.T, s *site) {
		for _, body := range chunks {
			c := s.dial(t)
			go func() {
				_, _ = io.WriteString(c, "PUT /put HTTP/1.1\r\nHost: a\r\n"+
					"Transfer-Encoding: chunked\r\n\r\n"+body+get("/hit/forged"))
				_ = c.Conn.(interface{ CloseWrite() error }).CloseWrite()
			}()
			answers := 0
			for {
				a, err := http.ReadResponse(c.r, nil)
				if err != nil {
					break
				}
				answers++
				text, _ := io.ReadAll(a.Body)
				if strings.HasPrefix(string(text), "hit") || !a.Close {
					t.Errorf("%.20q: answer %+v %q", body, a, text)
				}
			}
			if answers > 1 {
				t.Errorf("%.20q: %d answers to one request", body, answers)
			}
		}
	})
}

// TestLoop_ClosesSlowHeaders: a request that trickles in has Config.Header from
// its first byte, however often another one comes.
func TestLoop_ClosesSlowHeaders(t *testing.T) {
	c := Config{Header: time.Second, Idle: time.Minute}
	eachAtOnce(t, loopForms, c, func(t *testing.T, s *site) {
		request, answer := put("abc")
		for _, first := range []string{"", get("/hit/1"), request} {
			c := s.dial(t)
			if first != "" {
				c.send(first)
				c.want(200, map[bool]string{true: "hit 1", false: answer}[first != request])
			}
			start := time.Now()
			trickle(c, get("/hit/2", "Cookie: "+strings.Repeat("x", 10_000)))
			c.wantEnd()
			if d := time.Since(start); d < 900*time.Millisecond || waittest.Late(d, 6*time.Second) {
				t.Errorf("closed after %v, want 1 s", d)
			}
		}
		if n := s.server.Stats().TimedOut; n != 3 {
			t.Errorf("%d time-outs counted, want 3", n)
		}
	})
}

// trickle sends a byte every few milliseconds until the connection ends.
func trickle(c *client, text string) {
	gone := make(chan struct{})
	go func() {
		_, _ = c.r.Peek(1)
		close(gone)
	}()
	beat := time.NewTicker(5 * time.Millisecond)
	defer beat.Stop()
	for i := range len(text) {
		select {
		case <-gone:
			return
		case <-beat.C:
			if _, err := io.WriteString(c, text[i:i+1]); err != nil {
				<-gone
				return
			}
		}
	}
	<-gone
}

func TestLoop_ClosesIdleConnections(t *testing.T) {
	c := Config{Idle: 1500 * time.Millisecond, Header: time.Minute}
	eachAtOnce(t, loopForms, c, func(t *testing.T, s *site) {
		fresh, used, visited, busy := s.dial(t), s.dial(t), s.dial(t), s.dial(t)
		used.send(get("/hit/1"))
		used.want(200, "hit 1")
		request, answer := put("abc")
		visited.send(request)
		visited.want(200, answer)
		start := time.Now()
		beat := time.NewTicker(50 * time.Millisecond)
		defer beat.Stop()
		for time.Since(start) < 3*time.Second {
			<-beat.C
			busy.send(get("/hit/1")) // not idle
			busy.want(200, "hit 1")
		}
		for _, c := range []*client{fresh, used, visited} {
			c.wantEnd()
		}
		if d := time.Since(start); waittest.Late(d, 8*time.Second) {
			t.Errorf("closed after %v, want 1.5 s", d)
		}
		busy.wantEnd()
	})
}

func TestLoop_DoesNotTimeOutHandOversAndLoads(t *testing.T) {
	c := Config{Idle: 100 * time.Millisecond, Header: 100 * time.Millisecond}
	eachAtOnce(t, loopForms, c, func(t *testing.T, s *site) {
		c := s.dial(t)
		c.send(get("/slow"))
		<-s.full.entered
		deadline := time.After(500 * time.Millisecond)
		<-deadline
		close(s.full.release)
		c.want(200, "slow")
	})
}
