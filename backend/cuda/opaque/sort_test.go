package opaque_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/opaque"
	"github.com/sinter-go/sinter/ir"
)

// A sorter is a recorder that has scratch for as many levels of parts as a sort may have.
type sorter struct {
	*recorder
	asked int
}

func (*sorter) Multiprocessors() int { return 132 }

func (s *sorter) Dense(v ir.View, _ ir.DType) (ir.View, error) { return v, nil }

func (s *sorter) Scratch(int64) (uint64, error) {
	if s.asked++; s.asked > 64 {
		return 0, errors.New("scratch without end")
	}
	return 1 << 40, nil
}

// TestFirstOfParts checks which kernels find the first elements of long rows: the first of
// parts may be few, fewer than a row for which a block is the best choice.
func TestFirstOfParts(t *testing.T) {
	for _, c := range []struct {
		rows, n, k, levels int
	}{
		{1, 87_381, 10, 0},
		{1, 87_382, 1, 1},
		{1, 100_003, 1, 1},
		{1, 100_003, 10, 1},
		{1, 100_003, 2048, 1},
		{1, 4_200_000, 1, 1},
		{1, 4_200_000, 2048, 2},
		{2, 131_072, 10, 1},
		{2, 140_001, 1, 1},
		{3, 262_144, 16, 1},
		{4, 262_144, 16, 0},
	} {
		var want []string
		if c.levels == 0 {
			want = append(want, "first")
		}
		for range c.rows {
			for range c.levels { // parts, and what is left of the row
				want = append(want, "first", "first")
			}
			if c.levels > 0 {
				want = append(want, "first")
			}
			for range c.levels {
				want = append(want, "origin")
			}
		}
		g := &sorter{recorder: &recorder{}}
		x, values, places := deviceView(0x1000, c.rows, c.n), deviceView(0x2000, c.rows, c.k), deviceView(0x3000, c.rows, c.k)
		places.DType = ir.Int64
		what := fmt.Sprintf("the first %d of %d x %d", c.k, c.rows, c.n)
		err := opaque.SortFirst(g, &ir.Call{In: []ir.View{x}, Out: []ir.View{values, places}, Attrs: []ir.Value{{Int: 1}, {Int: int64(c.k)}, {Int: 1}}})
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		var got []string
		for _, l := range g.launch {
			name := strings.Fields(l)[1]
			got = append(got, strings.TrimSuffix(strings.TrimPrefix(name, "sort_"), "_b4"))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
}
