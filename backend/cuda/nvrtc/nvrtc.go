// Package nvrtc compiles CUDA C++ with NVIDIA's run-time compiler, whose library
// is opened on first use. It knows nothing of devices and operators; no GPU is
// needed.
package nvrtc

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/backend/cuda/library"
)

// A Compiler is NVRTC, for any goroutines.
type Compiler struct {
	lib           *dl.Library
	fn            [symbols]dl.Func
	major, minor  int
	architectures []int
}

// A symbol is a function of the library.
type symbol int

const (
	errorString symbol = iota
	version
	numSupportedArchs
	supportedArchs
	createProgram
	destroyProgram
	compileProgram
	programLogSize
	programLog
	cubinSize
	cubin
	ptxSize
	ptx
	symbols
)

var exported = [symbols]string{
	errorString:       "nvrtcGetErrorString",
	version:           "nvrtcVersion",
	numSupportedArchs: "nvrtcGetNumSupportedArchs",
	supportedArchs:    "nvrtcGetSupportedArchs",
	createProgram:     "nvrtcCreateProgram",
	destroyProgram:    "nvrtcDestroyProgram",
	compileProgram:    "nvrtcCompileProgram",
	programLogSize:    "nvrtcGetProgramLogSize",
	programLog:        "nvrtcGetProgramLog",
	cubinSize:         "nvrtcGetCUBINSize",
	cubin:             "nvrtcGetCUBIN",
	ptxSize:           "nvrtcGetPTXSize",
	ptx:               "nvrtcGetPTX",
}

// Open returns the compiler of this process. The error says which files were
// looked for and how to get one.
func Open() (*Compiler, error) {
	lib, err := library.Open(library.NVRTC)
	if err != nil {
		return nil, err
	}
	c, err := bind(lib)
	if err != nil {
		return nil, fmt.Errorf("%s is no usable NVRTC: %w", lib.Name(), err)
	}
	return c, nil
}

// bind finds the functions of a library and asks what it can do.
func bind(lib *dl.Library) (*Compiler, error) {
	c := &Compiler{lib: lib}
	for s, name := range exported {
		f, err := lib.Func(name)
		if err != nil {
			return nil, err
		}
		c.fn[s] = f
	}
	frame := dl.Get()
	defer frame.Free()
	if err := c.call(version, frame, frame.Addr(0), frame.Addr(1)); err != nil {
		return nil, err
	}
	c.major, c.minor = int(int32(frame.Words[0])), int(int32(frame.Words[1]))
	if err := c.call(numSupportedArchs, frame, frame.Addr(2)); err != nil {
		return nil, err
	}
	archs := make([]int32, int32(frame.Words[2])+1) // never empty
	if err := c.call(supportedArchs, frame, frame.Keep(unsafe.Pointer(&archs[0]))); err != nil {
		return nil, err
	}
	for _, a := range archs[:len(archs)-1] {
		c.architectures = append(c.architectures, int(a))
	}
	slices.Sort(c.architectures)
	return c, nil
}

// Version returns the compiler's version, such as "12.6".
func (c *Compiler) Version() string { return fmt.Sprintf("%d.%d", c.major, c.minor) }

// Architectures returns the compute capabilities that there is code for, as 90
// for 9.0, in ascending order.
func (c *Compiler) Architectures() []int { return slices.Clone(c.architectures) }

// A Program is what to compile. No text or name holds a zero byte.
type Program struct {
	Name    string            // of the source, for messages
	Source  string            // CUDA C++
	Headers map[string]string // what it may include, by name
	Target  string            // "sm_90" for a cubin of that architecture, "compute_90" for PTX
	Options []string          // but for the target
}

// An Error is a program that does not compile.
type Error struct {
	Name, Target string
	Reason       string // the compiler's name for what went wrong
	Log          string // the compiler's messages, with file and line
}

func (e *Error) Error() string {
	return strings.TrimSpace(fmt.Sprintf("%s does not compile for %s: %s\n%s", e.Name, e.Target, e.Reason, e.Log))
}

