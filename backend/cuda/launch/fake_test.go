package launch

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
)

// fake is a CUDA driver, a loader and scratch memory in one, that notes what it is
// asked to do and does nothing.
type fake struct {
	driver.API
	names    []string // of the functions, which are 1 + an index
	launches []launched
	copies   []copied
	next     uint64
	fail     error
}

type launched struct {
	name        string
	grid, block driver.Dim3
	params      []byte
}

type copied struct {
	dst, src uint64
	bytes    int64
}

func (f *fake) Version() int { return 12000 }

func (f *fake) DeviceAttribute(_ int, a driver.Attribute) (int, error) {
	return map[driver.Attribute]int{
		driver.Multiprocessors: 132, driver.MaxThreadsPerSM: 2048, driver.ComputeCapabilityMajor: 9,
		driver.MaxSharedPerBlockOptin: 232448,
	}[a], nil
}

func (f *fake) LaunchKernel(_ int, l driver.Launch) error {
	if f.fail != nil {
		return f.fail
	}
	f.launches = append(f.launches, launched{f.names[l.Function-1], l.Grid, l.Block, append([]byte(nil), l.Params...)})
	return nil
}

func (f *fake) MemcpyDtoDAsync(_ int, dst, src driver.Ptr, bytes int64, _ driver.Stream) error {
	f.copies = append(f.copies, copied{uint64(dst), uint64(src), bytes})
	return nil
}

func (f *fake) Function(_ int, _ fs.FS, module, name string) (driver.Function, error) {
	f.names = append(f.names, name)
	return driver.Function(len(f.names)), nil
}

func (f *fake) Scratch(_ int, _ driver.Stream, bytes int64) (memory.Block, error) {
	f.next += 1 << 40
	return memory.Block{Memory: device.Memory{Addr: f.next, Bytes: bytes}}, nil
}

func (f *fake) Trap(int, driver.Stream) uint64 { return 1 << 20 }

func newFake(t testing.TB) (*fake, *Device) {
	t.Helper()
	f := &fake{next: 1 << 50}
	d, err := New(f, 0, f, f)
	if err != nil {
		t.Fatal(err)
	}
	return f, d
}

// A reader reads a launch's parameters as C lays them out.
type reader struct {
	t    testing.TB
	data []byte
	at   int
}

func (r *reader) take(n, align int) []byte {
	r.t.Helper()
	r.at = (r.at + align - 1) / align * align
	if r.at+n > len(r.data) {
		r.t.Fatalf("parameters end at %d, %d bytes wanted at %d", len(r.data), n, r.at)
	}
	r.at += n
	return r.data[r.at-n : r.at]
}

func (r *reader) i64() int64 { return int64(binary.LittleEndian.Uint64(r.take(8, 8))) }

// A deviceSpace is the struct Space: offsets are found as the device does.
type deviceSpace struct {
	first, count int64
	rank         int
	dividers     [8][3]uint32 // divisor, multiplier, shift
	strides      [][8]int64
}

func (r *reader) space(operands int) (s deviceSpace) {
	s.first, s.count = r.i64(), r.i64()
	s.rank = int(int32(binary.LittleEndian.Uint32(r.take(4, 4))))
	for d := range s.dividers {
		for k := range 3 {
			s.dividers[d][k] = binary.LittleEndian.Uint32(r.take(4, 4))
		}
	}
	r.at = (r.at + 7) &^ 7
	for range operands {
		var strides [8]int64
		for d := range strides {
			strides[d] = r.i64()
		}
		s.strides = append(s.strides, strides)
	}
	return s
}

// locate returns the offsets of position i: space.cuh's function, in Go.
func (s *deviceSpace) locate(i uint32, start int) []int64 {
	at := make([]int64, len(s.strides))
	for d := start; d < s.rank; d++ {
		coordinate := i
		if d < s.rank-1 {
			q := s.quotient(i, d)
			coordinate -= q * s.dividers[d][0]
			i = q
		}
		for k := range at {
			at[k] += int64(coordinate) * s.strides[k][d]
		}
	}
	return at
}

func (s *deviceSpace) quotient(i uint32, d int) uint32 {
	high := uint32(uint64(i) * uint64(s.dividers[d][1]) >> 32)
	return (high + i) >> s.dividers[d][2]
}

// enumerate calls f for the coordinates of a shape in row-major order.
func enumerate(shape []int, f func(i int, at []int)) {
	at := make([]int, len(shape))
	for i := range ir.NumElements(shape) {
		rest := i
		for a := len(shape) - 1; a >= 0; a-- {
			at[a] = rest % shape[a]
			rest /= shape[a]
		}
		f(i, at)
	}
}

func dot(at, strides []int) (n int) {
	for a := range at {
		n += at[a] * strides[a]
	}
	return n
}

// address is where the element of v at some coordinates is.
func address(v ir.View, at []int) uint64 {
	return v.Addr + uint64(dot(at, v.Strides)*v.DType.Size())
}

func deviceView(addr uint64, dt ir.DType, shape, strides []int) ir.View {
	if strides == nil {
		strides = ir.ContiguousStrides(shape)
	}
	return ir.View{Addr: addr, DType: dt, Shape: shape, Strides: strides}
}

func hostNumber[T any](v *T, dt ir.DType, shape []int) ir.View {
	return ir.View{Ptr: unsafe.Pointer(v), DType: dt, Shape: shape, Strides: make([]int, len(shape))}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var errFake = fmt.Errorf("cuLaunchKernel on cuda:0: %w", driver.IllegalAddress)
