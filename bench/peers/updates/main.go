// Command updates changes single rows of a table at a steady rate, each in a transaction of
// its own, over a few connections. It prints what it has done as JSON.
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
	flag.Parse()
	db, update, err := open(*raw)
	if err != nil {
		log.Fatal(err)
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
				if _, err := db.Exec(update, 1+rand.IntN(*keys)); err != nil {
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

// open returns the database, and the statement that changes the row whose key it is given.
func open(raw string) (*sql.DB, string, error) {
	if !strings.HasPrefix(raw, "mysql:") {
		db, err := sql.Open("pgx", raw)
		return db, "UPDATE kv SET v = v + 1 WHERE id = $1", err
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, "", err
	}
	db, err := sql.Open("mysql", u.User.String()+"@tcp("+u.Host+")"+u.Path)
	return db, "UPDATE kv SET v = v + 1 WHERE id = ?", err
}
