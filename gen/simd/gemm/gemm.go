// Package gemm makes the assembly of backend/cpu/gemm: the micro-kernels of
// matrix products, which keep a tile of the result in registers, and the Go
// functions that choose among them. It knows nothing of how products are cut into
// tiles.
package gemm

import (
	"fmt"
	"slices"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/sinter-go/sinter/gen/simd/asm"
)

// An isa is what kernels of one level and dtype are made of.
type isa struct {
	level string // suffix of function names
	dtype string
	size  int // bytes of an element
	lanes int // of a vector
	regs  int // vector registers
	mask  bool
}

var isas = []isa{
	{level: "AVX2", dtype: "F32", size: 4, lanes: 8, regs: 16},
	{level: "AVX2", dtype: "F64", size: 8, lanes: 4, regs: 16},
	{level: "AVX512", dtype: "F32", size: 4, lanes: 16, regs: 32, mask: true},
	{level: "AVX512", dtype: "F64", size: 8, lanes: 8, regs: 32, mask: true},
}

// A shape is a tile: rows by vectors, of which the last may be partly there.
type shape struct {
	rows, vectors int
	edge          bool
}

// A class is the tiles that differ in their rows only.
type class struct {
	vectors, rows int // rows at most
	edge          bool
}

// classes returns the tiles of an isa: two vectors wide and one, whole and not.
func (s isa) classes() []class {
	two, one := 6, 12
	switch {
	case s.dtype == "I8" && s.mask:
		two, one = byteRows, byteRows
	case s.integer():
		two, one = integerRows, integerRows
	case s.mask:
		two, one = 14, 14
	}
	return []class{{2, two, false}, {2, two, true}, {1, one, false}, {1, one, true}}
}

func (s isa) name(t shape) string {
	edge := ""
	if t.edge {
		edge = "Edge"
	}
	return fmt.Sprintf("tile%dx%d%s%s%s", t.rows, t.vectors, edge, s.dtype, s.level)
}

const (
	dir = "backend/cpu/gemm"
	pkg = "gemm"
)

// Files returns the package's files.
func Files(by string) ([]asm.File, error) {
	var all []asm.File
	for _, s := range slices.Concat(isas, integers) {
		u := asm.Unit{Dir: dir, Pkg: pkg, Name: s.unit(), By: by}
		files, err := u.Build(func(c *build.Context) {
			if !s.mask {
				laneMasks(c)
			}
			for _, class := range s.classes() {
				for rows := 1; rows <= class.rows; rows++ {
					s.kernel(c, shape{rows, class.vectors, class.edge}).emit()
				}
			}
			if !s.integer() {
				s.kernel(c, shape{}).thin()
			}
		})
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	for _, u := range []struct {
		name string
		f    func(*build.Context)
	}{{"pack_avx2", packers}, {"pairs_avx512", pairPackers}, {"half_amx", halfTiles}, {"i8_amx", byteTiles}, {"half_avx512bf16", vectorKernels}} {
		files, err := asm.Unit{Dir: dir, Pkg: pkg, Name: u.name, By: by}.Build(u.f)
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	choice, err := choosers(by)
	if err != nil {
		return nil, err
	}
	return append(all, choice), nil
}

func (s isa) vector(i int) reg.VecPhysical {
	if s.mask {
		return zs[i]
	}
	return ys[i]
}

var (
	ys = []reg.VecPhysical{reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7, reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15}
	zs = []reg.VecPhysical{reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
		reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23, reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31}
)

// Offsets of the fields of tile, the structure in backend/cpu/gemm/tile.go.
const (
	offA = 8 * iota
	offARow
	offACol
	offB
	offBRow
	offK
	offC
	offCRow
	offSrc
	offSrcRow
	offGroups
	offLast
	offAhead
	offAheadAt
	offAheadStep
)

func at(base reg.Register, disp int) operand.Mem { return operand.Mem{Base: base, Disp: disp} }

func indexed(base, index reg.Register, scale uint8) operand.Mem {
	return operand.Mem{Base: base, Index: index, Scale: scale}
}

// table is a read-only one in the same file.
func table(name string) operand.Mem {
	return operand.Mem{Symbol: operand.Symbol{Name: name, Static: true}, Base: reg.StaticBase}
}

// laneMasks emits masks for vectors of eight lanes: that of the first n begins n
// lanes before the middle.
func laneMasks(c *build.Context) {
	c.StaticGlobal("laneMasks")
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 16 {
		v := int32(0)
		if i < 8 {
			v = -1
		}
		c.AddDatum(4*i, operand.I32(v))
	}
}
