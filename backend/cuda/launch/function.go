package launch

import (
	"fmt"
	"io/fs"
	"maps"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

// A loopKey names the kernels of one body of an operator.
type loopKey struct {
	op      *ir.Op
	variant int
	stored  ir.DType
}

// The loops of a body, by the operator's kind.
const (
	contiguousLoop = iota // ir.Elementwise
	stridedLoop
	rowsLoop

	innerLoop = iota - 3 // ir.Reduction
	outerLoop
	mergeLoop

	scanRowsLoop = iota - 6 // ir.Scan
	totalsLoop
	carryLoop
	columnsLoop
	columnTotalsLoop

	maxLoops = 5
)

var suffixes = map[ir.BodyKind][maxLoops]string{
	ir.Elementwise: {"", "_strided", "_rows"},
	ir.Joint:       {""},
	ir.Reduction:   {"_inner", "_outer", "_merge"},
	ir.Scan:        {"_rows", "_totals", "_carry", "_columns", "_column_totals"},
}

// A loopSet is the kernels of one body for one storage dtype, each looked up when
// it is first launched.
type loopSet struct {
	key       loopKey
	name      string // without the loop's suffix
	module    string
	source    fs.FS
	suffixes  [maxLoops]string
	indexed   bool // results may depend on the elements' index: axes keep their order
	functions [maxLoops]atomic.Uintptr
}

// loopsOf returns the kernels of c's body for operands stored as a dtype.
func (d *Device) loopsOf(c *ir.Call, stored ir.DType) *loopSet {
	key := loopKey{c.Op, c.Variant, stored}
	recent := &d.recent[key.slot()]
	s := recent.Load()
	if s == nil || s.key != key {
		s = d.lookUp(c, key)
		recent.Store(s)
	}
	return s
}

// recentLoops is how many of the loops used last are found without the table.
const recentLoops = 256

// slot returns the place of a key among the recent ones. Operators do not move:
// their address tells them apart.
func (k loopKey) slot() uint {
	h := uint64(uintptr(unsafe.Pointer(k.op)))>>4*31 + uint64(k.variant)*7 + uint64(k.stored)
	return uint(h * 0x9e3779b97f4a7c15 >> 56)
}

// lookUp returns the kernels of a key from the table, which it adds them to.
func (d *Device) lookUp(c *ir.Call, key loopKey) *loopSet {
	if s := (*d.loops.Load())[key]; s != nil {
		return s
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	old := *d.loops.Load()
	if s := old[key]; s != nil {
		return s
	}
	s := &loopSet{
		key: key, name: loopName(c, key.stored), module: c.Op.CUDA.Module, source: c.Op.CUDA.Source,
		suffixes: suffixes[c.Op.Kind], indexed: c.Variant < len(c.Op.Bodies) && c.Op.Bodies[c.Variant].Indexed,
	}
	table := maps.Clone(old)
	table[key] = s
	d.loops.Store(&table)
	return s
}

// loopName is the name of a body's kernels, as the generator writes it.
func loopName(c *ir.Call, stored ir.DType) string {
	name := c.Op.CUDA.Symbol
	if sw := c.Op.Switch; sw >= 0 && len(c.Op.Bodies) > 1 {
		name += "_" + c.Op.Attrs[sw].Enum[c.Variant]
	}
	return name + "_" + stored.String()
}

// function returns one of the kernels.
func (s *loopSet) function(d *Device, loop int) (driver.Function, error) {
	if f := s.functions[loop].Load(); f != 0 {
		return driver.Function(f), nil
	}
	f, err := d.loader.Function(d.dev, s.source, s.module, s.name+s.suffixes[loop])
	if err != nil {
		return 0, fmt.Errorf("kernel %s%s: %w", s.name, s.suffixes[loop], err)
	}
	s.functions[loop].Store(uintptr(f))
	return f, nil
}

// launch enqueues one of the kernels with the context's parameters.
func (x *Context) launch(s *loopSet, loop int, grid, block driver.Dim3) error {
	d := x.device
	f, err := s.function(d, loop)
	if err != nil {
		return err
	}
	err = d.api.LaunchKernel(d.dev, driver.Launch{Function: f, Grid: grid, Block: block, Stream: x.stream, Params: x.params.Bytes(), Frame: x.frame})
	if err != nil {
		return fmt.Errorf("kernel %s%s: %w", s.name, s.suffixes[loop], err)
	}
	return nil
}

// A kernelKey names a kernel: one of an operator's own device code, or where op is
// nil a standard one.
type kernelKey struct {
	op           *ir.Op
	module, name string
}

// A kernel is one written by hand.
type kernel struct {
	function driver.Function
	mu       sync.Mutex
	shared   atomic.Int64 // bytes of dynamic shared memory it may use
}

// defaultShared is how much shared memory a block may use without asking.
const defaultShared = 48 << 10

func (d *Device) kernel(op *ir.Op, module, name string) (*kernel, error) {
	key := kernelKey{op, module, name}
	if k := (*d.kernels.Load())[key]; k != nil {
		return k, nil
	}
	var source fs.FS
	if op != nil {
		source = op.CUDA.Source
	}
	f, err := d.loader.Function(d.dev, source, module, name)
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", name, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	old := *d.kernels.Load()
	if k := old[key]; k != nil {
		return k, nil
	}
	k := &kernel{function: f}
	k.shared.Store(defaultShared)
	table := maps.Clone(old)
	table[key] = k
	d.kernels.Store(&table)
	return k, nil
}

// allow lets blocks of the kernel use shared bytes of dynamic shared memory.
func (k *kernel) allow(d *Device, shared int) error {
	if int64(shared) <= k.shared.Load() {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if int64(shared) <= k.shared.Load() {
		return nil
	}
	if err := d.api.SetFunctionAttribute(d.dev, k.function, driver.FunctionMaxDynamicShared, shared); err != nil {
		return err
	}
	k.shared.Store(int64(shared))
	return nil
}
