package memlimit

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/programtest"
)

// bulk is an upstream that gives as many bytes as its path says, and tells how
// many it has got.
var bulk = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	got, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		return
	}
	n, _ := strconv.ParseInt(strings.TrimPrefix(r.URL.Path, "/"), 10, 64)
	if n == 0 {
		fmt.Fprint(w, got)
		return
	}
	w.Header().Set("Content-Length", strconv.FormatInt(n, 10))
	_, _ = io.CopyBuffer(struct{ io.Writer }{w}, io.LimitReader(nothing{}, n), make([]byte, 64<<10))
})

// nothing is as many zeros as are wanted.
type nothing struct{}

func (nothing) Read(p []byte) (int, error) { return len(p), nil }

// mostOver is what bodies of 1 GiB may add to a proxy's memory.
const mostOver = 64 << 20

// Bodies of any size pass through a proxy whose memory stays what it is. With
// HOTROW_TEST_BODY_MIB=1024 they are of 1 GiB; what that takes is in
// docs/howto/proxy.md.
func TestProxyMemory_StaysFlatWhileLargeBodiesPass(t *testing.T) {
	t.Parallel()
	size := int64(256 << 20)
	if n, err := strconv.ParseInt(os.Getenv("HOTROW_TEST_BODY_MIB"), 10, 64); err == nil {
		size = n << 20
	}
	plain := httptest.NewServer(bulk)
	defer plain.Close()
	secure := httptest.NewTLSServer(bulk)
	defer secure.Close()
	trust := filepath.Join(t.TempDir(), "cert.pem")
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := os.WriteFile(trust, cert, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("plain", func(t *testing.T) {
		p := startProxyProcess(t, trust, "proxy", "--upstream", plain.URL)
		passBulk(t, size, p)
	})
	t.Run("TLS upstream", func(t *testing.T) {
		p := startProxyProcess(t, trust, "proxy", "--upstream", secure.URL)
		passBulk(t, size, p)
	})
}

// passBulk downloads and uploads through proxies, of which the first is asked, and
// looks at their memory.
func passBulk(t *testing.T, size int64, proxies ...*proxyProcess) {
	t.Helper()
	url := "http://" + proxies[0].addr
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	if n := download(t, client, url+"/1000"); n != 1000 {
		t.Fatalf("%d bytes", n)
	}
	var idle []int64
	for _, p := range proxies {
		idle = append(idle, p.memory(t, "VmRSS:"))
		p.forgetPeak(t)
	}
	began := time.Now()
	if n := download(t, client, fmt.Sprintf("%s/%d", url, size)); n != size {
		t.Errorf("%d bytes came down, want %d", n, size)
	}
	resp, err := client.Post(url+"/0", "application/octet-stream", io.LimitReader(nothing{}, size))
	if err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if string(said) != strconv.FormatInt(size, 10) || err != nil {
		t.Errorf("%s bytes went up, want %d; %v", said, size, err)
	}
	for i, p := range proxies {
		over := p.memory(t, "VmHWM:") - idle[i]
		t.Logf("%d MiB down and up in %v: %.1f MiB over the %.1f MiB when idle", size>>20,
			time.Since(began).Round(time.Millisecond), float64(over)/(1<<20), float64(idle[i])/(1<<20))
		if over > mostOver {
			t.Errorf("a proxy takes %d bytes more than when it is idle, at most %d", over, mostOver)
		}
	}
}

// download returns how many bytes a URL gives.
func download(t *testing.T, client *http.Client, url string) int64 {
	t.Helper()
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	n, err := io.Copy(io.Discard, resp.Body)
	if err != nil {
		t.Error(err)
	}
	return n
}

// A proxyProcess is hotrow proxy in a process of its own.
type proxyProcess struct {
	pid  int
	addr string
}

// startProxyProcess starts one that trusts a certificate.
func startProxyProcess(t *testing.T, trust, proto string, args ...string) *proxyProcess {
	t.Helper()
	log := new(programtest.Output)
	args = append([]string{"proxy", "--port", "0", "--access-log-dir", "none"}, args...)
	cmd := programtest.Command(args...)
	cmd.Env = append(os.Environ(), "SSL_CERT_FILE="+trust)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, log)
		}
	})
	listening := regexp.MustCompile(`"proto":"` + proto + `","addr":"([^"]+)"`)
	programtest.Until(t, log, func() bool { return listening.MatchString(log.String()) })
	return &proxyProcess{cmd.Process.Pid, listening.FindStringSubmatch(log.String())[1]}
}

// memory returns a line of the kernel's account of a process, in bytes.
func (p *proxyProcess) memory(t *testing.T, name string) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(text, []byte(name))
	line, _, _ := strings.Cut(string(rest), " kB")
	kib, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	if err != nil {
		t.Fatalf("%s %q: %v", name, line, err)
	}
	return kib << 10
}

// forgetPeak has the kernel begin anew with the most that the process has had.
func (p *proxyProcess) forgetPeak(t *testing.T) {
	t.Helper()
	const peak = "5"
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.pid), []byte(peak), 0); err != nil {
		t.Fatal(err)
	}
}
