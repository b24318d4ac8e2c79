package eventloop

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/wire/http1"
)

func TestLoop_AnswersHits(t *testing.T) {
	each(t, forms, Config{}, func(t *testing.T, s *site) {
		c := s.dial(t)
		for i := range 100 {
			c.send(get(fmt.Sprintf("/hit/%d", i)))
			a := c.want(200, fmt.Sprintf("hit %d", i))
			if a.Close || a.Header.Get("Date") == "" {
				t.Fatalf("answer %+v", a)
			}
		}
		c.send("HEAD /hit/x HTTP/1.1\r\nHost: localhost\r\n\r\n" + get("/hit/y"))
		if a, _ := c.answer("HEAD"); a.ContentLength != 5 {
			t.Errorf("HEAD: length %d, want 5", a.ContentLength)
		}
		c.want(200, "hit y")
		if s.server != nil && s.server.Stats().HandedOver != 0 {
			t.Errorf("hits were handed over: %+v", s.server.Stats())
		}
	})
}

// mixed is a pipeline of every kind of request, and the answers in order.
func mixed() (requests string, answers []string) {
	small, smallAnswer := put("abc")
	large, largeAnswer := put(strings.Repeat("large ", 20_000))
	fake, fakeAnswer := put(get("/hit/forged")) // a body that looks like a request
	parts := []struct{ request, answer string }{
		{get("/hit/1"), "hit 1"},
		{small, smallAnswer},
		{get("/hit/2"), "hit 2"},
		{get("/miss/3"), "miss 3"},
		{get("/now/4"), "now 4"},
		{get("/hit/5") + "\r\n", "hit 5"}, // and one before a request
		{get("/nothing"), ""},
		{strings.Replace(small, "/put", "/unread", 1), "unread"},
		{get("/miss/6"), "miss 6"},
		{large, largeAnswer},
		{get("/hit/7", "Content-Length: 0"), "hit 7"},
		{fake, fakeAnswer},
		{small + "\r\n", smallAnswer}, // an empty line behind the body
		{get("/hit/8"), "hit 8"},
		{get("/hit/200000:9"), bodyOf("hit 200000:9")},
		{get("/now/10"), "now 10"},
		{get("/now/11"), "now 11"},
		{get("/hit/12"), "hit 12"},
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.request)
		answers = append(answers, p.answer)
	}
	return b.String(), answers
}

// wantAll reads the answers of mixed.
func (c *client) wantAll(answers []string) {
	c.t.Helper()
	for _, a := range answers {
		if a == "" {
			c.want(404, "")
			continue
		}
		c.want(200, a)
	}
}

func TestLoop_KeepsTheOrderOfAPipeline(t *testing.T) {
	requests, answers := mixed()
	// net/http itself refuses the empty line behind a PUT.
	each(t, loopForms, Config{}, func(t *testing.T, s *site) {
		for range 20 {
			c := s.dial(t)
			go c.send(requests)
			c.wantAll(answers)
		}
		want := Stats{Accepted: 20, HandedOver: 20 * 7, Returned: 20 * 7, Open: 20}
		eventually(t, "every connection has come back", func() bool { return s.server.Stats() == want })
	})
}

func TestLoop_ReadsOneByteAtATime(t *testing.T) {
	requests, answers := mixed()
	requests = strings.ReplaceAll(requests, strings.Repeat("large ", 20_000), "abc")
	requests = strings.Replace(requests, "Content-Length: 120000", "Content-Length: 3", 1)
	_, small := put("abc")
	answers[9] = small
	eachAtOnce(t, loopForms, Config{}, func(t *testing.T, s *site) {
		c := s.dial(t)
		go func() {
			for i := range len(requests) {
				if _, err := io.WriteString(c, requests[i:i+1]); err != nil {
					return // the reader says what is wrong
				}
			}
		}()
		c.wantAll(answers)
	})
}

func TestLoop_ReadsRandomFragments(t *testing.T) {
	requests, answers := mixed()
	eachAtOnce(t, loopForms, Config{}, func(t *testing.T, s *site) {
		for seed := range 10 {
			rnd := rand.New(rand.NewPCG(uint64(seed), 0))
			c := s.dial(t)
			go func() {
				for rest := requests; rest != ""; {
					n := min(len(rest), 1+rnd.IntN([]int{3, 100, 5000, 70_000}[rnd.IntN(4)]))
					if _, err := io.WriteString(c, rest[:n]); err != nil {
						return
					}
					rest = rest[n:]
				}
			}()
			c.wantAll(answers)
		}
	})
}

