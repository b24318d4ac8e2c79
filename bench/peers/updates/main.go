// Command updates changes single rows of a table at a steady rate, each in a transaction of
// its own, over a few connections. It prints what it has done as JSON; with -sessions it
// lists the threads, or processes, of all other sessions instead.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"log"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
)

func main() {
	raw := flag.String("url", "", "of the database")
	rate := flag.Int("rate", 500, "transactions a second")
	connections := flag.Int("connections", 4, "that share them")
	keys := flag.Int("keys", 1000, "rows of the table kv")
	total := flag.Duration("time", 4*time.Second, "how long to write")
	sessions := flag.Bool("sessions", false, "list sessions")
	flag.Parse()
	db, ask, err := open(*raw)
	if err != nil {
		log.Fatal(err)
	}
	if *sessions {
		if err := list(db, ask.sessions); err != nil {
			log.Fatal(err)
		}
		return
	}
	db.SetMaxIdleConns(*connections)
	ctx, cancel := context.WithTimeout(context.Background(), *total)
	defer cancel()
	var commits atomic.Int64
	var work sync.WaitGroup
	begun := time.Now()
	for range *connections {
		work.Go(func() {
			tick := time.NewTicker(time.Duration(*connections) * time.Second / time.Duration(*rate))
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
				if _, err := db.Exec(ask.update, 1+rand.IntN(*keys)); err != nil {
					log.Fatal(err)
				}
				commits.Add(1)
			}
		})
	}
	work.Wait()
	err = json.NewEncoder(os.Stdout).Encode(struct{ Commits, Seconds float64 }{
		float64(commits.Load()), time.Since(begun).Seconds()})
	if err != nil {
		log.Fatal(err)
	}
}

// list prints the numbers that a query returns as JSON.
func list(db *sql.DB, query string) error {
	rows, err := db.Query(query)
	if err != nil {
		return err
	}
	defer rows.Close()
	ids := []int{}
	for rows.Next() {
		var id int
		if err := rows.Scan(&id); err != nil {
			return err
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(ids)
}

// statements are in the words of one database: one changes the row whose key it is given,
// one lists the threads or processes of the sessions of others.
type statements struct{ update, sessions string }

// open returns the database and its statements.
func open(raw string) (*sql.DB, statements, error) {
	if !strings.HasPrefix(raw, "mysql:") {
		db, err := sql.Open("pgx", raw)
		return db, statements{"UPDATE kv SET v = v + 1 WHERE id = $1",
			"SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()" +
				" AND backend_type IN ('client backend', 'walsender')"}, err
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, statements{}, err
	}
	db, err := sql.Open("mysql", u.User.String()+"@tcp("+u.Host+")"+u.Path)
	if err != nil {
		return nil, statements{}, err
	}
	of := statements{"UPDATE kv SET v = v + 1 WHERE id = ?",
		"SELECT tid FROM information_schema.processlist WHERE id <> connection_id()" +
			" AND command <> 'Daemon'"}
	var version string
	if err := db.QueryRow("SELECT VERSION()").Scan(&version); err != nil {
		return nil, statements{}, err
	}
	if !strings.Contains(version, "MariaDB") {
		of.sessions = "SELECT thread_os_id FROM performance_schema.threads" +
			" WHERE processlist_id <> connection_id() AND type = 'FOREGROUND'" +
			" AND processlist_command <> 'Daemon'"
	}
	return db, of, nil
}
