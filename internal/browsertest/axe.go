package browsertest

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
)

// axeFile is axe-core 4.14.1 as npm has it, axe.min.js (Deque Systems, MPL-2.0:
// axe/LICENSE; its sources are at github.com/dequelabs/axe-core).
//
//go:embed axe/axe.min.js.gz
var axeFile []byte

// Axe looks at the page for what keeps people out, by the rules of WCAG 2.0 to 2.2,
// A and AA, and by axe's own best practices, and fails the test for each finding.
// where names the page in what it says.
func (tab *Tab) Axe(where string) {
	tab.t.Helper()
	unzip, err := gzip.NewReader(bytes.NewReader(axeFile))
	if err != nil {
		tab.t.Fatal(err)
	}
	script, err := io.ReadAll(unzip)
	if err != nil {
		tab.t.Fatal(err)
	}
	tab.Eval("(() => { " + string(script) + "; return 1 })()")
	tab.Eval(`(window.axeFound = null, axe.run(document, {
		resultTypes: ['violations'], rules: {'target-size': {enabled: true}},
	}).then((r) => { window.axeFound = r.violations; },
		(e) => { window.axeFound = String(e); }), 1)`)
	tab.Until("window.axeFound !== null")
	found, ok := tab.Eval(`typeof window.axeFound === 'string' ? window.axeFound :
		window.axeFound.flatMap((v) => v.nodes.map(
			(n) => v.id + ' (' + v.impact + '): ' + n.html + ': ' + n.failureSummary))`).([]any)
	if !ok {
		tab.t.Fatalf("%s: axe did not run: %v", where, tab.Eval("window.axeFound"))
	}
	for _, f := range found {
		tab.t.Errorf("%s at %d pixels, dark %t: %s", where, tab.view.Width, tab.view.Dark,
			fmt.Sprint(f))
	}
}
