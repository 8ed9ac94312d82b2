package shapes

import (
	"slices"
)

// KronLeft returns the shape in which the elements of x lie between those of a
// Kronecker product with y: axes of x and of extent 1 in turn.
func KronLeft(x, y []int) []int {
	return kronShape(x, y, func(n, _ int) (a, b int) { return n, 1 })
}

// KronRight is KronLeft for y.
func KronRight(x, y []int) []int {
	return kronShape(x, y, func(_, n int) (a, b int) { return 1, n })
}

// KronShape returns the shape of a Kronecker product.
func KronShape(x, y []int) []int {
	both := kronShape(x, y, func(n, m int) (a, b int) { return n, m })
	out := make([]int, len(both)/2)
	for i := range out {
		out[i] = both[2*i] * both[2*i+1]
	}
	return out
}

// kronShape returns two axes for each of x and y, of which the one with fewer has
// leading ones of extent 1.
func kronShape(x, y []int, pair func(n, m int) (a, b int)) []int {
	rank := max(len(x), len(y))
	x = append(ones(rank-len(x)), x...)
	y = append(ones(rank-len(y)), y...)
	out := make([]int, 0, 2*rank)
	for i := range rank {
		a, b := pair(x[i], y[i])
		out = append(out, a, b)
	}
	return out
}

// SamePadding returns how many elements to add on both sides of each spatial
// axis so that a convolution with a weight keeps its extent, or one less.
func SamePadding(weight, dilation []int) []int {
	out := sameTotal(weight, dilation)
	for i, n := range out {
		out[i] = n / 2
	}
	return out
}

// SameExtra returns the padding list of what SamePadding leaves out: an
// element after the last along some axes. It is empty where there is nothing.
func SameExtra(weight, dilation []int) []int {
	total := sameTotal(weight, dilation)
	if !slices.ContainsFunc(total, func(n int) bool { return n%2 != 0 }) {
		return []int{}
	}
	out := make([]int, 2*len(total))
	for i, n := range total {
		out[2*(len(total)-1-i)+1] = n % 2
	}
	return out
}

// sameTotal returns by how much a convolution makes each spatial axis shorter.
func sameTotal(weight, dilation []int) []int {
	n := max(0, min(len(weight)-2, len(dilation)))
	out := make([]int, n)
	for i := range out {
		out[i] = max(0, dilation[i]*(weight[i+2]-1))
	}
	return out
}

// AnyReaches reports whether a number of a is at least its partner in b.
func AnyReaches(a, b []int) bool {
	for i := range min(len(a), len(b)) {
		if a[i] >= b[i] {
			return true
		}
	}
	return false
}

// TransposedEnds returns the padding list that makes a transposed convolution
// without padding one with it, and with extra elements at the end.
func TransposedEnds(padding, extra []int) []int {
	n := min(len(padding), len(extra))
	out := make([]int, 2*n)
	for i := range n {
		out[2*(n-1-i)], out[2*(n-1-i)+1] = -padding[i], extra[i]-padding[i]
	}
	return out
}

// AdaptiveWindow returns how many elements the windows have at most, m of which
// cover n elements evenly, or 0 where there are none.
func AdaptiveWindow(n, m int) int {
	switch {
	case n < 1 || m < 1:
		return 0
	case n%m == 0:
		return n / m
	}
	return min(n, n/m+2)
}

// Unpooled returns the shape of what a pooling of windows over the last n axes
// made x of, where size says nothing else, or an empty list where there is none. A
// nil stride is the kernel's.
func Unpooled(x []int, n int, kernel, stride, padding, size []int) []int {
	if stride == nil {
		stride = kernel
	}
	k, s, p := FillInts(kernel, n), FillInts(stride, n), FillInts(padding, n)
	if len(x) <= n || len(k) != n || len(s) != n || len(p) != n || size != nil && len(size) != n {
		return []int{}
	}
	out := slices.Clone(x)
	for i, to := range out[len(x)-n:] {
		usual := (to-1)*s[i] - 2*p[i] + k[i]
		extent := usual
		if size != nil {
			extent = size[i]
		}
		if k[i] < 1 || s[i] < 1 || p[i] < 0 || extent < 0 || extent <= usual-s[i] || extent >= usual+s[i] {
			return []int{}
		}
		out[len(x)-n+i] = extent
	}
	return out
}
