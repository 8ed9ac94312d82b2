package amd64

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// committed are the files that the printer has written.
var committed = []string{"../../generated/cpu/*_amd64.s", "../../backend/cpu/vmath/*_amd64.s", "../../backend/cpu/fold/extremes_amd64.s"}

// Programs calls f with the instructions of programs that no file holds. Tests outside
// of this package set it, which may import what makes them.
var Programs func(t *testing.T, f func(Inst))

// printed calls f with every instruction of the committed files and of Programs.
func printed(t *testing.T, f func(Inst)) {
	t.Helper()
	Programs(t, f)
	for _, pattern := range committed {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files (%v)", pattern, err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				if line = strings.TrimRight(line, "\n"); len(line) < 2 || line[0] != '\t' || strings.HasPrefix(line, "\tPCALIGN") {
					continue
				}
				in, err := Parse(line)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if got := in.String(); got != line[1:] {
					t.Fatalf("%s: %q prints as %q", name, line[1:], got)
				}
				f(in)
			}
		}
	}
}

// pattern is an instruction's name with the kinds of its operands.
func pattern(in Inst) string {
	s := in.Op
	for _, a := range in.Args {
		s += fmt.Sprintf(" %d/%d", a.Kind, a.Size)
		if a.Kind == Memory && a.Size > 0 {
			s += "v"
		}
	}
	return s
}

// variants are copies of an instruction with other registers, addresses and immediates.
func variants(in Inst) []Inst {
	list := []Inst{in}
	evex := strings.Contains(in.Op, ".")
	for _, a := range in.Args {
		evex = evex || a.Kind == Mask || a.Kind == Vector && (a.Size == 64 || a.Reg > 15)
	}
	if strings.HasPrefix(in.Op, "VGATHER") { // its registers must be distinct
		for r := int8(3); r < 15; r++ {
			next := Inst{in.Op, slices.Clone(in.Args)}
			next.Args[0].Reg, next.Args[1].Index, next.Args[2].Reg = r-1, r, r+1
			list = append(list, next)
		}
		return list
	}
	for i, a := range in.Args {
		for _, b := range others(in, a, evex) {
			next := Inst{in.Op, slices.Clone(in.Args)}
			next.Args[i] = b
			list = append(list, next)
		}
	}
	return list
}

// others are operands to put in a's place.
func others(in Inst, a Arg, evex bool) (out []Arg) {
	with := func(change func(b *Arg)) {
		b := a
		change(&b)
		out = append(out, b)
	}
	switch a.Kind {
	case Vector:
		for _, r := range []int8{0, 1, 7, 8, 9, 15, 16, 23, 24, 31} {
			if r < 16 || evex {
				with(func(b *Arg) { b.Reg = r })
			}
		}
	case Mask:
		for r := int8(1); r < 8; r++ {
			with(func(b *Arg) { b.Reg = r })
		}
	case General:
		for _, r := range []int8{0, 1, 2, 3, 6, 7, 8, 9, 10, 11, 12, 13} {
			if in.Op != "SHLQ" || a.Disp == 0 {
				with(func(b *Arg) { b.Reg = r })
			}
		}
	case Imm:
		for _, n := range immediates(in) {
			with(func(b *Arg) { b.Disp, b.Name, b.Zero = n, "", false })
		}
	case Memory:
		if a.Size > 0 {
			return nil
		}
		for _, d := range []int64{0, 1, 4, 8, 16, 32, 63, 64, 127, 128, -1, -128, -129, 256, 508, 512, 1016, 1024, 2032, 2048, 4064, 8128, 8192, -8192, -8256, 1 << 20} {
			with(func(b *Arg) { b.Disp, b.Zero = d, false })
		}
		for _, base := range []int8{0, 2, 3, 4, 5, 6, 7, 8, 10, 12, 13} {
			with(func(b *Arg) { b.Base = base })
			with(func(b *Arg) { b.Base, b.Index, b.Scale = base, None, 1 })
			for _, index := range []int8{1, 9, 12} {
				for _, scale := range []uint8{1, 2, 4, 8} {
					with(func(b *Arg) { b.Base, b.Index, b.Scale, b.Disp = base, index, scale, 64 })
				}
			}
		}
	}
	return out
}

// immediates are numbers at the bounds of what an instruction takes.
func immediates(in Inst) []int64 {
	switch {
	case in.Op[0] == 'V':
		return []int64{0, 1, 2, 3}
	case strings.HasPrefix(in.Op, "SH"):
		return []int64{1, 2, 31, 63}
	case in.Op == "MOVQ" && in.Args[1].Kind == General:
		return []int64{1, 127, 128, -1, -128, 1 << 31, 1<<32 - 1, -1 << 31, 1 << 32, 1<<63 - 1, -1 << 63}
	}
	return []int64{1, 2, 127, 128, -1, -128, -129, 1<<31 - 1, -1 << 31}
}

