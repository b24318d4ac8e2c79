package ops

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/httprule"
)

// expositionType is the media type of Prometheus' text format, version 0.0.4
// (prometheus.io/docs/instrumenting/exposition_formats).
const expositionType = "text/plain; version=0.0.4; charset=utf-8"

// An exposition is the text of one scrape: the samples of each family, in the order of the
// families, whose lines must not be mixed.
type exposition struct {
	families *[numMetrics]family
	samples  [numMetrics][]byte
	seen     map[string]bool // the series that there are: Prometheus refuses a second
}

// add appends one sample. labels are the values of the family's labels; suffix and le belong
// to histograms. It reports false, and appends nothing, where there is such a series already.
func (x *exposition) add(id metricID, suffix, le string, v float64, labels []string) bool {
	f := &x.families[id]
	series := appendSeries(nil, f, suffix, le, labels)
	if x.seen[string(series)] {
		return false
	}
	x.seen[string(series)] = true
	b := append(x.samples[id], series...)
	b = append(b, ' ')
	b = appendNumber(b, v)
	x.samples[id] = append(b, '\n')
	return true
}

// appendSeries appends hotrow_NAME{LABELS}, the labels in the order of their names.
func appendSeries(b []byte, f *family, suffix, le string, values []string) []byte {
	b = append(b, "hotrow_"+f.name+suffix...)
	pairs := make([][2]string, 0, len(values)+1)
	for i, v := range values {
		pairs = append(pairs, [2]string{f.labels[i], v})
	}
	slices.SortFunc(pairs, func(x, y [2]string) int { return strings.Compare(x[0], y[0]) })
	if le != "" {
		pairs = append(pairs, [2]string{"le", le})
	}
	for i, p := range pairs {
		if i == 0 {
			b = append(b, '{')
		} else {
			b = append(b, ',')
		}
		b = append(b, p[0]+`="`...)
		b = append(b, labelEscaper.Replace(strings.ToValidUTF8(p[1], "\uFFFD"))...)
		b = append(b, '"')
	}
	if len(pairs) > 0 {
		b = append(b, '}')
	}
	return b
}

var (
	labelEscaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
	helpEscaper  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
)

// appendNumber appends v as the format has it.
func appendNumber(b []byte, v float64) []byte {
	return strconv.AppendFloat(b, v, 'g', -1, 64) // with +Inf, -Inf and NaN
}

// WriteTo writes the families that have samples, each below its help and type.
func (x *exposition) WriteTo(w io.Writer) (int64, error) {
	var b []byte
	for id, samples := range x.samples {
		if len(samples) == 0 {
			continue
		}
		f := &x.families[id]
		b = append(b, "# HELP hotrow_"+f.name+" "+helpEscaper.Replace(f.help)+"\n"...)
		b = append(b, "# TYPE hotrow_"+f.name+" "+f.kind.String()+"\n"...)
		b = append(b, samples...)
	}
	n, err := w.Write(b)
	return int64(n), err
}

// acceptsGzip reports whether who scrapes takes gzip.
func acceptsGzip(r *http.Request) bool {
	for element := range strings.SplitSeq(strings.Join(r.Header["Accept-Encoding"], ","), ",") {
		name, params, _ := strings.Cut(element, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			weight, ok := httprule.ParseWeight(params)
			return ok && weight > 0
		}
	}
	return false
}
