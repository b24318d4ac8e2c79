package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
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
		svg := SVG("hits <1>", Panels(some))
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
