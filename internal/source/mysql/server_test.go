package mysql

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/tlstest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// eventually polls ok until it is true or a minute is over.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	waittest.Until(t, what, ok)
}

func TestMariaDB_OutlivesItsServer(t *testing.T) {
	t.Parallel()
	server := dbtest.NewMariaDB(t, nil)
	url := server.Database(t, dbtest.Setup("CREATE TABLE t (id int PRIMARY KEY, n int);",
		"INSERT INTO t VALUES (1, 0);"))
	s := openSource(t, url, Options{StatementTimeout: time.Second, AcquireTimeout: time.Second})
	p := mustCompile(t, s, &source.Spec{Table: "t"})
	load := func() error {
		_, err := p.Load(t.Context(), []row.Key{"1"})
		return err
	}
	mustLoad(t, p, "1")
	t.Run("Frozen", func(t *testing.T) {
		server.Pause()
		err := load()
		server.Resume()
		if source.ClassOf(err) != source.Unavailable {
			t.Errorf("load from a frozen server: %v", err)
		}
		eventually(t, "it answers again", func() bool { return load() == nil })
	})
	t.Run("Stopped", func(t *testing.T) {
		server.Stop(dbtest.Immediate)
		if err := load(); source.ClassOf(err) != source.Unavailable || err == nil {
			t.Errorf("load from a dead server: %v", err)
		}
		_, err := tryWrite(t, p, source.OpMerge, "1", `{"n":1}`)
		if source.ClassOf(err) != source.Unavailable || err == nil {
			t.Errorf("write to a dead server: %v", err)
		}
		server.Start()
		eventually(t, "it answers again", func() bool { return load() == nil })
		mustWrite(t, p, source.OpMerge, "1", `{"n":2}`)
	})
	t.Run("Restarted", func(t *testing.T) {
		server.Restart(dbtest.Fast)
		mustLoad(t, p, "1") // the pool's connections are dead, which no caller sees
	})
}

func TestMariaDB_UnixSocket(t *testing.T) {
	t.Parallel()
	server := dbtest.NewMariaDB(t, nil)
	name := databaseOf(server.Database(t, dbtest.Setup("CREATE TABLE t (id int PRIMARY KEY);")))
	s := openSource(t, "mysql://root@localhost/"+name+"?socket="+server.Socket(), Options{})
	mustCompile(t, s, &source.Spec{Table: "t"})
}

func TestMariaDB_TLS(t *testing.T) {
	dir := t.TempDir()
	good := tlstest.New(t, "127.0.0.1")
	cert, key := good.Write(t, dir)
	other, _ := tlstest.New(t, "127.0.0.1").Write(t, t.TempDir())
	for _, path := range []string{filepath.Dir(dir), dir, cert, key} {
		if err := os.Chmod(path, 0o755); err != nil { // the server is another user
			t.Fatal(err)
		}
	}
	server := dbtest.NewMariaDB(t, map[string]string{"ssl-cert": cert, "ssl-key": key})
	url := server.Database(t, dbtest.Setup("CREATE TABLE t (id int PRIMARY KEY);"))
	tests := []struct {
		parameters string
		works      bool
	}{
		{"ssl-mode=required", true},
		{"ssl-mode=verify-identity&ssl-ca=" + cert, true},
		{"ssl-ca=" + cert, true},
		{"ssl-mode=verify-ca&ssl-ca=" + cert, true},
		{"ssl-mode=verify-identity", false},
		{"ssl-ca=" + other, false},
		{"ssl-mode=verify-ca&ssl-ca=" + other, false},
	}
	for _, tt := range tests {
		s := openSource(t, url+"?"+tt.parameters, Options{AcquireTimeout: 10 * time.Second})
		_, err := s.Catalog(t.Context())
		if (err == nil) != tt.works {
			t.Errorf("%s: %v, want that it works: %v", tt.parameters, err, tt.works)
		}
		if err != nil && source.ClassOf(err) != source.Unavailable {
			t.Errorf("%s: %v is of class %d", tt.parameters, err, source.ClassOf(err))
		}
	}
}

func TestTLS_NameOfTheServer(t *testing.T) {
	cert := tlstest.New(t, "server")
	ca, _ := cert.Write(t, t.TempDir())
	for mode, works := range map[string]bool{"verify-ca": true, "verify-identity": false} {
		cfg, err := parseURL("mysql://u:p@elsewhere.example/db?ssl-mode="+mode+"&ssl-ca="+ca, "", "")
		if err != nil {
			t.Fatal(err)
		}
		listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
			Certificates: []tls.Certificate{*cert.Pair(t)}})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			if conn, err := listener.Accept(); err == nil {
				_, _ = conn.Read(make([]byte, 1)) // what the server makes of it does not matter
				_ = conn.Close()
			}
		}()
		conn, err := tls.Dial("tcp", listener.Addr().String(), cfg.TLS)
		if err == nil {
			_ = conn.Close()
		}
		<-done
		_ = listener.Close()
		if (err == nil) != works {
			t.Errorf("%s with a certificate for another name: %v, want that it works: %v", mode, err,
				works)
		}
	}
}

