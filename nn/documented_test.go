package nn

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/option"
)

// parametersErr returns the error that a layer's parameters carry.
func parametersErr(m any) error {
	for _, p := range Parameters(m) {
		if err := p.Err(); err != nil {
			return err
		}
	}
	return nil
}

func forwardErr(m Module) error { return m.Forward(tensor.Ones([]int{1, 1, 4, 4})).Err() }

// optional are the functions that take options: each returns the error of what it makes.
var optional = map[string]func(o Option) error{
	"GELU":      func(o Option) error { return forwardErr(GELU(o)) },
	"MaxPool1d": func(o Option) error { return forwardErr(MaxPool1d(2, o)) },
	"MaxPool2d": func(o Option) error { return forwardErr(MaxPool2d(2, o)) },
	"MaxPool3d": func(o Option) error {
		return MaxPool3d(2, o).Forward(tensor.Ones([]int{1, 1, 4, 4, 4})).Err()
	},
	"AvgPool1d": func(o Option) error { return forwardErr(AvgPool1d(2, o)) },
	"AvgPool2d": func(o Option) error { return forwardErr(AvgPool2d(2, o)) },
	"AvgPool3d": func(o Option) error {
		return AvgPool3d(2, o).Forward(tensor.Ones([]int{1, 1, 4, 4, 4})).Err()
	},

	"NewPReLU":           func(o Option) error { return parametersErr(NewPReLU(1, o)) },
	"NewLinear":          func(o Option) error { return parametersErr(NewLinear(2, 2, o)) },
	"NewEmbedding":       func(o Option) error { return parametersErr(NewEmbedding(2, 2, o)) },
	"NewConv1d":          func(o Option) error { return parametersErr(NewConv1d(2, 2, 1, o)) },
	"NewConv2d":          func(o Option) error { return parametersErr(NewConv2d(2, 2, 1, o)) },
	"NewConv3d":          func(o Option) error { return parametersErr(NewConv3d(2, 2, 1, o)) },
	"NewConvTranspose1d": func(o Option) error { return parametersErr(NewConvTranspose1d(2, 2, 1, o)) },
	"NewConvTranspose2d": func(o Option) error { return parametersErr(NewConvTranspose2d(2, 2, 1, o)) },
	"NewLayerNorm":       func(o Option) error { return parametersErr(NewLayerNorm([]int{2}, o)) },
	"NewRMSNorm":         func(o Option) error { return parametersErr(NewRMSNorm([]int{2}, o)) },
	"NewGroupNorm":       func(o Option) error { return parametersErr(NewGroupNorm(1, 2, o)) },
	"NewBatchNorm":       func(o Option) error { return parametersErr(NewBatchNorm(2, o)) },
	"NewLSTM":            func(o Option) error { return parametersErr(NewLSTM(2, 2, o)) },
	"NewGRU":             func(o Option) error { return parametersErr(NewGRU(2, 2, o)) },
	"NewRNN":             func(o Option) error { return parametersErr(NewRNN(2, 2, o)) },
	"NewAdaptiveLogSoftmaxWithLoss": func(o Option) error {
		return parametersErr(NewAdaptiveLogSoftmaxWithLoss(4, 4, []int{2}, o))
	},
}

var (
	listed     = regexp.MustCompile(`Options: (.*)\.\n$`)
	listedOne  = regexp.MustCompile(`^(tensor\.)?(\w+)(?: \((.*)\))?$`)
	namesTaken = regexp.MustCompile(`no option Unknown here; want (.*)$`)
)

