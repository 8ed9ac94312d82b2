package opaque

import "github.com/sinter-go/sinter/ir"

// CumprodGrad returns the gradient of products up to each element, from the gradient of these, the
// products and the elements. Sums are of float64, in an order that depends on the place alone.
func CumprodGrad(c *ir.Call) error {
	return scanGrad(c, func(int) slope { return productSlope{} })
}

// A productSlope serves any number of goroutines.
type productSlope struct{}

func (productSlope) release() {}

// line: with z the first zero, elements before it have the sum of g*y from them on, divided by them;
// z has the sum of the products without it, and elements behind it have nothing.
func (productSlope) line(to []float32, in [][]float32) {
	g, y, x := in[0], in[1], in[2]
	z, sum := len(x), 0.0
	for i, v := range x {
		if v == 0 {
			z = i
			break
		}
	}
	if z < len(x) {
		to[z] = float32(productsWithout(g, x, z))
		clear(to[z+1:])
		for i := len(x) - 1; i >= z; i-- { // nothing but of infinities and NaN
			sum += float64(g[i]) * float64(y[i])
		}
	}
	to, g, y, x = to[:z], g[:z], y[:z], x[:z]
	for len(x) >= 4 { // one in four waits for the sum before
		n := len(x) - 4
		g4, y4, x4, to4 := g[n:][:4], y[n:][:4], x[n:][:4], to[n:][:4]
		p0, p1, p2, p3 := float64(g4[0])*float64(y4[0]), float64(g4[1])*float64(y4[1]), float64(g4[2])*float64(y4[2]), float64(g4[3])*float64(y4[3])
		s2, t := p3+p2, p1+p0
		s1, s0 := s2+p1, s2+t
		to4[3], to4[2] = float32((sum+p3)/float64(x4[3])), float32((sum+s2)/float64(x4[2]))
		to4[1], to4[0] = float32((sum+s1)/float64(x4[1])), float32((sum+s0)/float64(x4[0]))
		sum += s0
		g, y, x = g[:n], y[:n], x[:n]
	}
	for i := len(x) - 1; i >= 0; i-- {
		sum += float64(g[i]) * float64(y[i])
		to[i] = float32(sum / float64(x[i]))
	}
}

// productsWithout returns the sum of g times the products of the elements up to each from z on, but
// for z.
func productsWithout(g, x []float32, z int) float64 {
	product := 1.0
	for _, v := range x[:z] {
		product *= float64(v)
	}
	sum := float64(float64(g[z]) * product)
	for i, v := range x[z+1:] {
		product *= float64(v)
		sum += float64(float64(g[z+1+i]) * product)
	}
	return sum
}
