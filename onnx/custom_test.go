package onnx

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/core"
)

// Nodes of a custom domain are computed by functions of the program, in runs by themselves and
// in programs; what has none is refused with all else.
func TestOperators(t *testing.T) {
	own := func(operator, in, out string, attributes ...msg) msg {
		return nodeOf(operator, in, out, attributes...).text(7, "com.example")
	}
	factor := msg{}.text(1, "factor").int(20, 2).int(3, 3)
	file := append(model(nodes(own("Scale", "x", "h", factor), own("Sum", "x - h", "y"))), msg{}.bytes(8, msg{}.text(1, "com.example").int(2, 1)...)...)
	calls := 0
	operators := map[string]Operator{
		"com.example.Scale": func(in []tensor.Tensor, a Attributes) ([]tensor.Tensor, error) {
			calls++
			return []tensor.Tensor{in[0].MulScalar(a.Int("factor", 1)).AddScalar(a.Float("offset", 0.5))}, nil
		},
		"com.example.Sum": func(in []tensor.Tensor, _ Attributes) ([]tensor.Tensor, error) {
			if in[1].Err() == nil {
				return nil, errors.New("an operand that is left out has elements")
			}
			return []tensor.Tensor{in[0].Add(in[2])}, nil
		},
	}
	m, err := LoadBytes(file, Operators(operators))
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		out, err := m.Run(context.Background(), twoByTwo(t))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := tensor.Data[float32](out["y"]); err != nil || !slices.Equal(got, []float32{-3.5, 8.5, 12.5, -15.5}) {
			t.Errorf("y is %v, %v", got, err)
		}
	}
	if calls != 2 { // a run by itself, and the recording of the program
		t.Errorf("the function was called %d times, want 2", calls)
	}
	delete(operators, "com.example.Sum")
	if _, err := LoadBytes(file, Operators(operators)); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "com.example.Sum") || strings.Contains(err.Error(), "Scale") {
		t.Errorf("without one of them: %v", err)
	}
	operators["com.example.Sum"] = func([]tensor.Tensor, Attributes) ([]tensor.Tensor, error) { return nil, nil }
	if m, err = LoadBytes(file, Operators(operators)); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Run(context.Background(), twoByTwo(t)); err == nil || !strings.Contains(err.Error(), "0 results") {
		t.Errorf("a function without results: %v", err)
	}
}

// A function that changes a parameter in place gets an error, as does the run, and the
// parameter stays what it was: a small one and a large one, wherever in the file they begin, and
// one that is a list of numbers.
func TestParametersStay(t *testing.T) {
	for _, rows := range []int64{1, 500} {
		for shift := range 5 {
			weight := msg{}.bytes(9, make([]byte, rows*8)...)
			if shift == 4 {
				weight = msg{}.bytes(4, make([]byte, rows*8)...)
			}
			t.Run(fmt.Sprint(rows, " rows ", shift), func(t *testing.T) { changeParameter(t, strings.Repeat("w", 1+shift), rows, weight) })
		}
	}
}

// changeParameter has a function change a parameter of rows x 2 zeros.
func changeParameter(t *testing.T, weight string, rows int64, numbers msg) {
	own := nodeOf("Change", weight, "h").text(7, "com.example")
	file := append(model(initializer(weight, 1, []int64{rows, 2}, numbers), nodes(own, nodeOf("Add", weight+" h", "y"))), msg{}.bytes(8, msg{}.text(1, "com.example").int(2, 1)...)...)
	name := filepath.Join(t.TempDir(), "model.onnx")
	if err := os.WriteFile(name, file, 0o600); err != nil {
		t.Fatal(err)
	}
	changes := true
	change := func(in []tensor.Tensor, _ Attributes) ([]tensor.Tensor, error) {
		if changes {
			if err := in[0].FillInPlace(1); !errors.Is(err, core.ErrReadOnly) {
				t.Errorf("error %v, want one that wraps ErrReadOnly", err)
			}
		}
		return []tensor.Tensor{in[0].AddScalar(1)}, nil
	}
	m, err := Load(name, Operators(map[string]Operator{"com.example.Change": change}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Run(context.Background(), twoByTwo(t)); !errors.Is(err, core.ErrReadOnly) {
		t.Errorf("error %v of the run, want one that wraps ErrReadOnly", err)
	}
	changes = false
	out, err := m.Run(context.Background(), twoByTwo(t))
	if err != nil {
		t.Fatal(err)
	}
	if most, err := out["y"].Max().Item(); err != nil || most != 1 {
		t.Errorf("the largest number is %v, %v, want 1", most, err)
	}
}

// A context that is cancelled while a run is under way ends it before the next operator, and
// the model can be used again.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	stops, later := true, 0
	count := func(f func()) Operator {
		return func(in []tensor.Tensor, _ Attributes) ([]tensor.Tensor, error) {
			f()
			return []tensor.Tensor{in[0].AddScalar(1)}, nil
		}
	}
	own := func(operator, in, out string) msg { return nodeOf(operator, in, out).text(7, "com.example") }
	file := append(model(nodes(own("Stop", "x", "h"), own("Later", "h", "y"))), msg{}.bytes(8, msg{}.text(1, "com.example").int(2, 1)...)...)
	m, err := LoadBytes(file, Operators(map[string]Operator{
		"com.example.Stop": count(func() {
			if stops {
				cancel()
			}
		}),
		"com.example.Later": count(func() { later++ }),
	}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Run(ctx, twoByTwo(t)); !errors.Is(err, context.Canceled) || later != 0 {
		t.Errorf("error %v, and %d operators ran behind it", err, later)
	}
	stops = false
	out, err := m.Run(context.Background(), twoByTwo(t))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := tensor.Data[float32](out["y"]); err != nil || !slices.Equal(got, []float32{1, 4, 5, -2}) {
		t.Errorf("y is %v, %v", got, err)
	}
}
