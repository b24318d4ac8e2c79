package sqlfront

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hotrow/hotrow/internal/waittest"
)

const (
	// crowdedTest is the database of a child that passes many sessions on.
	crowdedTest = "HOTROW_TEST_CROWDED_SQL"
	// sessionsTest says how many sessions there are: see make sql-idle.
	sessionsTest = "HOTROW_TEST_SESSIONS"
)

// TestSession_IdleOnesAreTiny: a session that an event loop has is a few small things. The relay is
// this program once more, so that what is measured is its own: heap, stacks, and what the system
// counts as resident.
func TestSession_IdleOnesAreTiny(t *testing.T) {
	if database := os.Getenv(crowdedTest); database != "" {
		serveCrowded(t, database)
		return
	}
	server := newStandIn(t)
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), crowdedTest+"="+server.url)
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if inErr != nil || outErr != nil {
		t.Fatal(inErr, outErr)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}()
	var relay string
	if _, err := fmt.Fscanf(out, "relay %s\n", &relay); err != nil {
		t.Fatal(err)
	}
	var ends []net.Conn
	defer func() {
		for _, c := range ends {
			_ = c.Close()
		}
	}()
	held := func() (inUse, resident int) {
		_, _ = fmt.Fprintln(in, len(ends)/2)
		if _, err := fmt.Fscanf(out, "held %d %d\n", &inUse, &resident); err != nil {
			t.Fatal(err)
		}
		return inUse, resident
	}
	open := func(n int) {
		for range n {
			client, up := server.session(relay)
			ends = append(ends, client.Conn, up)
		}
	}
	n := crowd(t)
	open(100) // what is made once
	beforeUse, beforeResident := held()
	open(n)
	inUse, resident := held()
	inUse, resident = (inUse-beforeUse)/n, (resident-beforeResident)/n
	t.Logf("%d sessions: %d bytes each of heap and stacks, %d resident", n, inUse, resident)
	if inUse > 8<<10 || resident > 16<<10 {
		t.Errorf("an idle session takes %d bytes, %d resident", inUse, resident)
	}
}

// crowd returns how many sessions there are. Each has two descriptors at both processes.
func crowd(t *testing.T) int {
	t.Helper()
	n := 1000
	if text := os.Getenv(sessionsTest); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if need := uint64(2*n + 1000); limit.Cur < need {
		t.Skipf("needs %d descriptors: ulimit -n", need)
	}
	return n
}

// serveCrowded passes sessions on until its input ends. It answers each line of it, which says how
// many there are, with what it holds.
func serveCrowded(t *testing.T, database string) {
	s := newStand(t, database, way{options: func(o *Options) { o.MaxClients = 1 << 20 }})
	fmt.Println("relay", s.url)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		waittest.Until(t, "event loops have all", func() bool {
			return strconv.Itoa(s.onLoop()) == in.Text()
		})
		runtime.GC()
		debug.FreeOSMemory()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		fmt.Println("held", m.HeapAlloc+m.StackInuse, resident(t))
	}
}

// resident returns the bytes of this process that are in memory and its own.
func resident(t *testing.T) (kB int) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(text), "RssAnon:")
	if _, err := fmt.Sscan(line, &kB); err != nil {
		t.Fatal(err)
	}
	return kB << 10
}
