package ptx

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/sinter-go/sinter/ir"
)

// A Library is the functions that Source has, compiled.
type Library struct {
	text   *Text
	bodies map[string]*body
}

// A body is a function's code, of which its calls are made.
type body struct {
	lines  []string
	params int
	result string // class of registers of the result
	called bool   // it cannot stand in the place of a call
}

// NewLibrary returns the library of a PTX text.
func NewLibrary(text []byte) *Library {
	l := &Library{Divide(text), map[string]*body{}}
	for _, s := range l.text.statements {
		if i := bytes.IndexByte(s.text, '{'); i >= 0 && !s.entry && bytes.Contains(s.text[:i], []byte(".func")) {
			l.bodies[s.name] = bodyOf(string(s.text[:i]), string(s.text[i+1:]))
		}
	}
	return l
}

// bodyOf takes a function apart: its head, and what follows the brace that opens it.
func bodyOf(head, text string) *body {
	b := &body{result: "b64"}
	before, params, _ := strings.Cut(head, ")")
	if strings.Contains(before, ".b32") {
		b.result = "b32"
	}
	b.params = strings.Count(params, ".param")
	text = strings.TrimSuffix(strings.TrimSpace(text), "}")
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			b.lines = append(b.lines, line)
		}
	}
	n := len(b.lines) - 1
	if n < 0 || b.lines[n] != "ret;" {
		b.called = true
		return b
	}
	b.lines = b.lines[:n]
	for _, line := range b.lines {
		_, _, plain := access(line)
		for _, word := range []string{"call", "ret", ".local", ".param"} {
			// Parameters and the result are moves in the place of a call; vectors and parts of them are not.
			b.called = b.called || !plain && strings.Contains(line, word)
		}
	}
	return b
}

// access takes apart a line that reads a parameter, or writes the result where number is -1.
// It reports whether the line does one of these and nothing more than a move can.
func access(line string) (number int, move func(outside string) string, ok bool) {
	f := strings.FieldsFunc(strings.TrimSuffix(line, ";"), func(r rune) bool { return r == ' ' || r == '\t' || r == ',' })
	if len(f) != 3 {
		return 0, nil, false
	}
	if typ, is := strings.CutPrefix(f[0], "st.param."); is && f[1] == "[func_retval0+0]" {
		return -1, func(outside string) string { return fmt.Sprintf("mov.%s %s, %s;", typ, outside, f[2]) }, true
	}
	typ, is := strings.CutPrefix(f[0], "ld.param.")
	if _, err := fmt.Sscanf(f[2], "[p%d]", &number); !is || typ[0] == 'v' || err != nil || f[2] != fmt.Sprintf("[p%d]", number) {
		return 0, nil, false
	}
	return number, func(outside string) string { return read(typ, f[1], outside) }, true
}

// read is the instruction in the place of one that reads a parameter as a type into one of
// a function's registers. What is narrower than the parameter is its low part, and extended
// where the register is wider.
func read(typ, into, outside string) string {
	class := map[string]string{"%rs": "16", "%r": "32", "%rd": "64"}[strings.TrimRight(into, "0123456789")]
	if typ[0] == 'f' || typ[1:] == class && class == outside[3:5] { // floats are read as their bits, too
		return fmt.Sprintf("mov.b%s %s, %s;", typ[1:], into, outside)
	}
	sign := strings.Replace(typ[:1], "b", "u", 1)
	return fmt.Sprintf("cvt.%s%s.%s%s %s, %s;", sign, class, sign, typ[1:], into, outside)
}

// call is the code of a call of a function, of registers to a register. The names of these
// tell their classes: Code.Register.
func (b *body) call(name, result string, args []string) string {
	var t strings.Builder
	if b.called {
		t.WriteString("{\n")
		var list []string
		for i, a := range args {
			kind := "b" + a[3:5]
			fmt.Fprintf(&t, ".param .%s a%d;\nst.param.%s [a%d], %s;\n", kind, i, kind, i, a)
			list = append(list, fmt.Sprintf("a%d", i))
		}
		fmt.Fprintf(&t, ".param .%[1]s r;\ncall.uni (r), %[2]s, (%[3]s);\nld.param.%[1]s %[4]s, [r];\n}\n", b.result, name, strings.Join(list, ", "), result)
		return t.String()
	}
	t.WriteString("{\n")
	for _, line := range b.lines {
		if number, move, ok := access(line); ok {
			outside := result
			if number >= 0 {
				outside = args[number]
			}
			line = move(outside)
		}
		t.WriteString(line + "\n")
	}
	t.WriteString("}\n")
	return t.String()
}

// Module returns the PTX of a kernel, which is all of the text from its directives to its
// closing brace, with the functions and variables that it uses.
func (l *Library) Module(name string, kernel []byte) ([]byte, error) {
	return l.text.With(kernel).Trim(name)
}

// Class returns the class of the registers that hold a compute dtype: b32, b64, f32 or f64.
func Class(d ir.DType) string { return classOf(d).register }
