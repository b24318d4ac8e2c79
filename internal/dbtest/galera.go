package dbtest

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// galeraLibrary is the provider of Galera, from the package galera-4.
const galeraLibrary = "/usr/lib/galera/libgalera_smm.so"

// NewGalera starts a Galera cluster of n MariaDB servers, each of which can be written and
// has a row binlog of all that any of them commits. The second has the most weight: it goes
// on without the others, also on a machine that is too busy for them to agree in time.
// They are removed when the test ends.
func NewGalera(t testing.TB, n int) []*MariaDBServer {
	t.Helper()
	notShort(t)
	if _, err := os.Stat(galeraLibrary); err != nil {
		missing(t, "mariadb", fmt.Errorf("%w; install the package galera-4", err))
	}
	group, nodes := make([]string, n), make([]*MariaDBServer, n)
	for i := range group {
		group[i] = fmt.Sprintf("127.0.0.1:%d", mustPort(t))
	}
	for i, address := range group {
		settings := map[string]string{
			"server-id":                 fmt.Sprint(i + 1),
			"log-slave-updates":         "ON",
			"gtid-strict-mode":          "OFF", // a node that joins has a history of its own
			"innodb-autoinc-lock-mode":  "2",
			"wsrep-on":                  "ON",
			"wsrep-provider":            galeraLibrary,
			"wsrep-cluster-name":        "hotrow",
			"wsrep-cluster-address":     "gcomm://" + strings.Join(group, ","),
			"wsrep-node-name":           fmt.Sprintf("node%d", i+1),
			"wsrep-node-address":        address,
			"wsrep-sst-method":          "rsync",
			"wsrep-sst-receive-address": fmt.Sprintf("127.0.0.1:%d", mustPort(t)),
			"wsrep-provider-options": fmt.Sprintf("gmcast.listen_addr=tcp://%s;"+
				"ist.recv_addr=127.0.0.1:%d;gcache.size=32M", address, mustPort(t)),
		}
		if i == 1 {
			settings["wsrep-provider-options"] += fmt.Sprintf(";pc.weight=%d", n)
		}
		if i == 0 {
			settings["wsrep-new-cluster"] = ""
		}
		nodes[i] = NewMariaDB(t, settings)
		nodes[i].awaitSynced(t)
	}
	return nodes
}

// awaitSynced waits until a node of a Galera cluster takes part in it.
func (s *MariaDBServer) awaitSynced(t testing.TB) {
	t.Helper()
	const ask = "SHOW GLOBAL STATUS LIKE 'wsrep_local_state_comment';"
	out, err := "", error(nil)
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); {
		if out, err = s.TryExec(ask); err == nil && strings.HasSuffix(out, "Synced") {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("the node is not synced after %v: %s %v", startTimeout, out, err)
}

// mustPort returns a free port.
func mustPort(t testing.TB) int {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}
