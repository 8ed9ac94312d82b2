package cublaslt

import (
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/ir"
)

// An Activation is applied to each element of a product with a bias.
type Activation uint8

// The activations.
const (
	Identity Activation = iota
	ReLU
	GELU // approximated with tanh
)

// A key is everything that the preparation of a problem depends on.
type key struct {
	dtype, result  ir.DType // of the factors, and of what is written
	compute        int32    // the library's cublasComputeType_t
	reductions     uint32
	epilogue       uint32
	add            bool    // to what is there
	factor         float64 // of the product
	m, n, k        int
	lda, ldb, ldd  int
	batch          int
	sa, sb, sd     int
	transA, transB bool
	alignA, alignB uint8 // logarithms
	alignD, alignC uint8 // C is what is added
	keeps          bool  // what an activation is of, or reads it
	alignKept      uint8
	limit          int64 // bytes an algorithm may work in
}

// The library's constants, of its headers cublasLt.h, cublas_api.h and
// library_types.h.
const (
	compute16F     = 64
	compute32F     = 68
	compute64F     = 70
	computeTF32    = 77
	real32, real64 = 0, 1
	real16         = 2
	complex32      = 4
	complex64      = 5
	brain16        = 14

	reductionNone    = 0
	reductionCompute = 2
	reductionAny     = 7

	layoutBatchCount  = 5
	layoutBatchStride = 6

	descTransA      = 3
	descTransB      = 4
	descEpilogue    = 7
	descBiasPointer = 8
	descKeptPointer = 11
	descKeptStride  = 12
	transpose       = 1

	epilogueNone = 1
	epilogueReLU = 2
	epilogueBias = 4
	epilogueGELU = 32

	// Gelu with what it is of, before a bias or with it, and the product times gelu's derivative.
	epilogueKeptGELU = 128 | epilogueGELU
	epilogueGELUGrad = 128 | 64

	// The sums of what the library calls A and B along the axis that the product sums over.
	epilogueSumsA = 256
	epilogueSumsB = 512

	preferWorkspace  = 1
	preferReductions = 3
	preferAlignA     = 5
	preferAlignB     = 6
	preferAlignC     = 7
	preferAlignD     = 8
)

// elements are the library's cudaDataType of each dtype it multiplies.
var elements = map[ir.DType]int32{
	ir.Float16: real16, ir.BFloat16: brain16, ir.Float32: real32, ir.Float64: real64,
	ir.Complex64: complex32, ir.Complex128: complex64,
}

// Supports reports whether the library multiplies matrices of dt to one of dtype
// result: the same, or float32 for factors of 16 bits, whose sums are of that.
func Supports(dt, result ir.DType) bool {
	_, ok := elements[dt]
	return ok && (result == dt || dt.IsFloat() && dt.Size() == 2 && result == ir.Float32)
}

// arithmetic returns how products of dt are computed for a result, and which reductions of partial sums are allowed.
func arithmetic(dt, result ir.DType, tf32 bool, sums ir.Sums) (compute int32, reductions uint32) {
	switch dt {
	case ir.Float32:
		if tf32 {
			return computeTF32, reductionAny
		}
	case ir.Float16:
		if result == ir.Float16 && sums.InFP16 {
			return compute16F, reductionAny
		}
		return compute32F, reductionsOf(sums.FP16)
	case ir.BFloat16:
		return compute32F, reductionsOf(sums.BF16)
	case ir.Float64, ir.Complex128:
		return compute64F, reductionAny
	}
	return compute32F, reductionAny
}

func reductionsOf(r ir.Partial) uint32 {
	switch {
	case r.Rounded:
		return reductionAny
	case r.Split:
		return reductionCompute
	}
	return reductionNone
}

// maxAlign is the alignment beyond which none matters, 256 bytes.
const maxAlign = 8

func alignment(addr uint64) uint8 {
	return uint8(min(bits.TrailingZeros64(addr), maxAlign))
}

