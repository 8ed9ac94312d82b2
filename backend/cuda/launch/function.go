package launch

import (
	"fmt"
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

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
	ir.Joint:       jointSuffixes(),
	ir.Reduction:   {"_inner", "_outer", "_merge"},
	ir.Scan:        {"_rows", "_totals", "_carry", "_columns", "_column_totals"},
}

// jointSuffixes names, behind the loop for operands of the results' dtype, those for narrower ones.
func jointSuffixes() (list [maxLoops]string) {
	for i, d := range ir.Narrow() {
		list[contiguousLoop+1+i] = "_" + d.String()
	}
	return list
}

// Kind is the kind of device that descriptors name an code.Kernels for.
const Kind = "cuda"

// codeOf returns what an operator has for GPUs, empty where that is nothing.
func codeOf(op *ir.Op) *code.Kernels {
	if code, ok := op.CodeFor(Kind).(*code.Kernels); ok {
		return code
	}
	return new(code.Kernels)
}

// A named is the device code of a kernel's operator, and what its source is known by.
type named struct {
	*code.Kernels
	id    any
	known bool   // the source can be told from others
	noted *ir.Op // what streams note of a launch
}

// names is codeOf the operators of kernels.
var names = ir.NewSlot(func(k *ir.Kernel) *named {
	c := codeOf(k.Op)
	id, known := code.Identity(c.Source)
	noted := k.Op
	if code.LeaseOf(c.Source) != nil {
		noted = &ir.Op{Name: k.Op.Name}
	}
	return &named{c, id, known, noted}
})

// Noted returns what a stream may remember of a launch for as long as it likes: the operator,
// or where its device code is dropped one day another one of its name.
func Noted(k *ir.Kernel) *ir.Op { return names.Of(k).noted }

// standard is the kernels that belong to no operator.
var standard = &named{Kernels: new(code.Kernels), known: true}

// LeaseOf returns the lease of a kernel's device code; nil where that stays.
func LeaseOf(k *ir.Kernel) *code.Lease { return code.LeaseOf(names.Of(k).Source) }

// A loopSet is the device code of a kernel, one function a loop, each looked up when it
// is first launched. It does not hold the kernel, which may be a compiled program's.
type loopSet struct {
	serial    uint32 // the kernel's
	kernel    weak.Pointer[ir.Kernel]
	name      string // without the loop's suffix
	module    string
	suffixes  [maxLoops]string
	early     bool // the kernels call early first
	functions [maxLoops]atomic.Uintptr
	waits     [maxLoops]atomic.Bool // set before the function is
}

// loopsOf returns the device code of a kernel.
func (d *Device) loopsOf(k *ir.Kernel) *loopSet {
	recent := &d.recent[slot(k)]
	s := recent.Load()
	if s == nil || s.serial != k.Serial() {
		s = d.lookUp(k)
		recent.Store(s)
	}
	return s
}

// recentLoops is how many of the loops used last are found without the table.
const recentLoops = 256

// slot returns the place of a kernel among the recent ones.
func slot(k *ir.Kernel) uint { return uint(k.Serial()) % recentLoops }

// lookUp returns the device code of a kernel from the table, which it adds it to.
func (d *Device) lookUp(k *ir.Kernel) *loopSet {
	if s, ok := d.loops.get(k.Serial()); ok {
		return s
	}
	s, added := d.loops.add(k.Serial(), func() *loopSet {
		code := names.Of(k)
		return &loopSet{serial: k.Serial(), kernel: weak.Make(k), name: loopName(k, code.Symbol), module: code.Module, suffixes: suffixes[k.Op.Kind], early: code.callsEarly(code.Module)}
	})
	if added {
		runtime.AddCleanup(k, d.loops.drop, k.Serial())
	}
	return s
}

// loopName is the name of a kernel's device code, as the generator writes it.
func loopName(k *ir.Kernel, symbol string) string {
	name := symbol
	if sw := k.Op.Switch; sw >= 0 && len(k.Op.Bodies) > 1 {
		name += "_" + k.Op.Attrs[sw].Enum[k.Variant]
	}
	return name + "_" + k.DType.String()
}

// function returns one of the kernels.
func (s *loopSet) function(d *Device, loop int) (driver.Function, error) {
	if f := s.functions[loop].Load(); f != 0 {
		return driver.Function(f), nil
	}
	module, source := s.module, fs.FS(nil)
	if k := s.kernel.Value(); k != nil { // the caller has it
		source = names.Of(k).Source
	}
	if source != nil {
		if _, err := fs.Stat(source, module+s.suffixes[loop]+".cu"); err == nil {
			module += s.suffixes[loop] // a source that has a file for each loop
		}
	}
	f, err := d.loader.Function(d.dev, source, module, s.name+s.suffixes[loop])
	if err != nil {
		return 0, fmt.Errorf("kernel %s%s: %w", s.name, s.suffixes[loop], err)
	}
	if s.early {
		waits, err := d.waits(f)
		if err != nil {
			return 0, fmt.Errorf("kernel %s%s: %w", s.name, s.suffixes[loop], err)
		}
		s.waits[loop].Store(waits)
	}
	s.functions[loop].Store(uintptr(f))
	return f, nil
}

// launch enqueues one of the kernels with the context's parameters.
func (x *Context) launch(s *loopSet, loop int, grid, block driver.Dim3) error {
	if !x.Due() {
		return nil
	}
	d := x.device
	f, err := s.function(d, loop)
	if err != nil {
		return err
	}
	err = d.api.LaunchKernel(d.dev, driver.Launch{
		Function: f, Grid: grid, Block: block, Stream: x.stream, Early: s.waits[loop].Load(), Params: x.params.Bytes(), Frame: x.frame,
	})
	if err != nil {
		return fmt.Errorf("kernel %s%s: %w", s.name, s.suffixes[loop], err)
	}
	return nil
}

// A kernelKey names a kernel: one of an operator's own device code, by what its source is
// known by, or where that is nil a standard one.
type kernelKey struct {
	source       any
	module, name string
}

// A kernel is one written by hand.
type kernel struct {
	function driver.Function
	early    bool // it waits itself for what is in front of it
	mu       sync.Mutex
	shared   atomic.Int64 // bytes of dynamic shared memory it may use
}

// defaultShared is how much shared memory a block may use without asking.
const defaultShared = 48 << 10

// kernel returns a kernel of an operator's own device code, or of the standard one.
func (d *Device) kernel(of *named, module, name string) (*kernel, error) {
	key := kernelKey{of.id, module, name}
	if !of.known {
		key.source = nil // Function says why
	} else if k, ok := d.kernels.get(key); ok {
		return k, nil
	}
	f, err := d.loader.Function(d.dev, of.Source, module, name)
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", name, err)
	}
	early := false
	if of.callsEarly(module) {
		if early, err = d.waits(f); err != nil {
			return nil, fmt.Errorf("kernel %s: %w", name, err)
		}
	}
	k, added := d.kernels.add(key, func() *kernel {
		k := &kernel{function: f, early: early}
		k.shared.Store(defaultShared)
		return k
	})
	if lease := code.LeaseOf(of.Source); added && lease != nil {
		runtime.AddCleanup(lease, d.kernels.drop, key)
	}
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