func TestMariaDB_Doctor(t *testing.T) {
	server := dbtest.NewMariaDB(t, map[string]string{"binlog-format": "MIXED",
		"binlog-row-image": "MINIMAL", "gtid-strict-mode": "OFF", "binlog-ignore-db": "ignored"})
	url := server.Database(t, dbtest.Setup("CREATE TABLE good (id int PRIMARY KEY);",
		"CREATE TABLE isam (id int PRIMARY KEY) ENGINE=MyISAM;",
		"CREATE TABLE kid (id int PRIMARY KEY, g int REFERENCES good (id) ON DELETE CASCADE);",
		"CREATE DATABASE ignored;", "CREATE TABLE ignored.t (id int PRIMARY KEY);"))
	db := databaseOf(url)
	s := openSource(t, userOf(t, url, "plain", "SELECT ON *.*"), Options{})
	tables := []source.Watched{{Table: db + ".good"}, {Table: db + ".isam"}, {Table: db + ".kid"},
		{Table: db + ".gone"}, {Table: "ignored.t"}}
	found, err := s.Doctor(t.Context(), source.FeedAuto, tables)
	if err != nil {
		t.Fatal(err)
	}
	text := findingsText(found)
	admin := openSource(t, url, Options{})
	want := dbtest.SQLs(
		"ok log_bin is ON", "error binlog_format is MIXED", "error binlog_row_image is MINIMAL",
		"'plain'@'127.0.0.1' lacks REPLICATION SLAVE, BINLOG MONITOR",
		db+".isam: its engine is MyISAM", db+".gone does not exist")
	if !dbtest.IsMySQL() { // which shows what foreign keys do to whoever may read the table
		want = append(want, "info gtid_strict_mode is OFF",
			"info what the foreign keys of "+db+".kid do")
	}
	for _, want := range want {
		if !strings.Contains(text, want) {
			t.Errorf("Doctor does not say %q, but\n%s", want, text)
		}
	}
	for _, f := range found {
		mustExec(t, admin, f.Apply...)
	}
	// A session keeps the settings and privileges that it began with.
	again, err := openSource(t, strings.Replace(url, "//root@", "//plain:secret@", 1),
		Options{}).Doctor(t.Context(), source.FeedBinlog, tables[:3])
	if err != nil {
		t.Fatal(err)
	}
	if text := findingsText(again); strings.Contains(text, "error") ||
		!strings.Contains(text, "info "+db+".kid has a foreign key") {
		t.Errorf("after what it asked for, Doctor still says\n%s", text)
	}
	found, err = admin.Doctor(t.Context(), source.FeedBinlog, tables)
	if err != nil || !strings.Contains(findingsText(found), "ignored.t are left out") {
		t.Errorf("Doctor does not say what is left out of the binlog: %s %v", findingsText(found), err)
	}
	if _, err := s.Doctor(t.Context(), source.FeedLogical, nil); err == nil {
		t.Error("Doctor knows a feed of PostgreSQL")
	}
}

func TestMariaDB_DoctorWithoutBinlog(t *testing.T) {
	server := dbtest.NewMariaDB(t, map[string]string{"skip-log-bin": ""})
	s := openSource(t, server.Database(t), Options{})
	found, err := s.Doctor(t.Context(), source.FeedAuto, nil)
	if err != nil || !strings.Contains(findingsText(found), "error the server writes no binlog") {
		t.Errorf("Doctor says %s, %v", findingsText(found), err)
	}
}

func findingsText(found []source.Finding) string {
	text := ""
	for _, f := range found {
		level := []string{"ok", "info", "warning", "error"}[f.Level]
		text += fmt.Sprintf("%s %s %q\n", level, f.Text, f.Apply)
	}
	return text
}

func TestMariaDB_Catalog(t *testing.T) {
	s := newSource(t, `CREATE TABLE t (id int AUTO_INCREMENT PRIMARY KEY, a bigint unsigned DEFAULT 5,
		b varchar(10) COLLATE utf8mb4_nopad_bin NOT NULL COMMENT 'the b', c json, d int AS (f) VIRTUAL,
		e enum('x','y'), f int INVISIBLE, UNIQUE (b))`,
		"CREATE TABLE isam (id int PRIMARY KEY) ENGINE=MyISAM", "CREATE VIEW v AS SELECT id FROM t",
		"INSERT INTO t (b, f) VALUES ('B', 7)")
	refused := map[string]string{"isam": "MyISAM", "v": "a view"}
	if !dbtest.IsMySQL() { // which has no sequences, and takes no point for a key
		mustExec(t, s, "CREATE SEQUENCE seq", "CREATE TABLE place (p point PRIMARY KEY)")
		refused["place"] = "its key column p is point"
	}
	cat, err := s.Catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(cat.Server, dbtest.MariaOrMySQL("MariaDB 1", "MySQL ")) ||
		len(cat.Tables) != 1+len(refused) {
		t.Errorf("catalogue of %s: %+v", cat.Server, cat.Tables)
	}
	tab, _ := cat.Table("t")
	want := []source.Column{
		{Name: "id", Kind: row.Int, NotNull: true, Default: true, Bits: 32},
		{Name: "a", Kind: row.Uint, Default: true}, {Name: "b", Kind: row.Text, NotNull: true,
			Comment: "the b"},
		{Name: "c", Kind: row.JSON, Wide: true}, {Name: "d", Kind: row.Int, Generated: true, Bits: 32},
		{Name: "e", Kind: row.Text, Wide: true, Folds: true}, {Name: "f", Kind: row.Int, Bits: 32},
	}
	for i, c := range tab.Columns {
		if c.Native == "" {
			t.Errorf("%s has no type", c.Name)
		}
		if c.Native = ""; i >= len(want) || c != want[i] {
			t.Errorf("column %d is %+v, want %+v", i, c, want[min(i, len(want)-1)])
		}
	}
	for name, why := range refused {
		if tab, ok := cat.Table(name); !ok || !strings.Contains(tab.Refused, why) {
			t.Errorf("%s is refused with %q, want %q", name, tab.Refused, why)
		}
	}
	p := mustCompile(t, s, &source.Spec{Table: "t", Key: []string{"B"}})
	if got := jsonOf(p, mustLoad(t, p, "B")[0]); got !=
		`{"id":1,"a":5,"b":"B","c":null,"d":7,"e":null}` {
		t.Errorf("the document is %s", got)
	}
}
