//go:build linux && !android && (amd64 || arm64) && !nocuda

package dl

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/tests/allocations"
)

func libc(t testing.TB) *Library {
	t.Helper()
	l, err := Open("libsinter-none.so.0", "libc.so.6")
	if err != nil {
		t.Skip(err)
	}
	return l
}

func function(t testing.TB, name string) Func {
	t.Helper()
	f, err := libc(t).Func(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestOpen(t *testing.T) {
	if got := libc(t).Name(); got != "libc.so.6" {
		t.Errorf("Name() = %q", got)
	}
	text := filepath.Join(t.TempDir(), "text.so")
	if err := os.WriteFile(text, []byte("no library\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open("libsinter-none.so.0", text)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"libsinter-none.so.0", text} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %s", err, want)
		}
	}
	if _, err := libc(t).Func("sinter_none"); err == nil || !strings.Contains(err.Error(), "libc.so.6 has no function sinter_none") {
		t.Errorf("Func: %v", err)
	}
}

func TestCall(t *testing.T) {
	c := Get()
	defer c.Free()
	if got := int(function(t, "getpid").Call(c)); got != os.Getpid() {
		t.Errorf("getpid: %d, want %d", got, os.Getpid())
	}
	if got := function(t, "strlen").Call(c, c.CString("twelve bytes")); got != 12 {
		t.Errorf("strlen: %d", got)
	}
	source := []byte("from Go memory")
	b, to := c.Bytes(len(source))
	function(t, "memcpy").Call(c, to, c.Keep(unsafe.Pointer(&source[0])), uintptr(len(source)))
	if string(b) != string(source) {
		t.Errorf("memcpy: %q", b)
	}
	// strtol writes the end of the number through its second argument.
	text := c.CString("4711 rest")
	if got := function(t, "strtol").Call(c, text, c.Addr(0), 10); got != 4711 {
		t.Errorf("strtol: %d", got)
	}
	if got := GoString(c.Pointer(0)); got != " rest" {
		t.Errorf("strtol's end: %q", got)
	}
	if got := GoString(nil); got != "" {
		t.Errorf("GoString(nil) = %q", got)
	}
}

// TestManyArguments formats as many numbers as a call can have.
func TestManyArguments(t *testing.T) {
	c := Get()
	defer c.Free()
	b := make([]byte, 200)
	format := []byte(strings.Repeat("%ld ", MaxArgs-3) + "\x00")
	args := []uintptr{c.Keep(unsafe.Pointer(&b[0])), uintptr(len(b)), c.Keep(unsafe.Pointer(&format[0]))}
	want := ""
	for i := range MaxArgs - 3 {
		args = append(args, uintptr(1000+i))
		want += strconv.Itoa(1000+i) + " "
	}
	n := int(int32(function(t, "snprintf").Call(c, args...)))
	if got := string(b[:max(0, n)]); got != want {
		t.Errorf("snprintf: %q, want %q", got, want)
	}
}

func TestCallAfter(t *testing.T) {
	c := Get()
	defer c.Free()
	f, first := function(t, "strtol"), function(t, "labs")
	minus := uintptr(7)
	for _, tt := range []struct {
		context, want uintptr
		ok            bool
	}{{0, 35, true}, {-minus, 7, false}, {0, 35, true}} {
		got, ok := f.CallAfter(c, first, tt.context, c.CString("35"), 0, 10)
		if got != tt.want || ok != tt.ok {
			t.Errorf("after labs(%d): %d, %v", int(tt.context), got, ok)
		}
	}
	if got := f.Call(c, c.CString("36"), 0, 10); got != 36 {
		t.Errorf("Call after that: %d", got)
	}
}

// TestCallsFromManyGoroutines has the collector move stacks and empty pools
// while calls are under way.
func TestCallsFromManyGoroutines(t *testing.T) {
	f := function(t, "labs")
	var all sync.WaitGroup
	for g := range 64 {
		all.Go(func() {
			for i := range 2000 {
				c := Get()
				want := uintptr(g*10000 + i)
				if got := f.Call(c, -want); got != want {
					t.Errorf("labs: %d, want %d", got, want)
				}
				c.Free()
			}
		})
	}
	for range 5 {
		runtime.GC()
	}
	all.Wait()
}

func TestCallDoesNotAllocate(t *testing.T) {
	f := function(t, "labs")
	allocations.AtMost(t, 0, func() {
		c := Get()
		c.Bytes(100)
		f.Call(c, 1, c.Addr(0), 3)
		c.Free()
	})
}

func BenchmarkCall(b *testing.B) {
	f := function(b, "labs")
	for b.Loop() {
		c := Get()
		f.Call(c, 1)
		c.Free()
	}
}
