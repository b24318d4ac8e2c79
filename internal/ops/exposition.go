package ops

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// A description is a family as Prometheus' library has it.
type description struct {
	*prometheus.Desc
	kind kind
}

// describe returns the descriptions of all families.
func describe() (all [numMetrics]description) {
	for id, f := range families() {
		all[id] = description{prometheus.NewDesc("hotrow_"+f.name, f.help, f.labels, nil), f.kind}
	}
	return all
}

// An emitter writes the metrics of one scrape.
type emitter struct {
	families *[numMetrics]description
	out      chan<- prometheus.Metric
}

// value writes one sample; labels are the values of the family's labels.
func (e *emitter) value(id metricID, v float64, labels ...string) {
	kind := prometheus.CounterValue
	if e.families[id].kind == gauge {
		kind = prometheus.GaugeValue
	}
	e.out <- prometheus.MustNewConstMetric(e.families[id].Desc, kind, v, valid(labels)...)
}

// histogram writes the buckets of h, their sum and their count, of which Prometheus wants
// each bucket with all before it; Histogram has them without.
func (e *emitter) histogram(id metricID, h *Histogram, labels ...string) {
	buckets, total := make(map[float64]uint64, len(h.Bounds)), uint64(0)
	for i, n := range h.Counts {
		total += n
		if i < len(h.Bounds) {
			buckets[h.Bounds[i]] = total
		}
	}
	e.out <- prometheus.MustNewConstHistogram(e.families[id].Desc, total, h.Sum, buckets,
		valid(labels)...)
}

// summary writes the sum and the count of h.
func (e *emitter) summary(id metricID, h *Histogram, labels ...string) {
	total := uint64(0)
	for _, n := range h.Counts {
		total += n
	}
	e.out <- prometheus.MustNewConstSummary(e.families[id].Desc, total, h.Sum, nil,
		valid(labels)...)
}

// valid makes labels UTF-8, which a name of a table need not be.
func valid(labels []string) []string {
	for i, l := range labels {
		labels[i] = strings.ToValidUTF8(l, "\uFFFD")
	}
	return labels
}
