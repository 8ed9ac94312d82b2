package amd64

import (
	"fmt"
	"io"
	"strings"
)

// A Block collects instructions. Its first mistake is kept, so that only the end need
// be asked for it.
type Block struct {
	Insts []Inst
	err   error
}

// Err returns the first mistake.
func (b *Block) Err() error { return b.err }

// Asm adds instructions and labels written as Go's assembler has them, one a line.
func (b *Block) Asm(format string, args ...any) {
	for line := range strings.Lines(fmt.Sprintf(format, args...)) {
		in, err := Parse(line)
		if err != nil && b.err == nil {
			b.err = err
		}
		b.Insts = append(b.Insts, in)
	}
}

// Add adds an instruction.
func (b *Block) Add(op string, args ...Arg) {
	b.Insts = append(b.Insts, Inst{op, args})
}

// Arg reads an operand written as Go's assembler has it.
func (b *Block) Arg(format string, args ...any) Arg {
	a, err := parseArg(fmt.Sprintf(format, args...))
	if err != nil && b.err == nil {
		b.err = err
	}
	return a
}

// Append adds another block's instructions.
func (b *Block) Append(o *Block) {
	b.Insts = append(b.Insts, o.Insts...)
	if b.err == nil {
		b.err = o.err
	}
}

// Calls reports whether a function is called.
func (b *Block) Calls() bool {
	for _, in := range b.Insts {
		if in.Op == "CALL" {
			return true
		}
	}
	return false
}

// Data calls f with the contents of all data that instructions refer to.
func (b *Block) Data(f func(data string)) {
	for _, in := range b.Insts {
		for _, a := range in.Args {
			if a.Kind == Data {
				f(a.Name)
			}
		}
	}
}

// Print writes the instructions in the syntax of Go's assembler; symbol names data.
func (b *Block) Print(w io.Writer, symbol func(data string) string) error {
	for _, in := range b.Insts {
		if in.Op != "" {
			if _, err := io.WriteString(w, "\t"); err != nil {
				return err
			}
			args := make([]Arg, len(in.Args))
			copy(args, in.Args)
			for i, a := range args {
				if a.Kind == Data {
					args[i] = Arg{Kind: Label, Name: symbol(a.Name)}
				}
			}
			in.Args = args
		}
		if _, err := io.WriteString(w, in.String()+"\n"); err != nil {
			return err
		}
	}
	return nil
}
