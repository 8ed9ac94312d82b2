package nvtx

import (
	"errors"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
)

// TestRanges asks a library made for the test what it was given.
func TestRanges(t *testing.T) {
	compiler, err := exec.LookPath("cc")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("no C compiler for the fake library")
	}
	name := filepath.Join(t.TempDir(), "libfake.so")
	if out, err := exec.Command(compiler, "-shared", "-fPIC", "-o", name, "testdata/fakenvtx.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	l, err := open(name)
	if errors.Is(err, dl.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	outer := l.Begin("step")
	inner := l.Begin("matmul")
	inner()
	outer()
	fake, err := dl.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	ended, err := fake.Func("endedSoFar")
	if err != nil {
		t.Fatal(err)
	}
	c := dl.Get()
	defer c.Free()
	if got := ended.Call(c); got != 21 {
		t.Errorf("ranges ended: %d, want 2 and then 1", got)
	}
	for id, want := range map[uintptr]string{1: "step", 2: "matmul"} {
		if got := text(t, fake, id); got != want {
			t.Errorf("range %d is %q, want %q", id, got, want)
		}
	}
}

// text returns the name of a range, a byte at a time, through the C library.
func text(t *testing.T, fake *dl.Library, id uintptr) string {
	t.Helper()
	byteAt, err := fake.Func("byteAt")
	if err != nil {
		t.Fatal(err)
	}
	c := dl.Get()
	defer c.Free()
	var b strings.Builder
	for i := uintptr(0); ; i++ {
		x := byte(byteAt.Call(c, id, i))
		if x == 0 {
			return b.String()
		}
		b.WriteByte(x)
	}
}

// TestLibrary calls the library itself, where the machine has it.
func TestLibrary(t *testing.T) {
	l, err := Open()
	if err != nil {
		t.Skip(err)
	}
	end := l.Begin("test")
	l.Begin("within")()
	end()
}

func TestAbsent(t *testing.T) {
	_, err := open("libabsent.so.9")
	if err == nil || !errors.Is(err, dl.ErrUnsupported) && !strings.Contains(err.Error(), "nvidia-nvtx-cu12") {
		t.Errorf("error %v", err)
	}
}
