// Command pgload asks PostgreSQL itself, by a prepared statement over some connections, each
// of which sends the next as soon as it has the answer. It costs less than a program that
// looks at what it gets: rows are counted, and not read.
//
// It prints {} when it is warm, what it has measured as one JSON object, and ends with its
// input: what the server has used can be read while its connections are open.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

func main() {
	r := &run{}
	url := flag.String("url", "", "of the database")
	flag.StringVar(&r.sql, "sql", "", "statement of one parameter: a key, or an array of -batch keys")
	clients := flag.Int("clients", 1, "connections")
	flag.IntVar(&r.batch, "batch", 1, "keys of one statement")
	flag.IntVar(&r.pipeline, "pipeline", 1, "statements sent together")
	flag.Int64Var(&r.first, "first", 1, "the first key")
	flag.Int64Var(&r.keys, "keys", 1, "how many there are")
	flag.BoolVar(&r.zipf, "zipf", false, "key k as often as 1/(1+k)^1.1")
	warmup := flag.Duration("warmup", time.Second, "before it is measured")
	duration := flag.Duration("time", time.Second, "what is measured")
	flag.Parse()
	if err := r.measure(*url, *clients, *warmup, *duration); err != nil {
		log.Fatal(err)
	}
}

// A run is what all connections share.
type run struct {
	sql      string
	batch    int
	pipeline int
	first    int64
	keys     int64
	zipf     bool
}

// measure asks for some time, and prints what it has seen.
func (r *run) measure(url string, clients int, warmup, duration time.Duration) error {
	ctx := context.Background()
	all := make([]*client, clients)
	for i := range all {
		conn, err := pgconn.Connect(ctx, url)
		if err != nil {
			return err
		}
		if _, err := conn.Prepare(ctx, "q", r.sql, nil); err != nil {
			return err
		}
		all[i] = newClient(r, conn, int64(i))
	}
	if err := together(all, warmup); err != nil {
		return err
	}
	for _, c := range all {
		c.took = c.took[:0]
	}
	fmt.Println("{}")
	began := time.Now()
	if err := together(all, duration); err != nil {
		return err
	}
	seconds := time.Since(began).Seconds()
	var took []float64
	for _, c := range all {
		took = append(took, c.took...)
	}
	slices.Sort(took)
	at := func(q float64) float64 { return took[int(q*float64(len(took)-1))] }
	err := json.NewEncoder(os.Stdout).Encode(map[string]any{"answers": len(took), "failed": 0,
		"seconds": seconds, "p50_us": at(0.5), "p90_us": at(0.9), "p99_us": at(0.99),
		"p999_us": at(0.999)})
	if err == nil {
		_, err = io.Copy(io.Discard, os.Stdin)
	}
	return err
}

// together has all connections ask for some time.
func together(all []*client, d time.Duration) error {
	until := time.Now().Add(d)
	errs := make([]error, len(all))
	var work sync.WaitGroup
	for i, c := range all {
		work.Go(func() { errs[i] = c.ask(until) })
	}
	work.Wait()
	return errors.Join(errs...)
}

// A client is one connection.
type client struct {
	run  *run
	conn *pgconn.PgConn
	rng  *rand.Rand
	zipf *rand.Zipf
	took []float64 // µs
}

func newClient(r *run, conn *pgconn.PgConn, seed int64) *client {
	rng := rand.New(rand.NewSource(seed + 1))
	return &client{run: r, conn: conn, rng: rng,
		zipf: rand.NewZipf(rng, 1.1, 1, uint64(r.keys-1))}
}

// key chooses a key.
func (c *client) key() string {
	n := c.rng.Int63n(c.run.keys)
	if c.run.zipf {
		n = int64(c.zipf.Uint64())
	}
	return strconv.FormatInt(c.run.first+n, 10)
}

// parameter chooses the parameter of one statement.
func (c *client) parameter() []byte {
	if c.run.batch <= 1 {
		return []byte(c.key())
	}
	keys := make([]string, c.run.batch)
	for i := range keys {
		keys[i] = c.key()
	}
	return []byte("{" + strings.Join(keys, ",") + "}")
}

// ask asks until then. An answer without a row is an error.
func (c *client) ask(until time.Time) error {
	answers := func() error {
		parameter := c.parameter()
		result := c.conn.ExecPrepared(context.Background(), "q", [][]byte{parameter}, nil, binary)
		if err := count(result); err != nil {
			return fmt.Errorf("%s: %w", parameter, err)
		}
		return nil
	}
	if c.run.pipeline > 1 {
		answers = c.together
	}
	for now := time.Now(); now.Before(until); {
		if err := answers(); err != nil {
			return err
		}
		done := time.Now()
		took := float64(done.Sub(now).Nanoseconds()) / 1e3
		for range c.run.pipeline {
			c.took = append(c.took, took)
		}
		now = done
	}
	return nil
}

var binary = []int16{1} // the format of all columns

// together sends some statements and then takes their answers.
func (c *client) together() error {
	p := c.conn.StartPipeline(context.Background())
	for range c.run.pipeline {
		p.SendQueryPrepared("q", [][]byte{c.parameter()}, nil, binary)
	}
	err := p.Sync()
	for i := 0; err == nil && i < c.run.pipeline; i++ {
		var result any
		if result, err = p.GetResults(); err == nil {
			rows, ok := result.(*pgconn.ResultReader)
			if !ok {
				return fmt.Errorf("%T instead of rows", result)
			}
			err = count(rows)
		}
	}
	return errors.Join(err, p.Close())
}

// count reads the rows of one answer.
func count(result *pgconn.ResultReader) error {
	rows := 0
	for result.NextRow() {
		rows++
	}
	if _, err := result.Close(); err != nil {
		return err
	}
	if rows == 0 {
		return errors.New("an answer without a row")
	}
	return nil
}
