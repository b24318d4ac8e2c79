package httpfront

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/httpserve"
	"github.com/hotrow/hotrow/internal/jwt"
)

// BenchmarkSite_JWT measures the CPU that this process takes for a hit over a socket, without a token and
// with one that was verified before, in 20 pairs ABBA of b.N requests each. The client is a process of its own.
func BenchmarkSite_JWT(b *testing.B) {
	const pairs = 20
	var ratios, plain []float64
	cpu := newCPUSite(b)
	cpu.ask(b.N, "")
	cpu.ask(b.N, cpu.token)
	b.ResetTimer()
	for range pairs {
		a := cpu.ask(b.N, "")
		token := cpu.ask(b.N, cpu.token) + cpu.ask(b.N, cpu.token)
		a += cpu.ask(b.N, "")
		ratios = append(ratios, float64(token)/float64(max(a, 1)))
		plain = append(plain, float64(a)/float64(2*b.N))
	}
	slices.Sort(ratios)
	slices.Sort(plain)
	b.ReportMetric(plain[pairs/2], "ns-cpu/hit")
	b.ReportMetric(ratios[pairs/2], "ratio-median")
	b.ReportMetric(ratios[pairs/4], "ratio-p25")
	b.ReportMetric(ratios[3*pairs/4], "ratio-p75")
}

// A cpuSite is a site with its client.
type cpuSite struct {
	b     *testing.B
	token string
	in    io.Writer
	out   *bufio.Reader
}

func newCPUSite(b *testing.B) *cpuSite {
	set, _ := openSet(b)
	h := New(Options{Resources: set, Issued: func() any { return nil }, JWT: newVerifier(b, jwt.Options{})})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	over, err := Serve(l, h, httpserve.Options{})
	if err != nil {
		b.Fatal(err)
	}
	client := exec.Command(os.Args[0])
	client.Env = append(os.Environ(), askerVariable+"="+l.Addr().String())
	client.Stderr = os.Stderr
	in, err := client.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := client.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := client.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close()
		if err := client.Wait(); err != nil {
			b.Error(err)
		}
		over.Close()
	})
	return &cpuSite{b: b, in: in, out: bufio.NewReader(out),
		token: bearer(newJWT(time.Hour, `,"role":"reader"`)) + "\r\n"}
}

// ask has so many requests sent, and returns the CPU time that their answers took here.
func (s *cpuSite) ask(n int, header string) time.Duration {
	s.b.Helper()
	before := cpuTime()
	if _, err := fmt.Fprintf(s.in, "%d %q\n", n, header); err != nil {
		s.b.Fatal(err)
	}
	if line, err := s.out.ReadString('\n'); err != nil || strings.TrimSpace(line) != "done" {
		s.b.Fatalf("%q %v", line, err)
	}
	return cpuTime() - before
}

// cpuTime returns what this process has used of the CPU.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
