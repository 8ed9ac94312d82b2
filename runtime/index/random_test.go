package index_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// An item is an entry of an index as the slow implementation reads it.
type item struct {
	fresh  bool  // a new axis
	taken  []int // the places of a range, or the one of a number
	number bool
	shape  []int   // of tensors of places, which broadcasts
	at     [][]int // for each axis that they are for, the places, none negative
}

// named returns what the items name in a tensor of a shape, element by element.
func namedBy(shape []int, items []item) (result, places []int) {
	var block []int
	first, last, count := -1, -1, 0
	axes := make([]int, 0, len(items)) // the result's axis of each item, but those of the block
	for _, it := range items {
		if it.at != nil {
			block = broadcast(block, it.shape)
		}
	}
	position := 0
	for _, it := range items {
		axes = append(axes, position)
		switch {
		case it.at != nil:
			if first < 0 {
				first = position
			}
			last = position
			count++
			position++
		case !it.number:
			position++
		}
	}
	apart := count > 0 && last-first+1 != count
	lead := first // where the block stands in the result
	if apart {
		lead = 0
	}
	for i, it := range items {
		if it.at != nil || it.number {
			continue
		}
		before := 0 // items of the block before this one
		for j, other := range items {
			if other.at != nil && j < i {
				before++
			}
		}
		axes[i] -= before
		if count > 0 && (apart || before > 0) {
			axes[i] += len(block)
		}
		for len(result) <= axes[i] {
			result = append(result, 0)
		}
		if result[axes[i]] = len(it.taken); it.fresh {
			result[axes[i]] = 1
		}
	}
	for len(result) < lead+len(block) && count > 0 {
		result = append(result, 0)
	}
	if count > 0 {
		copy(result[lead:], block)
	}
	if result == nil {
		result = []int{}
	}
	places = []int{}
	at := make([]int, len(result))
	for range size(result) {
		p, axis := 0, 0
		for i, it := range items {
			switch {
			case it.fresh:
			case it.at != nil:
				for _, list := range it.at {
					p = p*shape[axis] + list[offset(it.shape, at[lead:lead+len(block)])]
					axis++
				}
			case it.number:
				p, axis = p*shape[axis]+it.taken[0], axis+1
			default:
				p, axis = p*shape[axis]+it.taken[at[axes[i]]], axis+1
			}
		}
		places = append(places, p)
		for a := len(at) - 1; a >= 0; a-- {
			if at[a]++; at[a] < result[a] {
				break
			}
			at[a] = 0
		}
	}
	return result, places
}

// broadcast returns the shape that two have together, which it must have.
func broadcast(a, b []int) []int {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := slices.Clone(a)
	for i, d := range b {
		if j := len(a) - len(b) + i; out[j] == 1 {
			out[j] = d
		}
	}
	return out
}

// offset returns the row-major place in a tensor of a shape that the coordinates at, of
// the shape it broadcasts to, read.
func offset(shape, at []int) int {
	p := 0
	at = at[len(at)-len(shape):]
	for i, d := range shape {
		p = p*d + min(at[i], d-1)
	}
	return p
}

// draw returns an entry for the axes of shape from axis on, as programs write it and as
// the slow implementation reads it, and how many axes it is for.
func draw(rng *rand.Rand, shape []int, axis int, block []int) (any, item, int) {
	n := shape[axis]
	switch what := rng.IntN(8); {
	case what == 0:
		return tensor.NewAxis, item{fresh: true}, 0
	case what == 1 && n > 0:
		i := rng.IntN(n)
		return i - n*rng.IntN(2), item{taken: []int{i}, number: true}, 1
	case what == 2 && n > 0:
		i := rng.IntN(n)
		return int64(i), item{taken: []int{i}, number: true}, 1
	case what < 5 && n > 0:
		shape := block[rng.IntN(len(block)):]
		list, given := make([]int, size(shape)), make([]int64, size(shape))
		for i := range list {
			list[i] = rng.IntN(n)
			given[i] = int64(list[i] - n*rng.IntN(2))
		}
		return tensor.FromSlice(given, shape), item{shape: shape, at: [][]int{list}}, 1
	}
	from, step := rng.IntN(n+1), 1+rng.IntN(3)
	to := from + rng.IntN(n+1-from)
	if rng.IntN(2) == 0 {
		return tensor.Range(from, to).By(step), item{taken: steps(from, to, step)}, 1
	}
	if from == n {
		return tensor.Range(tensor.Open, tensor.Open).By(-step), item{taken: steps(n-1, -1, -step)}, 1
	}
	return fmt.Sprintf("%d::-%d", from, step), item{taken: steps(from, -1, -step)}, 1
}

func steps(from, to, step int) []int {
	out := []int{}
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		out = append(out, i)
	}
	return out
}

// TestRandom compares random indices with what loops over coordinates name.
func TestRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	count := 1500
	if testing.Short() {
		count = 100
	}
	for i := range count {
		c := named{}
		for range 1 + rng.IntN(4) {
			c.shape = append(c.shape, rng.IntN(5))
		}
		block := []int{1 + rng.IntN(2), 1 + rng.IntN(3)}
		var items []item
		for axis := 0; axis < len(c.shape); {
			v, it, n := draw(rng, c.shape, axis, block)
			c.index, items = append(c.index, v), append(items, it)
			axis += n
		}
		c.result, c.places = namedBy(c.shape, items)
		if len(c.places) > 500 {
			continue
		}
		dev := devices[0]
		if i%4 == 0 {
			dev = devices[1+i/4%(len(devices)-1)]
		}
		t.Run(fmt.Sprintf("%d %s", i, dev), func(t *testing.T) {
			t.Logf("%v at %v", c.shape, c.index)
			c.check(t, rng, dev)
		})
	}
}

// TestMask compares masks over several axes, alone and beside a range and places, with
// loops.
func TestMask(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range 60 {
		shape := []int{1 + rng.IntN(3), 1 + rng.IntN(4), 1 + rng.IntN(3)}
		over := 1 + rng.IntN(3)
		at := rng.IntN(4 - over)
		mask := make([]bool, size(shape[at:at+over]))
		lists := make([][]int, over)
		for j := range mask {
			if mask[j] = rng.IntN(2) == 0; !mask[j] {
				continue
			}
			rest := j
			for a := over - 1; a >= 0; a-- {
				lists[a] = append(lists[a], rest%shape[at+a])
				rest /= shape[at+a]
			}
		}
		c := named{shape: shape}
		var items []item
		for a := range shape {
			switch {
			case a == at:
				c.index = append(c.index, tensor.From(mask, shape[at:at+over]...))
				items = append(items, item{shape: []int{len(lists[0])}, at: lists})
			case a < at || a >= at+over:
				c.index = append(c.index, tensor.Whole)
				items = append(items, item{taken: steps(0, shape[a], 1)})
			}
		}
		c.result, c.places = namedBy(shape, items)
		for _, dev := range []device.Device{devices[i%len(devices)]} {
			t.Run(fmt.Sprintf("%d %s", i, dev), func(t *testing.T) {
				t.Logf("%v at %v", c.shape, c.index)
				c.check(t, rng, dev)
			})
		}
	}
}
