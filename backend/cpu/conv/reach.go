package conv

// A Reach says of each place of a kernel, in row-major order, which windows of a piece
// read the image there. The others read padding, which adds nothing to their sums.
type Reach []reach

type reach uint8

const (
	noWindow reach = iota
	butFirst       // all but the first of a row
	allWindows
	butLast
)

// A Term is an element times a vector of weights: where these lie, in bytes, the
// element for the first row of a tile.
type Term struct{ At, Weight int }

// Terms are those of a tile's sums, in their order. The first ones are not for the first
// row of a tile, or of each half of it, and the last ones not for the last.
type Terms struct {
	List        []Term
	First, Last int // how many these are
}

// Terms returns those that a piece needs of terms [lo, hi) of all, whose elements lie at
// the given places. Each place of the kernel has run of them, one after the other, again
// and again, and the weights of lo and the others lie row bytes apart.
func (r Reach) Terms(all []int, lo, hi, run, row int) (t Terms) {
	t.List = make([]Term, 0, hi-lo)
	for _, which := range []reach{butFirst, allWindows, butLast} {
		before := len(t.List)
		for i := lo; i < hi; i++ {
			if r[i/run%len(r)] == which {
				t.List = append(t.List, Term{all[i], (i - lo) * row})
			}
		}
		switch n := len(t.List) - before; which {
		case butFirst:
			t.First = n
		case butLast:
			t.Last = n
		}
	}
	return t
}

// along returns which of the windows [lo, hi) of a row read the image at the places of
// the last axis. Where more than one at an end does not, all count as if they did.
func (f *Frame) along(places []int, lo, hi int) Reach {
	first, end := f.inside(f.last)
	reaches, step := make(Reach, len(places)), f.Stride[f.last]
	for i, p := range places {
		from, to := max(lo, (first-p+step-1)/step), min(hi, (end-p+step-1)/step)
		switch {
		case from >= to || first == end:
			reaches[i] = noWindow
		case from == lo+1 && to == hi:
			reaches[i] = butFirst
		case from == lo && to == hi-1:
			reaches[i] = butLast
		default:
			reaches[i] = allWindows
		}
	}
	return reaches
}

// across returns for each row of windows whether places along the axes before the last
// lie in the image, in row-major order.
func (f *Frame) across(out []int, kernel [][]int) [][]bool {
	rows := [][]bool{{true}}
	for a, n := range out[:f.last] {
		lo, hi := f.inside(a)
		var next [][]bool
		for _, row := range rows {
			for w := range n {
				var places []bool
				for _, in := range row {
					for _, p := range kernel[a] {
						at := w*f.Stride[a] + p
						places = append(places, in && lo <= at && at < hi)
					}
				}
				next = append(next, places)
			}
		}
		rows = next
	}
	return rows
}

// reach returns the number of the reach of a piece, from what it reads across rows and
// along its own.
func (c *Cutting) reach(known map[string]int, across []bool, along Reach) int {
	all := make(Reach, 0, len(across)*len(along))
	for _, in := range across {
		for _, r := range along {
			if !in {
				r = noWindow
			}
			all = append(all, r)
		}
	}
	i, ok := known[string(all)]
	if !ok {
		i = len(c.Reaches)
		known[string(all)] = i
		c.Reaches = append(c.Reaches, all)
	}
	return i
}
