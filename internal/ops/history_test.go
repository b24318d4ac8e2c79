package ops

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
	"unsafe"
)

// TestHistory_IsBounded adds a day and an hour of seconds, with figures as long as they get.
func TestHistory_IsBounded(t *testing.T) {
	var h history
	now := time.Unix(1_800_000_000, 0)
	for i := range 25 * 3600 {
		now = now.Add(time.Second)
		var p Point
		for n := range p {
			p[n] = 1234.5678 + float64(i)
		}
		h.add(p.at(now), now)
	}
	if len(h.minutes) != 300 || len(h.day) != 288 {
		t.Errorf("%d points and %d steps", len(h.minutes), len(h.day))
	}
	if last := h.minutes[299]; last[atTime]-h.minutes[0][atTime] != 299 || last[atMemory] != 91230 {
		t.Errorf("the last point is %v", last)
	}
	if first := h.day[0][atTime]; h.day[287][atTime]-first != 287*300 {
		t.Errorf("the day is of %v s", h.day[287][atTime]-first)
	}
	size := (cap(h.minutes) + cap(h.day)) * int(unsafe.Sizeof(Point{}))
	if size >= 1<<20 {
		t.Errorf("it takes %d bytes", size)
	}
	text, err := json.Marshal(History{PointNames[:], h.minutes, h.day})
	if err != nil || len(text) > 128<<10 {
		t.Errorf("a page is sent %d bytes of it (%v)", len(text), err)
	}
	t.Logf("%d bytes, as JSON %d", size, len(text))
}

// TestHistory_Steps: a step of the day has the mean of rates, and the worst of all else.
func TestHistory_Steps(t *testing.T) {
	var h history
	now := time.Unix(1_800_000_000, 0)
	for i := range 301 {
		step := h.add(Point{atMemory: float64(i % 2 * 100), atLag: float64(i)}, now)
		if (step != nil) != (i == 300) {
			t.Fatalf("point %d ends a step: %v", i, step)
		}
		if step != nil && (step[atMemory] != 49.83 || step[atLag] != 300 || step[atTime] != 1_800_000_300) {
			t.Errorf("the step is %v", *step)
		}
		now = now.Add(time.Second)
	}
}

// TestWords_AreOfTheGlossary: what the page says of its words is what the documentation says.
func TestWords_AreOfTheGlossary(t *testing.T) {
	glossary, err := os.ReadFile("../../docs/explanation/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	words := consoleFiles["words.js"].Body
	link := regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)
	meaning := map[string]string{}
	for line := range strings.Lines(string(glossary)) {
		if terms, text, ok := strings.Cut(strings.Trim(line, "| \n"), " | "); ok {
			for term := range strings.SplitSeq(terms, ", ") {
				meaning[strings.Trim(term, "*")] = strings.ReplaceAll(link.ReplaceAllString(text, "$1"), "`", "")
			}
		}
	}
	all := regexp.MustCompile(`(?m)^  (".*?"): (".*"),$`).FindAllStringSubmatch(string(words), -1)
	for _, m := range all {
		var word, text string
		if json.Unmarshal([]byte(m[1]), &word) != nil || json.Unmarshal([]byte(m[2]), &text) != nil ||
			meaning[word] != text || text == "" {
			t.Errorf("%s: %s, and the glossary says %q", m[1], m[2], meaning[word])
		}
	}
	if len(all) < 40 {
		t.Errorf("%d words", len(all))
	}
}
