package robust

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// galera is MariaDB as the first of these nodes.
func galera(t *testing.T, nodes []*dbtest.MariaDBServer) func(*oracle) *database {
	return func(o *oracle) *database {
		d := &database{t: t, mariadb: nodes[0], url: nodes[0].Database(t)}
		dbtest.MariaDBShell(t, d.url, "SET max_recursive_iterations = 1000000;"+o.schema())
		d.query = func(sql string) string { return dbtest.MariaDBShell(t, d.url, sql) }
		d.exec = newMariaSession(t, d.url)
		return d
	}
}

// galeraNodeKilled: the node that hotrow follows and reads, and that is written to, is
// killed amid writes, and a balancer leads to another one.
func galeraNodeKilled(t *testing.T) string {
	nodes := dbtest.NewGalera(t, 3)
	x := newServed(t, galera(t, nodes), setup{disk: diskFile(t)})
	x.more(t, "fresh answers", &x.o.fresh)
	commits, reads := x.o.commits.Load(), x.o.reads.Load()

	nodes[0].Stop(dbtest.Immediate)
	x.relay.set(false, 0, true)
	closed := x.state(t, false)
	if closed > notice {
		t.Errorf("noticed after %v", closed)
	}
	begin := time.Now()
	until(t, x.p.text, "the other nodes to go on without it", func() bool {
		out, err := nodes[1].TryExec("SHOW GLOBAL STATUS WHERE Variable_name IN" +
			" ('wsrep_cluster_size', 'wsrep_ready');")
		return err == nil && !strings.Contains(out, "size\t3") && strings.HasSuffix(out, "ON")
	})
	without := time.Since(begin)
	x.relay.point(nodes[1].Address())
	x.relay.set(false, 0, false)
	opened := x.state(t, true)
	x.w.stop()
	if x.o.commits.Load() == 0 || x.o.reads.Load() == reads {
		t.Error("a part of the row has done nothing")
	}

	x.d.url = strings.Replace(x.d.url, nodes[0].Address(), nodes[1].Address(), 1)
	x.d.exec = newMariaSession(t, x.d.url)
	x.w = x.d.work(x.o, x.p, 3)
	until(t, x.p.text, "commits on another node", func() bool {
		return x.o.commits.Load() >= commits+20
	})
	return fmt.Sprintf("gate closed after %v, the cluster went on after %v, fresh %v later; %s",
		ms(closed), ms(without), ms(opened), x.end(t))
}
