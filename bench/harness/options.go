package harness

import (
	"regexp"
	"time"
)

// Options are the command line.
type Options struct {
	Quick    bool
	Run      *regexp.Regexp
	Rounds   int
	Duration time.Duration
	Warmup   time.Duration
	Keys     int
	At       []int // connections, instead of those that a scenario names
	Results  string
	Work     string
	Hotrow   string
	Show     bool
}

// A setup is how the rounds were made.
type setup struct {
	Rounds   int           `json:"rounds"`
	Duration time.Duration `json:"duration_ns"`
	Warmup   time.Duration `json:"warmup_ns"`
	Keys     int           `json:"keys"`
}

// setup returns that of the command line.
func (o *Options) setup() setup { return setup{o.Rounds, o.Duration, o.Warmup, o.Keys} }
