package precision

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/tests/self"
)

func fresh(t *testing.T) {
	t.Helper()
	reset(true)
	t.Cleanup(func() { reset(true) })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestNoSuchLevel(t *testing.T) {
	fresh(t)
	if Set(levels, TF32) == nil || Set(Conv, Mode(9)) == nil {
		t.Error("no error")
	}
	if got := Get(levels); got != None {
		t.Errorf("Get: %v", got)
	}
}

// TestDefaults is S15 and S18, and the reduced sums of P4 and P5.
func TestDefaults(t *testing.T) {
	fresh(t)
	if !MatmulTF32() || !ConvTF32() {
		t.Error("TF32 is off")
	}
	for _, h := range []Half{FP16, BF16} {
		if reduced, split := ReducedReduction(h); !reduced || !split {
			t.Errorf("%d: %t, %t", h, reduced, split)
		}
	}
	if FP16Accumulation() {
		t.Error("float16 accumulates in float16")
	}
	if got := Float32Matmul(); got != High {
		t.Errorf("Float32Matmul() = %q", got)
	}
}

func TestFlagsAreSeparate(t *testing.T) {
	fresh(t)
	for _, c := range []struct{ matmul, conv bool }{{false, true}, {true, false}, {false, false}, {true, true}} {
		SetMatmulTF32(c.matmul)
		SetConvTF32(c.conv)
		if MatmulTF32() != c.matmul || ConvTF32() != c.conv {
			t.Errorf("%+v: %t, %t", c, MatmulTF32(), ConvTF32())
		}
		matmul, err := MatmulFlag()
		if err != nil || matmul != c.matmul {
			t.Errorf("%+v: MatmulFlag() = %t, %v", c, matmul, err)
		}
		conv, err := ConvFlag()
		if err != nil || conv != c.conv {
			t.Errorf("%+v: ConvFlag() = %t, %v", c, conv, err)
		}
	}
}

// TestHierarchy is P1.
func TestHierarchy(t *testing.T) {
	for _, c := range []struct {
		name         string
		set          map[Level]Mode
		matmul, conv bool
	}{
		{"nothing is set", map[Level]Mode{Matmul: None, Conv: None, RNN: None}, false, false},
		{"all", map[Level]Mode{All: TF32, Matmul: None, Conv: None, RNN: None}, true, true},
		{"a child set to ieee stays", map[Level]Mode{All: TF32, Matmul: IEEE, Conv: None}, false, true},
		{"the backend's", map[Level]Mode{Matmul: None, Convolution: TF32, Conv: None}, false, true},
		{"the operator's over the backend's", map[Level]Mode{All: TF32, Convolution: TF32, Conv: IEEE}, true, false},
		{"the backend's over all's", map[Level]Mode{All: TF32, Convolution: IEEE, Conv: None}, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			fresh(t)
			for l, m := range c.set {
				must(t, Set(l, m))
			}
			if MatmulTF32() != c.matmul || ConvTF32() != c.conv {
				t.Errorf("matmul %t, convolution %t, want %t, %t", MatmulTF32(), ConvTF32(), c.matmul, c.conv)
			}
			if got := Get(Matmul) == TF32; got != c.matmul {
				t.Errorf("Get(Matmul) is TF32: %t", got)
			}
		})
	}
}

// TestMixed is P2.
func TestMixed(t *testing.T) {
	fresh(t)
	must(t, Set(Matmul, IEEE))
	if _, err := MatmulFlag(); !errors.Is(err, ErrMixed) || !strings.Contains(err.Error(), "mix of the legacy and new APIs") {
		t.Errorf("matmul: %v", err)
	}
	SetMatmulTF32(true)
	if on, err := MatmulFlag(); err != nil || !on {
		t.Errorf("after the flag was set: %t, %v", on, err)
	}
	must(t, Set(RNN, IEEE))
	if _, err := ConvFlag(); !errors.Is(err, ErrMixed) {
		t.Errorf("convolution: %v", err)
	}
}

// TestBroadSwitch is P3.
func TestBroadSwitch(t *testing.T) {
	fresh(t)
	for setting, want := range map[string]bool{Highest: false, High: true, Medium: true} {
		if err := SetFloat32Matmul(setting); err != nil {
			t.Fatal(err)
		}
		on, err := MatmulFlag()
		if err != nil || on != want || MatmulTF32() != want || Float32Matmul() != setting {
			t.Errorf("%s: %t, %v, %t, %s", setting, on, err, MatmulTF32(), Float32Matmul())
		}
	}
	if err := SetFloat32Matmul("low"); err == nil || MatmulTF32() != (Float32Matmul() != Highest) {
		t.Errorf("low: %v", err)
	}
}

// TestReducedReduction is P4.
func TestReducedReduction(t *testing.T) {
	defer func() {
		for _, h := range []Half{FP16, BF16} {
			if err := SetReducedReduction(h, true, true); err != nil {
				t.Error(err)
			}
		}
	}()
	for _, h := range []Half{FP16, BF16} {
		for _, c := range []struct{ reduced, split bool }{{false, true}, {false, false}, {true, true}} {
			if err := SetReducedReduction(h, c.reduced, c.split); err != nil {
				t.Error(err)
			}
			if reduced, split := ReducedReduction(h); reduced != c.reduced || split != c.split {
				t.Errorf("%d: %t, %t, want %+v", h, reduced, split, c)
			}
		}
		if err := SetReducedReduction(h, true, false); err == nil || !strings.Contains(err.Error(), "allow_splitk=False") {
			t.Errorf("%d: (true, false): %v", h, err)
		}
	}
}

func TestParseMode(t *testing.T) {
	for _, m := range []Mode{None, IEEE, TF32} {
		if got, err := ParseMode(m.String()); err != nil || got != m {
			t.Errorf("ParseMode(%q) = %v, %v", m, got, err)
		}
	}
	if _, err := ParseMode("bf16"); err == nil {
		t.Error("bf16 is a mode")
	}
}

// TestEnvironment starts a process with SINTER_TF32=0.
func TestEnvironment(t *testing.T) {
	const marker = "SINTER_PRECISION_CHILD"
	if os.Getenv(marker) != "" {
		if MatmulTF32() || ConvTF32() {
			t.Error("TF32 is on")
		}
		return
	}
	c := self.Command(t, []string{marker + "=1", "SINTER_TF32=0"}, "-test.run=^TestEnvironment$")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