// A prepared problem is what is to be done about it: a call, or an error.
type prepared struct {
	*call
	err error
}

// A call is a problem as the library reads it, and the algorithm it chose. All of
// it is memory the library reads during calls and never keeps. The library reads
// 16 bytes at a time: a call lies at a multiple of 16, which newCall sees to.
type call struct {
	desc        [32]uint64 // cublasLtMatmulDescOpaque_t
	a, b, d     layout
	algorithm   [8]uint64 // cublasLtMatmulAlgo_t
	alpha, beta [2]float64
	workspace   int64
}

// newCall returns a call at an address that the library accepts. A call holds no
// pointers, so that the collector need not know it by more than its bytes.
func newCall() *call {
	const align = 16
	buffer := make([]uint64, unsafe.Sizeof(call{})/8+align/8)
	at := unsafe.Pointer(&buffer[0])
	return (*call)(unsafe.Add(at, -uintptr(at)&(align-1)))
}

// layout is cublasLtMatrixLayoutOpaque_t, of CUDA 13; that of 12 is smaller.
type layout [14]uint64

// A heuristic is cublasLtMatmulHeuristicResult_t.
type heuristic struct {
	algorithm [8]uint64
	workspace uint64
	state     int32
	waves     float32
	_         [4]int32
}

// make fills p for the problem k. It enters the device.
func (d *device) make(p *prepared, k *key) error {
	if err := d.api.Enter(d.ordinal); err != nil {
		return err
	}
	defer d.api.Leave()
	if err := d.describe(p, k); err != nil {
		return err
	}
	var results [1]heuristic
	n, err := d.choose(p, k, results[:])
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("%w: no algorithm for %v to %v of %d x %d x %d", ErrUnsupported, k.dtype, k.result, k.m, k.n, k.k)
	}
	p.algorithm, p.workspace = results[0].algorithm, int64(results[0].workspace)
	return nil
}

// scale returns the type of alpha and beta, and alpha's bits for 1.
func (k *key) scale() (kind int32, one [2]float64) {
	switch {
	case k.compute == compute16F:
		*(*uint16)(unsafe.Pointer(&one)) = 0x3C00
		return real16, one
	case k.dtype == ir.Float64:
		return real64, [2]float64{1}
	case k.dtype == ir.Complex128:
		return complex64, [2]float64{1}
	case k.dtype == ir.Complex64:
		*(*float32)(unsafe.Pointer(&one)) = 1
		return complex32, one
	}
	*(*float32)(unsafe.Pointer(&one)) = 1
	return real32, one
}

// describe fills p's descriptors.
func (d *device) describe(p *prepared, k *key) error {
	c := dl.Get()
	defer c.Free()
	kind, one := k.scale()
	p.alpha = one
	if k.factor != 1 {
		switch kind {
		case real32:
			*(*float32)(unsafe.Pointer(&p.alpha)) = float32(k.factor)
		case real64:
			p.alpha[0] = k.factor
		default:
			return fmt.Errorf("%w: a factor of products of %v", ErrUnsupported, k.dtype)
		}
	}
	if k.add {
		p.beta = one
	}
	desc := c.Keep(unsafe.Pointer(&p.desc))
	if err := d.check("cublasLtMatmulDescInit", d.descInit.Call(c, desc, unsafe.Sizeof(p.desc), uintptr(k.compute), uintptr(kind))); err != nil {
		return err
	}
	set := func(attribute int, value uint64, size uintptr) error {
		c.Words[0] = uintptr(value)
		return d.check("cublasLtMatmulDescSetAttribute", d.descSet.Call(c, desc, uintptr(attribute), c.Addr(0), size))
	}
	for _, t := range []struct {
		attribute int
		on        bool
	}{{descTransA, k.transA}, {descTransB, k.transB}} {
		if t.on {
			if err := set(t.attribute, transpose, 4); err != nil {
				return err
			}
		}
	}
	if k.epilogue != epilogueNone {
		if err := set(descEpilogue, uint64(k.epilogue), 4); err != nil {
			return err
		}
	}
	if k.keeps { // the alignment is what the heuristics see of the address
		if err := set(descKeptStride, uint64(k.ldd), 8); err != nil {
			return err
		}
		if err := set(descKeptPointer, 1<<k.alignKept, 8); err != nil {
			return err
		}
	}
	rowsA, colsA, rowsB, colsB := k.m, k.k, k.k, k.n
	if k.transA {
		rowsA, colsA = colsA, rowsA
	}
	if k.transB {
		rowsB, colsB = colsB, rowsB
	}
	if err := d.layout(&p.a, k, k.dtype, rowsA, colsA, k.lda, k.sa); err != nil {
		return err
	}
	if err := d.layout(&p.b, k, k.dtype, rowsB, colsB, k.ldb, k.sb); err != nil {
		return err
	}
	return d.layout(&p.d, k, k.result, k.m, k.n, k.ldd, k.sd)
}

