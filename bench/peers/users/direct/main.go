// Command direct asks MariaDB or memcached for random users, with no service in
// between: what the services of the seed's chart are compared with. Each client is
// a goroutine with a connection of its own that asks again as soon as it is
// answered. It writes what it has measured as JSON.
package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	_ "github.com/go-sql-driver/mysql"
)

// A client has one connection. get returns the mail of a user.
type client struct {
	get   func(id string) (mail string, err error)
	close func() error
}

// A tally is what one client has counted.
type tally struct {
	took   []time.Duration
	failed int
	err    error
}

// A result is written at the end. Latencies are in µs.
type result struct {
	Answers, Failed              int
	Seconds, P50, P90, P99, P999 float64
}

func main() {
	dsn := flag.String("database", "", "of MariaDB: user@unix(socket)/database")
	cache := flag.String("memcached", "", "address of memcached, instead")
	clients := flag.Int("clients", 1, "at once")
	keys := flag.Int("keys", 1, "users, numbered from 0")
	warmup := flag.Duration("warmup", time.Second, "before what is measured")
	duration := flag.Duration("time", 5*time.Second, "what is measured")
	flag.Parse()
	open := func() (*client, error) { return openSQL(*dsn) }
	if *cache != "" {
		open = func() (*client, error) { return openMemcached(*cache) }
	}
	tallies := make([]tally, *clients)
	begins := time.Now().Add(*warmup)
	var all sync.WaitGroup
	for i := range tallies {
		all.Go(func() {
			c, err := open()
			if err != nil {
				tallies[i].err = err
				return
			}
			tallies[i].run(c, *keys, begins, begins.Add(*duration))
			_ = c.close() // the answers have come
		})
	}
	all.Wait()
	r, err := sum(tallies, *duration)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(r)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run asks until the end, and counts from the beginning on.
func (t *tally) run(c *client, keys int, begins, ends time.Time) {
	for now := time.Now(); now.Before(ends); {
		id := strconv.Itoa(rand.IntN(keys))
		mail, err := c.get(id)
		done := time.Now()
		if now.After(begins) {
			t.took = append(t.took, done.Sub(now))
			if err != nil || mail != "user"+id+"@example.org" {
				t.failed++
			}
		}
		now = done
	}
}

// sum makes one result of all.
func sum(tallies []tally, duration time.Duration) (result, error) {
	r := result{Seconds: duration.Seconds()}
	var all []time.Duration
	for i := range tallies {
		if tallies[i].err != nil {
			return r, tallies[i].err
		}
		all = append(all, tallies[i].took...)
		r.Failed += tallies[i].failed
	}
	slices.Sort(all)
	at := func(q float64) float64 {
		if len(all) == 0 {
			return 0
		}
		return float64(all[min(int(q*float64(len(all))), len(all)-1)]) / float64(time.Microsecond)
	}
	r.Answers = len(all)
	r.P50, r.P90, r.P99, r.P999 = at(0.5), at(0.9), at(0.99), at(0.999)
	return r, nil
}

// openSQL makes a client of MariaDB with a prepared statement.
func openSQL(dsn string) (*client, error) {
	ctx := context.Background()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	query, err := conn.PrepareContext(ctx, "SELECT name, mail FROM user WHERE id = ?")
	if err != nil {
		return nil, err
	}
	return &client{close: db.Close, get: func(id string) (mail string, err error) {
		var name string
		err = query.QueryRow(id).Scan(&name, &mail)
		return mail, err
	}}, nil
}

// openMemcached makes a client of memcached's text protocol.
func openMemcached(address string) (*client, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	in := bufio.NewReader(conn)
	return &client{close: conn.Close, get: func(id string) (string, error) {
		if _, err := fmt.Fprintf(conn, "get %s\r\n", id); err != nil {
			return "", err
		}
		if line, err := in.ReadString('\n'); err != nil || !strings.HasPrefix(line, "VALUE ") {
			return "", errors.Join(err, fmt.Errorf("the server answers %q", line))
		}
		value, err := in.ReadString('\n')
		if err != nil {
			return "", err
		}
		_, mail, _ := strings.Cut(strings.TrimSuffix(value, "\r\n"), "|")
		_, err = in.ReadString('\n') // END
		return mail, err
	}}, nil
}
