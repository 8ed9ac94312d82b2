package behaviour_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/generated/tensor/out"
	"github.com/sinter-go/sinter/runtime/core"
)

// TestReleasedOperand holds that the use of a released tensor names operator and operand,
// and says what releases.
func TestReleasedOperand(t *testing.T) {
	var gone tensor.Tensor
	tensor.Scope(func() error { gone = tensor.Ones([]int{2}); return nil })
	x := tensor.Ones([]int{2})
	for name, err := range map[string]error{
		"add: operand y":           x.Add(gone).Err(),
		"sum: operand x":           gone.Sum().Err(),
		"matmul: operand y":        x.MatMul(gone).Err(),
		"cumsum: operand x":        gone.Cumsum(0).Err(),
		"mul: operand y":           tensor.Ones([]int{2}).MulInPlace(gone),
		"exp: operand x":           out.Exp(tensor.Ones([]int{2}), gone),
		"exp: the tensor to write": out.Exp(gone, x),
	} {
		if err == nil || !errors.Is(err, core.ErrReleased) || !strings.Contains(err.Error(), name) ||
			!strings.Contains(err.Error(), "Scope") || !strings.Contains(err.Error(), "keep") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestScopeForms holds that the forms of Scope give back the function's error and values,
// and keep what they return.
func TestScopeForms(t *testing.T) {
	fault := errors.New("fault")
	var inner tensor.Tensor
	if err := tensor.Scope(func() error { inner = tensor.Ones([]int{2}); return fault }); err != fault {
		t.Errorf("error %v", err)
	}
	if inner.Err() == nil {
		t.Error("Scope released nothing")
	}
	x, err := tensor.ScopeValue(func() (tensor.Tensor, error) {
		inner = tensor.Ones([]int{2})
		return inner.Add(inner), nil
	})
	if err != nil || x.Err() != nil || inner.Err() == nil {
		t.Errorf("error %v, result %v, inner %v", err, x.Err(), inner.Err())
	}
	list, err := tensor.ScopeValue(func() ([]tensor.Tensor, error) {
		return []tensor.Tensor{tensor.Ones([]int{2}), tensor.Zeros([]int{2})}, fault
	})
	if err != fault || len(list) != 2 || list[1].Err() != nil {
		t.Errorf("error %v, results %v", err, list)
	}
	named, err := tensor.ScopeValue(func() (map[string]tensor.Tensor, error) {
		return map[string]tensor.Tensor{"a": tensor.Ones([]int{2})}, nil
	})
	if err != nil || named["a"].Err() != nil {
		t.Errorf("error %v, results %v", err, named)
	}
	n, err := tensor.ScopeValue(func() (int, error) { x = tensor.Ones([]int{2}); tensor.Keep(x); return 7, nil })
	if n != 7 || err != nil || x.Err() != nil {
		t.Errorf("%d, error %v, kept %v", n, err, x.Err())
	}
	tensor.Keep(x) // no scope
	for name, form := range map[string]func(f func() error) error{"Scope": tensor.Scope, "NoGrad": tensor.NoGrad, "EnableGrad": tensor.EnableGrad} {
		if err := form(nil); err != nil {
			t.Errorf("%s(nil): %v", name, err)
		}
		if err := form(func() error { return fault }); err != fault {
			t.Errorf("%s: %v", name, err)
		}
	}
	off := func() (bool, error) { return !tensor.GradEnabled(), fault }
	none, err := tensor.NoGradValue(off)
	if !none || err != fault {
		t.Errorf("NoGradValue: %v, %v", none, err)
	}
	some, err := tensor.NoGradValue(func() (bool, error) { return tensor.EnableGradValue(off) })
	if some || err != fault {
		t.Errorf("EnableGradValue: %v, %v", some, err)
	}
	if v, err := tensor.ScopeValue[int](nil); v != 0 || err != nil {
		t.Errorf("ScopeValue(nil): %v, %v", v, err)
	}
}

// TestFillInPlace holds that tensors are overwritten in place, through views too, and that
// what cannot be is an error which changes nothing.
func TestFillInPlace(t *testing.T) {
	x := tensor.Zeros([]int{2, 3})
	if err := x.Narrow(0, 1, 1).FillInPlace(2.5); err != nil {
		t.Fatal(err)
	}
	if got, err := x.Sum().Item(); err != nil || got != 7.5 {
		t.Errorf("sum %v, error %v", got, err)
	}
	big := tensor.Zeros([]int{10000})
	if err := big.NormalInPlace(3, 0.5); err != nil {
		t.Fatal(err)
	}
	mean, _ := big.Mean().Item()
	std, _ := big.Std().Item()
	if math.Abs(mean-3) > 0.03 || math.Abs(std-0.5) > 0.02 {
		t.Errorf("mean %v, deviation %v", mean, std)
	}
	if err := big.UniformInPlace(-1, 3); err != nil {
		t.Fatal(err)
	}
	low, _ := big.Min().Item()
	high, _ := big.Max().Item()
	if low < -1 || low > -0.98 || high >= 3 || high < 2.98 {
		t.Errorf("from %v to %v", low, high)
	}
	whole := tensor.From([]int64{1, 2})
	if err := whole.NormalInPlace(0, 1); err == nil {
		t.Error("normal numbers in integers: want an error")
	}
	if err := whole.Err(); err == nil {
		t.Error("the error was passed over, and the tensor carries none")
	}
	if got := whole.String(); !strings.Contains(got, "1 2") && !strings.Contains(got, "1, 2") {
		t.Errorf("changed to %s", got)
	}
	if err := (tensor.Tensor{}).FillInPlace(1); err == nil {
		t.Error("the zero tensor: want an error")
	}
}
