package clicks

import (
	"bufio"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/links/clicklog"
)

var crashRounds = flag.Int("crash.rounds", 6, "kills of each database's SurvivesKill")

// crashChild, when set, makes the test binary the child of SurvivesKill: its value
// is the directory, the kind of database and its URL, with a tab between them.
const crashChild = "HOTROW_TEST_CLICKS_CRASH"

// runChild is the main function of the child; it reports false when this process
// is none.
func runChild() bool {
	parts := strings.SplitN(os.Getenv(crashChild), "\t", 3)
	if len(parts) != 3 {
		return false
	}
	if err := victim(context.Background(), parts[0], parts[1], parts[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// A tally is how many clicks each of two writers has begun to append and has been
// answered, in a file that no kill undoes.
type tally [4]uint64

func readTally(dir string) (t tally) {
	b, _ := os.ReadFile(filepath.Join(dir, "tally"))
	for i := range t {
		if len(b) >= i*8+8 {
			t[i] = binary.LittleEndian.Uint64(b[i*8:])
		}
	}
	return t
}

// victim appends and drains until it is killed.
func victim(ctx context.Context, dir, kind, url string) error {
	s, err := openURL(ctx, kind, url)
	if err != nil {
		return err
	}
	cursors, err := Cursors(ctx, s)
	if err != nil {
		return err
	}
	l, err := clicklog.Open(clicklog.Options{Dir: filepath.Join(dir, "log"), Loops: 1,
		Segment: 256 << 10, Keep: 256 << 20, Cursors: cursors})
	if err != nil {
		return err
	}
	if _, err := Start(ctx, Options{Store: s, Log: l, Every: 2 * time.Millisecond, Batch: 300}); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, "tally"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	count := readTally(dir)
	put := func(slot int, n uint64) error {
		_, err := f.WriteAt(binary.LittleEndian.AppendUint64(nil, n), int64(slot*8))
		return err
	}
	failed := make(chan error)
	for i := range 2 {
		go func() {
			for n := count[2*i] + 1; ; n++ {
				r := visit(int64(n%50), int(n))
				err := put(2*i, n)
				for seq := clicklog.Seq(0); seq == 0 && err == nil; {
					if i == 0 {
						seq, _ = l.Writer(0).Append(r)
					} else {
						seq, _ = l.Shared().Append(r)
					}
				}
				count[2*i+1]++
				if err == nil {
					err = put(2*i+1, count[2*i+1])
				}
				if err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	fmt.Println("ready")
	return <-failed
}

// kill runs a child for a while and kills it.
func kill(t *testing.T, child string, live time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashChild+"="+child)
	var failure strings.Builder
	cmd.Stderr = &failure
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	ready := lines.Scan()
	time.AfterFunc(live, func() { _ = cmd.Process.Kill() })
	for lines.Scan() {
	}
	_ = cmd.Wait() // it was killed
	if failure.Len() > 0 || !ready {
		t.Fatalf("the child says: %s", failure.String())
	}
}

// survivesKill kills a process that appends and drains at random moments: what was
// answered is in the database once, and the sums are those of the rows.
func survivesKill(t *testing.T, kind string) {
	b := newBed(t, kind, Options{})
	dir := t.TempDir()
	for range *crashRounds {
		kill(t, dir+"\t"+kind+"\t"+b.url, time.Duration(rand.IntN(250))*time.Millisecond)
	}
	b.dir = filepath.Join(dir, "log")
	b.start()
	b.drained()
	b.consistent()
	count := readTally(dir)
	rows := uint64(b.count("SELECT COUNT(*) FROM clicks"))
	if answered, sent := count[1]+count[3], count[0]+count[2]; rows < answered || rows > sent || rows == 0 {
		t.Errorf("answered %d <= stored %d <= sent %d is wrong", answered, rows, sent)
	}
	if st := b.d.Stats(); st.Conflicts+st.Twice+st.Bad+st.Poison > 0 {
		t.Errorf("%+v\n%s", st, b.logged())
	}
	t.Logf("%d rows after %d kills", rows, *crashRounds)
}
