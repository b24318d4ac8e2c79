package load

import (
	"math"
	"math/rand/v2"
)

// maxSkew is the largest exponent that is taken: beyond it nearly every request
// is for the first key.
const maxSkew = 100

// A zipf draws 0 to n-1, k in proportion to 1/(1+k)^skew. That of math/rand needs
// a skew above 1, and loads are often said to have 0.99. Nothing of it is made
// beforehand for each key, so a hundred million of them cost no more than ten.
//
// The method is rejection-inversion (W. Hörmann, G. Derflinger, 1996): a point
// below the curve x^-skew is drawn, rounded, and drawn again if it was not below
// the step at that whole number either.
type zipf struct {
	rng         *rand.Rand
	skew        float64
	n           int64
	first, last float64 // the area up to the first step, less that step, and to the last one's end
	sure        float64 // so far from its whole number a point needs no look
}

func newZipf(rng *rand.Rand, skew float64, n int64) *zipf {
	z := &zipf{rng: rng, skew: skew, n: n}
	z.first = z.area(1.5) - 1
	z.last = z.area(float64(n) + 0.5)
	z.sure = 2 - z.areaInverse(z.area(2.5)-z.height(2))
	return z
}

// next draws a number.
func (z *zipf) next() int64 {
	for {
		at := z.last + z.rng.Float64()*(z.first-z.last)
		x := z.areaInverse(at)
		k := min(max(int64(x+0.5), 1), z.n)
		if float64(k)-x <= z.sure || at >= z.area(float64(k)+0.5)-z.height(float64(k)) {
			return k - 1
		}
	}
}

// height is x^-skew.
func (z *zipf) height(x float64) float64 { return math.Exp(-z.skew * math.Log(x)) }

// area is the integral of height from 1 to x. Near a skew of 1 it is a quotient of
// two numbers near 0, so expm1(t)/t is computed as one.
func (z *zipf) area(x float64) float64 {
	l := math.Log(x)
	return l * ratioTo(math.Expm1, (1-z.skew)*l)
}

// areaInverse returns the x whose area is a.
func (z *zipf) areaInverse(a float64) float64 {
	t := max(a*(1-z.skew), -1) // rounding may take it a little beyond
	return math.Exp(a * ratioTo(math.Log1p, t))
}

// ratioTo returns f(t)/t of a function that is about t near 0.
func ratioTo(f func(float64) float64, t float64) float64 {
	if math.Abs(t) < 1e-8 {
		return 1
	}
	return f(t) / t
}
