package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A gatedConn reads nothing more once it is shut.
type gatedConn struct {
	net.Conn
	shut atomic.Bool
	open chan struct{}
}

func (g *gatedConn) Read(b []byte) (int, error) {
	if g.shut.Load() {
		<-g.open
		return 0, io.EOF
	}
	return g.Conn.Read(b[:1])
}

// poll waits until f reports true.
func poll(t testing.TB, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !f(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, limit)
		}
		time.Sleep(time.Millisecond)
	}
}

// wantCode wants the peer's error to have a code.
func wantCode(t testing.TB, err error, code Code) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("the error is %v, want the code %v", err, code)
	}
}

func TestRequest_BothWays(t *testing.T) {
	c, s := pair(t, Options{Handlers: echoes()}, Options{Handlers: echoes()})
	var wg sync.WaitGroup
	for _, from := range []*Conn{c, s} {
		for i := range 8 {
			wg.Go(func() {
				var answer []byte
				for j := range 200 {
					want := fmt.Sprintf("%d-%d", i, j)
					var err error
					answer, err = from.Request(within(t), echoID, []byte(want), answer[:0])
					if err != nil || string(answer) != want {
						t.Errorf("asked %q, answered %q, %v", want, answer, err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
	if stats := s.Stats(); stats["n_rxreq"] < 1600 || stats["n_txresp"] < 1600 {
		t.Errorf("the counters of 1,600 requests: %v", stats)
	}
}

func TestRequest_AppendsToDst(t *testing.T) {
	c, _ := pair(t, Options{}, Options{Handlers: echoes()})
	got, err := c.Request(within(t), echoID, []byte("b"), []byte("a"))
	if err != nil || string(got) != "ab" {
		t.Errorf("the answer is %q, %v", got, err)
	}
}

func TestRequest_AllocatesNothing(t *testing.T) {
	c, _ := pair(t, Options{}, Options{Handlers: echoes()})
	data, answer := make([]byte, 64), []byte(nil)
	ctx := context.Background()
	allocs := testing.AllocsPerRun(2000, func() {
		var err error
		if answer, err = c.Request(ctx, echoID, data, answer[:0]); err != nil {
			t.Fatal(err)
		}
	})
	if allocs >= 1 { // timers, and what the race detector adds, are not each request's
		t.Errorf("%v allocations a request, both ends together", allocs)
	}
}

func TestRequest_ErrorsOfHandlers(t *testing.T) {
	told := &Error{Code: NotFound, Text: "no such row", RetryAfter: 3 * time.Millisecond}
	h := new(Handlers)
	h.Inline(failID, func(_, _ []byte) ([]byte, error) { return nil, told })
	h.Request(slowID, func(context.Context, []byte, []byte) ([]byte, error) {
		return nil, fmt.Errorf("some error")
	})
	c, _ := pair(t, Options{}, Options{Handlers: h})
	_, err := c.Request(within(t), failID, nil, nil)
	var e *Error
	if !errors.As(err, &e) || e.Text != told.Text || e.RetryAfter != told.RetryAfter {
		t.Errorf("the error is %v, want %v", err, told)
	}
	_, err = c.Request(within(t), slowID, nil, nil)
	wantCode(t, err, Unknown)
}

func TestPost_ComesInOrder(t *testing.T) {
	var mu sync.Mutex
	var got []byte
	h := new(Handlers)
	h.Post(postID, func(data []byte) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, data...)
	})
	c, _ := pair(t, Options{}, Options{Handlers: h})
	for i := range 250 {
		if err := c.Post(within(t), postID, []byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Barrier(within(t)); err != nil {
		t.Fatal(err)
	}
	if len(got) != 250 || !slices.IsSorted(got) {
		t.Errorf("%d posts came, sorted: %v", len(got), slices.IsSorted(got))
	}
}

// sums are handlers of a stream that answers each message with the sum so far.
func sums() *Handlers {
	h := new(Handlers)
	h.Stream(streamID, func(ctx context.Context, s *Stream) error {
		sum, buf := 0, []byte(nil)
		for {
			var err error
			if buf, err = s.Recv(ctx, buf[:0]); errors.Is(err, io.EOF) {
				return s.Send(ctx, fmt.Appendf(nil, "total %d", sum))
			} else if err != nil {
				return err
			}
			sum += len(buf)
			if err := s.Send(ctx, fmt.Appendf(nil, "%d", sum)); err != nil {
				return err
			}
		}
	})
	return h
}

func TestStream_BothWays(t *testing.T) {
	c, _ := pair(t, Options{}, Options{Handlers: sums()})
	ctx := within(t)
	s, err := c.Stream(ctx, streamID, []byte("abc"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"3", "5", "total 5"}
	if err := s.Send(ctx, []byte("de")); err != nil {
		t.Fatal(err)
	}
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
	if err := s.Send(ctx, nil); !errors.Is(err, ErrFinished) {
		t.Errorf("send after finish: %v", err)
	}
	for _, text := range want {
		if got, err := s.Recv(ctx, nil); err != nil || string(got) != text {
			t.Errorf("received %q, %v, want %q", got, err, text)
		}
	}
	if _, err := s.Recv(ctx, nil); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
	poll(t, "the exchange is free", func() bool { return c.Live() == 0 })
}

// TestStream_WaitsForTheReceiver: a receiver that does not receive bounds what
// is sent, and others are not held up.
func TestStream_WaitsForTheReceiver(t *testing.T) {
	release := make(chan struct{})
	h := echoes()
	h.Stream(streamID, func(ctx context.Context, s *Stream) error {
		<-release
		for {
			if _, err := s.Recv(ctx, nil); err != nil {
				if errors.Is(err, io.EOF) {
					return nil
				}
				return err
			}
		}
	})
	c, _ := pair(t, Options{}, Options{Handlers: h, StreamCredit: 10_000})
	ctx := within(t)
	s, err := c.Stream(ctx, streamID, nil)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 1000)
	for i := 0; ; i++ {
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		err := s.Send(short, data)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			if i < 9 || i > 20 {
				t.Errorf("%d messages went out on a credit of ten", i)
			}
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if got, err := c.Request(ctx, echoID, []byte("x"), nil); string(got) != "x" {
		t.Errorf("a request beside it: %q, %v", got, err)
	}
	close(release)
	for range 100 {
		if err := s.Send(ctx, data); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(ctx, nil); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
}

func TestStream_CloseStopsTheHandler(t *testing.T) {
	stopped := make(chan error, 1)
	h := new(Handlers)
	h.Stream(streamID, func(ctx context.Context, s *Stream) error {
		for {
			if err := s.Send(ctx, []byte("more")); err != nil {
				stopped <- err
				return err
			}
		}
	})
	c, _ := pair(t, Options{}, Options{Handlers: h})
	s, err := c.Stream(within(t), streamID, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(within(t), nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-stopped:
	case <-within(t).Done():
		t.Fatal("the handler goes on")
	}
	poll(t, "the exchange is free", func() bool { return c.Live() == 0 })
}

// TestShutdown_LetsWhatIsOpenEnd.
func TestShutdown_LetsWhatIsOpenEnd(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	h := new(Handlers)
	h.Request(slowID, func(_ context.Context, data, dst []byte) ([]byte, error) {
		close(entered)
		<-release
		return append(dst, data...), nil
	})
	c, s := pair(t, Options{}, Options{Handlers: h})
	ctx := within(t)
	answered := make(chan error, 1)
	go func() {
		got, err := c.Request(ctx, slowID, []byte("late"), nil)
		if err == nil && string(got) != "late" {
			err = fmt.Errorf("answered %q", got)
		}
		answered <- err
	}()
	<-entered
	over := make(chan error, 1)
	go func() { over <- s.Shutdown(ctx) }()
	poll(t, "the peer knows", c.GoingAway)
	if _, err := c.Request(ctx, slowID, nil, nil); !errors.Is(err, ErrGoingAway) {
		t.Errorf("a request to a peer that goes away: %v", err)
	}
	close(release)
	if err := <-answered; err != nil {
		t.Errorf("the request that was open: %v", err)
	}
	if err := <-over; err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

func TestTLS_AgreesOnTheProtocol(t *testing.T) {
	site := httptest.NewTLSServer(nil) // for its certificate
	defer site.Close()
	trusted := x509.NewCertPool()
	trusted.AddCert(site.Certificate())
	server := Options{Handlers: echoes(),
		TLS: &tls.Config{Certificates: site.TLS.Certificates}}
	client := Options{TLS: &tls.Config{RootCAs: trusted}}
	c, _ := pair(t, client, server)
	if got, err := c.Request(within(t), echoID, []byte("sealed"), nil); string(got) != "sealed" {
		t.Errorf("an echo over TLS: %q, %v", got, err)
	}
}

func TestCompression_IsAgreedUpon(t *testing.T) {
	for _, name := range []string{"gzip", "lzw", "zstd"} {
		o := Options{Handlers: echoes(), Compression: []string{name}}
		c, _ := pair(t, o, o)
		text := bytes.Repeat([]byte("to be compressed: 0123456789 and so on, again and again. "), 300)
		for i := range text {
			if i%11 == 0 {
				text[i] = byte(i * i >> 4)
			}
		}
		zeros := make([]byte, 20_000) // too good to be believed
		for _, data := range [][]byte{text, zeros} {
			got, err := c.Request(within(t), echoID, data, nil)
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s: %d bytes, %v", name, len(got), err)
			}
		}
		if n := int(c.Stats()["n_txbyte"]); n > len(zeros)+len(text)*3/4 {
			t.Errorf("%s: %d bytes of text and as many zeros were sent as %d", name, len(text), n)
		}
	}
	if _, err := Dial(within(t), "127.0.0.1:1", Options{Compression: []string{"snappy"}}); err == nil {
		t.Error("an encoding that is not known was taken")
	}
}
