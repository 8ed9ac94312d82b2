package ir

// A CUDALaunch enqueues the kernels, written by hand, that compute c on g. It
// returns an error before it enqueued anything where the call cannot be computed.
// It must not keep the call or its views. It decides by the call alone, not by what
// memory holds: where it asks for scratch it may run once to count that, while nothing is
// enqueued, and again to enqueue, with the same requests in the same order. Views' addresses are of g's device, but
// for operands of one element, which may be in host memory.
type CUDALaunch func(g GPU, c *Call) error

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
	// Upload returns scratch that holds a copy of data, which is read at once.
	Upload(data []byte) (uint64, error)
	// Zero clears device memory, Copy moves it from src to dst, which do not overlap.
	Zero(addr uint64, bytes int64) error
	Copy(dst, src uint64, bytes int64) error
	// Dense returns v where it is row-major without gaps and of dtype dt, else such
	// a copy of it in scratch. Host memory is copied, too.
	Dense(v View, dt DType) (View, error)
	// Store writes src, which is like dst but for strides and dtype, to dst.
	Store(dst, src View) error
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
