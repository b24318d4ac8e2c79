package load

import (
	"fmt"
	"time"
)

// A Result is what one run has measured.
type Result struct {
	Name         string  `json:"name"` // of the server, for tables
	URL          string  `json:"url"`
	Connections  int     `json:"connections"`
	Pipeline     int     `json:"pipeline"`
	Offered      float64 `json:"offered,omitempty"` // requests a second of an open loop
	WritePercent float64 `json:"write_percent,omitempty"`
	Seconds      float64 `json:"seconds"` // that were measured

	Answers uint64  `json:"answers"` // in these seconds
	Rate    float64 `json:"rate"`    // answers a second
	Bytes   uint64  `json:"bytes"`   // of answers, heads included
	Reads   Summary `json:"reads"`
	Writes  Summary `json:"writes,omitzero"`

	Statuses   map[int]uint64    `json:"statuses"`
	Errors     map[string]uint64 `json:"errors,omitempty"` // of the whole run, by kind
	FirstError string            `json:"first_error,omitempty"`
	Checked    uint64            `json:"checked,omitempty"`    // answers, of the whole run
	Reconnects uint64            `json:"reconnects,omitempty"` // of the whole run
	Unfinished uint64            `json:"unfinished,omitempty"` // due, but not answered by the end

	Server *CPU `json:"server,omitempty"` // of Config.PID
	Client *CPU `json:"client,omitempty"` // of this process
}

// Summary are the figures of a Histogram, in microseconds.
type Summary struct {
	Count uint64  `json:"count"`
	Mean  float64 `json:"mean_us"`
	P50   float64 `json:"p50_us"`
	P90   float64 `json:"p90_us"`
	P99   float64 `json:"p99_us"`
	P999  float64 `json:"p999_us"`
	Max   float64 `json:"max_us"`
}

// CPU is what an answer has cost a process and its children.
type CPU struct {
	User   float64 `json:"user_us"`   // microseconds an answer
	System float64 `json:"system_us"` // the same, in the kernel
	Total  float64 `json:"total_us"`
	Cores  float64 `json:"cores"`    // that were busy on average
	Peak   int64   `json:"peak_rss"` // bytes, since the process began
}

// Failed returns how many requests failed.
func (r *Result) Failed() (n uint64) {
	for _, count := range r.Errors {
		n += count
	}
	return n
}

// Err returns an error if requests failed.
func (r *Result) Err() error {
	if n := r.Failed(); n > 0 {
		return fmt.Errorf("%d requests failed; the first: %s", n, r.FirstError)
	}
	return nil
}

// result adds up what the workers, which have ended, counted.
func (r *run) result() *Result {
	var sum tally
	for _, w := range r.workers {
		sum.add(&w.tally)
	}
	res := &Result{
		URL: r.cfg.URL, Connections: r.cfg.Connections, Pipeline: r.cfg.Pipeline,
		Offered: r.cfg.Rate, WritePercent: r.cfg.Write.Percent,
		Seconds: r.till.at.Sub(r.from.at).Seconds(), Answers: r.till.answers - r.from.answers,
		Bytes: sum.bytes, Reads: sum.reads.Summary(), Writes: sum.writes.Summary(),
		Statuses: map[int]uint64{}, Checked: sum.checked, Reconnects: sum.reconnects,
		Unfinished: sum.unfinished,
	}
	res.Rate = float64(res.Answers) / res.Seconds
	for status, n := range sum.statuses {
		if n > 0 {
			res.Statuses[status] = n
		}
	}
	if sum.first != nil {
		res.Errors, res.FirstError = map[string]uint64{}, sum.first.Error()
	}
	for kind, n := range sum.errors {
		if n > 0 {
			res.Errors[errorNames[kind]] = n
		}
	}
	if r.from.complete && r.till.complete {
		res.Server = cpu(r.from.server, r.till.server, res)
	}
	if r.till.own != (usage{}) {
		res.Client = cpu(r.from.own, r.till.own, res)
	}
	return res
}

// cpu returns what the answers of res have cost a process between two marks.
func cpu(from, till usage, res *Result) *CPU {
	n := float64(max(res.Answers, 1))
	c := &CPU{
		User: micros(till.user-from.user) / n, System: micros(till.system-from.system) / n,
		Peak: till.peak,
	}
	c.Total = c.User + c.System
	c.Cores = c.Total * n / (res.Seconds * float64(time.Second/time.Microsecond))
	return c
}