func TestLoop_AnswersLongPipelines(t *testing.T) {
	each(t, loopForms, Config{}, func(t *testing.T, s *site) {
		c := s.dial(t)
		const n = 2000 // 400 kB of requests, 20 MB of answers
		go c.send(strings.Repeat(get("/hit/10000:x"), n))
		for range n {
			c.want(200, bodyOf("hit 10000:x"))
		}
	})
}

// TestHandOver_NeverTakesTheNextRequest: chunked uploads and upgrades end where
// only net/http knows, so what follows is not given back, and the connection
// ends with the answer.
func TestHandOver_NeverTakesTheNextRequest(t *testing.T) {
	chunked := "PUT /put HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" +
		"3\r\nabc\r\n0\r\n\r\n"
	_, answer := put("abc")
	each(t, loopForms, Config{}, func(t *testing.T, s *site) {
		for _, first := range []string{chunked, get("/put", "Upgrade: h2c", "Connection: Upgrade")} {
			c := s.dial(t)
			c.send(first)
			want := answer
			if first != chunked {
				_, want = put("")
			}
			if a := c.want(200, want); !a.Close {
				t.Errorf("the answer does not say that it is the last: %+v", a)
			}
			c.wantEnd()
			c = s.dial(t)
			c.send(first + get("/hit/second"))
			c.want(200, want)
			c.wantEnd()
		}
		// A message that is half sent: what comes next is its rest.
		c := s.dial(t)
		request, answer := put(get("/hit/forged"))
		c.send(request[:len(request)-30])
		c.send(request[len(request)-30:] + get("/hit/real"))
		c.want(200, answer)
		c.want(200, "hit real")
	})
}

func TestHandOver_SaysContinue(t *testing.T) {
	eachAtOnce(t, forms, Config{}, func(t *testing.T, s *site) {
		c := s.dial(t)
		c.send("PUT /put HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n" +
			"Expect: 100-continue\r\n\r\n")
		if a, _ := c.answer("GET"); a.StatusCode != http.StatusContinue {
			t.Fatalf("answer %d, want 100", a.StatusCode)
		}
		_, answer := put("abc")
		c.send("abc" + get("/hit/1"))
		c.want(200, answer)
		c.want(200, "hit 1")
		// A handler that does not ask for the body does not get to see what
		// may be that or the next request.
		c.send("PUT /unread HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n" +
			"Expect: 100-continue\r\n\r\n")
		if a := c.want(200, "unread"); !a.Close {
			t.Error("the connection goes on")
		}
		c.send("abc" + get("/hit/2")) // net/http waits for the body even so
		c.wantEnd()
	})
}

func TestHandOver_CanBeHijacked(t *testing.T) {
	each(t, forms, Config{}, func(t *testing.T, s *site) {
		for _, lines := range [][]string{nil, {"Connection: Upgrade", "Upgrade: shout"}} {
			for _, early := range []bool{true, false} {
				c := s.dial(t)
				request := get("/hijack", lines...)
				if early {
					c.send(request + "hello\n")
				} else {
					c.send(request)
				}
				a, err := http.ReadResponse(c.r, nil)
				if err != nil || a.StatusCode != http.StatusSwitchingProtocols {
					t.Fatalf("answer %+v, %v", a, err)
				}
				if !early {
					c.send("hello\n")
				}
				if line, err := c.r.ReadString('\n'); line != "HELLO\n" || err != nil {
					t.Errorf("echo %q, %v (early %v)", line, err, early)
				}
				c.wantEnd()
			}
		}
	})
}

func TestLoop_ClosesWhenAsked(t *testing.T) {
	request, answer := put("abc")
	old := strings.NewReplacer("HTTP/1.1", "HTTP/1.0")
	tests := []struct{ name, request, answer string }{
		{"hit", get("/hit/1", "Connection: close"), "hit 1"},
		{"old hit", old.Replace(get("/hit/1")), "hit 1"},
		{"miss", get("/miss/1", "Connection: close"), "miss 1"},
		{"old miss at once", old.Replace(get("/now/1")), "now 1"},
		{"put", strings.Replace(request, "\r\n", "\r\nConnection: close\r\n", 1), answer},
		{"old put", old.Replace(request), answer},
	}
	eachAtOnce(t, forms, Config{}, func(t *testing.T, s *site) {
		for _, tt := range tests {
			c := s.dial(t)
			c.send(tt.request + get("/hit/2"))
			if a := c.want(200, tt.answer); !a.Close {
				t.Errorf("%s: the answer does not say so", tt.name)
			}
			c.wantEnd()
		}
		c := s.dial(t)
		for range 3 {
			c.send(old.Replace(get("/hit/1", "Connection: keep-alive")))
			if a := c.want(200, "hit 1"); a.Header.Get("Connection") != "keep-alive" {
				t.Errorf("HTTP/1.0 keep-alive: %q", a.Header)
			}
			c.send(old.Replace(strings.Replace(request, "\r\n", "\r\nConnection: keep-alive\r\n", 1)))
			if a := c.want(200, answer); a.Header.Get("Connection") != "keep-alive" {
				t.Errorf("HTTP/1.0 keep-alive, PUT: %q", a.Header)
			}
		}
	})
}

