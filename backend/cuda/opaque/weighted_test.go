package opaque_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sinter-go/sinter/backend/cuda/opaque"
	"github.com/sinter-go/sinter/ir"
)

// TestWeightedRowsInParts: a launch takes sums of less than 2^31 elements, whole batches where
// one of them is less, and the places of the parts are those of their first sums.
func TestWeightedRowsInParts(t *testing.T) {
	type part struct {
		count, taps, points uint32
		next                int64
		at                  [4]uint64
	}
	for _, test := range []struct {
		name                 string
		batch, points, width int
		want                 []part
	}{
		{"batches", 3, 1 << 10, 1 << 20, []part{
			{1 << 30, 2, 1 << 10, 2 << 10, [4]uint64{0, 0, 0, 0}},
			{1 << 30, 2, 1 << 10, 2 << 10, [4]uint64{1 << 32, 3 << 22, 16 << 10, 8 << 10}},
			{1 << 30, 2, 1 << 10, 2 << 10, [4]uint64{2 << 32, 6 << 22, 32 << 10, 16 << 10}},
		}},
		{"sums", 1, 1 << 12, 1 << 20, []part{
			{2047 << 20, 2, 2047, 0, [4]uint64{0, 0, 0, 0}},
			{2047 << 20, 2, 2047, 0, [4]uint64{2047 << 22, 0, 2047 * 16, 2047 * 8}},
			{2 << 20, 2, 2, 0, [4]uint64{4094 << 22, 0, 4094 * 16, 4094 * 8}},
		}},
	} {
		g := &weightedGPU{}
		index := deviceView(0, test.batch, test.points, 2)
		index.DType = ir.Int64
		c := &ir.Call{In: []ir.View{deviceView(0, test.batch, 3, test.width), index, deviceView(0, test.batch, test.points, 2)}, Out: []ir.View{deviceView(0, test.batch, test.points, test.width)}}
		if err := opaque.WeightedRows(g, c); err != nil {
			t.Fatal(err)
		}
		var got []part
		for _, b := range g.params {
			type divider struct {
				divisor uint32
				_       [2]uint32 // what it multiplies with and shifts by
			}
			p := paramsOf[struct {
				count, taps   uint32
				width, points divider
				batches       uint32
				group         uint32
				rows, next    int64
				trap          uint64
				who           uint32
				at            [4]uint64
			}](t, b)
			got = append(got, part{p.count, p.taps, p.points.divisor, p.next, p.at})
		}
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(part{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestFoldBlocksInParts: a launch takes whole planes of less than 2^31 elements together, and the
// places of the parts are those of their first planes; no planes are no launch.
func TestFoldBlocksInParts(t *testing.T) {
	type part struct {
		count   uint32
		out, in uint64
	}
	for _, test := range []struct {
		planes int
		want   []part
	}{
		{0, nil},
		{5, []part{{2 << 29, 0, 0}, {2 << 29, 4 << 30, 4 << 30}, {2 << 29, 8 << 30, 8 << 30}, {2 << 29, 12 << 30, 12 << 30}, {2 << 29, 16 << 30, 16 << 30}}},
	} {
		g, one := &weightedGPU{}, ir.IntsValue([]int{1, 1})
		c := &ir.Call{
			In: []ir.View{deviceView(0, test.planes, 1, 1<<30)}, Out: []ir.View{deviceView(0, test.planes, 1<<15, 1<<15)},
			Attrs: []ir.Value{ir.IntsValue([]int{1 << 15, 1 << 15}), one, one, ir.IntsValue([]int{0, 0}), one},
		}
		if err := opaque.FoldBlocks(g, c); err != nil {
			t.Fatal(err)
		}
		var got []part
		for _, b := range g.params {
			p := paramsOf[struct {
				windows           [32]uint32
				count, padded     uint32
				positions         [3]uint32
				out, in           uint64
				elements, planeOf int64
			}](t, b)
			got = append(got, part{p.count, p.out, p.in})
		}
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(part{})); diff != "" {
			t.Errorf("%d planes (-want +got):\n%s", test.planes, diff)
		}
	}
}

// A weightedGPU lends operands as they are.
type weightedGPU struct{ recorder }

func (*weightedGPU) Dense(v ir.View, _ ir.DType) (ir.View, error) { return v, nil }

func (*weightedGPU) Trap() uint64 { return 0 }
