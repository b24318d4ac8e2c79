package pictures

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// figures are what differs from run to run: numbers and durations in texts.
var (
	texts   = regexp.MustCompile(`>[^<]*</text>`)
	figures = regexp.MustCompile(`[\d,]*\d(?:\.\d+)?(?:(?:µs|ms|s)\b)?`)
)

// plain returns a film without its figures.
func plain(film []byte) string {
	return string(texts.ReplaceAllFunc(film, func(text []byte) []byte {
		return figures.ReplaceAll(text, []byte("N"))
	}))
}

// TestFilm_IsOfARealRun makes the film anew: the committed one is the same but for its figures.
// A run that other programs have held up is made again.
func TestFilm_IsOfARealRun(t *testing.T) {
	file := filepath.Join(committed, "write.svg")
	for deadline := waittest.Deadline(20 * time.Second); ; {
		run := record(t)
		film := script(run).svg()
		if write && run.stands() {
			if err := os.WriteFile(file, film, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil && !write {
			t.Fatal(err)
		}
		if run.stands() && plain(film) == plain(want) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is not what a run shows: make pictures\n%+v\n%s", file, run, plain(film))
		}
	}
}

// TestFilm_IsSafeWhereverItIsShown: as an image it is well formed and asks for nothing.
func TestFilm_IsSafeWhereverItIsShown(t *testing.T) {
	film, err := os.ReadFile(filepath.Join(committed, "write.svg"))
	if err != nil {
		t.Fatal(err)
	}
	if len(film) > 32<<10 {
		t.Errorf("%d bytes", len(film))
	}
	d := xml.NewDecoder(bytes.NewReader(film))
	d.Strict = true
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch e.Name.Local {
		case "svg", "title", "desc", "style", "g", "rect", "text", "tspan", "line", "clipPath", "path":
		default:
			t.Errorf("<%s>", e.Name.Local)
		}
		for _, a := range e.Attr {
			if strings.HasPrefix(a.Name.Local, "on") || strings.HasSuffix(a.Name.Local, "href") {
				t.Errorf("<%s %s=%q>", e.Name.Local, a.Name.Local, a.Value)
			}
		}
	}
	for _, not := range []string{"url(", "@import", "@font-face", "<!DOCTYPE", "<?xml-stylesheet"} {
		if bytes.Contains(film, []byte(not)) {
			t.Errorf("it has %s", not)
		}
	}
	for _, must := range []string{"prefers-color-scheme: dark", "prefers-reduced-motion"} {
		if !bytes.Contains(film, []byte(must)) {
			t.Errorf("it knows nothing of %s", must)
		}
	}
}

// TestTake_SaysWhetherTheCounterStands, which a film shows only if it does.
func TestTake_SaysWhetherTheCounterStands(t *testing.T) {
	run := take{before: side{counts: []count{{1, 1}, {9, 1}}},
		after: side{counts: []count{{10, 2}, {18, 2}}}}
	if !run.stands() {
		t.Error("it stands")
	}
	run.after.counts[1].queries++
	if run.stands() {
		t.Error("it does not")
	}
}
