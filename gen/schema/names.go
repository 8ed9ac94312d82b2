package schema

import (
	"fmt"
	"go/token"
	"maps"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/ir"
)

// goWords are the words that Go writes with more than a leading capital: initialisms as
// package nn writes them, and words that are two.
var goWords = map[string]string{
	"dtype": "DType", "keepdim": "KeepDim", "matmul": "MatMul", "cdist": "CDist",
	"nan": "NaN", "isnan": "IsNaN", "isinf": "IsInf", "isfinite": "IsFinite", "isclose": "IsClose", "allclose": "AllClose",
	"relu": "ReLU", "relu6": "ReLU6", "prelu": "PReLU", "elu": "ELU", "selu": "SELU", "celu": "CELU", "gelu": "GELU", "silu": "SiLU", "glu": "GLU",
	"mse": "MSE", "nll": "NLL", "kl": "KL", "bce": "BCE", "lse": "LSE", "rms": "RMS", "rnn": "RNN", "lstm": "LSTM", "gru": "GRU",
	"mm": "MM", "bmm": "BMM", "mv": "MV", "mt": "MT", "addmm": "AddMM", "addmv": "AddMV", "baddbmm": "BAddBMM",
	"fft": "FFT", "ifft": "IFFT", "rfft": "RFFT", "irfft": "IRFFT", "hfft": "HFFT", "ihfft": "IHFFT",
	"fft2": "FFT2", "ifft2": "IFFT2", "rfft2": "RFFT2", "irfft2": "IRFFT2", "fftn": "FFTN", "ifftn": "IFFTN", "rfftn": "RFFTN", "irfftn": "IRFFTN",
	"fftshift": "FFTShift", "ifftshift": "IFFTShift", "fftfreq": "FFTFreq", "rfftfreq": "RFFTFreq", "c2c": "C2C", "r2c": "R2C", "c2r": "C2R",
}

