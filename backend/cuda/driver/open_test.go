package driver

import (
	_ "embed"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/tests/self"
)

//go:embed testdata/fakecuda.c
var fakeSource []byte

// fakeLibrary compiles the fake driver; defines are the C compiler's -D.
func fakeLibrary(t testing.TB, defines ...string) string {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("no C compiler for the fake driver")
	}
	dir := t.TempDir()
	source, lib := filepath.Join(dir, "fake.c"), filepath.Join(dir, "libfake.so")
	if err := os.WriteFile(source, fakeSource, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-shared", "-fPIC", "-O1", "-o", lib, source}
	for _, d := range defines {
		args = append(args, "-D"+d)
	}
	if out, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return lib
}

var fakeOnce struct {
	sync.Once
	api API
}

// fake is the binding over the fake driver, one a process.
func fake(t testing.TB) API {
	t.Helper()
	fakeOnce.Do(func() {
		b, err := open([]string{fakeLibrary(t)})
		unsupported(t, err)
		must(t, err)
		fakeOnce.api = b
	})
	if fakeOnce.api == nil {
		t.Skip("no fake driver")
	}
	return fakeOnce.api
}

// unsupported skips the test where no library can be opened.
func unsupported(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, dl.ErrUnsupported) {
		t.Skip(err)
	}
}

// machine is the binding over the machine's driver.
func machine(t testing.TB) API {
	t.Helper()
	api, err := Open()
	if err != nil {
		t.Skip(err)
	}
	return api
}

// each runs f on the machine's driver and on the fake one.
func each(t *testing.T, f func(t *testing.T, api API)) {
	t.Run("cuda", func(t *testing.T) { f(t, machine(t)) })
	t.Run("fake", func(t *testing.T) { f(t, fake(t)) })
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOpenErrors(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a program")
	}
	text := filepath.Join(t.TempDir(), "text.so")
	must(t, os.WriteFile(text, []byte("no library\n"), 0o600))
	for _, test := range []struct {
		name    string
		library func(t *testing.T) string
		visible string // CUDA_VISIBLE_DEVICES; "-" leaves it unset
		is      error
		says    []string
	}{
		{"none", func(*testing.T) string { return "libsinter-none.so.1" }, "-",
			ErrNoLibrary, []string{"no CUDA driver", "libsinter-none.so.1", "525"}},
		{"text", func(*testing.T) string { return text }, "-", ErrNoLibrary, []string{text}},
		{"not a driver", func(*testing.T) string { return "libc.so.6" }, "-",
			ErrNoLibrary, []string{"libc.so.6 has no function cuGetErrorName"}},
		{"old", func(t *testing.T) string { return fakeLibrary(t, "VERSION=11080") }, "-",
			ErrOldDriver, []string{"supports CUDA 11.8", "12.0 is needed", "525"}},
		{"lacks a function", func(t *testing.T) string { return fakeLibrary(t, "OMIT_LAUNCH") }, "-",
			ErrOldDriver, []string{"has no function cuLaunchKernel"}},
		{"no device", func(t *testing.T) string { return fakeLibrary(t, "DEVICES=0") }, "-",
			ErrNoDevice, []string{"no CUDA device", "sees no NVIDIA GPU", "cuInit: CUDA_ERROR_NO_DEVICE (100)"}},
		{"hidden devices", func(t *testing.T) string { return fakeLibrary(t, "DEVICES=0") }, "",
			ErrNoDevice, []string{`CUDA_VISIBLE_DEVICES=""`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("CUDA_VISIBLE_DEVICES", test.visible)
			if test.visible == "-" {
				must(t, os.Unsetenv("CUDA_VISIBLE_DEVICES"))
			}
			_, err := open([]string{test.library(t)})
			unsupported(t, err)
			if !errors.Is(err, test.is) {
				t.Fatalf("%v does not wrap %q", err, test.is)
			}
			for _, want := range test.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}

// TestOpenIsSettled: the first answer stands.
func TestOpenIsSettled(t *testing.T) {
	api, err := Open()
	again, errAgain := Open()
	if api != again || err != errAgain {
		t.Errorf("Open: %v, %v, then %v, %v", api, err, again, errAgain)
	}
	if (api == nil) != (err != nil) {
		t.Errorf("Open: %v, %v", api, err)
	}
	if err != nil && !errors.Is(err, ErrNoLibrary) {
		t.Logf("there is a library, and it is of no use: %v", err)
	}
}

// endsWithoutDevice says that the program ends before main where there is no
// device.
var endsWithoutDevice bool

// TestHiddenDevices asks a process of its own, for the driver reads the
// environment once.
func TestHiddenDevices(t *testing.T) {
	if endsWithoutDevice {
		t.Skip("gorgonia.org/cu ends the program")
	}
	const child = "SINTER_TEST_HIDDEN"
	if os.Getenv(child) != "" {
		_, err := Open()
		if !errors.Is(err, ErrNoDevice) || !strings.Contains(err.Error(), `CUDA_VISIBLE_DEVICES=""`) {
			t.Errorf("Open: %v", err)
		}
		return
	}
	machine(t)
	cmd := self.Command(t, []string{child + "=1", "CUDA_VISIBLE_DEVICES="}, "-test.run=^TestHiddenDevices$")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestErrorText(t *testing.T) {
	for _, test := range []struct {
		err  *Error
		want string
	}{
		{&Error{"cuMemAlloc", 1, OutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory", "17179869184 bytes"},
			"cuMemAlloc on cuda:1: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory: 17179869184 bytes"},
		{&Error{"cuInit", -1, NoDevice, "CUDA_ERROR_NO_DEVICE", "", ""}, "cuInit: CUDA_ERROR_NO_DEVICE (100)"},
		{&Error{"cuStreamSynchronize", 0, IllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered", ""},
			"cuStreamSynchronize on cuda:0: CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered; " +
				"it may come from earlier asynchronous work of the device (SINTER_LAUNCH_BLOCKING=1 shows which operator), " +
				"and this process cannot use the device any more"},
	} {
		if got := test.err.Error(); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
		if !errors.Is(test.err, test.err.Code) || errors.Is(test.err, NotReady) {
			t.Errorf("%v: errors.Is is wrong about its code", test.err)
		}
	}
}

// TestStickyErrors: the message of a code after which the device is of no use to
// the process says so, that of another code does not.
func TestStickyErrors(t *testing.T) {
	sticky := map[Code]bool{214: true, 220: true, 700: true, 702: true, 710: true, 714: true, 715: true, 716: true, 717: true, 718: true, 719: true, 721: true}
	for code := Success; code <= Unknown; code++ {
		text := (&Error{Call: "cuMemAlloc", Code: code, Name: "CUDA_ERROR"}).Error()
		for _, part := range []string{"SINTER_LAUNCH_BLOCKING=1", "cannot use the device any more"} {
			if strings.Contains(text, part) != sticky[code] {
				t.Errorf("code %d: %q", code, text)
			}
		}
	}
}
