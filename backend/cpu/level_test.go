package cpu

import (
	"errors"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/tests/self"
)

// childVariable is set in the process that TestRefusal starts.
const childVariable = "SINTER_TEST_CHILD"

// TestRefusal: where the environment asks for a level that there is not, every
// launch says so and computes nothing.
func TestRefusal(t *testing.T) {
	if os.Getenv(childVariable) != "" {
		t.Skip("the child runs TestRefusedLaunch alone")
	}
	for _, level := range []string{"nonsense", simd.Portable.String()} {
		cmd := self.Command(t, []string{childVariable + "=" + level, simd.Variable + "=" + level}, "-test.run=^TestRefusedLaunch$", "-test.v")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestRefusedLaunch") {
			t.Errorf("%s=%s: %v\n%s", simd.Variable, level, err, out)
		}
	}
}

// TestRefusedLaunch is the child's part of TestRefusal.
func TestRefusedLaunch(t *testing.T) {
	level := os.Getenv(childVariable)
	if level == "" {
		t.Skip("run by TestRefusal, in a process of its own")
	}
	ran := false
	op := &ir.Op{
		Name: "mark", Kind: ir.Opaque, Out: []ir.Result{{Name: "out"}},
		Code: []ir.Code{{For: "cpu", Of: ir.KernelFunc(func(*ir.Call) error { ran = true; return nil })}},
	}
	out := cputest.From(ir.Float32, []int{1}, 5)
	err := (&Driver{}).Launch(0, 0, &ir.Call{Kernel: op.Kernel(0, ir.Float32), Out: []ir.View{out}})
	if level == simd.Portable.String() {
		if err != nil || !ran {
			t.Errorf("a level that there is: %v, ran %v", err, ran)
		}
		return
	}
	if err == nil || !errors.Is(err, simd.Err()) {
		t.Fatalf("a level that there is not: %v", err)
	}
	for _, known := range simd.Levels() {
		if !strings.Contains(err.Error(), known.String()) {
			t.Errorf("the error does not name %s: %v", known, err)
		}
	}
	if ran || *(*float32)(unsafe.Pointer(out.Ptr)) != 5 {
		t.Error("something was computed")
	}
}
