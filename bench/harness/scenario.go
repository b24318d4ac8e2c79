package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/bench/load"
)

// A Scenario is what scenarios/NNN-name/scenario.json says.
type Scenario struct {
	Name        string      `json:"-"` // of its directory
	Title       string      `json:"title"`
	About       string      `json:"about"`
	Kind        string      `json:"kind"` // one of the registry's; none: rows under load
	Rows        []row       `json:"rows"`
	Baseline    string      `json:"baseline"` // the row that ratios are to; none: no ratios
	Placements  []Placement `json:"placements"`
	Connections []int       `json:"connections"`
	Streams     []int       `json:"streams"` // of HTTP/2, for each number of connections
	Rate        *rate       `json:"rate"`    // open loop; none: closed
	Keys        int         `json:"keys"`    // how many are asked for; none: all
	Alone       bool        `json:"alone"`   // a peer runs while it is measured only
	Targets     []target    `json:"targets"`
	Published   []published `json:"published"`
}

// A row is one line of the table: a peer, and what is asked of it.
type row struct {
	Peer      string     `json:"peer"`
	Name      string     `json:"name"` // that of the peer, if not given
	Header    []string   `json:"header"`
	Generator string     `json:"generator"` // hotrow's (the default), or one of generators
	Program   string     `json:"program"`   // of generator program: language, client, scheme
	Pipeline  int        `json:"pipeline"`
	Batch     int        `json:"batch"`  // keys of one read
	Path      string     `json:"path"`   // with {n}; that of the peer, if not given
	Groups    []string   `json:"groups"` // panels of the plot that show it
	Read      string     `json:"read"`   // a way to choose keys, where tiers are read
	Write     load.Write `json:"write"`
	During    string     `json:"during"` // SQL that runs meanwhile
	SQL       string     `json:"sql"`    // of generator pgload, with $1

	// Distribution is how keys are chosen; uniform, if not given.
	Distribution load.Distribution `json:"distribution"`

	MaxConnections int `json:"max_connections"` // the row ends here

	streams map[int]int // by connections
}

// generators are what a row may name.
var generators = []string{ours, tlsLoad, h2Load, phpStreams, phpCurl, ownClient, program,
	pgLoad}

// A rate is a share of what one row reaches when all goes that can.
type rate struct {
	Row   string  `json:"row"`
	Share float64 `json:"share"`
}

// A Placement is which cores server and generator have.
type Placement string

const (
	Pinned Placement = "pinned" // the server has the first core, the generator the second
	Free   Placement = "free"   // both share all cores
)

// ReadScenarios reads the scenarios among files, NAME/scenario.json, whose names match.
func ReadScenarios(
	files fs.FS, match *regexp.Regexp, reg *Registry,
) ([]*Scenario, error) {
	paths, err := fs.Glob(files, "*/scenario.json")
	if err != nil {
		return nil, err
	}
	var all []*Scenario
	for _, file := range paths {
		name := path.Dir(file)
		if !match.MatchString(name) {
			continue
		}
		s, err := readScenario(files, file, reg)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		s.Name = name
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no scenario matches %q", match)
	}
	return all, nil
}

// readScenario reads one scenario.
func readScenario(files fs.FS, file string, reg *Registry) (*Scenario, error) {
	text, err := fs.ReadFile(files, file)
	if err != nil {
		return nil, err
	}
	var s Scenario
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return nil, err
	}
	for i := range s.Rows {
		SetDefault(&s.Rows[i].Name, s.Rows[i].Peer)
		SetDefault(&s.Rows[i].Generator, ours)
		s.Rows[i].streams = map[int]int{}
		for j, n := range s.Streams[:min(len(s.Streams), len(s.Connections))] {
			s.Rows[i].streams[s.Connections[j]] = n
		}
	}
	return &s, s.validate(reg)
}

// SetDefault gives *p a value if it has none.
func SetDefault(p *string, value string) {
	if *p == "" {
		*p = value
	}
}

// validate says what is wrong with a scenario.
func (s *Scenario) validate(reg *Registry) error {
	var names []string
	for i := range s.Rows {
		if err := s.Rows[i].validate(reg); err != nil {
			return err
		}
		if slices.Contains(names, s.Rows[i].Name) {
			return fmt.Errorf("two rows are called %q", s.Rows[i].Name)
		}
		names = append(names, s.Rows[i].Name)
	}
	if _, ok := reg.Kinds[s.Kind]; s.Kind != "" && !ok {
		return fmt.Errorf("there is no kind %q", s.Kind)
	}
	if s.Alone && s.Rate != nil {
		return errors.New("alone: a rate is that of a peer which runs all the time")
	}
	for i := range s.Targets {
		if err := s.Targets[i].validate(s, names); err != nil {
			return err
		}
	}
	for i := range s.Published {
		if err := s.Published[i].validate(); err != nil {
			return err
		}
	}
	if s.Baseline != "" && !slices.Contains(names, s.Baseline) {
		return fmt.Errorf("the baseline %q is not a row", s.Baseline)
	}
	if s.Rate != nil && !slices.Contains(names, s.Rate.Row) {
		return fmt.Errorf("the rate's row %q is not a row", s.Rate.Row)
	}
	for _, p := range s.Placements {
		if p != Pinned && p != Free {
			return fmt.Errorf("placement %q: want %s or %s", p, Pinned, Free)
		}
	}
	if len(s.Streams) > 0 && len(s.Streams) != len(s.Connections) {
		return errors.New("streams: want one for each number of connections")
	}
	if len(s.Rows) == 0 || len(s.Placements) == 0 || len(s.Connections) == 0 {
		return errors.New("rows, placements and connections must not be empty")
	}
	return nil
}

// validate says what is wrong with a row.
func (r *row) validate(reg *Registry) error {
	if _, ok := reg.Peers[r.Peer]; !ok {
		return fmt.Errorf("there is no peer %q", r.Peer)
	}
	if !slices.Contains(generators, r.Generator) {
		return fmt.Errorf("generator %q: want one of %v", r.Generator, generators)
	}
	if (r.Generator == program) != (len(strings.Fields(r.Program)) == 3) {
		return fmt.Errorf("program %q: want a language, a client and a scheme, with generator %s",
			r.Program, program)
	}
	if r.Read != "" && !slices.Contains(reg.Reads, r.Read) {
		return fmt.Errorf("read %q: want one of %v", r.Read, reg.Reads)
	}
	return nil
}

// Shorten makes a scenario one for -quick: every row, few connections.
func (s *Scenario) Shorten() {
	for i, n := range s.Connections {
		s.Connections[i] = min(n, 256)
	}
	s.Connections = slices.Compact(s.Connections)
	s.Connections = s.Connections[:min(len(s.Connections), 2)]
}

// peers returns the names of the peers that a scenario needs, each once.
func (s *Scenario) peers() []string {
	var names []string
	for _, r := range s.Rows {
		if !slices.Contains(names, r.Peer) {
			names = append(names, r.Peer)
		}
	}
	return names
}
