package plot

import (
	"math"
	"strconv"

	"github.com/hotrow/hotrow/bench/load"
)

// A scale maps the values of a Panel to 0 (bottom) to 1 (top).
type scale struct {
	log       bool
	low, high float64 // of the axis; logarithms if log
	ticks     []float64
}

// newScale chooses an axis that holds every value and ends at round numbers.
func newScale(p Panel) scale {
	smallest, largest := math.Inf(1), 0.0
	for _, l := range p.Lines {
		for _, v := range l.Y {
			if !math.IsNaN(v) && v > 0 {
				smallest, largest = min(smallest, v), max(largest, v)
			}
		}
	}
	if largest == 0 {
		smallest, largest = 1, 1
	}
	if p.Log && len(p.X) > 1 {
		return logScale(smallest, largest)
	}
	step := niceStep(largest / 5)
	s := scale{high: step * math.Ceil(largest/step)}
	for i := 0; float64(i)*step <= s.high*1.0001; i++ {
		s.ticks = append(s.ticks, float64(i)*step)
	}
	return s
}

// logScale is one of whole powers of ten.
func logScale(smallest, largest float64) scale {
	s := scale{log: true, low: math.Floor(math.Log10(smallest))}
	s.high = max(math.Ceil(math.Log10(largest)), s.low+1)
	for e := s.low; e <= s.high; e++ {
		s.ticks = append(s.ticks, math.Pow(10, e))
	}
	return s
}

// at returns where a value is.
func (s scale) at(v float64) float64 {
	if s.log {
		v = math.Log10(max(v, math.SmallestNonzeroFloat64))
	}
	return min(max((v-s.low)/(s.high-s.low), 0), 1)
}

// niceStep returns 1, 2 or 5 times a power of ten, v or a little more.
func niceStep(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, f := range []float64{1, 2, 5} {
		if v <= f*power {
			return f * power
		}
	}
	return 10 * power
}

// tickLabel shows a number in a few places: 0.25, 12.5, 4,000, 150k, 2M.
func tickLabel(v float64) string {
	switch {
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 3, 64) + "M"
	case v >= 1e4:
		return strconv.FormatFloat(v/1e3, 'f', 0, 64) + "k"
	case v >= 100:
		return load.Count(v)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
