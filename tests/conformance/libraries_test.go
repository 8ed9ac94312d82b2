package conformance_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/backend/cuda/module"
	"github.com/sinter-go/sinter/backend/cuda/nvrtc"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/stream"
	"github.com/sinter-go/sinter/tests/patience"
)

// Matrix products of a stream work in one block of memory, which the first
// that needs it takes from the device's caching allocator and which stays until it
// is cleared. CUBLAS_WORKSPACE_CONFIG sets its size, :SIZE:COUNT in KiB any number
// of times, and :0:0 none; it is 8320 KiB otherwise, on compute capability 9.0
// 32 MiB.
//
// Differs: PyTorch has one for each handle, and those are of threads; here a device
// has one handle.
func TestP75(t *testing.T) {
	const usual, hopper = 8320 << 10, 32 << 20
	for _, c := range []struct {
		config     string
		capability int
		want       int64
	}{
		{"", 80, usual}, {"", 90, hopper}, {"", 100, usual}, {"", 75, usual},
		{":4096:2:16:8", 90, usual}, {":4096:2:16:8", 80, usual},
		{":16:8", 90, 128 << 10}, {":1:1:2:2:3:3", 80, 14 << 10},
		{":0:0", 90, 0}, {":0:0", 80, 0},
		{"4096:2", 80, usual}, {":4096", 90, hopper}, {":a:2", 80, usual}, {":4096:2:", 80, usual}, {":-1:2", 80, usual}, {"::", 90, hopper},
		{":9999999999:9", 80, usual},
	} {
		if got := cuda.WorkspaceBytes(c.config, c.capability); got != c.want {
			t.Errorf("%q on %d: %d bytes, want %d", c.config, c.capability, got, c.want)
		}
	}
	must(t, cuda.ClearWorkspaces())
	if onGPU() {
		workspaceOnDevice(t, one(t))
	}
}

// workspaceOnDevice counts what products on two streams hold.
func workspaceOnDevice(t *testing.T, d device.Device) {
	p, err := cuda.GetDeviceProperties(d)
	must(t, err)
	size := cuda.WorkspaceBytes("", 10*p.Major+p.Minor)
	patience.Collect(t)
	must(t, cuda.EmptyCache(d)) // a cached block could be somewhat larger
	on := tensor.On(d)
	held := func(s stream.Stream) int64 {
		before := memory.Allocated(d)
		must(t, s.Do(func() error {
			// Thin and deep: the kind that is split into partial sums.
			for _, k := range []int{1 << 12, 1 << 14, 1 << 16} {
				tensor.Scope(func() error {
					x := tensor.Ones([]int{64, k}, on)
					must(t, x.MatMul(x.Transpose(0, 1)).Err())
					return nil
				})
			}
			return nil
		}))
		must(t, s.Synchronize(t.Context()))
		return memory.Allocated(d) - before
	}
	first, second := stream.New(d, 0), stream.New(d, 0)
	steps := []struct {
		name string
		run  func() int64
		want int64
	}{
		{"the first product of a stream", func() int64 { return held(first) }, size},
		{"another of it", func() int64 { return held(first) }, 0},
		{"the first of another stream", func() int64 { return held(second) }, size},
		{"cleared", func() int64 {
			before := memory.Allocated(d)
			must(t, cuda.ClearWorkspaces())
			return memory.Allocated(d) - before
		}, -2 * size},
		{"again", func() int64 { return held(first) }, size},
	}
	for _, s := range steps {
		if got := s.run(); got != s.want {
			t.Errorf("%s: %d bytes more, want %d", s.name, got, s.want)
		}
	}
	must(t, cuda.ClearWorkspaces())
}

