// Command foreign writes to a database behind the back of the server in front
// of it and measures how long after each commit the server still answers with
// what was there before. It prints what it has seen as JSON.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	between   = 5 * time.Millisecond   // one write and the next
	askEvery  = 200 * time.Microsecond // while an answer is the old one
	giveUp    = 5 * time.Second        // on a row that stays as it was
	perSecond = float64(time.Second / time.Millisecond)
)

func main() {
	url := flag.String("url", "", "of the database")
	base := flag.String("get", "", "URL of the documents, without the key")
	first := flag.Int64("first", 1_000_000, "the first key")
	keys := flag.Int64("keys", 1000, "how many there are")
	total := flag.Duration("time", 4*time.Second, "how long to write")
	flag.Parse()
	ctx := context.Background()
	db, err := pgx.Connect(ctx, *url)
	if err != nil {
		log.Fatal(err)
	}
	w := &writer{db: db, base: *base}
	for end, i := time.Now().Add(*total), 0; time.Now().Before(end); i++ {
		key := *first + rand.Int64N(*keys)
		if err := w.write(ctx, key, fmt.Sprintf("AT %d %d", os.Getpid(), i)); err != nil {
			log.Fatal(err)
		}
		time.Sleep(between)
	}
	if err := json.NewEncoder(os.Stdout).Encode(w.report()); err != nil {
		log.Fatal(err)
	}
}

// A writer writes rows and waits until they are seen.
type writer struct {
	db    *pgx.Conn
	base  string
	taken []float64 // ms until a new answer came
	asked []float64 // ms until it was asked for
	lost  int
}

// write changes one row and waits until the server answers with the change.
func (w *writer) write(ctx context.Context, key int64, location string) error {
	if _, err := w.get(key); err != nil { // so that it is held in memory
		return err
	}
	_, err := w.db.Exec(ctx, "UPDATE dept SET loc = $1 WHERE deptno = $2", location, key)
	if err != nil {
		return err
	}
	committed := time.Now()
	want := []byte(strconv.Quote(location))
	for {
		asked := time.Now()
		body, err := w.get(key)
		if err != nil {
			return err
		}
		// An answer that is new became so after it was asked for and before it
		// came, or before both. What lies between is the event loop's and the load's.
		if bytes.Contains(body, want) {
			w.taken = append(w.taken, time.Since(committed).Seconds()*perSecond)
			w.asked = append(w.asked, asked.Sub(committed).Seconds()*perSecond)
			return nil
		}
		if asked.Sub(committed) > giveUp {
			w.lost++
			return nil
		}
		time.Sleep(askEvery)
	}
}

// get reads a document.
func (w *writer) get(key int64) ([]byte, error) {
	resp, err := http.Get(w.base + strconv.FormatInt(key, 10))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %d: %s: %.200s", key, resp.Status, body)
	}
	return body, err
}

// A report is what was seen, in ms.
type report struct {
	Commits, Lost int
	P50, P99, Max float64
	AskedP99      float64
}

func (w *writer) report() report {
	slices.Sort(w.taken)
	slices.Sort(w.asked)
	r := report{Commits: len(w.taken) + w.lost, Lost: w.lost}
	if n := len(w.taken); n > 0 {
		r.P50, r.P99, r.Max = w.taken[n/2], w.taken[n*99/100], w.taken[n-1]
		r.AskedP99 = w.asked[n*99/100]
	}
	return r
}
