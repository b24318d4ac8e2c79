package robust

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// A group is servers of which any can be the one that is written to.
type group struct {
	start func(t testing.TB, n int) []*dbtest.MariaDBServer

	// next returns the one to write to, once the others go on without the first; nil: not yet.
	next func(nodes []*dbtest.MariaDBServer) *dbtest.MariaDBServer
}

// galera is a cluster of MariaDB: the others are asked by the second, which goes on with
// either.
var galera = group{dbtest.NewGalera, func(nodes []*dbtest.MariaDBServer) *dbtest.MariaDBServer {
	out, err := nodes[1].TryExec("SHOW GLOBAL STATUS WHERE Variable_name IN" +
		" ('wsrep_cluster_size', 'wsrep_ready');")
	if err != nil || strings.Contains(out, "size\t3") || !strings.HasSuffix(out, "ON") {
		return nil
	}
	return nodes[1]
}}

// replicated is MySQL's Group Replication with one primary.
var replicated = group{dbtest.NewGroup, func(nodes []*dbtest.MariaDBServer) *dbtest.MariaDBServer {
	for _, n := range nodes[1:] {
		if out, err := n.TryExec(dbtest.IsPrimary); err == nil && out == "1" {
			return n
		}
	}
	return nil
}}

// firstOf is the database of the first of these nodes.
func firstOf(t *testing.T, nodes []*dbtest.MariaDBServer) func(*oracle) *database {
	return func(o *oracle) *database {
		d := &database{t: t, mariadb: nodes[0], url: nodes[0].Database(t)}
		dbtest.MariaDBShell(t, d.url, dbtest.MariaOrMySQL("SET max_recursive_iterations",
			"SET cte_max_recursion_depth")+" = 1000000;"+o.schema())
		d.query = func(sql string) string { return dbtest.MariaDBShell(t, d.url, sql) }
		d.exec = newMariaSession(t, d.url)
		return d
	}
}

// nodeKilled: the node that hotrow follows and reads, and that is written to, is killed
// amid writes, and a balancer leads to another one.
func (g group) nodeKilled(t *testing.T) string {
	nodes := g.start(t, 3)
	x := newServed(t, firstOf(t, nodes), setup{disk: diskFile(t)})
	x.more(t, "fresh answers", &x.o.fresh)
	_, _, token, _ := x.p.ask("/kv/1", "")
	commits, reads := x.o.commits.Load(), x.o.reads.Load()

	nodes[0].Stop(dbtest.Immediate)
	x.relay.set(false, 0, true)
	closed := x.state(t, false)
	if closed > notice {
		t.Errorf("noticed after %v", closed)
	}
	begin := time.Now()
	var next *dbtest.MariaDBServer
	until(t, x.p.text, "the other nodes to go on without it", func() bool {
		next = g.next(nodes)
		return next != nil
	})
	without := time.Since(begin)
	x.relay.point(next.Address())
	x.relay.set(false, 0, false)
	opened := x.state(t, true)
	x.w.stop()
	if x.o.commits.Load() == 0 || x.o.reads.Load() == reads {
		t.Error("a part of the row has done nothing")
	}

	x.d.url = strings.Replace(x.d.url, nodes[0].Address(), next.Address(), 1)
	x.d.exec = newMariaSession(t, x.d.url)
	x.w = x.d.work(x.o, x.p, 3)
	until(t, x.p.text, "commits on another node", func() bool {
		return x.o.commits.Load() >= commits+20
	})
	x.keepsToHistory(t, token)
	return fmt.Sprintf("gate closed after %v, the cluster went on after %v, fresh %v later; %s",
		ms(closed), ms(without), ms(opened), x.end(t))
}