// Any number of goroutines compute products and convolutions on one
// device at once, each on a stream of its own, without disturbing one another.
//
// Differs: PyTorch keeps the libraries' handles by thread. Goroutines have none:
// cuBLASLt's handle may be used by all at once, and of cuDNN's a few are kept, each of
// which is of one call at a time, on whichever stream.
func TestP76(t *testing.T) {
	d := one(t)
	n, rounds := 64, 50
	if !onGPU() {
		n, rounds = 6, 5
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			err := stream.New(d, 0).Do(func() error {
				factor := float64(g + 1)
				x := tensor.Full([]int{n, n}, factor, tensor.On(d))
				images := tensor.Full([]int{1, 2, n, n}, factor, tensor.On(d))
				for range rounds {
					y, z := x.MatMul(x), images.Conv2d(tensor.Ones([]int{2, 2, 3, 3}, tensor.On(d)))
					for what, c := range map[string]struct {
						got  T
						want float64
					}{"product": {y, factor * factor * float64(n)}, "convolution": {z, 18 * factor}} {
						low, err := c.got.Min().Item()
						high, err2 := c.got.Max().Item()
						if err != nil || err2 != nil || low != c.want || high != c.want {
							t.Errorf("goroutine %d: %s from %v to %v, want %v (%v, %v)", g, what, low, high, c.want, err, err2)
							return nil
						}
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// cacheVariables are all that place or switch off the cache of compiled kernels.
var cacheVariables = []string{
	"SINTER_KERNEL_CACHE_PATH", "PYTORCH_KERNEL_CACHE_PATH", "SINTER_USE_KERNEL_CACHE", "USE_PYTORCH_KERNEL_CACHE",
	"XDG_CACHE_HOME", "HOME", "LocalAppData", "home",
}

// A kernel that is compiled at run time is compiled once a process, or
// once ever where a directory keeps it: that of SINTER_KERNEL_CACHE_PATH, else of
// PYTORCH_KERNEL_CACHE_PATH, else sinter/kernels of the user's cache directory.
// SINTER_USE_KERNEL_CACHE=0, or USE_PYTORCH_KERNEL_CACHE=0, keeps nothing.
//
// Differs: this project's variables come first, and the directory of the user's cache
// is its own, as two programs' kernels are not the same.
func TestP77(t *testing.T) {
	own, theirs, home := t.TempDir(), t.TempDir(), t.TempDir()
	for _, c := range []struct {
		name string
		env  map[string]string
		want string
	}{
		{"our variable", map[string]string{"SINTER_KERNEL_CACHE_PATH": own, "PYTORCH_KERNEL_CACHE_PATH": theirs}, own},
		{"PyTorch's", map[string]string{"PYTORCH_KERNEL_CACHE_PATH": theirs}, theirs},
		{"the user's directory", map[string]string{"XDG_CACHE_HOME": home, "HOME": home, "LocalAppData": home, "home": home}, "below home"},
		{"switched off", map[string]string{"SINTER_KERNEL_CACHE_PATH": own, "SINTER_USE_KERNEL_CACHE": "0"}, ""},
		{"switched off by PyTorch's", map[string]string{"SINTER_KERNEL_CACHE_PATH": own, "USE_PYTORCH_KERNEL_CACHE": "0"}, ""},
		{"on for us", map[string]string{"SINTER_KERNEL_CACHE_PATH": own, "SINTER_USE_KERNEL_CACHE": "1", "USE_PYTORCH_KERNEL_CACHE": "0"}, own},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, name := range cacheVariables {
				t.Setenv(name, c.env[name])
			}
			got := module.OpenCache().Dir()
			if c.want == "below home" {
				if !strings.HasPrefix(got, home) || !strings.HasSuffix(got, filepath.Join("sinter", "kernels")) {
					t.Errorf("%q, want sinter/kernels below %q", got, home)
				}
				return
			}
			equal(t, "directory", got, c.want)
			name := fmt.Sprintf("kernel-%d.bin", len(c.name))
			module.OpenCache().Put(name, []byte(c.name))
			if kept := module.OpenCache().Get(name); string(kept) != c.name && c.want != "" || kept != nil && c.want == "" {
				t.Errorf("another process finds %q", kept)
			}
		})
	}
}

// A cached kernel's file is named after the kernel's module, architecture,
// kind of code, compiler's version, length of the source and its hash. It is
// written under another name first, so that nobody reads half of it. A directory
// that cannot be used is told of once, and kernels are compiled. Code is SASS where
// the compiler knows the architecture, else PTX.
//
// Differs: the hash is SHA-256, and covers headers and options as well.
func TestP78(t *testing.T) {
	source := "extern \"C\" __global__ void k() {}"
	p := nvrtc.Program{Name: "mine.cu", Source: source, Target: "sm_90"}
	name := module.EntryName("mine", "12.6", p)
	if prefix := fmt.Sprintf("mine-sm_90-sass-nvrtc12.6-%d-", len(source)); !strings.HasPrefix(name, prefix) || len(name) < len(prefix)+64 {
		t.Errorf("%s, want %s and a hash", name, prefix)
	}
	p.Target = "compute_90"
	if name := module.EntryName("mine", "12.6", p); !strings.HasPrefix(name, "mine-compute_90-ptx-") {
		t.Errorf("PTX is named %s", name)
	}
	for _, c := range []struct {
		archs []int
		cc    int
		want  string
	}{{[]int{75, 80, 90}, 90, "sm_90"}, {[]int{75, 80}, 86, "sm_80"}, {[]int{75, 80}, 90, "compute_80"}} {
		if got, err := module.Target(c.archs, c.cc); err != nil || got != c.want {
			t.Errorf("a compiler for %v, a device of %d: %q, %v, want %q", c.archs, c.cc, got, err, c.want)
		}
	}
	dir := t.TempDir()
	t.Setenv("SINTER_KERNEL_CACHE_PATH", dir)
	cache := module.OpenCache()
	for range 3 {
		cache.Put(name, bytes.Repeat([]byte("code"), 1<<12))
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) != 1 || entries[0].Name() != name {
		t.Errorf("%v is in the directory, want %s", entries, name)
	}
	file := filepath.Join(dir, name)
	t.Setenv("SINTER_KERNEL_CACHE_PATH", file) // which is no directory
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	unusable := module.OpenCache()
	for range 3 {
		unusable.Put(name, []byte("code"))
		if code := unusable.Get(name); code != nil {
			t.Errorf("%q is in a directory that is none", code)
		}
	}
	if got := strings.Count(log.String(), "level=WARN"); got != 1 {
		t.Errorf("%d warnings, want 1: %s", got, log.String())
	}
}