// Compile returns the cubin, or the PTX text. The error of a program that is
// wrong is an *Error.
func (c *Compiler) Compile(p Program) ([]byte, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	frame := dl.Get()
	defer frame.Free()
	handle, err := c.create(frame, p)
	if err != nil {
		return nil, err
	}
	defer func() {
		frame.Words[0] = handle
		_ = c.call(destroyProgram, frame, frame.Addr(0)) // it fails for what is no program, only
	}()
	options := newStrings(frame, append(slices.Clone(p.Options), "--gpu-architecture="+p.Target))
	failed := c.call(compileProgram, frame, handle, uintptr(len(options.at)), options.address)
	if failed != nil {
		log, err := c.text(programLogSize, programLog, handle)
		if err != nil {
			return nil, errors.Join(failed, err)
		}
		return nil, &Error{Name: p.Name, Target: p.Target, Reason: failed.Error(), Log: strings.TrimSpace(strings.TrimRight(string(log), "\x00"))}
	}
	if strings.HasPrefix(p.Target, "sm_") {
		return c.text(cubinSize, cubin, handle)
	}
	return c.text(ptxSize, ptx, handle)
}

// check refuses what would be cut short as a C string.
func (p Program) check() error {
	if !strings.HasPrefix(p.Target, "sm_") && !strings.HasPrefix(p.Target, "compute_") {
		return fmt.Errorf("%s: target %q is neither sm_<n>, for a cubin, nor compute_<n>, for PTX", p.Name, p.Target)
	}
	texts := append(slices.Clone(p.Options), p.Name, p.Source, p.Target)
	for name, text := range p.Headers {
		texts = append(texts, name, text)
	}
	for _, text := range texts {
		if strings.IndexByte(text, 0) >= 0 {
			return fmt.Errorf("%s: the source, a header or an option holds a zero byte", p.Name)
		}
	}
	return nil
}

func (c *Compiler) create(frame *dl.Frame, p Program) (uintptr, error) {
	var names, texts []string
	for name, text := range p.Headers {
		names, texts = append(names, name), append(texts, text)
	}
	main, headers, includes := newStrings(frame, []string{p.Source, p.Name}), newStrings(frame, texts), newStrings(frame, names)
	err := c.call(createProgram, frame, frame.Addr(0), main.at[0], main.at[1],
		uintptr(len(names)), headers.address, includes.address)
	return frame.Words[0], err
}

// text returns what the library writes into memory of a size that it names first.
func (c *Compiler) text(size, get symbol, program uintptr) ([]byte, error) {
	frame := dl.Get()
	defer frame.Free()
	if err := c.call(size, frame, program, frame.Addr(0)); err != nil {
		return nil, err
	}
	out := make([]byte, frame.Words[0])
	if len(out) == 0 {
		return nil, nil
	}
	if err := c.call(get, frame, program, frame.Keep(unsafe.Pointer(&out[0]))); err != nil {
		return nil, err
	}
	return out, nil
}

// call calls s; the error is the compiler's name for its result.
func (c *Compiler) call(s symbol, frame *dl.Frame, args ...uintptr) error {
	code := int32(c.fn[s].Call(frame, args...))
	if code == 0 {
		return nil
	}
	own := dl.Get()
	defer own.Free()
	own.Words[0] = c.fn[errorString].Call(own, uintptr(code))
	return fmt.Errorf("%s: %s", exported[s], dl.GoString(own.Pointer(0)))
}

// cStrings are strings that end in a zero byte, and an array of their addresses,
// both in memory that a frame keeps.
type cStrings struct {
	at      []uintptr
	address uintptr // of the array, 0 if it is empty
}

func newStrings(frame *dl.Frame, list []string) cStrings {
	if len(list) == 0 {
		return cStrings{}
	}
	size := 0
	for _, s := range list {
		size += len(s) + 1
	}
	text, at := make([]byte, size), make([]uintptr, len(list))
	next, skip := frame.Keep(unsafe.Pointer(&text[0])), 0
	for i, s := range list {
		copy(text[skip:], s)
		at[i] = next + uintptr(skip)
		skip += len(s) + 1
	}
	return cStrings{at, frame.Keep(unsafe.Pointer(&at[0]))}
}
