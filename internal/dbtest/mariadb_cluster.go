package dbtest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// mariaSettings are those of every server; a test's own override them. Nothing
// is synced, since a test kills servers and not kernels, but a commit is in
// the kernel's hands before it is answered: a kill loses none.
var mariaSettings = map[string]string{
	"bind-address":                   "127.0.0.1",
	"skip-name-resolve":              "ON",
	"max-connections":                "200",
	"server-id":                      "1",
	"log-bin":                        "binlog",
	"binlog-format":                  "ROW",
	"binlog-row-image":               "FULL",
	"sync-binlog":                    "0",
	"innodb-flush-log-at-trx-commit": "2",
	"innodb-flush-method":            "nosync",
	"innodb-buffer-pool-size":        "32M",
}

// ownSettings are those that only one of the two servers has.
var ownSettings = map[bool]map[string]string{
	false: {
		"max-recursive-iterations": "1000000",
		"gtid-strict-mode":         "ON",
		"innodb-log-file-size":     "16M",
	},
	true: mysqlSettings,
}

// A mariaCluster is one MariaDB data directory and the server on it. It is for
// one goroutine at a time. Of the embedded cluster it uses the directory, the
// process and the log, which are the same for both kinds of server.
type mariaCluster struct {
	cluster
	programs mariaPrograms
}

// newMariaCluster makes a data directory and starts a server there.
func newMariaCluster(p mariaPrograms, settings map[string]string) (*mariaCluster, error) {
	who, err := serverAccount("mysql")
	if err != nil {
		return nil, err
	}
	dir, err := newDir()
	if err != nil {
		return nil, err
	}
	c := &mariaCluster{cluster: cluster{dir: dir, who: who, settings: settings}, programs: p}
	if err := c.makeDirs(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := c.initialize(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := c.startAnywhere(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return c, nil
}

// makeDirs makes the directories of the server its own. It has one for temporary
// files because a server that starts removes those of others from a shared one.
func (c *mariaCluster) makeDirs() error {
	return errors.Join(os.Mkdir(c.temp(), 0o755), os.Chmod(c.dir, 0o755),
		c.who.own(c.dir), c.who.own(c.temp()))
}

// initialize makes the data directory, with a root who needs no password.
func (c *mariaCluster) initialize() error {
	if c.programs.mysql() {
		return c.initializeMySQL()
	}
	command := []string{c.programs.install, "--no-defaults",
		"--auth-root-authentication-method=normal", "--skip-test-db",
		"--innodb-flush-method=nosync", "--innodb-log-file-size=16M"}
	installed := modelOf("mariadb", command)
	if installed.copyTo(c.data()) {
		return nil
	}
	cmd := c.command(command[0], append(command[1:], "--datadir="+c.data())...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mariadb-install-db: %w\n%s", err, out)
	}
	installed.keep(c.data())
	return nil
}

// command returns a command that runs as the server does.
func (c *mariaCluster) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	c.who.apply(cmd)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "TMPDIR="+c.temp())
	return cmd
}

// serverCommand returns a command that runs the server's program.
func (c *mariaCluster) serverCommand(args ...string) *exec.Cmd {
	if c.programs.mysql() {
		program, all := mysqlCommand(c.programs.root, args)
		return c.command(program, all...)
	}
	return c.command(c.programs.server, args...)
}

// startAnywhere starts the server on a free port. Another process may take the
// port between the choice and the start, so it tries a few.
func (c *mariaCluster) startAnywhere() error {
	var err error
	for range 3 {
		if c.port, err = freePort(); err != nil {
			return err
		}
		if err = c.start(); err == nil || !strings.Contains(err.Error(), "an't start server") {
			return err
		}
	}
	return err
}

// start starts the server on its port and waits until it takes connections.
func (c *mariaCluster) start() error {
	if c.running() {
		return errors.New("the server is running already")
	}
	logFile, err := os.OpenFile(c.logPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer logFile.Close() // the child has a descriptor of its own
	cmd := c.serverCommand(c.args()...)
	cmd.Stdout, cmd.Stderr = logFile, logFile
	if c.proc, err = start(cmd); err != nil {
		return fmt.Errorf("start mariadbd: %w", err)
	}
	if err := c.waitReady(); err != nil {
		return errors.Join(err, c.stop(syscall.SIGKILL))
	}
	return nil
}

// args returns the arguments of mariadbd: ours first, so that a test's
// settings override them.
func (c *mariaCluster) args() []string {
	args := []string{"--no-defaults", "--datadir=" + c.data(), "--socket=" + c.socket(),
		"--pid-file=" + filepath.Join(c.dir, "pid"), fmt.Sprintf("--port=%d", c.port)}
	own := ownSettings[c.programs.mysql()]
	settings := c.settings
	if c.programs.mysql() {
		settings = mysqlNames(settings)
	}
	for _, set := range []map[string]string{mariaSettings, own, settings} {
		for name, value := range set {
			if value == "" {
				args = append(args, "--"+name)
			} else {
				args = append(args, "--"+name+"="+value)
			}
		}
	}
	return args
}

// waitReady waits until the server greets on its unix socket, which it opens
// after its port. Asking by TCP could reach a stranger.
func (c *mariaCluster) waitReady() error {
	for begin := time.Now(); !waittest.Late(time.Since(begin), startTimeout); {
		if c.proc.ended() {
			return fmt.Errorf("mariadbd ended: %v\n%s", c.proc.err, c.logTail())
		}
		if c.greets() {
			return nil
		}
		select {
		case <-c.proc.done:
		case <-time.After(5 * time.Millisecond):
		}
	}
	return fmt.Errorf("mariadbd is not ready in time\n%s", c.logTail())
}

// greets reports whether the server begins a handshake.
func (c *mariaCluster) greets() bool {
	conn, err := net.Dial("unix", c.socket())
	if err != nil {
		return false
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return false
	}
	const protocolVersion = 10 // the first byte after the packet's header
	head := make([]byte, 5)
	n, err := conn.Read(head)
	return err == nil && n == len(head) && head[4] == protocolVersion
}

// remove ends the server at once and removes its directory.
func (c *mariaCluster) remove() error {
	return errors.Join(c.stop(syscall.SIGKILL), os.RemoveAll(c.dir))
}

// url returns the URL of a database of this server.
func (c *mariaCluster) url(database string) string {
	return fmt.Sprintf("mysql://root@127.0.0.1:%d/%s", c.port, database)
}

// temp returns the directory for temporary files.
func (c *mariaCluster) temp() string { return filepath.Join(c.dir, "tmp") }

// socket returns the path of the server's unix socket.
func (c *mariaCluster) socket() string { return filepath.Join(c.dir, "sock") }