// TestOptionsAreDocumented compares the options that comments list with those that the
// functions name in their errors, and the numbers in parentheses with the defaults.
func TestOptionsAreDocumented(t *testing.T) {
	docs, functions := documented(t)
	want := map[string]bool{}
	for name := range optional {
		want[name] = true
	}
	got := map[string]bool{}
	for name := range docs {
		got[name] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("functions that take options, in this test and in the package (-want +got):\n%s", diff)
	}
	for name, fail := range optional {
		err := fail(option.Int("Unknown", 1))
		m := namesTaken.FindStringSubmatch(fmt.Sprint(err))
		if m == nil {
			t.Errorf("%s with an unknown option: %v", name, err)
			continue
		}
		takes := strings.ReplaceAll(strings.ReplaceAll(m[1], " or ", ", "), "nn.", "")
		line := listed.FindStringSubmatch(strings.ReplaceAll(strings.TrimSpace(strings.ReplaceAll(docs[name], "\n", " "))+"\n", "  ", " "))
		if line == nil {
			t.Errorf("the comment of %s ends without its options, which are %s", name, takes)
			continue
		}
		var names []string
		for _, text := range splitOutside(line[1]) {
			one := listedOne.FindStringSubmatch(text)
			if one == nil {
				t.Fatalf("%s: %q is not the name of an option with its default", name, text)
			}
			names = append(names, one[2])
			if here := functions[one[2]]; here == (one[1] != "") {
				t.Errorf("%s: option %s is written as if it were of the other package", name, text)
			}
			def, is := number(name, one[2])
			if def == "-1" && one[2] == "Eps" {
				def = "that of the dtype" // no eps is negative: the operator has its own
			}
			if is && strings.Split(one[3], ",")[0] != def {
				t.Errorf("%s: the comment says %s, the default is %s", name, text, def)
			}
		}
		if diff := cmp.Diff(takes, strings.Join(names, ", ")); diff != "" {
			t.Errorf("options of %s, taken and in its comment (-taken +comment):\n%s", name, diff)
		}
	}
}

// number returns the default of an option that is a number.
func number(function, name string) (text string, is bool) {
	s := defaults()
	eps := s.eps
	if function == "NewRMSNorm" {
		eps = NewRMSNorm([]int{2}).eps
	}
	v, is := map[string]float64{
		"Groups": float64(s.groups), "Eps": eps, "Momentum": s.momentum, "PaddingIdx": float64(s.paddingIndex), "NormType": s.normType,
		"Layers": float64(s.layers), "LayerDropout": s.layerDropout, "DivValue": s.divValue,
	}[name]
	return strings.Replace(strconv.FormatFloat(v, 'g', -1, 64), "e-0", "e-", 1), is
}

// splitOutside splits a list at the commas that are not in parentheses.
func splitOutside(list string) (parts []string) {
	depth, from := 0, 0
	for i, c := range list {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			parts, from = append(parts, strings.TrimSpace(list[from:i])), i+1
		}
	}
	return append(parts, strings.TrimSpace(list[from:]))
}

// documented returns the comments of the exported functions that take options, and the
// names of all functions of the package.
func documented(t *testing.T) (docs map[string]string, functions map[string]bool) {
	t.Helper()
	docs, functions = map[string]string{}, map[string]bool{}
	for _, file := range sources(t) {
		for _, d := range file.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is || f.Recv != nil {
				continue
			}
			functions[f.Name.Name] = true
			list := f.Type.Params.List
			if len(list) == 0 || !f.Name.IsExported() {
				continue
			}
			rest, is := list[len(list)-1].Type.(*ast.Ellipsis)
			if !is {
				continue
			}
			if id, is := rest.Elt.(*ast.Ident); is && id.Name == "Option" {
				docs[f.Name.Name] = f.Doc.Text()
			}
		}
	}
	return docs, functions
}

// TestMomentums holds that no momentum is taken for the other one.
func TestMomentums(t *testing.T) {
	const want = "batch norm: no option Momentum here; want nn.Momentum, Eps, NoAffine, NoBias, On or OfType"
	other := option.Float("Momentum", 0.9) // as optim.Momentum(0.9) is
	if err := parametersErr(NewBatchNorm(2, other)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("NewBatchNorm with optim.Momentum: %v, want %s", err, want)
	}
	if b := NewBatchNorm(2, Momentum(0.5)); parametersErr(b) != nil || b.momentum != 0.5 {
		t.Errorf("NewBatchNorm with Momentum(0.5): momentum %g, %v", b.momentum, parametersErr(b))
	}
}

func TestSequentialString(t *testing.T) {
	for want, m := range map[string]*Sequential{
		"Sequential(Linear(in=2, out=3, bias=true), ReLU, Sequential())": NewSequential(NewLinear(2, 3), ReLU(), NewSequential()),
		"Sequential()":      nil,
		"Sequential(<nil>)": NewSequential(nil),
	} {
		if got := m.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// sources returns the files of this package without its tests.
func sources(t *testing.T) (files []*ast.File) {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}
