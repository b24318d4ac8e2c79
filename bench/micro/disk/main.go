// Disk measures the two libraries that a tier on disk could be made of, bbolt
// and pebble, with documents of the size and kind that the tier keeps.
//
// It is a module of its own, so that the one which was not taken is no
// dependency of hotrow's. The figures are in bench/results/disk-tier.md, with
// the commands that repeat them.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// batch is how many documents are written with one fsync.
const batch = 10_000

// A store is one of the libraries, opened.
type store interface {
	// get calls see with the value of key, which is good for that call only.
	get(key []byte, see func([]byte)) error
	// write puts the documents of these numbers, durable when it returns.
	write(numbers []int, value func(int) []byte) error
	close() error
}

// bench is what the flags say.
type bench struct {
	store   string
	dir     string
	n       int
	reads   int
	batches int
	sorted  bool
}

func main() {
	var b bench
	var do string
	flag.StringVar(&b.store, "store", "bbolt", "bbolt or pebble")
	flag.StringVar(&b.dir, "dir", "", "where the files are; a directory that may be filled")
	flag.IntVar(&b.n, "n", 1_000_000, "documents")
	flag.IntVar(&b.reads, "reads", 300_000, "random reads of each row")
	flag.IntVar(&b.batches, "batches", 7, "batches of 10,000 random overwrites")
	flag.BoolVar(&b.sorted, "sorted", false, "fill in the order of the keys: quicker, and kinder")
	flag.StringVar(&do, "do", "fill,open,read,write", "what is done, in this order")
	flag.Parse()
	if b.dir == "" {
		fmt.Fprintln(os.Stderr, "disk: -dir is missing")
		os.Exit(2)
	}
	for what := range strings.SplitSeq(do, ",") {
		if err := b.run(what); err != nil {
			fmt.Fprintf(os.Stderr, "disk: %s: %v\n", what, err)
			os.Exit(1)
		}
	}
}

// run does one thing on a store that it opens and closes.
func (b *bench) run(what string) error {
	begin := time.Now()
	s, err := b.open()
	if err != nil {
		return err
	}
	opened := time.Since(begin)
	switch what {
	case "fill":
		err = b.fill(s)
	case "open":
		err = s.get(key(nil, 1), func([]byte) {})
		fmt.Printf("%s n=%d open %v, with a first read %v\n", b.store, b.n, opened,
			time.Since(begin))
	case "read":
		for _, procs := range []int{1, 2} {
			err = errors.Join(err, b.read(s, procs))
		}
	case "write":
		err = b.overwrite(s)
	default:
		err = fmt.Errorf("want fill, open, read or write, found %q", what)
	}
	return errors.Join(err, s.close())
}

func (b *bench) open() (store, error) {
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return nil, err
	}
	switch b.store {
	case "bbolt":
		return openBolt(filepath.Join(b.dir, "bolt.db"))
	case "pebble":
		return openPebble(filepath.Join(b.dir, "pebble"))
	}
	return nil, fmt.Errorf("want bbolt or pebble, found %q", b.store)
}

// fill writes every document once.
func (b *bench) fill(s store) error {
	order := make([]int, b.n)
	for i := range order {
		order[i] = i
	}
	if !b.sorted {
		rand.New(rand.NewPCG(1, 1)).Shuffle(b.n, func(i, j int) {
			order[i], order[j] = order[j], order[i]
		})
	}
	begin := time.Now()
	for part := range slices.Chunk(order, batch) {
		if err := s.write(part, document); err != nil {
			return err
		}
	}
	took := time.Since(begin)
	fmt.Printf("%s n=%d fill sorted=%t %.1f s, %.0f ms a batch; files %s; memory %s\n", b.store,
		b.n, b.sorted, took.Seconds(), took.Seconds()*1e3*batch/float64(b.n), size(b.dir), memory())
	return nil
}

// read reads random documents with procs goroutines, and looks at their ends.
func (b *bench) read(s store, procs int) error {
	var work sync.WaitGroup
	errs := make([]error, procs)
	begin := time.Now()
	for p := range procs {
		work.Go(func() {
			r := rand.New(rand.NewPCG(2, uint64(p)))
			var k []byte
			sum := 0
			for range b.reads {
				k = key(k[:0], r.IntN(b.n))
				err := s.get(k, func(v []byte) { sum += int(v[0]) + int(v[len(v)-1]) })
				if err != nil {
					errs[p] = err
					return
				}
			}
			if sum == 0 {
				errs[p] = errors.New("the documents are empty")
			}
		})
	}
	work.Wait()
	took := time.Since(begin)
	fmt.Printf("%s n=%d read procs=%d %.0f ns a read of each; memory %s\n", b.store, b.n, procs,
		float64(took.Nanoseconds())/float64(b.reads), memory())
	return errors.Join(errs...)
}

// overwrite writes batches of random documents anew.
func (b *bench) overwrite(s store) error {
	r := rand.New(rand.NewPCG(3, 3))
	var took []int64
	for range b.batches {
		numbers := make([]int, batch)
		for i := range numbers {
			numbers[i] = r.IntN(b.n)
		}
		begin := time.Now()
		if err := s.write(numbers, document); err != nil {
			return err
		}
		took = append(took, time.Since(begin).Milliseconds())
	}
	fmt.Printf("%s n=%d batches of %d with fsync %v ms; files %s; memory %s\n", b.store, b.n,
		batch, took, size(b.dir), memory())
	return nil
}

// size returns what the files below dir take.
func size(dir string) string {
	var total int64
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if info, err := e.Info(); err == nil { // else a compaction has removed it
			total += info.Size()
		}
		return nil
	})
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d MB", total/1e6)
}

// memory returns what of the process is resident: its own, and of files.
func memory() string {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "unknown"
	}
	var parts []string
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "RssAnon" || name == "RssFile" {
			parts = append(parts, name+" "+strings.TrimSpace(value))
		}
	}
	return strings.Join(parts, ", ")
}
