package servers

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/bench/harness"
)

// mysqlRoot returns where scripts/install-engines has put MySQL: a file system of its own,
// whose programs run with its libraries.
func mysqlRoot() (string, error) {
	dirs := []string{"/var/cache/hotrow-engines"}
	if cache, err := os.UserCacheDir(); err == nil {
		dirs = append(dirs, filepath.Join(cache, "hotrow-engines"))
	}
	for _, dir := range dirs {
		root := filepath.Join(dir, "mysql")
		if _, err := os.Stat(filepath.Join(root, "usr/sbin/mysqld")); err == nil {
			return root, nil
		}
	}
	return "", fmt.Errorf("%w: MySQL (scripts/install-engines mysql makes it)", harness.ErrMissing)
}

// mysqlCommand is what runs mysqld from root.
func mysqlCommand(root string, settings ...string) []string {
	in := func(path string) string { return filepath.Join(root, path) }
	return append([]string{in("usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"), "--library-path",
		in("usr/lib/x86_64-linux-gnu") + ":" + in("usr/lib/mysql/private"), in("usr/sbin/mysqld"),
		"--no-defaults", "--basedir=" + in("usr"), "--plugin-dir=" + in("usr/lib/mysql/plugin"),
		"--lc-messages-dir=" + in("usr/share/mysql"),
		"--character-sets-dir=" + in("usr/share/mysql/charsets")}, settings...)
}

// startMySQL starts a MySQL that writes its log row by row, as it does by itself, with a root
// who needs no password.
func startMySQL(
	ctx context.Context, on harness.Placement, dir string,
) (*harness.Process, int, error) {
	root, err := mysqlRoot()
	if err != nil {
		return nil, 0, err
	}
	me, err := user.Current()
	if err != nil {
		return nil, 0, err
	}
	data, first := filepath.Join(dir, "mysql"), filepath.Join(dir, "first.sql")
	err = os.WriteFile(first, []byte(strings.Join([]string{"CREATE USER root@'127.0.0.1';",
		"GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;", ""}, "\n")), 0o600)
	if err != nil {
		return nil, 0, err
	}
	making := mysqlCommand(root, "--initialize-insecure", "--datadir="+data,
		"--init-file="+first, "--user="+me.Username, "--skip-log-bin")
	if err = harness.Command(ctx, "", making[0], making[1:]...); err != nil {
		return nil, 0, err
	}
	port, err := harness.FreePort()
	if err != nil {
		return nil, 0, err
	}
	p, err := harness.Start("mysql", dir, on, mysqlCommand(root, "--datadir="+data,
		"--user="+me.Username, "--bind-address=127.0.0.1", "--port="+strconv.Itoa(port),
		"--socket="+filepath.Join(dir, "mysql.sock"), "--pid-file="+filepath.Join(dir, "mysql.pid"),
		"--secure-file-priv=NULL", "--mysqlx=OFF", "--gtid-mode=ON",
		"--enforce-gtid-consistency=ON")...)
	return p, port, err
}
