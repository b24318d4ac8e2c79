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
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/browsertest"
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
	return stepsOf(t, page, readPage(t, page))
}

// stepsOf is readSteps of a part of a page.
func stepsOf(t *testing.T, page, text string) []step {
	t.Helper()
	var steps []step
	for i, block := range strings.Split(text, "```") {
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
	dir   string
	env   []string
	ports map[string]string // of this test, by those of the page
	pid   int               // of the server
}

// pagePorts are the ports that pages name: hotrow's, a page's of another origin, and Redis'.
var (
	pagePorts = []string{"8080", "8081", "9999", "6380", "11212", "8000", "6379", "5433"}
	pagePort  = regexp.MustCompile(`\b(?:` + strings.Join(pagePorts, "|") + `)\b`)
)

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
	s := &tutorial{dir: dir, ports: make(map[string]string)}
	for i, free := range freeAddresses(t, len(pagePorts)) {
		_, s.ports[pagePorts[i]], _ = net.SplitHostPort(free)
	}
	s.env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HOTROW_WIRE_LISTEN=off",
		"HOTROW_HTTP_LISTEN="+s.at("8080"), "HOTROW_OPS_LISTEN="+s.at("8081"),
		"HOTROW_URL=http://"+s.at("8080"), "HOTROW_OPS=http://"+s.at("8081"))
	return s
}

// at returns the address of this test for a port of the page.
func (s *tutorial) at(port string) string { return "127.0.0.1:" + s.ports[port] }

// command returns what runs commands, with the ports of this test. A page's reader types a
// question after a change has had time to show; a script must wait for it.
func (s *tutorial) command(commands string) *exec.Cmd {
	commands = pagePort.ReplaceAllStringFunc(commands, func(port string) string { return s.ports[port] })
	commands = strings.NewReplacer("\ncurl", "\nsleep 0.25\ncurl", "\nsh ", "\nsleep 0.25\nsh ").Replace(commands)
	cmd := exec.Command("sh", "-ec", commands)
	cmd.Dir, cmd.Env = s.dir, s.env
	return cmd
}

// serving matches commands that go on until they are stopped.
var serving = regexp.MustCompile(`^(?:[A-Z_]+=\S+ )*(?:hotrow (?:serve|demo)|redis-server|python3 -m http.server)\b`)

// serve starts a server and waits until it answers: hotrow greets, others listen.
func (s *tutorial) serve(t *testing.T, commands string) {
	t.Helper()
	var log output
	cmd := s.command("exec env " + commands)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.pid = cmd.Process.Pid
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // ended by a signal
	})
	until(t, &log, func() bool {
		if strings.Contains(commands, "hotrow") {
			return strings.Contains(log.String(), "hotrow serves")
		}
		for _, port := range []string{"6379", "8000"} {
			if strings.Contains(commands, port) {
				conn, err := net.Dial("tcp", s.at(port))
				if err == nil {
					_ = conn.Close()
				}
				return err == nil
			}
		}
		return false
	})
}

// Every command of the tutorial runs, and prints what the page says.
func TestTutorial_CommandsPrintWhatThePageSays(t *testing.T) {
	t.Parallel()
	newTutorial(t).follow(t, "../../docs/tutorial/hotrow.md", 7)
}

// The shop of the page begins with Redis in front of PostgreSQL, and ends with hotrow.
func TestTutorial_PostgreSQL(t *testing.T) {
	t.Parallel()
	dbtest.Program(t, "redis-server", "redis-server", "/usr/bin")
	pg := dbtest.NewPostgres(t, map[string]string{"wal_level": "logical"})
	s := newTutorial(t)
	s.env = append(s.env, "DATABASE_URL="+pg.Database(t))
	s.follow(t, "../../docs/tutorial/postgresql.md", 9)
}

// psql reads a shop through hotrow, from memory.
func TestTutorial_SQL(t *testing.T) {
	t.Parallel()
	pg := dbtest.NewPostgres(t, map[string]string{"wal_level": "logical"})
	s := newTutorial(t)
	s.env = append(s.env, "DATABASE_URL="+pg.Database(t))
	s.follow(t, "../../docs/tutorial/sql.md", 6)
}

// A browser opens the page before the last step, which changes a row of its list.
func TestTutorial_Browser(t *testing.T) {
	t.Parallel()
	dbtest.Program(t, "python3", "python3", "/usr/bin")
	s := newTutorial(t)
	steps := readSteps(t, "../../docs/tutorial/browser.md")
	last := len(steps) - 1
	for _, step := range steps[:last] {
		s.run(t, step)
	}
	tab := browsertest.New(t).Tab(browsertest.Desktop)
	tab.Open("http://localhost:" + s.ports["8000"] + "/")
	shows := func(rows string) {
		tab.Until(`document.querySelector('p').textContent === 'live' &&
			document.querySelector('table').innerText.replaceAll('\t', ' ').trim() === '` + rows + `'`)
	}
	shows(`cup 4\nteapot 25\nkettle 30`)
	s.run(t, steps[last])
	shows(`teapot 25\ncup 27\nkettle 30`)
	tab.Open("http://127.0.0.1:" + s.ports["8000"] + "/") // another origin
	waittest.UntilEvery(t, 5*time.Millisecond, "the browser does not say why; it says", func() bool {
		return strings.Contains(strings.Join(tab.Console(), "\n"), "CORS")
	}, func() string { return strings.Join(tab.Console(), "\n") })
	if got := tab.Text("p"); got != "connecting" {
		t.Errorf("a page of another origin is %s", got)
	}
}

func TestQueries_CommandsPrintWhatThePageSays(t *testing.T) {
	t.Parallel()
	newTutorial(t).follow(t, "../../docs/howto/queries.md", 4)
}

// The page for the DBA is read beside a hotrow that serves the same database.
func TestDBA_StatementsPrintWhatThePageSays(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
		s.run(t, step)
	}
}

// run does one step. One that does not print what the page says is done again: on a busy
// machine a copy may not count as fresh, and then a read is no hit.
func (s *tutorial) run(t *testing.T, step step) {
	t.Helper()
	if serving.MatchString(step.commands) {
		s.serve(t, strings.TrimSpace(step.commands))
		return
	}
	for deadline := waittest.Deadline(2 * time.Second); ; {
		out, err := s.command(step.commands).CombinedOutput()
		missing := slices.IndexFunc(step.want, func(want string) bool {
			return !strings.Contains(string(out), cmp.Or(want, "\n"))
		})
		switch late := time.Now().After(deadline); {
		case err == nil && missing < 0:
			return
		case late && err != nil:
			t.Fatalf("%s%v:\n%s", step.commands, err, out)
		case late:
			t.Fatalf("%sdoes not print %q but\n%s", step.commands, step.want[missing], out)
		}
	}
}
