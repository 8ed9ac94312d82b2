package scan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShape(t *testing.T) {
	const resident = 132 * 2048
	for _, c := range []struct {
		name string
		l    Lines
		want Shape
	}{
		{"short rows", Lines{Count: 1000, Extent: 1024, Widest: 4}, Shape{Grid: [3]int{125, 1, 1}, Block: [3]int{32, 8, 1}}},
		{"long rows", Lines{Count: 4096, Extent: 4096, Widest: 4}, Shape{Grid: [3]int{4096, 1, 1}, Block: [3]int{256, 1, 1}}},
		{"one row", Lines{Count: 1, Extent: 1 << 24, Widest: 8}, Shape{Grid: [3]int{1, 1056, 1}, Block: [3]int{256, 1, 1}}},
		{"a row of a warp", Lines{Count: 1, Extent: 5, Widest: 16}, Shape{Grid: [3]int{1, 1, 1}, Block: [3]int{32, 8, 1}}},
		{"columns", Lines{Count: 4096, Extent: 4096, Columns: true, Widest: 8}, Shape{Grid: [3]int{16, 132, 1}, Block: [3]int{256, 1, 1}}},
		{"short columns", Lines{Count: 40, Extent: 8, Columns: true, Widest: 8}, Shape{Grid: [3]int{1, 1, 1}, Block: [3]int{64, 1, 1}}},
		{"more than a grid has", Lines{Count: 1 << 35, Extent: 2, Columns: true, Widest: 8}, Shape{Grid: [3]int{1 << 27, 1, 1}, Block: [3]int{256, 1, 1}}},
	} {
		if d := cmp.Diff(c.want, c.l.Shape(resident)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
	if d := cmp.Diff(Shape{Grid: [3]int{2, 1, 1}, Block: [3]int{256, 1, 1}}, Carries(9)); d != "" {
		t.Errorf("carries (-want +got):\n%s", d)
	}
}
