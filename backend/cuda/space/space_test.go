package space

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

// divide does what quotient of kernels/space.cuh does.
func divide(i, multiplier, shift uint32) uint32 {
	return uint32((uint64(i)*uint64(multiplier)>>32 + uint64(i)) >> shift)
}

func TestDivider(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	check := func(n, i uint32) {
		t.Helper()
		multiplier, shift := Divider(n)
		if got := divide(i, multiplier, shift); got != i/n {
			t.Errorf("%d/%d is %d, want %d", i, n, got, i/n)
		}
	}
	for range 200_000 {
		n := 1 + rng.Uint32N(Limit-1)>>rng.IntN(31)
		check(n, rng.Uint32N(Limit)>>rng.IntN(31))
		multiple := rng.Uint32N((Limit-1)/n+1) * n
		check(n, multiple)
		check(n, max(multiple, 1)-1)
		check(n, Limit-1)
	}
}

func TestNewJoinsAxes(t *testing.T) {
	for _, c := range []struct {
		shape   []int
		strides [][]int
		want    Space
	}{
		{nil, [][]int{{}}, Space{Extents: []int{}, Strides: [][]int{{}}}},
		{[]int{2, 3, 4}, [][]int{{12, 4, 1}}, Space{Extents: []int{24}, Strides: [][]int{{1}}}},
		{[]int{2, 1, 4}, [][]int{{4, 99, 1}, {4, 0, 1}}, Space{Extents: []int{8}, Strides: [][]int{{1}, {1}}}},
		{[]int{2, 3}, [][]int{{3, 1}, {0, 1}}, Space{Extents: []int{3, 2}, Strides: [][]int{{1, 3}, {1, 0}}}},
		{[]int{2, 3, 4}, [][]int{{-12, -4, -1}}, Space{Extents: []int{24}, Strides: [][]int{{-1}}}},
		{[]int{5, 2, 3}, [][]int{{6, 3, 1}, {1, 15, 5}}, Space{Extents: []int{6, 5}, Strides: [][]int{{1, 6}, {5, 1}}}},
	} {
		if d := cmp.Diff(c.want, New(c.shape, c.strides...)); d != "" {
			t.Errorf("%v %v (-want +got):\n%s", c.shape, c.strides, d)
		}
	}
}

// visit returns the offsets of a space's positions in order, as the device finds
// them.
func visit(s *Space, offsets []int64) (out [][]int64) {
	for i := range s.Count() {
		at := append([]int64(nil), offsets...)
		for d, n := range s.Extents {
			for k := range at {
				at[k] += i % int64(n) * int64(s.Strides[k][d])
			}
			i /= int64(n)
		}
		out = append(out, at)
	}
	return out
}

// TestPieces checks that pieces visit what the whole does, in order, and that each
// is one the device takes.
func TestPieces(t *testing.T) {
	for _, c := range []struct {
		shape   []int
		strides [][]int
		limit   int64
	}{
		{[]int{}, [][]int{{}}, 2}, {[]int{7}, [][]int{{1}}, 3}, {[]int{5, 4}, [][]int{{9, 2}, {0, 1}}, 9}, {[]int{3, 4, 5}, [][]int{{20, 5, 1}}, 7},
		{[]int{2, 3, 2, 2, 2, 3, 2, 2, 2, 2}, [][]int{{1, 2, 6, 12, 24, 48, 144, 288, 576, 1152}}, 1 << 20}, {[]int{4, 0}, [][]int{{1, 1}}, 9},
	} {
		want := visit(&Space{Extents: reversed(c.shape), Strides: [][]int{reversed(c.strides[0])}}, []int64{0})
		s := New(c.shape, c.strides...)
		var got [][]int64
		err := s.EachBelow(c.limit, func(p *Space, offsets []int64) error {
			if p.Count() >= c.limit || len(p.Extents) > MaxRank {
				t.Errorf("%v: a piece has extents %v", c.shape, p.Extents)
			}
			if p.First != int64(len(got)) {
				t.Errorf("%v: a piece starts at %d, want %d", c.shape, p.First, len(got))
			}
			for _, at := range visit(p, offsets) {
				got = append(got, at[:1])
			}
			return nil
		})
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%v %v below %d: %v (-want +got):\n%s", c.shape, c.strides, c.limit, err, d)
		}
	}
}

func reversed(list []int) []int {
	out := make([]int, len(list))
	for i, v := range list {
		out[len(list)-1-i] = v
	}
	return out
}

func TestWiden(t *testing.T) {
	runs := []bool{true, false}
	for _, c := range []struct {
		shape   []int
		strides [][]int
		width   int
		want    Space
	}{
		{[]int{3, 8}, [][]int{{12, 1}, {1, 0}}, 4, Space{Extents: []int{2, 3}, Strides: [][]int{{1, 3}, {0, 1}}}},
		{[]int{3, 6}, [][]int{{12, 1}, {1, 0}}, 2, Space{Extents: []int{3, 3}, Strides: [][]int{{1, 6}, {0, 1}}}},
		{[]int{3, 8}, [][]int{{12, 1}, {8, 1}}, 1, Space{Extents: []int{8, 3}, Strides: [][]int{{1, 12}, {1, 8}}}},
		{[]int{3, 8}, [][]int{{12, 2}, {1, 0}}, 1, Space{Extents: []int{8, 3}, Strides: [][]int{{2, 12}, {0, 1}}}},
		{[]int{}, [][]int{{}, {}}, 1, Space{Extents: []int{}, Strides: [][]int{{}, {}}}},
	} {
		s := New(c.shape, c.strides...)
		width := s.Width(4, runs)
		s.Widen(width, runs)
		if d := cmp.Diff(c.want, s); d != "" || width != c.width {
			t.Errorf("%v %v: width %d, want %d (-want +got):\n%s", c.shape, c.strides, width, c.width, d)
		}
	}
}

// TestAppend checks the layout of the struct Space of kernels/space.cuh.
func TestAppend(t *testing.T) {
	s := New([]int{5, 3}, ir.ContiguousStrides([]int{5, 3}), []int{1, 7})
	s.First = 11
	var p driver.Params
	p.Uint8(1)
	s.Append(&p)
	b := p.Bytes()[8:]
	le := binary.LittleEndian
	if want := 24 + 96 + 2*64; len(b) != want {
		t.Fatalf("%d bytes, want %d", len(b), want)
	}
	got := []uint64{
		le.Uint64(b), le.Uint64(b[8:]), uint64(le.Uint32(b[16:])), uint64(le.Uint32(b[20:])), uint64(le.Uint32(b[32:])), uint64(le.Uint32(b[44:])),
		le.Uint64(b[120:]), le.Uint64(b[128:]), le.Uint64(b[184:]), le.Uint64(b[192:]), le.Uint64(b[200:]),
	}
	if d := cmp.Diff([]uint64{11, 15, 2, 3, 5, 1, 1, 3, 7, 1, 0}, got); d != "" {
		t.Errorf("fields (-want +got):\n%s", d)
	}
}
