package nvrtc

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/tests/self"
)

// compiler is NVRTC, where there is one: no GPU is needed.
func compiler(t testing.TB) *Compiler {
	t.Helper()
	c, err := Open()
	if err != nil {
		t.Skip(err)
	}
	return c
}

const source = `#include "scale.h"
extern "C" __global__ void scale(float* p) { p[threadIdx.x] *= FACTOR; }`

var headers = map[string]string{"scale.h": "#include \"factor.h\"\n", "factor.h": "#define FACTOR 4711.0f\n"}

func TestCompile(t *testing.T) {
	c := compiler(t)
	archs := c.Architectures()
	if !slices.Contains(archs, 90) || !slices.IsSorted(archs) {
		t.Fatalf("NVRTC %s compiles for %v", c.Version(), archs)
	}
	p := Program{Name: "scale.cu", Source: source, Headers: headers, Target: "sm_90", Options: []string{"--std=c++17"}}
	code, err := c.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	code[0x14] = 1 // the version of the format, where CUDA has one of its own
	f, err := elf.NewFile(bytes.NewReader(code))
	if err != nil {
		t.Fatal(err)
	}
	if f.Section(".text.scale") == nil {
		t.Error("the cubin has no kernel scale")
	}
	p.Target = "compute_80"
	code, err = c.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{".target sm_80", ".entry scale(", "0f45933800"} { // 4711 as a float's bits
		if !strings.Contains(string(code), want) {
			t.Errorf("the PTX lacks %q:\n%s", want, code)
		}
	}
}

func TestCompileErrors(t *testing.T) {
	c := compiler(t)
	for _, test := range []struct {
		name string
		p    Program
		log  bool
		says []string
	}{
		{"syntax", Program{Name: "odd.cu", Source: "void f() {\n  nonsense;\n}", Target: "sm_90"}, true,
			[]string{"odd.cu does not compile for sm_90", "NVRTC_ERROR_COMPILATION", "odd.cu(2)", "nonsense"}},
		{"header", Program{Name: "odd.cu", Source: "#include \"none.h\"\n", Target: "sm_90"}, true, []string{"none.h"}},
		{"option", Program{Name: "odd.cu", Source: "", Target: "sm_90", Options: []string{"--no-such-option"}}, true,
			[]string{"no-such-option"}},
		{"architecture", Program{Name: "odd.cu", Source: "", Target: "sm_1"}, true, []string{"sm_1"}},
		{"target", Program{Name: "odd.cu", Source: "", Target: "gfx90a"}, false, []string{"gfx90a", "sm_<n>"}},
		{"zero byte", Program{Name: "odd.cu", Source: "a\x00b", Target: "sm_90"}, false, []string{"zero byte"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, err := c.Compile(test.p)
			if err == nil {
				t.Fatalf("no error; %d bytes", len(code))
			}
			var e *Error
			if errors.As(err, &e) != test.log {
				t.Errorf("%T: %v", err, err)
			}
			for _, want := range test.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}

// TestCompileFromManyGoroutines: programs do not mix.
func TestCompileFromManyGoroutines(t *testing.T) {
	c := compiler(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			name := string(rune('a'+i)) + "_kernel"
			text := "extern \"C\" __global__ void " + name + "() {}"
			code, err := c.Compile(Program{Name: name + ".cu", Source: text, Target: "compute_80"})
			if err != nil || !strings.Contains(string(code), ".entry "+name+"(") {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	all.Wait()
}

// TestBind: a library that is something else is told apart.
func TestBind(t *testing.T) {
	lib, err := dl.Open("libc.so.6")
	if err != nil {
		t.Skip(err)
	}
	if _, err := bind(lib); err == nil || !strings.Contains(err.Error(), "libc.so.6 has no function nvrtcGetErrorString") {
		t.Errorf("bind: %v", err)
	}
}

// TestMissing asks a process of its own, for the library is looked for once.
func TestMissing(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "libnvrtc.so")
	if os.Getenv("SINTER_TEST_MISSING") != "" {
		_, err := Open()
		if errors.Is(err, dl.ErrUnsupported) {
			return
		}
		if err == nil || !strings.Contains(err.Error(), os.Getenv("SINTER_NVRTC")) || !strings.Contains(err.Error(), "pip install") {
			t.Errorf("Open: %v", err)
		}
		return
	}
	cmd := self.Command(t, []string{"SINTER_TEST_MISSING=1", "SINTER_NVRTC=" + missing}, "-test.run=^TestMissing$")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
