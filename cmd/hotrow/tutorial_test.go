package main

import (
	"cmp"
	"context"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// commandProgram says that this program runs its arguments as hotrow does.
const commandProgram = "HOTROW_TEST_COMMAND"

// runCommand is main for a test's shell.
func runCommand() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return run(ctx, os.Args[1:], os.Stdout, os.Stderr, os.Environ())
}

// A step is a block of commands of a page, and the lines that it prints.
type step struct {
	commands string
	want     []string
}

// readSteps returns the blocks of a page: ```sh and, behind it, ```output.
func readSteps(t *testing.T, page string) []step {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var steps []step
	for i, block := range strings.Split(string(text), "```") {
		kind, body, _ := strings.Cut(block, "\n")
		switch {
		case i%2 == 0:
		case kind == "sh":
			steps = append(steps, step{commands: body})
		case kind == "output" && len(steps) > 0:
			steps[len(steps)-1].want = strings.Split(strings.TrimSpace(body), "\n")
		default:
			t.Errorf("%s: a block of kind %q", page, kind)
		}
	}
	return steps
}

// freeAddresses returns n different addresses that nothing listens on.
func freeAddresses(t *testing.T, n int) []string {
	t.Helper()
	out := make([]string, n)
	for i := range out {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }() // once all are known
		out[i] = l.Addr().String()
	}
	return out
}

// A tutorial is the shell in which a page's commands run.
type tutorial struct {
	dir, http, ops string
	env            []string
	pid            int // of the server
}

// programDir returns a directory with a program hotrow, which is this one.
func programDir(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\nexec env " + commandProgram + "=1 '" + self + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "hotrow"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return bin
}

// newTutorial returns a shell in an empty directory that finds hotrow.
func newTutorial(t *testing.T) *tutorial {
	t.Helper()
	bin, dir := programDir(t), t.TempDir()
	free := freeAddresses(t, 2)
	s := &tutorial{dir: dir, http: free[0], ops: free[1]}
	s.env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HOTROW_HTTP_LISTEN="+s.http,
		"HOTROW_OPS_LISTEN="+s.ops, "HOTROW_WIRE_LISTEN=off")
	return s
}

// command returns what runs commands, with the addresses of this test. A page's reader
// types a question after a change has had time to show; a script must wait for it.
func (s *tutorial) command(commands string) *exec.Cmd {
	commands = strings.NewReplacer("127.0.0.1:8080", s.http, "127.0.0.1:8081", s.ops,
		"\ncurl", "\nsleep 0.25\ncurl").Replace(commands)
	cmd := exec.Command("sh", "-ec", commands)
	cmd.Dir, cmd.Env = s.dir, s.env
	return cmd
}

// serve starts a server and waits until it answers.
func (s *tutorial) serve(t *testing.T, commands string) {
	t.Helper()
	var log output
	cmd := s.command("exec " + commands)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.pid = cmd.Process.Pid
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // ended by a signal
	})
	for deadline := waittest.Deadline(30 * time.Second); !strings.Contains(log.String(), "hotrow serves"); {
		if time.Now().After(deadline) {
			t.Fatalf("%s: does not serve:\n%s", commands, log.String())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Every command of the tutorial runs, and prints what the page says.
func TestTutorial_CommandsPrintWhatThePageSays(t *testing.T) {
	newTutorial(t).follow(t, "../../docs/tutorial/hotrow.md", 7)
}

func TestQueries_CommandsPrintWhatThePageSays(t *testing.T) {
	newTutorial(t).follow(t, "../../docs/howto/queries.md", 4)
}

// The page for the DBA is read beside a hotrow that serves the same database.
func TestDBA_StatementsPrintWhatThePageSays(t *testing.T) {
	pg := dbtest.NewPostgres(t, map[string]string{"wal_level": "logical"})
	url := pg.Database(t, dbtest.Setup("CREATE TABLE word (id int PRIMARY KEY, de text)"))
	s := newTutorial(t)
	s.env = append(s.env, "DATABASE_URL="+url)
	s.serve(t, "hotrow serve \"$DATABASE_URL\"")
	until(t, new(output), func() bool { return len(pg.WalSenders()) > 0 }) // it is ready before
	s.follow(t, "../../docs/howto/dba.md", 4)
}

// The page about production says how its figures were measured.
func TestProduction_CommandsMeasure(t *testing.T) {
	s := newTutorial(t)
	dbtest.SQLiteShell(t, filepath.Join(s.dir, "doc.db"), "CREATE TABLE doc (id INTEGER PRIMARY KEY, t TEXT);"+
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) "+
		"INSERT INTO doc SELECT i, hex(i) FROM n")
	s.serve(t, "hotrow serve doc.db")
	steps := readSteps(t, "../../docs/howto/production.md")
	if len(steps) != 1 {
		t.Fatalf("%d blocks of commands, want 1", len(steps))
	}
	commands := strings.NewReplacer("$(pidof hotrow)", strconv.Itoa(s.pid), "-d 10s", "-d 300ms").
		Replace(steps[0].commands)
	out, err := s.command(commands).CombinedOutput()
	noneFailed := regexp.MustCompile(`(?m)^ *http\S+ .* 0$`) // the last column
	if err != nil || strings.Count(string(out), "CPU µs/answer") != 2 ||
		len(noneFailed.FindAll(out, -1)) != 2 {
		t.Errorf("%s%v:\n%s", commands, err, out)
	}
}

// follow runs the blocks of a page, of which there are so many at least.
func (s *tutorial) follow(t *testing.T, page string, least int) {
	t.Helper()
	steps := readSteps(t, page)
	if len(steps) < least {
		t.Errorf("%d blocks of commands: the page is read wrongly", len(steps))
	}
	for _, step := range steps {
		if strings.HasPrefix(step.commands, "hotrow serve") {
			s.serve(t, strings.TrimSpace(step.commands))
			continue
		}
		out, err := s.command(step.commands).CombinedOutput()
		if err != nil {
			t.Errorf("%s%v:\n%s", step.commands, err, out)
		}
		for _, want := range step.want {
			if !strings.Contains(string(out), cmp.Or(want, "\n")) {
				t.Errorf("%sdoes not print %q but\n%s", step.commands, want, out)
			}
		}
	}
}
