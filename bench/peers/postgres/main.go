// Command postgres serves documents with net/http and asks PostgreSQL for each:
// two prepared statements over a pool, then encoding/json. It is what a service
// without a cache does.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hotrow/hotrow/bench/peers/document"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address")
	url := flag.String("url", "", "of the database")
	flag.Parse()
	cfg, err := pgxpool.ParseConfig(*url)
	if err != nil {
		log.Fatal(err)
	}
	cfg.MaxConns = 16
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe(*listen, serve(pool)))
}

// serve answers with what the database holds now.
func serve(pool *pgxpool.Pool) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		key, ok := document.Key(req.URL.Path)
		if !ok {
			http.NotFound(w, req)
			return
		}
		dept, err := load(req.Context(), pool, key)
		if errors.Is(err, pgx.ErrNoRows) {
			http.NotFound(w, req)
			return
		}
		var body []byte
		if err == nil {
			body, err = json.Marshal(dept)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	}
}

const (
	deptSQL = "SELECT deptno, dname, loc FROM dept WHERE deptno = $1"
	empsSQL = "SELECT empno, ename, job, mgr, hiredate, sal, comm, deptno FROM emp " +
		"WHERE deptno = $1 ORDER BY empno"
)

// load reads one department with its employees, both queries in one round trip.
func load(ctx context.Context, pool *pgxpool.Pool, key int64) (*document.Dept, error) {
	batch := &pgx.Batch{}
	batch.Queue(deptSQL, key)
	batch.Queue(empsSQL, key)
	results := pool.SendBatch(ctx, batch)
	defer results.Close()
	d := &document.Dept{Emps: []document.Emp{}}
	if err := results.QueryRow().Scan(&d.Number, &d.Name, &d.Location); err != nil {
		return nil, err
	}
	rows, err := results.Query()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var e document.Emp
		var hired *time.Time
		if err := rows.Scan(&e.Number, &e.Name, &e.Job, &e.Manager, &hired, &e.Salary, &e.Comm,
			&e.Dept); err != nil {
			return nil, err
		}
		if hired != nil {
			text := hired.Format(time.RFC3339)
			e.Hiredate = &text
		}
		d.Emps = append(d.Emps, e)
	}
	return d, rows.Err()
}
