// Package jit puts machine code that package amd64 made into memory and calls it. It
// knows what the code may expect of its caller, and nothing of what it computes.
//
// Code runs on the calling goroutine's stack, inside one assembly function. It keeps
// R14, R15 and BP, which are Go's, and ends with VZEROUPPER. The collector cannot stop
// a goroutine in it, so callers hand it 64 Ki elements at most in a call. It calls
// nothing outside its own block.
package jit

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/codegen/amd64"
	"github.com/sinter-go/sinter/codegen/x86"
	"github.com/sinter-go/sinter/ir"
)

// ErrUnavailable is wrapped by the errors of platforms and systems on which code made
// at run time cannot run. Callers take the portable way.
var ErrUnavailable = errors.New("no code can be made at run time")

// argBytes is what the trampolines copy: the parameters of every kind of function.
const argBytes = 64

// frames are the bytes that the trampolines leave to the code's own frame.
const (
	smallFrame = 256
	largeFrame = 4096
)

// A Block is machine code in memory. It is unmapped when nobody refers to it.
type Block struct {
	memory []byte
	entry  map[string]entry
}

// entry is where a function begins, and what frame it needs.
type entry struct {
	at    int // bytes from the beginning of the block
	frame int
}

// A Func is one function of a block, and keeps the block mapped.
type Func struct {
	block *Block
	entry
}

// Available returns nil, or why no code can be made at run time.
var Available = sync.OnceValue(func() error {
	if os.Getenv("SINTER_JIT") == "0" {
		return fmt.Errorf("%w: SINTER_JIT is 0", ErrUnavailable)
	}
	b, err := load([]byte{0xc3}) // RET
	if err != nil {
		return err
	}
	return unmap(b)
})

// Load encodes functions into one block and makes it executable. Functions that they
// call must be among them.
func Load(funcs ...*x86.Func) (*Block, error) {
	if err := Available(); err != nil {
		return nil, err
	}
	var a amd64.Assembler
	for _, f := range funcs {
		if err := add(&a, f); err != nil {
			return nil, err
		}
	}
	code, err := a.Code()
	if err != nil {
		return nil, fmt.Errorf("jit: %w", err)
	}
	memory, err := load(code.Bytes)
	if err != nil {
		return nil, err
	}
	b := &Block{memory: memory, entry: map[string]entry{}}
	for _, f := range funcs {
		b.entry[strings.TrimPrefix(f.Name, "·")] = entry{code.Symbols[f.Name], f.Frame}
	}
	runtime.AddCleanup(b, func(m []byte) { unmap(m) }, memory)
	b.describe()
	return b, nil
}

// add encodes one function. What Go calls finds its parameters and its frame in the
// trampoline's; a subroutine makes a frame of its own.
func add(a *amd64.Assembler, f *x86.Func) error {
	if err := f.Body.Err(); err != nil {
		return fmt.Errorf("jit: %s: %w", f.Name, err)
	}
	switch {
	case f.Params != "":
		if f.Frame > largeFrame || f.Args > argBytes {
			return fmt.Errorf("jit: %s: a frame of %d bytes and parameters of %d, have %d and %d: %w", f.Name, f.Frame, f.Args, largeFrame, argBytes, x86.ErrUnsupported)
		}
		return a.Add(f.Name, amd64.Frame{Params: 8, Slots: 8 + argBytes}, f.Body.Insts)
	case f.Frame == 0:
		return a.Add(f.Name, amd64.Frame{}, f.Body.Insts)
	}
	var b amd64.Block
	b.Asm("SUBQ $%d, SP", f.Frame)
	last := len(f.Body.Insts) - 1 // the return
	b.Insts = append(b.Insts, f.Body.Insts[:last]...)
	b.Asm("ADDQ $%d, SP\nRET", f.Frame)
	return a.Add(f.Name, amd64.Frame{}, b.Insts)
}

// Func returns a function by its name.
func (b *Block) Func(name string) (Func, error) {
	e, ok := b.entry[name]
	if !ok {
		return Func{}, fmt.Errorf("jit: no function %s", name)
	}
	return Func{b, e}, nil
}

// run calls the code with the parameters in *args, of argBytes.
func (f Func) run(args unsafe.Pointer) {
	if f.frame > smallFrame {
		callLarge(unsafe.Pointer(&f.block.memory[f.at]), args)
	} else {
		callSmall(unsafe.Pointer(&f.block.memory[f.at]), args)
	}
	runtime.KeepAlive(f.block)
}

// Loop calls an element-wise loop without scalars, as vector.Func.
func (f Func) Loop(n int, p []unsafe.Pointer, s []ir.Scalar, index int64) {
	args := struct {
		n     int
		p     []unsafe.Pointer
		s     []ir.Scalar
		index int64
	}{n, p, s, index}
	f.run(unsafe.Pointer(&args))
}

// ScalarLoop calls an element-wise loop with the bits of its scalars.
func (f Func) ScalarLoop(n int, p []unsafe.Pointer, s *uint64, index int64) {
	args := struct {
		n     int
		p     []unsafe.Pointer
		s     *uint64
		index int64
		_     [16]byte
	}{n: n, p: p, s: s, index: index}
	f.run(unsafe.Pointer(&args))
}

// Fold calls a fold of n elements of x into acc; s is nil or the bits of its scalars.
func (f Func) Fold(n int, acc, x unsafe.Pointer, s *uint64) {
	args := struct {
		n      int
		acc, x unsafe.Pointer
		s      *uint64
		_      [32]byte
	}{n: n, acc: acc, x: x, s: s}
	f.run(unsafe.Pointer(&args))
}

// Passes calls a function of passes over rows, with the arrays' first rows at p, the distances
// of rows at steps, and blocks of so many bytes. What is ahead of rows is asked for.
func (f Func) Passes(rows, length int, p *unsafe.Pointer, steps *int, blocks *uint64, size int, ahead *int) {
	args := struct {
		rows, length int
		p            *unsafe.Pointer
		steps        *int
		blocks       *uint64
		size         int
		ahead        *int
		_            [8]byte
	}{rows: rows, length: length, p: p, steps: steps, blocks: blocks, size: size, ahead: ahead}
	f.run(unsafe.Pointer(&args))
}
