package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
)

// An Answer is what the server says about one line of an import.
type Answer struct {
	Status int    `json:"status"`
	Code   string `json:"code"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	Type   string `json:"type"`
	Owner  string `json:"owner"` // whose the link is, where the line has named somebody
}

// A Sender gives NDJSON to POST /api/v1/links and returns an answer for each
// line.
type Sender func(ctx context.Context, lines []byte, n int) ([]Answer, error)

// A Report says what an import has done.
type Report struct {
	Read    int // entries of the file
	Made    int
	Refused []Refusal // by the reader or the server, in the order of the file
	More    int       // refusals beyond maxRefused, which are counted only
	Lost    []Refusal // what was not taken over of links that were made, and of the file
	Missed  int       // losses beyond maxRefused
	Limited int       // of a dry run: links that are fine, and more than may be made in a minute
	Survey  Survey
}

const (
	batchLinks = 500     // links of one request
	batchBytes = 1 << 20 // and how long it gets at most, but for one link
	maxRefused = 10_000
)

// refuse notes a refusal.
func (r *Report) refuse(one Refusal) {
	if len(r.Refused) < maxRefused {
		r.Refused = append(r.Refused, one)
		return
	}
	r.More++
}

// lose notes what was not taken over.
func (r *Report) lose(one Refusal) {
	if len(r.Lost) < maxRefused {
		r.Lost = append(r.Lost, one)
		return
	}
	r.Missed++
}

// Import sends the links of a file in batches and tells progress how many entries
// are done after each. It returns a report of what was done even when it ends
// with an error. With dry send changes nothing, and Import sees what only the
// whole file shows: a code that two of its links have.
func Import(
	ctx context.Context, links iter.Seq2[Link, error], send Sender, dry bool,
	progress func(done int),
) (*Report, error) {
	im := &importer{send: send, report: &Report{}}
	if dry {
		im.codes = make(map[string]int)
	}
	for l, err := range links {
		if bad, ok := errors.AsType[*Refusal](err); ok {
			im.report.Read++
			im.report.refuse(*bad)
			continue
		}
		if loss, ok := errors.AsType[*Loss](err); ok {
			im.report.lose(Refusal(*loss))
			continue
		}
		if err != nil {
			return im.report, err
		}
		im.report.Read++
		im.report.Survey.Add(&l)
		if err := im.add(l); err != nil {
			return im.report, err
		}
		if len(im.batch) < batchLinks && len(im.lines) < batchBytes {
			continue
		}
		if err := im.flush(ctx); err != nil {
			return im.report, err
		}
		progress(im.report.Read)
	}
	err := im.flush(ctx)
	progress(im.report.Read)
	return im.report, err
}

// importer is an import under way.
type importer struct {
	send   Sender
	report *Report
	batch  []Link
	lines  []byte
	codes  map[string]int // of a dry run: the lines that would have taken them; else nil
}

// add puts a link into the batch.
func (im *importer) add(l Link) error {
	line, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("line %d: %w", l.Line, err)
	}
	im.batch = append(im.batch, l)
	im.lines = append(append(im.lines, line...), '\n')
	return nil
}

// flush sends the batch and notes what became of it.
func (im *importer) flush(ctx context.Context) error {
	if len(im.batch) == 0 {
		return nil
	}
	answers, err := im.send(ctx, im.lines, len(im.batch))
	for i, a := range answers {
		if i >= len(im.batch) {
			break
		}
		l := &im.batch[i]
		if im.dry(l, &a) {
			continue
		}
		if a.Status/100 == 2 || a.Status/100 == 3 {
			im.made(l, a)
			continue
		}
		im.report.refuse(Refusal{Line: l.Line, Code: l.Code, Reason: im.reason(l, a)})
		if a.Status == http.StatusTooManyRequests && err == nil {
			err = errors.New("the server takes only so many links in a minute without a key: " +
				"hotrow links key add NAME makes one, HOTROW_LINKS_KEY holds it")
		}
	}
	if err != nil {
		return fmt.Errorf("send lines %d to %d: %w", im.batch[0].Line,
			im.batch[len(im.batch)-1].Line, err)
	}
	if len(answers) < len(im.batch) {
		return fmt.Errorf("the server has answered %d of %d lines from line %d on: the rest may "+
			"or may not be stored; import again", len(answers), len(im.batch), im.batch[0].Line)
	}
	im.batch, im.lines = im.batch[:0], im.lines[:0]
	return nil
}

// made notes a link that was made, or would be, and what is not with it.
func (im *importer) made(l *Link, a Answer) {
	im.report.Made++
	lost := l.Lost
	if l.Owner != "" && a.Owner != l.Owner {
		lost = append(lost, fmt.Sprintf("its owner %s is not taken over: that takes the key of an "+
			"admin", clip(l.Owner)))
	}
	for _, reason := range lost {
		im.report.lose(Refusal{Line: l.Line, Code: l.Code, Reason: reason})
	}
}

// dry looks at an answer of a dry run: a code that an earlier line of the file
// would have taken makes it a refusal. It reports whether that is all there is to
// say of it.
func (im *importer) dry(l *Link, a *Answer) bool {
	if im.codes == nil {
		return false
	}
	if a.Status == http.StatusTooManyRequests {
		im.report.Limited++
		return true
	}
	if a.Status != http.StatusCreated || l.Code == "" {
		return false
	}
	if line, taken := im.codes[a.Code]; taken {
		a.Status, a.Detail = http.StatusConflict, fmt.Sprintf("line %d has this code already", line)
		return false
	}
	im.codes[a.Code] = l.Line
	return false
}

// reason says why the server has refused a link.
func (im *importer) reason(l *Link, a Answer) string {
	reason := a.Detail
	if reason == "" {
		reason = a.Title
	}
	if reason == "" {
		reason = fmt.Sprintf("refused with status %d", a.Status)
	}
	if line, ok := im.report.Survey.Earlier(l); ok && a.Status == 409 {
		reason += fmt.Sprintf(" (it differs from the code of line %d only by case; "+
			"`case: exact` in the server's configuration keeps both)", line)
	}
	return reason
}

// ReadAnswers reads the NDJSON with which the server answers an import.
func ReadAnswers(r io.Reader) ([]Answer, error) {
	var answers []Answer
	dec := json.NewDecoder(r)
	for {
		var a Answer
		err := dec.Decode(&a)
		if err == io.EOF {
			return answers, nil
		}
		if err != nil {
			return answers, fmt.Errorf("read the answer to line %d: %w", len(answers)+1, err)
		}
		answers = append(answers, a)
	}
}