// TestLoop_AnswersHalfClosedPeers: the end of what a peer sends is not the end
// of what it wants to read.
func TestLoop_AnswersHalfClosedPeers(t *testing.T) {
	request, answer := put("abc")
	each(t, loopForms, Config{}, func(t *testing.T, s *site) {
		c := s.dial(t)
		c.send(get("/miss/1") + get("/hit/300000:2") + request + get("/hit/3") + "GET /hal")
		if err := c.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		c.want(200, "miss 1")
		c.want(200, bodyOf("hit 300000:2"))
		c.want(200, answer)
		c.want(200, "hit 3")
		c.wantEnd()
	})
}

func TestHandOver_GivesSocketsBack(t *testing.T) {
	request, answer := put("abc")
	each(t, loopForms, Config{}, func(t *testing.T, s *site) {
		c := s.dial(t)
		c.send(request)
		c.want(200, answer)
		before := openFiles(t)
		for i := range 1000 {
			c.send(request)
			c.want(200, answer)
			if i%2 == 0 {
				c.send(get("/hit/1"))
				c.want(200, "hit 1")
			}
		}
		if after := openFiles(t); after != before {
			t.Errorf("%d descriptors, %d after 1,000 hand-overs", before, after)
		}
		eventually(t, "every connection has come back", func() bool {
			n := s.server.Stats()
			return n.HandedOver == 1001 && n.Returned == 1001 && n.Open == 1
		})
	})
}

func TestHandOver_SurvivesPanics(t *testing.T) {
	each(t, forms, Config{}, func(t *testing.T, s *site) {
		c := s.dial(t)
		c.send(get("/panic") + get("/hit/1"))
		c.wantEnd()
		c = s.dial(t)
		c.send(get("/hit/1"))
		c.want(200, "hit 1")
	})
}

func TestHandOver_CancelsWhenTheClientHasGone(t *testing.T) {
	each(t, forms, Config{}, func(t *testing.T, s *site) {
		c := s.dial(t)
		c.send(get("/slow"))
		<-s.full.entered
		c.reset()
		select {
		case <-s.full.canceled:
		case <-time.After(timeLimit):
			t.Fatal("the handler's context is not canceled")
		}
	})
}

func TestHandOver_ShowsTLS(t *testing.T) {
	each(t, forms, Config{}, func(t *testing.T, s *site) {
		c := s.dial(t)
		c.send(get("/tls"))
		c.want(200, fmt.Sprint("HTTP/1.1 ", s.tls != nil))
	})
}

// retry parks for a request without consuming it.
type retry struct{ hits }

func (p *retry) Step(c *Conn, in, out []byte) (int, []byte, Next) {
	r := new(http1.Request)
	n, v := r.Parse(in)
	switch {
	case v == http1.NeedMore:
		return 0, out, More
	case c.Data == nil && string(r.Path) == "/retry":
		c.Data = "loaded" // by whoever resumes
		go c.Resume(nil)
		return 0, out, Parked
	case string(r.Path) == "/put":
		go c.ResumeThen(nil, HandOver)
		return 0, out, Parked
	}
	c.Data = nil
	return n, appendAnswer(out, r, "hit", false), Flush // there may be more requests
}

// TestResume_LeavesTheRequestToStep: a parked request that was not consumed is
// stepped over again, or handed over.
func TestResume_LeavesTheRequestToStep(t *testing.T) {
	_, empty := put("")
	for _, form := range loopForms {
		t.Run("form="+form, func(t *testing.T) {
			v := NewMessageServer(&http.Server{Handler: newFull()}, http1.Frame)
			s := open(t, form, Config{Proto: new(retry), HandedOver: v.Serve})
			c := s.dial(t)
			go c.send(strings.Repeat(get("/retry")+get("/put")+get("/hit"), 20))
			for range 20 {
				c.want(200, "hit")
				c.want(200, empty)
				c.want(200, "hit")
			}
			if err := errors.Join(s.server.Shutdown(t.Context()), v.Shutdown(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
}
