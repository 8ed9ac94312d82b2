// Package amd64 has the instructions that sinter's vector code is made of as values,
// prints them in the syntax of Go's assembler, and encodes them as the machine code
// that the assembler would make of them. It knows nothing of lanes, of registers'
// allocation, or of what the code computes.
package amd64

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Kind is what an operand is.
type Kind uint8

// The kinds of operands.
const (
	Vector  Kind = iota + 1 // X, Y or Z register Reg of Size bytes
	Mask                    // K register Reg
	General                 // general register Reg
	Imm                     // the number Disp, written as Name if that is not empty
	Memory                  // Disp(Base)(Index*Scale)
	Param                   // the function's parameter Name at Disp bytes
	Data                    // the read-only bytes in Name
	Label                   // the label Name in the function
	Symbol                  // the symbol Name, of another function or of data
)

// None is the register of an absent base or index.
const None = -1

// An Arg is one operand.
type Arg struct {
	Kind  Kind
	Reg   int8
	Size  uint8 // of a vector register in bytes; of a memory operand's index the scale is Scale
	Base  int8  // Memory: general register, or None
	Index int8  // Memory: general register, vector register if Size is not 0, or None
	Scale uint8
	Disp  int64
	Zero  bool // Memory: a displacement of 0 is printed
	Name  string
}

// An Inst is an instruction, with operands in the order of Go's assembler: the
// destination last. An Inst without Op defines the label Args[0].
type Inst struct {
	Op   string
	Args []Arg
}

// general are the names of the general registers by number. R14 and R15 belong to Go.
var general = [...]string{"AX", "CX", "DX", "BX", "SP", "BP", "SI", "DI", "R8", "R9", "R10", "R11", "R12", "R13", "R14", "R15"}

// String is the instruction in the syntax of Go's assembler. Data prints as a
// reference that Print resolves.
func (in Inst) String() string {
	if in.Op == "" {
		return in.Args[0].Name + ":"
	}
	if len(in.Args) == 0 {
		return in.Op
	}
	names := make([]string, len(in.Args))
	for i, a := range in.Args {
		names[i] = a.String()
	}
	return in.Op + " " + strings.Join(names, ", ")
}

// String is the operand in the syntax of Go's assembler.
func (a Arg) String() string {
	switch a.Kind {
	case Vector:
		return vectorName(a.Reg, a.Size)
	case Mask:
		return "K" + strconv.Itoa(int(a.Reg))
	case General:
		return general[a.Reg]
	case Imm:
		if a.Name != "" {
			return "$" + a.Name
		}
		return "$" + strconv.FormatInt(a.Disp, 10)
	case Memory:
		return a.address()
	case Param:
		return fmt.Sprintf("%s+%d(FP)", a.Name, a.Disp)
	case Data:
		return fmt.Sprintf("data<%x>", a.Name)
	case Symbol:
		return a.Name + "(SB)"
	}
	return a.Name
}

func vectorName(n int8, size uint8) string {
	prefix := "Z"
	switch {
	case size <= 16:
		prefix = "X"
	case size == 32:
		prefix = "Y"
	}
	return prefix + strconv.Itoa(int(n))
}

// address is an operand in memory as text.
func (a Arg) address() string {
	var b strings.Builder
	if a.Disp != 0 || a.Zero {
		b.WriteString(strconv.FormatInt(a.Disp, 10))
	}
	if a.Base != None {
		b.WriteString("(" + general[a.Base] + ")")
	}
	if a.Index != None {
		name := general[a.Index&15]
		if a.Size > 0 {
			name = vectorName(a.Index, a.Size)
		}
		fmt.Fprintf(&b, "(%s*%d)", name, a.Scale)
	}
	return b.String()
}

const sp = 4

// Parse reads one line as String prints it: an instruction, or a label with its colon.
func Parse(line string) (Inst, error) {
	line = strings.TrimSpace(line)
	if name, ok := strings.CutSuffix(line, ":"); ok && !strings.Contains(name, " ") {
		return Inst{Args: []Arg{{Kind: Label, Name: name}}}, nil
	}
	op, rest, _ := strings.Cut(line, " ")
	in := Inst{Op: op}
	if rest == "" {
		return in, nil
	}
	for part := range strings.SplitSeq(rest, ", ") {
		a, err := parseArg(strings.TrimSpace(part))
		if err != nil {
			return in, fmt.Errorf("amd64: %q: %w", line, err)
		}
		in.Args = append(in.Args, a)
	}
	return in, nil
}

func parseArg(s string) (Arg, error) {
	switch {
	case s == "":
		return Arg{}, fmt.Errorf("an empty operand")
	case s[0] == '$':
		return parseImm(s[1:])
	case strings.HasSuffix(s, "(FP)"):
		name, off, _ := strings.Cut(strings.TrimSuffix(s, "(FP)"), "+")
		n, err := strconv.ParseInt(off, 10, 32)
		return Arg{Kind: Param, Name: name, Disp: n}, err
	case strings.HasSuffix(s, "(SB)"):
		return Arg{Kind: Symbol, Name: strings.TrimSuffix(s, "(SB)")}, nil
	case strings.HasSuffix(s, ")"):
		return parseMemory(s)
	}
	if n := slices.Index(general[:], s); n >= 0 {
		return Arg{Kind: General, Reg: int8(n)}, nil
	}
	if n, err := strconv.Atoi(s[1:]); err == nil {
		size := strings.IndexByte("XYZ", s[0])
		switch {
		case size >= 0 && n >= 0 && n < 32:
			return Arg{Kind: Vector, Reg: int8(n), Size: 16 << size}, nil
		case s[0] == 'K' && n >= 0 && n < 8:
			return Arg{Kind: Mask, Reg: int8(n)}, nil
		}
	}
	return Arg{Kind: Label, Name: s}, nil
}

// parseImm reads a number; unsigned ones of 64 bits keep their bits.
func parseImm(s string) (Arg, error) {
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil {
		var u uint64
		if u, err = strconv.ParseUint(s, 0, 64); err == nil {
			n = int64(u)
		}
	}
	a := Arg{Kind: Imm, Disp: n}
	if strings.Contains(s, "0x") {
		a.Name = s
	}
	return a, err
}

func parseMemory(s string) (Arg, error) {
	a := Arg{Kind: Memory, Base: None, Index: None, Scale: 1}
	open := strings.IndexByte(s, '(')
	if open > 0 {
		n, err := strconv.ParseInt(s[:open], 0, 32)
		if err != nil {
			return a, err
		}
		a.Disp, a.Zero = n, n == 0
	}
	for part := range strings.SplitSeq(strings.Trim(s[open:], "()"), ")(") {
		name, scale, indexed := strings.Cut(part, "*")
		r, err := parseArg(name)
		if err != nil || r.Kind != General && !(indexed && r.Kind == Vector) {
			return a, fmt.Errorf("no register: %s", name)
		}
		if !indexed {
			a.Base = r.Reg
			continue
		}
		n, err := strconv.Atoi(scale)
		if err != nil || n != 1 && n != 2 && n != 4 && n != 8 {
			return a, fmt.Errorf("scale %q: want 1, 2, 4 or 8", scale)
		}
		a.Index, a.Size, a.Scale = r.Reg, r.Size, uint8(n)
	}
	return a, nil
}
