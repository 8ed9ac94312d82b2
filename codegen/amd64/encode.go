package amd64

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"sort"
)

// A Frame says where the code finds what its caller laid out, from the stack pointer
// at its entry, which points to the return address.
type Frame struct {
	Params int64 // the first parameter
	Slots  int64 // what the code's own frame begins with
}

// Code is machine code that runs at any address.
type Code struct {
	Bytes   []byte         // instructions, then data
	Symbols map[string]int // where functions begin
	Text    int            // bytes of instructions
}

// An Assembler encodes functions into one block of code.
type Assembler struct {
	enc   encoder
	entry map[string]int
	calls []fix
}

// fix is a place of 4 bytes that holds the distance to something.
type fix struct {
	at   int // of the 4 bytes
	end  int // what the distance is from
	name string
}

// encoder writes instructions.
type encoder struct {
	code   []byte
	frame  Frame
	labels map[string]int
	jumps  []jump
	long   map[int]bool // by number of jump: it needs 4 bytes
	data   []fix        // references to data, by contents
	calls  []fix
}

// jump is a reference to a label.
type jump struct {
	at    int // of the distance
	end   int
	label string
}

// codeAlign is the alignment of functions, and of data.
const codeAlign = 64

// Add encodes a function. Its labels are its own; the symbols it calls must be added too.
func (a *Assembler) Add(name string, frame Frame, insts []Inst) error {
	long := map[int]bool{}
	for {
		e := encoder{frame: frame, labels: map[string]int{}, long: long}
		if err := e.run(insts); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		grown, err := e.resolve()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !grown {
			a.append(name, &e)
			return nil
		}
	}
}

