// Command ask asks a server for rows while it is restarted: see package restart. It
// prints a line of JSON for each protocol, and fails if a question has.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/hotrow/hotrow/internal/restart"
)

func main() {
	var l restart.Load
	flag.StringVar(&l.HTTP, "http", "", "HOST:PORT")
	flag.StringVar(&l.Wire, "wire", "", "HOST:PORT")
	flag.StringVar(&l.RESP, "resp", "", "HOST:PORT")
	flag.StringVar(&l.Resource, "resource", "dept", "whose rows")
	flag.IntVar(&l.Keys, "keys", 10000, "1 to this")
	flag.StringVar(&l.Want, "want", "{", "what documents begin with, {n} being the key")
	flag.IntVar(&l.Clients, "clients", 16, "of each protocol")
	during := flag.Duration("for", 10*time.Second, "how long")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), *during)
	defer cancel()
	failed := false
	for _, c := range l.Run(ctx) {
		failed = failed || c.Failed > 0 || c.Answers == 0
		text, err := json.Marshal(struct {
			restart.Count
			Rate int64 `json:"answers_per_s"`
		}{c, int64(float64(c.Answers) / during.Seconds())})
		if err != nil {
			panic("BUG: " + err.Error())
		}
		fmt.Println(string(text))
	}
	if failed {
		os.Exit(1)
	}
}
