// Package code is what descriptors say of the device code of an operator: where its
// kernels are, or the function that launches those written by hand. It knows nothing of
// drivers, of how sources are compiled and of the operators.
package code

import (
	"io/fs"

	"github.com/sinter-go/sinter/ir"
)

// Kernels names the device code of an operator: Module and Symbol, or Launch
// where it is written by hand.
//
// The kernels of an element-wise operator, a reduction or a scan are named
// <Symbol>_<dtype>, or with several bodies <Symbol>_<name of the body>_<dtype>,
// after the dtype that the operands which take part in promotion are stored as;
// the result is stored as it follows from that. A suffix names the loop. Their
// last parameter is a struct of the scalar attributes in the order of ir.Op.Attrs:
// a Scalar in the compute dtype, a float in its real dtype, an int as int64, a
// bool as one byte, each aligned to its size.
type Kernels struct {
	Module string // the emitted <Module>.cu it lives in
	Symbol string // prefix of its __global__ names
	Source fs.FS  // holds <Module>.cu; nil for the standard operators, whose source is package kernels
	Launch Launch // of an opaque operator
	// Early says that every kernel of Module in Source calls early (kernels/early.cuh) before it
	// reads or writes memory, so that it may begin before what is in front of it has ended.
	Early bool
}

// A Launch enqueues the kernels, written by hand, that compute c on g. It
// returns an error before it enqueued anything where the call cannot be computed.
// It must not keep the call or its views. It decides by the call alone, not by what
// memory holds: where it asks for scratch it may run once to count that, while nothing is
// enqueued, and again to enqueue, with the same requests in the same order. Views' addresses are of g's device, but
// for operands of one element, which may be in host memory.
type Launch func(g GPU, c *ir.Call) error

// A GPU is a device and a stream of it, as the launch of one call sees them. Work
// is enqueued in order; methods return before it is done. A GPU is for one
// goroutine and one call.
type GPU interface {
	// Launch enqueues a kernel of a module, the file <module>.cu among the
	// operator's own sources or, where they have none of that name, the standard
	// ones. Params are packed as C lays out a struct of them (package
	// backend/cuda/driver, Params); shared is bytes of dynamic shared memory a block.
	Launch(module, kernel string, grid, block [3]int, shared int, params []byte) error
	// Scratch returns device memory, aligned to 512 bytes, for the work that this
	// call enqueues. 0 bytes are address 0.
	Scratch(bytes int64) (uint64, error)
	// Ahead says that work is enqueued before all scratch has been asked for, so that it
	// is counted before any work is, as it is where scratch comes first: nothing is
	// allocated while a call is being enqueued.
	Ahead()
	// Repeat calls f with 0 to n-1, which asks for the same scratch each time: where that
	// is only counted, f is called once. It returns f's first error.
	Repeat(n int, f func(i int) error) error
	// Upload returns scratch that holds a copy of data, which is read at once.
	Upload(data []byte) (uint64, error)
	// Zero clears device memory, Copy moves it from src to dst, which do not overlap.
	Zero(addr uint64, bytes int64) error
	Copy(dst, src uint64, bytes int64) error
	// Dense returns v where it is row-major without gaps and of dtype dt, else such
	// a copy of it in scratch. Host memory is copied, too.
	Dense(v ir.View, dt ir.DType) (ir.View, error)
	// Store writes src, which is like dst but for strides and dtype, to dst.
	Store(dst, src ir.View) error
	// Trap returns the address of the record of faults, package backend/cuda/trap, of
	// the stream that the call's work goes to; who waits for that stream is told what
	// kernels wrote there. It is never 0.
	Trap() uint64
	// Multiprocessors is how many the device has, Capability its compute capability
	// as 90 for 9.0, SharedLimit the most shared memory a block can ask for, in bytes.
	Multiprocessors() int
	Capability() int
	SharedLimit() int
}
