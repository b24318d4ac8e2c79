package pictures

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/browsertest"
)

// The bounds of what a clone has to carry.
const (
	maxPicture  = 80 << 10
	maxPictures = 500 << 10
)

// The part of a page that is shown: its top.
const shotWidth, shotHeight = 1100, 700

// A shot is a page at the moment when it is shown.
type shot struct {
	name  string
	url   func(*server) string
	ready string // a condition in JavaScript
}

var shots = []shot{
	{"explorer", func(s *server) string { return s.http + "/#/products?order=id&limit=25" },
		`document.body.innerText.includes('Oak napkin')`},
	{"console", func(s *server) string { return s.ops + "/" },
		`document.body.innerText.includes('Fresh') && document.querySelectorAll('canvas').length > 3`},
	{"links", func(s *server) string { return s.links + "/" },
		`document.querySelectorAll('a').length > 10`},
}

// schemes are the colour schemes of a picture, as the files are called.
var schemes = []string{"light", "dark"}

// TestScreenshots_AreOfThePages opens each page of a demo that is read, in both schemes.
func TestScreenshots_AreOfThePages(t *testing.T) {
	s := start(t, "demo", "--file", filepath.Join(t.TempDir(), "demo.db"))
	browser := browsertest.New(t)
	looked := 200 // requests that the charts show
	if write {
		looked = 12_000 // which takes about a minute
	}
	tabs := make(map[string]*browsertest.Tab)
	for _, shot := range shots {
		for _, scheme := range schemes {
			tab := browser.Tab(browsertest.View{Width: shotWidth, Height: shotHeight, Dark: scheme == "dark"})
			tab.Open(shot.url(s))
			tabs[shot.name+"-"+scheme] = tab
		}
	}
	stop, stopped, enough := make(chan bool), make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			case <-time.After(4 * time.Millisecond):
				s.busy(n)
			}
			if n == looked {
				close(enough)
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	for _, scheme := range schemes { // Watch: rows change while somebody looks
		tab := tabs["explorer-"+scheme]
		tab.Until(shots[0].ready)
		tab.Press("w")
	}
	<-enough
	for _, shot := range shots {
		for _, scheme := range schemes {
			name := shot.name + "-" + scheme
			tabs[name].Until(shot.ready)
			picture := top(t, tabs[name].Screenshot("pictures/"+name))
			if write {
				if err := os.WriteFile(filepath.Join(committed, name+".png"), picture, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, line := range tabs[name].Console() {
				t.Errorf("%s: console: %s", name, line)
			}
		}
	}
}

// busy is one reader of the shop.
func (s *server) busy(n int) {
	s.t.Helper()
	resp, err := http.Get(fmt.Sprintf("%s/products/%d", s.http, 1+n*n%97))
	if err != nil {
		s.t.Error(err)
		return
	}
	_ = resp.Body.Close()
}

// top returns the top of a screenshot as a small file: with a palette of its commonest colours.
func top(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	full, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	out := image.NewPaletted(image.Rect(0, 0, shotWidth, shotHeight), commonest(full))
	draw.Draw(out, out.Bounds(), full, full.Bounds().Min, draw.Src)
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, out); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// commonest returns the colours that a picture has most of, as many as a palette holds.
func commonest(picture image.Image) color.Palette {
	counts := make(map[color.Color]int)
	r := picture.Bounds().Intersect(image.Rect(0, 0, shotWidth, shotHeight))
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			counts[picture.At(x, y)]++
		}
	}
	var all color.Palette
	for c := range counts {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.Color) int { return counts[b] - counts[a] })
	return all[:min(len(all), 256)]
}

// TestPictures_AreSmall, and each screenshot is there in both schemes. No file is left over.
func TestPictures_AreSmall(t *testing.T) {
	want := []string{"write.svg"}
	for _, shot := range shots {
		for _, scheme := range schemes {
			want = append(want, shot.name+"-"+scheme+".png")
		}
	}
	entries, err := os.ReadDir(committed)
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	total := 0
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(committed, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		have, total = append(have, e.Name()), total+len(text)
		if len(text) > maxPicture {
			t.Errorf("%s has %d bytes, at most %d", e.Name(), len(text), maxPicture)
		}
		if filepath.Ext(e.Name()) != ".png" {
			continue
		}
		c, err := png.DecodeConfig(bytes.NewReader(text))
		if err != nil || c.Width != shotWidth || c.Height != shotHeight {
			t.Errorf("%s: %d x %d, %v", e.Name(), c.Width, c.Height, err)
		}
	}
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("%v, want %v", have, want)
	}
	if total > maxPictures {
		t.Errorf("%d bytes, at most %d", total, maxPictures)
	}
}
