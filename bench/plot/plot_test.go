package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/bench/load"
)

// runs are what a plot is made of in tests.
var runs = []*load.Result{
	{Name: "a", Connections: 64, Rate: 185575.4, Server: &load.CPU{Total: 4.79},
		Reads: load.Summary{P50: 306, P99: 1414}},
	{Name: "a", Connections: 256, Rate: 200000, Reads: load.Summary{P50: 1158, P99: 2293}},
	{Name: "b <&>", Connections: 64, Rate: 71246, Reads: load.Summary{P50: 861, P99: 3258}},
}

func TestSVG_IsXML(t *testing.T) {
	for _, some := range [][]*load.Result{runs, runs[:1], nil} {
		svg := SVG("hits <1>", "on <2> cores", Panels(some, nil))
		names := 0
		for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v in\n%s", err, svg)
			}
			if text, ok := token.(xml.CharData); ok && string(text) == "b <&>" {
				names++
			}
		}
		if len(some) == 3 && names != 1 {
			t.Errorf("the legend names a server %d times", names)
		}
		if bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) {
			t.Errorf("no number in\n%s", svg)
		}
	}
}

func TestSVG_SaysWhoseALineIs(t *testing.T) {
	panels := Panels(runs, []*load.Result{{Name: "original", Connections: 128, Rate: 5000}})
	if x := panels[0].X; len(x) != 3 {
		t.Errorf("places %v, want those of what is published, too", x)
	}
	if n := len(panels[len(panels)-1].Lines); n != 2 {
		t.Errorf("%d lines of p99, want those alone that have one", n)
	}
	if n := len(Panels([]*load.Result{{Name: "a", Connections: 1, Rate: 1}}, nil)); n != 1 {
		t.Errorf("%d panels of rates alone", n)
	}
	panels[0].Lines[0].Of = Hotrow
	svg := string(SVG("hits", "", panels[:1]))
	for class, want := range map[string]int{"line s0 strong": 2, "line s1 dashed": 2, "line s2": 2} {
		if n := strings.Count(svg, `class="`+class+`"`); n != want {
			t.Errorf("%d lines of class %q, want %d: in the panel and in the legend", n, class, want)
		}
	}
	bars := string(SVG("hits", "", []Panel{{X: []string{""}, Lines: []Line{
		{Name: "hotrow", Of: Hotrow, Y: []float64{2}}, {Name: "nginx (proxy cache)", Y: []float64{1}},
	}}}))
	for _, want := range []string{`class="f0"`, `class="f2"`, ">nginx (proxy cache)</text>"} {
		if strings.Count(bars, want) != 1 {
			t.Errorf("bars have not one %s:\n%s", want, bars)
		}
	}
}