// run encodes all instructions.
func (e *encoder) run(insts []Inst) error {
	for _, in := range insts {
		if in.Op == "" {
			e.labels[in.Args[0].Name] = len(e.code)
			continue
		}
		done, err := e.general(in)
		if !done && err == nil {
			err = e.vector(in)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// resolve fills in the distances of jumps. It reports whether one that was short must
// be long, so that all has to be encoded again.
func (e *encoder) resolve() (grown bool, err error) {
	for i, j := range e.jumps {
		to, ok := e.labels[j.label]
		if !ok {
			return false, fmt.Errorf("amd64: no label %s", j.label)
		}
		d := to - j.end
		switch {
		case e.long[i]:
			binary.LittleEndian.PutUint32(e.code[j.at:], uint32(int32(d)))
		case d == int(int8(d)):
			e.code[j.at] = byte(d)
		default:
			e.long[i], grown = true, true
		}
	}
	return grown, nil
}

// append adds a function that is encoded to the block.
func (a *Assembler) append(name string, e *encoder) {
	for len(a.enc.code)%codeAlign != 0 {
		a.enc.code = append(a.enc.code, 0xcc)
	}
	at := len(a.enc.code)
	if a.entry == nil {
		a.entry = map[string]int{}
	}
	a.entry[name] = at
	a.enc.code = append(a.enc.code, e.code...)
	move := func(f fix) fix { return fix{f.at + at, f.end + at, f.name} }
	for _, f := range e.data {
		a.enc.data = append(a.enc.data, move(f))
	}
	for _, f := range e.calls {
		a.calls = append(a.calls, move(f))
	}
}

// Code lays out the data behind the functions, and joins all.
func (a *Assembler) Code() (*Code, error) {
	code := slices.Clone(a.enc.code)
	for len(code)%codeAlign != 0 {
		code = append(code, 0xcc)
	}
	text := len(code)
	at := map[string]int{}
	for _, f := range a.enc.data {
		at[f.name] = 0
	}
	all := make([]string, 0, len(at))
	for d := range at {
		all = append(all, d)
	}
	sort.Slice(all, func(i, j int) bool { // the larger first, so that each is aligned
		if len(all[i]) != len(all[j]) {
			return len(all[i]) > len(all[j])
		}
		return all[i] < all[j]
	})
	for _, d := range all {
		at[d] = len(code)
		code = append(code, d...)
	}
	for _, f := range a.enc.data {
		binary.LittleEndian.PutUint32(code[f.at:], uint32(int32(at[f.name]-f.end)))
	}
	for _, f := range a.calls {
		to, ok := a.entry[f.name]
		if !ok {
			return nil, fmt.Errorf("amd64: no function %s", f.name)
		}
		binary.LittleEndian.PutUint32(code[f.at:], uint32(int32(to-f.end)))
	}
	return &Code{Bytes: code, Symbols: a.entry, Text: text}, nil
}

// Size is the bytes of the functions that were added, less their data.
func (a *Assembler) Size() int { return len(a.enc.code) }

func (e *encoder) put(b ...byte) { e.code = append(e.code, b...) }

func (e *encoder) put32(n int64) { e.code = binary.LittleEndian.AppendUint32(e.code, uint32(n)) }

// jump encodes a jump to a label, or a jump or call to a function.
func (e *encoder) jump(in Inst) {
	a := in.Args[0]
	condition, conditional := conditionOf(in.Op)
	if a.Kind == Symbol {
		if in.Op == "CALL" {
			e.put(0xe8)
		} else {
			e.put(0xe9)
		}
		e.put32(0)
		e.calls = append(e.calls, fix{len(e.code) - 4, len(e.code), a.Name})
		return
	}
	size := 1
	switch long := e.long[len(e.jumps)]; {
	case conditional && long:
		e.put(0x0f, 0x80|condition)
		size = 4
	case conditional:
		e.put(0x70 | condition)
	case long:
		e.put(0xe9)
		size = 4
	default:
		e.put(0xeb)
	}
	e.put(make([]byte, size)...)
	e.jumps = append(e.jumps, jump{len(e.code) - size, len(e.code), a.Name})
}

// nops are instructions that do nothing, by length.
var nops = [...][]byte{{}, {0x90}, {0x66, 0x90}, {0x0f, 0x1f, 0x00}, {0x0f, 0x1f, 0x40, 0x00}, {0x0f, 0x1f, 0x44, 0x00, 0x00},
	{0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00}, {0x0f, 0x1f, 0x80, 0, 0, 0, 0}, {0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}, {0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}}

// align fills up with instructions that do nothing. Functions begin at such an address.
func (e *encoder) align(n int) {
	for rest := -len(e.code) & (n - 1); rest > 0; {
		k := min(rest, len(nops)-1)
		e.put(nops[k]...)
		rest -= k
	}
}

// modRM writes ModRM, SIB and displacement, of which 8 bits count in units; tail bytes
// of the instruction follow.
func (e *encoder) modRM(reg int8, a Arg, unit int64, tail int) {
	r := byte(reg&7) << 3
	switch a.Kind {
	case Vector, Mask, General:
		e.put(0xc0 | r | byte(a.Reg&7))
		return
	case Data, Symbol:
		e.put(r | 5)
		f := fix{len(e.code), len(e.code) + 4 + tail, a.Name}
		if a.Kind == Data {
			e.data = append(e.data, f)
		} else {
			e.calls = append(e.calls, f)
		}
		e.put32(0)
		return
	case Param:
		a = Arg{Kind: Memory, Base: sp, Index: None, Disp: e.frame.Params + a.Disp}
	default:
		if a.Base == sp {
			a.Disp += e.frame.Slots
		}
	}
	e.memory(r, a, unit)
}

func (e *encoder) memory(r byte, a Arg, unit int64) {
	d, mod := a.Disp, byte(0x80)
	switch {
	case a.Base == None:
		mod = 0
	case d == 0 && a.Base&7 != 5:
		mod = 0
	case d%unit == 0 && d/unit == int64(int8(d/unit)):
		mod, d = 0x40, d/unit
	}
	if a.Index != None || a.Base == None || a.Base&7 == sp {
		index, base := byte(4), byte(5)
		if a.Index != None {
			index = byte(a.Index & 7)
		}
		if a.Base != None {
			base = byte(a.Base & 7)
		}
		e.put(mod|r|4, byte(bits.TrailingZeros8(a.Scale|8))<<6|index<<3|base)
	} else {
		e.put(mod | r | byte(a.Base&7))
	}
	switch {
	case mod == 0x40:
		e.put(byte(d))
	case mod == 0x80 || a.Base == None:
		e.put32(d)
	}
}
