package program

import (
	"math"
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// fills is how many bytes the results of a step have, at least, that leaves a device no room
// for others beside it. Memory that is smaller never has a step wait for one that it could run
// beside.
const fills = 1 << 20

// empty is about how long a device takes for a kernel that does nothing, in nanoseconds.
const empty = 2000

// An Arrangement is a program in the order in which it runs, and where its memory lies.
type Arrangement struct {
	Program *Program
	Order   []int // the steps of the program that it was made of; nil where they are as they were
	Streams []int // by step: the stream that it runs on
	Layout  *Layout
}

// Arrange orders the steps of a program, so that it needs little memory, spreads them over so
// many streams of a device, and places its temporaries. Steps that pinned names stay in order
// among themselves. On one stream it is Order.
//
// On several streams, steps that do not depend on one another run side by side. Those that
// the longest way leads from to the end come first. Memory that is large, on whose steps a
// device is busy, is used again as soon as it is free, as on one stream; what is small has a
// place that steps which could run beside its own do not use.
func (p *Program) Arrange(pinned func(step int) bool, streams int) Arrangement {
	if streams < 2 {
		order, q, l := p.Order(pinned)
		return Arrangement{q, order, make([]int, len(p.Steps)), l}
	}
	before := p.Before(pinned)
	as := p.spread(before, streams, slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Action == Exchange }))
	q := p
	if slices.IsSorted(as.order) {
		as.order = nil
	} else {
		q = p.In(as.order)
	}
	return Arrangement{q, as.order, as.on, q.place(q.behind(as.chains(before, streams)))}
}

// A spreading is an order of steps, and by place in it the stream of each.
type spreading struct{ order, on []int }

// chains returns, in the order of s, the steps that each must follow or does follow on its
// stream.
func (s *spreading) chains(before [][]int, streams int) [][]int {
	at, last, out := make([]int, len(s.on)), slices.Repeat([]int{-1}, streams), make([][]int, len(s.on))
	for i := range s.on {
		from := i
		if s.order != nil {
			from = s.order[i]
		}
		at[from] = i
		for _, b := range before[from] {
			out[i] = append(out[i], at[b])
		}
		if k := s.on[i]; last[k] >= 0 {
			out[i] = append(out[i], last[k])
		}
		last[s.on[i]] = i
	}
	return out
}

// spread gives the steps an order and streams, as they would run on a device where each takes
// what cost says. Of the steps that may come next it takes the one that lets go of most large
// memory or takes least; then that which can begin first; then that from which the longest way
// leads to the end. Where the steps stay in order it only finds streams.
func (p *Program) spread(before [][]int, streams int, stay bool) *spreading {
	n := len(p.Steps)
	costs, way, waits, then := make([]int64, n), make([]int64, n), make([]int, n), reversed(before)
	for i := n - 1; i >= 0; i-- {
		costs[i], waits[i] = p.cost(i), len(before[i])
		for _, k := range then[i] {
			way[i] = max(way[i], way[k])
		}
		way[i] += costs[i]
	}
	taken := p.takings(fills)
	ends, free := make([]int64, n), make([]int64, streams)
	of := make([]int, n)
	ready := func(i int) (at int64) {
		for _, b := range before[i] {
			at = max(at, ends[b])
		}
		return at
	}
	var list []int // steps that may come next, ascending
	for i := range waits {
		if waits[i] == 0 {
			list = append(list, i)
		}
	}
	s := &spreading{order: make([]int, 0, n), on: make([]int, 0, n)}
	for len(list) > 0 {
		best, least, first := 0, int64(0), int64(0)
		for k, i := range list {
			takes, at := taken.by(i), max(ready(i), slices.Min(free))
			better := k == 0 || takes < least || takes == least && (at < first || at == first && way[i] > way[list[best]])
			if better {
				best, least, first = k, takes, at
			}
			if stay {
				break
			}
		}
		i := list[best]
		list = slices.Delete(list, best, best+1)
		of[i] = p.stream(i, before[i], of, ends, free, ready(i))
		if p.Steps[i].Action == Effect {
			ends[i] = ready(i)
		} else {
			ends[i] = max(ready(i), free[of[i]]) + costs[i]
			free[of[i]] = ends[i]
		}
		taken.take(i)
		s.order, s.on = append(s.order, i), append(s.on, of[i])
		for _, k := range then[i] {
			if waits[k]--; waits[k] == 0 {
				at, _ := slices.BinarySearch(list, k)
				list = slices.Insert(list, at, k)
			}
		}
	}
	return s
}

// stream returns the stream on which step i can begin first; of those that are alike, that of
// the step which it waits for longest, or else the first.
func (p *Program) stream(i int, before, of []int, ends, free []int64, ready int64) int {
	after := -1
	for _, b := range before {
		if p.Steps[b].Action != Effect && (after < 0 || ends[b] > ends[after]) {
			after = b
		}
	}
	best := 0
	for k := range free {
		at, least := max(ready, free[k]), max(ready, free[best])
		if at < least || at == least && after >= 0 && of[after] == k && of[after] != best {
			best = k
		}
	}
	return best
}

// cost returns about how long a step takes a device, in nanoseconds: what a kernel takes that
// does nothing, and the bytes and the multiplications. It decides what runs beside what, and
// no more.
func (p *Program) cost(i int) int64 {
	const bytesPerNano, productsPerNano = 2000, 10000
	s := &p.Steps[i]
	switch s.Action {
	case Effect:
		return 0
	case Launch:
	default:
		return empty + s.Bytes/bytesPerNano
	}
	bytes, product := int64(0), 1.0
	for _, list := range [2][]ir.View{s.Call.Out, s.Call.In} {
		for _, v := range list {
			if v.Given() {
				bytes += int64(v.NumElements()) * int64(v.DType.Size())
			}
		}
	}
	ns := empty + bytes/bytesPerNano
	if s.Call.Op.Kind == ir.Opaque && len(s.Call.Out) == 1 && len(s.Call.In) > 1 {
		for _, v := range []ir.View{s.Call.Out[0], s.Call.In[0], s.Call.In[1]} {
			product *= float64(v.NumElements())
		}
		ns += int64(math.Sqrt(product)) / productsPerNano // n*k, k*m and n*m elements: n*k*m
	}
	return ns
}

// behind returns by step which steps it comes behind, whatever runs beside it, as a bit each.
func (p *Program) behind(chains [][]int) [][]uint64 {
	words := (len(chains) + 63) / 64
	all, out := make([]uint64, words*len(chains)), make([][]uint64, len(chains))
	for i, list := range chains {
		out[i] = all[i*words : (i+1)*words]
		for _, b := range list {
			out[i][b/64] |= 1 << (b % 64)
			for w, bits := range out[b] {
				out[i][w] |= bits
			}
		}
	}
	return out
}
