package eventloop

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/wire/http1"
)

// ready answers GET /N with a document of 1.6 kB that is made already.
type ready struct {
	hits
	docs [][]byte
}

// dated is the state of a loop: the line that changes once a second.
type dated struct {
	second int64
	date   []byte
}

func (d *dated) BeginTurn(now time.Time) {
	if s := now.Unix(); s != d.second {
		d.second, d.date = s, http1.AppendDate(d.date[:0], now)
	}
}

func newReady(n int) *ready {
	p := &ready{docs: make([][]byte, n)}
	for i := range p.docs {
		body := bytes.Repeat([]byte{'a' + byte(i%26)}, 1600)
		doc := http1.AppendHeader(nil, "Content-Type", "application/json")
		doc = http1.AppendHeader(doc, "ETag", fmt.Sprintf(`"%016x"`, i))
		p.docs[i] = append(http1.AppendEnd(http1.AppendLength(doc, len(body))), body...)
	}
	return p
}

func (p *ready) Step(c *Conn, in, out []byte) (n int, _ []byte, next Next) {
	var r http1.Request
	for n < len(in) {
		length, v := r.Parse(in[n:])
		if v == http1.NeedMore {
			return n, out, More
		}
		i, ok := docNumber(r.Path)
		if v != http1.Complete || !ok || i >= len(p.docs) {
			return n, out, HandOver
		}
		n += length
		out = http1.AppendStatus(out, 200)
		out = append(out, c.Scope().(*dated).date...)
		out = append(out, p.docs[i]...)
		if len(out) >= FlushSize {
			return n, out, Flush
		}
	}
	return n, out, More
}

// docNumber reads "/123".
func docNumber(path []byte) (n int, ok bool) {
	for _, c := range path[min(1, len(path)):] {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, len(path) > 1
}

// ServeHTTP is net/http in front of the same documents.
func (p *ready) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPut {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	i, _ := docNumber([]byte(r.URL.Path))
	doc := p.docs[i]
	w.Header()["Content-Type"] = []string{"application/json"}
	w.Header()["Etag"] = []string{`"0"`}
	w.Header()["Content-Length"] = []string{"1600"}
	_, _ = w.Write(doc[len(doc)-1600:])
}

// TestBench_Serve is the server of BenchmarkLane.
func TestBench_Serve(t *testing.T) {
	form := os.Getenv(benchForm)
	if form == "" {
		return // nothing is asked of it: it is no test
	}
	p := newReady(100_000)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("address", l.Addr())
	srv := &http.Server{Handler: p}
	if form == "nethttp" {
		go func() { _ = srv.Serve(l) }()
	} else {
		v := NewMessageServer(srv, http1.Frame)
		_, err = Serve(l, Config{Proto: p, HandedOver: v.Serve, Goroutines: form == "goroutine",
			Scope: func() Scope { return new(dated) }})
		if err != nil {
			t.Fatal(err)
		}
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println("used", cpuTime(t).Nanoseconds())
	}
	os.Exit(0)
}

// BenchmarkLane has a server in a process of its own, for the CPU that it uses
// for one request, and clients with a goroutine each in this one.
func BenchmarkLane(b *testing.B) {
	for _, puts := range []int{0, 10, 100} {
		for _, conns := range []int{64, 256} {
			for _, form := range []string{"epoll", "goroutine", "nethttp"} {
				name := fmt.Sprintf("puts=%d%%/conns=%d/form=%s", puts, conns, form)
				b.Run(name, func(b *testing.B) { benchLane(b, form, conns, puts) })
			}
		}
	}
}

func benchLane(b *testing.B, form string, conns, puts int) {
	cmd := exec.Command(os.Args[0], "-test.run=TestBench_Serve")
	cmd.Env = append(os.Environ(), benchForm+"="+form,
		"GOMAXPROCS="+strconv.Itoa(runtime.GOMAXPROCS(0)))
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if inErr != nil || outErr != nil {
		b.Fatal(inErr, outErr)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		_ = cmd.Wait()
	}()
	var address string
	if _, err := fmt.Fscanf(out, "address %s\n", &address); err != nil {
		b.Fatal(err)
	}
	used := func() (nanos int64) {
		_, _ = io.WriteString(in, "?\n")
		if _, err := fmt.Fscanf(out, "used %d\n", &nanos); err != nil {
			b.Fatal(err)
		}
		return nanos
	}
	drive := func(n int) {
		var running sync.WaitGroup
		for range conns {
			running.Go(func() { benchClient(b, address, n/conns+1, puts) })
		}
		running.Wait()
	}
	drive(conns * 10)
	before := used()
	b.ResetTimer()
	drive(b.N)
	b.StopTimer()
	requests := float64((b.N/conns + 1) * conns)
	b.ReportMetric(float64(used()-before)/1000/requests, "server-us/req")
	b.ReportMetric(requests/b.Elapsed().Seconds(), "req/s")
}

// benchClient sends n requests, each after the answer to the last.
func benchClient(b *testing.B, address string, n, puts int) {
	nc, err := net.Dial("tcp", address)
	if err != nil {
		b.Error(err)
		return
	}
	defer nc.Close()
	r := bufio.NewReaderSize(nc, 4096)
	var request []byte
	for range n {
		put := rand.IntN(100) < puts
		request = append(request[:0], "GET /"...)
		if put {
			request = append(request[:0], "PUT /"...)
		}
		request = strconv.AppendInt(request, rand.Int64N(100_000), 10)
		request = append(request, " HTTP/1.1\r\nHost: localhost\r\n"...)
		if put {
			request = append(request, "Content-Length: 200\r\n\r\n"...)
			request = append(request, make([]byte, 200)...)
		} else {
			request = append(request, "\r\n"...)
		}
		if _, err := nc.Write(request); err != nil {
			b.Error(err)
			return
		}
		if err := skipAnswer(r, put); err != nil {
			b.Error(err)
			return
		}
	}
}

// skipAnswer reads a head to its end, and the body of a document.
func skipAnswer(r *bufio.Reader, put bool) error {
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == 2 {
			break
		}
	}
	if put {
		return nil
	}
	_, err := r.Discard(1600)
	return err
}
