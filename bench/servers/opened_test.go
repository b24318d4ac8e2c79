package servers

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/hotrow/hotrow/bench/harness"
)

// startTestFloor builds and starts the floor server of bench/peers.
func startTestFloor(t *testing.T) (p *harness.Process, address string) {
	t.Helper()
	dir := t.TempDir()
	program, file := filepath.Join(dir, "floor"), filepath.Join(dir, "file")
	args := []string{"-O2", "-o", program, "../peers/floor/floor.c"}
	if out, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
		t.Skipf("no C compiler: %v\n%s", err, out)
	}
	if err := os.WriteFile(file, []byte(`{"x":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	address, port, err := harness.Loopback()
	if err != nil {
		t.Fatal(err)
	}
	if p, err = harness.Start("floor", dir, harness.Free, program, strconv.Itoa(port), file); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	if err := p.AwaitURL(t.Context(), "http://"+address); err != nil {
		t.Fatal(err)
	}
	return p, address
}

func TestFloor_TellsWhatItHasAccepted(t *testing.T) {
	p, address := startTestFloor(t)
	accepted := acceptedByFloor(p)
	before, err := accepted(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 7 {
		nc, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
	}
	for deadline := time.Now().Add(harness.Patience); ; { // accepting takes a moment
		after, err := accepted(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if after-before == 7 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d connections, want 7", after-before)
		}
	}
}

func TestStatusAccepts_ReadsWhatNginxSays(t *testing.T) {
	const text = "Active connections: 2 \nserver accepts handled requests\n 17 16 31 \n" +
		"Reading: 0 Writing: 1 Waiting: 1 \n"
	if n, err := statusAccepts([]byte(text)); n != 17 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := statusAccepts([]byte("404")); err == nil {
		t.Error("taken for a status")
	}
}
