package opaque

import (
	"encoding/binary"
	"sync"

	"github.com/sinter-go/sinter/backend/cpu/conv"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

// A geometry is what a convolution computes from its extents alone: where the terms of windows
// lie in frames, and how windows are cut into tiles. It does not change, and serves all
// convolutions of such extents: networks ask for the same ones at every run.
type geometry struct {
	frame  *conv.Frame
	kernel [][]int // places along each axis
	terms  []int   // of a window, in bytes

	once     sync.Once
	cuttings [2]conv.Cutting // of a tiling
	sums     [2][]conv.Terms
}

// geometryBytes is how much memory geometries take that are kept; beyond it all are forgotten.
const geometryBytes = 8 << 20

// geometries are those that were asked for.
var geometries struct {
	sync.Mutex
	all   map[string]*geometry
	bytes int
}

// geometryOf returns the geometry of a convolution in dtype.
func geometryOf(v *convolution, dtype ir.DType) *geometry {
	var room [192]byte
	key := append(room[:0], byte(dtype), byte(simd.Active()))
	for _, list := range [...][]int{v.in, v.out, v.kernel, v.stride, v.padding, v.dilation} {
		key = append(key, byte(len(list)))
		for _, n := range list {
			key = binary.AppendVarint(key, int64(n))
		}
	}
	key = binary.AppendVarint(binary.AppendVarint(key, int64(v.channels)), int64(v.outs))
	geometries.Lock()
	g := geometries.all[string(key)]
	geometries.Unlock()
	if g != nil {
		return g
	}
	g = &geometry{kernel: placesOf(v.kernel, v.dilation)}
	g.frame, g.terms = v.frameOf(g.kernel, dtype)
	geometries.Lock()
	defer geometries.Unlock()
	bytes := 64*len(g.terms) + 64*v.outSize // with tiles, about
	if geometries.bytes += bytes; geometries.all == nil || geometries.bytes > geometryBytes {
		geometries.all, geometries.bytes = map[string]*geometry{}, bytes
	}
	geometries.all[string(key)] = g
	return g
}