func (d *device) layout(l *layout, k *key, dt ir.DType, rows, cols, ld, stride int) error {
	c := dl.Get()
	defer c.Free()
	at := c.Keep(unsafe.Pointer(l))
	result := d.layoutInit.Call(c, at, unsafe.Sizeof(*l), uintptr(elements[dt]), uintptr(rows), uintptr(cols), uintptr(ld))
	if err := d.check("cublasLtMatrixLayoutInit", result); err != nil || k.batch == 1 {
		return err
	}
	for _, s := range []struct {
		attribute, size uintptr
		value           int
	}{{layoutBatchCount, 4, k.batch}, {layoutBatchStride, 8, stride}} {
		c.Words[0] = uintptr(s.value)
		if err := d.check("cublasLtMatrixLayoutSetAttribute", d.layoutSet.Call(c, at, s.attribute, c.Addr(0), s.size)); err != nil {
			return err
		}
	}
	return nil
}

// choose asks the heuristics for algorithms, best first, and returns how many
// there are.
func (d *device) choose(p *prepared, k *key, results []heuristic) (int, error) {
	c := dl.Get()
	defer c.Free()
	if err := d.check("cublasLtMatmulPreferenceCreate", d.preferenceCreate.Call(c, c.Addr(0))); err != nil {
		return 0, err
	}
	preference := c.Words[0]
	defer d.preferenceDestroy.Call(c, preference)
	for _, s := range []struct {
		attribute, size uintptr
		value           uint64
	}{
		{preferWorkspace, 8, uint64(k.limit)},
		{preferReductions, 4, uint64(k.reductions)},
		{preferAlignA, 4, 1 << k.alignA},
		{preferAlignB, 4, 1 << k.alignB},
		{preferAlignC, 4, 1 << k.alignC},
		{preferAlignD, 4, 1 << k.alignD},
	} {
		c.Words[1] = uintptr(s.value)
		if err := d.check("cublasLtMatmulPreferenceSetAttribute", d.preferenceSet.Call(c, preference, s.attribute, c.Addr(1), s.size)); err != nil {
			return 0, err
		}
	}
	at := c.Keep(unsafe.Pointer(p.call))
	a, b, out := at+unsafe.Offsetof(call{}.a), at+unsafe.Offsetof(call{}.b), at+unsafe.Offsetof(call{}.d)
	c.Words[2] = 0
	result := d.heuristic.Call(c, d.handle, at+unsafe.Offsetof(call{}.desc), a, b, out, out, preference,
		uintptr(len(results)), c.Keep(unsafe.Pointer(&results[0])), c.Addr(2))
	if err := d.check("cublasLtMatmulAlgoGetHeuristic", result); err != nil {
		return 0, err
	}
	n := 0
	for n < int(int32(c.Words[2])) && results[n].state == 0 {
		n++
	}
	return n, nil
}
