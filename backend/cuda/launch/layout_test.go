package launch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/space"
)

// TestPieces cuts spaces that no kernel takes at once. Every piece is small enough,
// they follow each other, and random positions have the offsets of the whole.
func TestPieces(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("no space has 2^31 positions here")
	}
	giga := 1 << 30 // no constant: multiples of it have more bits than an int of some platforms
	tests := []struct {
		shape   []int
		strides [][]int
		offsets bool
		most    int // pieces
	}{
		{[]int{4 * giga}, [][]int{{1}, {0}}, true, 3},
		{[]int{3, 2 * giga}, [][]int{{2 * giga, 1}}, false, 6},
		{[]int{1 << 20, 1 << 14}, [][]int{{1 << 15, 2}, {0, 1}}, true, 17},
		{[]int{5, 3}, [][]int{{3, 1}, {1, 2 * giga}}, true, 15},
		{[]int{2, 3, 2, 3, 2, 3, 2, 3, 2, 3}, [][]int{{1, 2, 1, 2, 1, 2, 1, 2, 1, 2}}, true, 6},
		{[]int{7}, [][]int{{3}}, true, 1},
	}
	rng := rand.New(rand.NewPCG(9, 10))
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.shape), func(t *testing.T) {
			var l layout
			l.set(tt.shape, natural(nil, tt.shape), tt.strides)
			next, pieces := int64(0), 0
			must(t, l.pieces(tt.offsets, func(p *piece) error {
				pieces++
				if p.first != next || !p.fits(tt.offsets) || p.rank() > space.MaxRank {
					t.Fatalf("piece %d: first %d, want %d; count %d, extents %v", pieces, p.first, next, p.count, p.extents)
				}
				next += p.count
				var params driver.Params
				p.encode(&params, p.first)
				r := reader{t: t, data: params.Bytes()}
				s := r.space(p.operands)
				for range 20 {
					i := rng.Int64N(p.count)
					at, coords := s.locate(uint32(i), 0), coordinates(tt.shape, int(s.first+i))
					for k := range tt.strides {
						if got, want := p.offsets[k]+at[k], int64(dot(coords, tt.strides[k])); got != want {
							t.Fatalf("position %d: operand %d is at %d, want %d", s.first+i, k, got, want)
						}
					}
				}
				return nil
			}))
			if next != l.count || pieces > tt.most {
				t.Errorf("%d pieces of %d positions, want %d of at most %d", pieces, next, l.count, tt.most)
			}
		})
	}
}
