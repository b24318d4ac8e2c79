package harness

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/hotrow/hotrow/bench/load"
)

// Wrk is the program that the scenarios about links load with.
const Wrk = "wrk"

// ours is the generator of a row that names none.
const ours = "hotrow"

var (
	wrkTotal   = regexp.MustCompile(`(\d+) requests in ([\d.]+)(us|ms|s|m)`)
	wrkLatency = regexp.MustCompile(`(?m)^\s+(50|75|90|99)%\s+([\d.]+)(us|ms|s|m)$`)
	wrkFailed  = regexp.MustCompile(`(Non-2xx or 3xx responses|connect|read|write|timeout):? (\d+)`)
)

// ParseWrk reads what wrk prints.
func ParseWrk(out []byte) (*load.Result, error) {
	total := wrkTotal.FindSubmatch(out)
	if total == nil {
		return nil, fmt.Errorf("wrk says nothing of requests: %.400s", out)
	}
	n, err := strconv.ParseUint(string(total[1]), 10, 64)
	took, tookErr := wrkTime(total[2], total[3])
	if err := errors.Join(err, tookErr); err != nil {
		return nil, err
	}
	r := &load.Result{Answers: n, Seconds: took / 1e6, Rate: float64(n) / (took / 1e6)}
	r.Reads.Count = n
	quantiles := map[string]*float64{
		"50": &r.Reads.P50, "75": new(float64), "90": &r.Reads.P90, "99": &r.Reads.P99,
	}
	for _, m := range wrkLatency.FindAllSubmatch(out, -1) {
		if *quantiles[string(m[1])], err = wrkTime(m[2], m[3]); err != nil {
			return nil, err
		}
	}
	for _, m := range wrkFailed.FindAllSubmatch(out, -1) {
		count, err := strconv.ParseUint(string(m[2]), 10, 64)
		if err != nil {
			return nil, err
		}
		if count > 0 {
			if r.Errors == nil {
				r.Errors = map[string]uint64{}
			}
			r.Errors[string(m[1])] += count
		}
	}
	return r, nil
}

// wrkTime returns a time in µs.
func wrkTime(number, unit []byte) (float64, error) {
	v, err := strconv.ParseFloat(string(number), 64)
	return v * map[string]float64{"us": 1, "ms": 1e3, "s": 1e6, "m": 60e6}[string(unit)], err
}
