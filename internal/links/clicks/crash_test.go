package clicks

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/links/clicklog"
	"github.com/hotrow/hotrow/internal/links/killtest"
)

var crashRounds = flag.Int("crash.rounds", 6, "kills of each database's SurvivesKill")

// crashChild, when set, makes the test binary the child of SurvivesKill: its value
// is the directory, the kind of database and its URL, with a tab between them.
const crashChild = "HOTROW_TEST_CLICKS_CRASH"

// runChild is the main function of the child; it reports false when this process
// is none.
func runChild() bool {
	return killtest.Main(os.Getenv(crashChild), func(value string) error {
		parts := strings.SplitN(value, "\t", 3)
		return victim(context.Background(), parts[0], parts[1], parts[2])
	})
}

// victim appends and drains until it is killed.
func victim(ctx context.Context, dir, kind, url string) error {
	s, err := openURL(ctx, kind, url)
	if err != nil {
		return err
	}
	sums, rows, err := Cursors(ctx, s)
	if err != nil {
		return err
	}
	l, err := clicklog.Open(clicklog.Options{Dir: filepath.Join(dir, "log"), Loops: 1,
		Segment: 256 << 10, Keep: 256 << 20, Cursors: sums, Rows: rows})
	if err != nil {
		return err
	}
	if _, err := Start(ctx, Options{Store: s, Log: l, Every: 2 * time.Millisecond, Batch: 300}); err != nil {
		return err
	}
	count, err := killtest.Open(dir, 2)
	if err != nil {
		return err
	}
	failed := make(chan error)
	for i := range 2 {
		go func() { failed <- appendForEver(l, count, i) }()
	}
	fmt.Println("ready")
	return <-failed
}

// appendForEver is one writer of the child.
func appendForEver(l *clicklog.Log, count *killtest.Tally, i int) error {
	for {
		n, err := count.Begin(i)
		if err != nil {
			return err
		}
		r := visit(int64(n%50), int(n))
		for seq := clicklog.Seq(0); seq == 0; {
			if i == 0 {
				seq, _ = l.Writer(0).Append(r)
			} else {
				seq, _ = l.Shared().Append(r)
			}
		}
		if err := count.Answer(i); err != nil {
			return err
		}
	}
}

// survivesKill kills a process that appends and drains at random moments: what was
// answered is in the database once, and the sums are those of the rows.
func survivesKill(t *testing.T, kind string) {
	b := newBed(t, kind, Options{})
	dir := t.TempDir()
	for range *crashRounds {
		killtest.Kill(t, crashChild, dir+"\t"+kind+"\t"+b.url, time.Duration(rand.IntN(250))*time.Millisecond)
	}
	b.dir = filepath.Join(dir, "log")
	b.start()
	b.drained()
	b.consistent()
	count := killtest.Read(dir, 2)
	rows := uint64(b.count("SELECT COUNT(*) FROM clicks"))
	answered, sent := count[0].Answered+count[1].Answered, count[0].Begun+count[1].Begun
	if rows < answered || rows > sent || rows == 0 {
		t.Errorf("answered %d <= stored %d <= sent %d is wrong", answered, rows, sent)
	}
	if st := b.d.Stats(); st.Conflicts+st.Twice+st.Bad+st.Poison > 0 {
		t.Errorf("%+v\n%s", st, b.logged())
	}
	t.Logf("%d rows after %d kills", rows, *crashRounds)
}