// TestAgainstAssembler holds every form that the printer has printed, with registers,
// masks, addresses and immediates at their bounds, against the bytes that Go's
// assembler makes of its text.
func TestAgainstAssembler(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the assembler")
	}
	seen := map[string]bool{}
	var list []Inst
	printed(t, func(in Inst) {
		for i, a := range in.Args {
			if a.Kind == Label || a.Kind == Symbol && (in.Op == "CALL" || in.Op == "JMP") {
				return // TestJumps
			}
			if a.Kind == Param {
				in.Args[i] = Arg{Kind: Memory, Base: sp, Index: None, Scale: 1, Disp: 8}
			}
		}
		if p := pattern(in); !seen[p] {
			seen[p] = true
			list = append(list, variants(in)...)
		}
	})
	t.Logf("%d instructions of %d patterns", len(list), len(seen))
	const each = 200 // instructions a function: what is wrong is named by the first byte that is
	var texts []string
	for part := range slices.Chunk(list, each) {
		var text strings.Builder
		for _, in := range part {
			fmt.Fprintf(&text, "\t%s\n", in)
		}
		texts = append(texts, text.String())
	}
	for i, want := range objectBytes(t, texts) {
		for _, in := range list[i*each : min(len(list), i*each+each)] {
			code, err := encodeOne(in)
			got := hex.EncodeToString(code)
			if err != nil || !strings.HasPrefix(want, got) {
				t.Errorf("%s: %s (%v), the assembler makes %.24s", in, got, err, want)
				break
			}
			want = want[len(got):]
		}
	}
}

func encodeOne(in Inst) ([]byte, error) {
	e := encoder{labels: map[string]int{}}
	err := e.run([]Inst{in})
	return e.code, err
}

var (
	dumpedName  = regexp.MustCompile(`^TEXT f\.f(\d+)\(SB\)`)
	dumpedBytes = regexp.MustCompile(`^\s+\S+\.s:\d+\s+0x[0-9a-f]+\s+([0-9a-f]+)\s`)
)

// objectBytes assembles functions and returns their bytes.
func objectBytes(t *testing.T, functions []string) []string {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("DATA lanes<>+0(SB)/8, $0\nGLOBL lanes<>(SB), 24, $8192\n") // RODATA|NOPTR
	for i, text := range functions {
		fmt.Fprintf(&b, "TEXT ·f%d(SB), 4, $0\n\t%s\n", i, text) // NOSPLIT
	}
	dir := t.TempDir()
	source, object := filepath.Join(dir, "f.s"), filepath.Join(dir, "f.o")
	if err := os.WriteFile(source, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	asm := exec.Command("go", "tool", "asm", "-p", "f", "-o", object, source)
	asm.Env = append(os.Environ(), "GOARCH=amd64", "GOOS=linux")
	if out, err := asm.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command("go", "tool", "objdump", object).Output()
	if err != nil {
		t.Fatal(err)
	}
	list, at := make([]string, len(functions)), -1
	for scan := bufio.NewScanner(bytes.NewReader(out)); scan.Scan(); {
		if m := dumpedName.FindStringSubmatch(scan.Text()); m != nil {
			at, _ = strconv.Atoi(m[1])
		} else if m := dumpedBytes.FindStringSubmatch(scan.Text()); m != nil && at >= 0 {
			list[at] += m[1]
		}
	}
	return list
}

// TestJumps holds jumps over every distance at which they grow against the assembler.
func TestJumps(t *testing.T) {
	var functions [][]Inst
	var texts []string
	for _, c := range conditions {
		for _, n := range []int{0, 30, 31, 32, 33, 200} {
			label := func(op, to string) Inst { return Inst{Op: op, Args: []Arg{{Kind: Label, Name: to}}} }
			insts := []Inst{label(c.op, "end"), label("", "back")}
			for range n {
				insts = append(insts, Inst{Op: "ADDQ", Args: []Arg{{Kind: Imm, Disp: 1}, {Kind: General, Reg: 3}}})
			}
			insts = append(insts, label(c.op, "back"), label("JMP", "back"), label("", "end"), Inst{Op: "RET"})
			var text strings.Builder
			for _, in := range insts {
				fmt.Fprintf(&text, "%s\n", in)
			}
			functions, texts = append(functions, insts), append(texts, text.String())
		}
	}
	for i, want := range objectBytes(t, texts) {
		var a Assembler
		if err := a.Add("f", Frame{}, functions[i]); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, hex.EncodeToString(a.enc.code)); diff != "" {
			t.Errorf("%s of %d instructions (-assembler +encoder):\n%s", functions[i][0], len(functions[i]), diff)
		}
	}
}