// GoName returns the exported Go name of a schema name: each word between
// underscores as goWords has it, else with a capital, so log_softmax becomes
// LogSoftmax and mse_loss MSELoss.
func GoName(name string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '_' || r == '.' }) {
		switch {
		case word == "":
		case goWords[word] != "":
			b.WriteString(goWords[word])
		default:
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

// Capitals returns a schema name with each word between underscores capitalised, and no
// underscores.
func Capitals(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

// snakeCase reports whether s is lower-case words and digits joined by single
// underscores, beginning with a letter.
func snakeCase(s string) bool {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		case c == '_' && i+1 < len(s) && s[i+1] != '_':
		default:
			return false
		}
	}
	return true
}

func isKeyword(s string) bool { return token.IsKeyword(s) }

// emitted are the names that emitted functions use themselves: predeclared
// identifiers of Go and the packages it imports.
var emitted = []string{
	"any", "append", "bool", "byte", "cap", "clear", "close", "comparable", "complex", "complex64", "complex128",
	"copy", "delete", "error", "false", "float32", "float64", "imag", "int", "int8", "int16", "int32", "int64",
	"iota", "len", "make", "max", "min", "new", "nil", "panic", "print", "println", "real", "recover", "rune",
	"string", "true", "uint", "uint8", "uint16", "uint32", "uint64", "uintptr",
	"core", "cpu", "device", "ir", "math", "num", "ops", "tensor", "unsafe",
}

// reservedParam tells why name cannot be a parameter's or a result's, or "".
func reservedParam(name string) string {
	switch {
	case isKeyword(name):
		return "is a word of the Go language; choose another name"
	case slices.Contains(emitted, name):
		return "would hide a Go name that emitted code uses; choose another name"
	case name == "dy" || strings.HasPrefix(name, "dy_"):
		return "is the name of a gradient; choose another name"
	case name == "out":
		return "is the name of the result; choose another name"
	}
	return ""
}

// clash tells why two names of one entry that differ may be one in emitted code, or "". Emitted
// code adds a word to a name that it needs itself.
func clash(name, other string) string {
	a, b := strings.ReplaceAll(name, "_", ""), strings.ReplaceAll(other, "_", "")
	if a == b {
		return fmt.Sprintf("differs from %q by underscores alone, which Go names lack; choose another name", other)
	}
	for _, added := range []string{"value", "arg"} {
		if a == b+added || b == a+added {
			return fmt.Sprintf("differs from %q by %q alone, a word that emitted code adds to names; choose another name", other, added)
		}
	}
	return ""
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// collisions reports emitted Go names that two things want, and options that
// have two types.
func (l *loader) collisions() {
	taken := map[string]string{} // Go name to what has it
	claim := func(op *Op, name, what string) bool {
		if other, ok := taken[name]; ok && other != what {
			l.reporter.op = op.Name
			l.errorf(op.Pos, "Go name %s of %s is already that of %s; choose another with the key go", name, what, other)
			return false
		}
		taken[name] = what
		return true
	}
	for name, what := range runtimeNames {
		taken[name] = what
	}
	for _, e := range l.entries {
		for _, f := range Forms(e.op) {
			if !claim(e.op, f, "operator "+e.op.Name) {
				break
			}
		}
	}
	l.optionTypes(claim)
	l.reporter.op = ""
}

// optionTypes reports options and enums of one name that differ in type, and
// claims their Go names.
func (l *loader) optionTypes(claim func(*Op, string, string) bool) {
	type use struct {
		op *Op
		p  *Param
	}
	uses := map[string]use{}
	for _, e := range l.entries {
		for _, p := range e.op.Params {
			if !p.Option && p.Type != Enum {
				continue
			}
			first, ok := uses[p.Name]
			switch {
			case !ok:
				uses[p.Name] = use{e.op, p}
			case first.p.Type != p.Type || !slices.Equal(first.p.Enum, p.Enum):
				l.reporter.op = e.op.Name
				l.errorf(p.Pos, "option %q has another type in %s (line %d); an option's name has one type in a schema", p.Name, first.op.Name, first.p.Pos.Line)
				continue
			}
			if e.op.Tags&ir.TagHidden != 0 && p.Type != Enum || p.Type == DType {
				continue // not public, or OfType, which creation has as well
			}
			if !claim(e.op, GoName(p.Name), "option "+p.Name) {
				continue
			}
			claim(e.op, GoName(p.Name)+"Option", "option "+p.Name)
			for _, name := range p.Enum {
				claim(e.op, GoName(p.Name)+GoName(name), "option "+p.Name)
			}
		}
	}
}

// runtimeNames are the public names that every emitted package has.
var runtimeNames = map[string]string{
	"Tensor": "the tensor type", "Scalar": "the number type", "DType": "the dtype type", "On": "the creation option On",
	"OfType": "the creation option OfType", "RequireGrad": "the creation option RequireGrad", "Pinned": "the creation option Pinned",
	"DeviceOption": "a creation option", "DTypeOption": "a creation option", "RequireGradOption": "a creation option",
	"PinnedOption": "a creation option", "CreateOption": "the creation options",
}

// Forms returns the Go names that the public package has for an operator: its
// functions, and the type of its options. A hidden operator has none.
func Forms(op *Op) []string {
	if op.Tags&ir.TagHidden != 0 {
		return nil
	}
	names := []string{op.GoName}
	if slices.ContainsFunc(op.Params, func(p *Param) bool { return p.OrScalar }) {
		names = append(names, op.GoName+"Scalar")
	}
	if slices.ContainsFunc(op.Params, func(p *Param) bool { return p.Option }) {
		names = append(names, op.GoName+"Option")
	}
	switch {
	case op.Factory():
		if op.Kind == ir.Elementwise {
			names = append(names, op.GoName+"Like")
		}
		return names
	case !op.NoOut && op.Kind != ir.ViewBody && len(op.Results) == 1 && !op.Results[0].List:
		names = append(names, op.GoName+"Out")
	}
	if !op.NoInPlace && op.Kind == ir.Elementwise && op.Params[0].Type == Tensor {
		names = append(names, op.GoName+"InPlace")
	}
	return names
}
