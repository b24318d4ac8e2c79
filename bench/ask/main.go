// Command ask makes one run of package load, for scripts: its argument is a load.Config as
// JSON. It prints the answers a second and the microseconds of the server's processor for each.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/hotrow/hotrow/bench/load"
)

func main() {
	if err := ask(); err != nil {
		fmt.Fprintln(os.Stderr, "ask:", err)
		os.Exit(1)
	}
}

func ask() error {
	if len(os.Args) != 2 {
		return errors.New(`give a load.Config: '{"URL": "redis://127.0.0.1:6380/depts:10"}'`)
	}
	var c load.Config
	if err := json.Unmarshal([]byte(os.Args[1]), &c); err != nil {
		return fmt.Errorf("read the load.Config: %w", err)
	}
	r, err := load.Run(context.Background(), c)
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		return err
	}
	if r.Server == nil {
		return errors.New("the CPU time of the server is not known: give its PID")
	}
	fmt.Printf("%.0f %.3f\n", r.Rate, r.Server.Total)
	return nil
}
