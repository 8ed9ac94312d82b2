package module

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io/fs"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/nvrtc"
	"github.com/sinter-go/sinter/codegen/ptx"
	"github.com/sinter-go/sinter/kernels"
)

// machine returns the machine's driver with device 0 ready.
func machine(t *testing.T) driver.API {
	t.Helper()
	api, err := driver.Open()
	if err == nil {
		_, err = api.PrimaryContext(0)
	}
	if err != nil {
		t.Skip(err)
	}
	return api
}

// standardKernels returns the kernels of each standard module that is compiled
// ahead, by its PTX.
func standardKernels(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	sources, err := fs.Glob(kernels.Source, "*.cu")
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		module := strings.TrimSuffix(source, ".cu")
		text, err := kernels.Standard().PTX(module)
		if err != nil {
			t.Log(err) // TestFresh of package kernels fails
			continue
		}
		for _, found := range regexp.MustCompile(`(?m)^\.visible \.entry (\w+)\(`).FindAllSubmatch(text, -1) {
			all[module] = append(all[module], string(found[1]))
		}
	}
	return all
}

// TestDeviceFirst measures what the first kernel of a process costs beyond the
// context; it has to run first.
func TestDeviceFirst(t *testing.T) {
	api := machine(t)
	start := time.Now()
	if _, err := New(api, nil).Function(0, nil, "arithmetic", "add_float32"); err != nil {
		t.Fatal(err)
	}
	t.Logf("the first kernel took %v", time.Since(start))
}

// TestDeviceStandard loads every module for this device and finds every kernel.
func TestDeviceStandard(t *testing.T) {
	api := machine(t)
	l := New(api, nil)
	type load struct {
		module string
		took   time.Duration
	}
	var loads []load
	count := 0
	for module, names := range standardKernels(t) {
		for i, name := range names {
			start := time.Now()
			f, err := l.Function(0, nil, module, name)
			if err != nil {
				t.Error(err)
				break
			}
			if i == 0 {
				loads = append(loads, load{module, time.Since(start)})
			}
			if threads, err := api.FunctionAttribute(0, f, driver.FunctionMaxThreads); err != nil || threads < 32 {
				t.Errorf("%s: %d threads, %v", name, threads, err)
			}
			count++
		}
	}
	slices.SortFunc(loads, func(a, b load) int { return cmp.Compare(b.took, a.took) })
	t.Logf("%d kernels of %d modules; slowest modules %v", count, len(loads), loads[:min(8, len(loads))])
	if err := l.Unload(0); err != nil {
		t.Error(err)
	}
}

// TestDevicePTX has the driver compile a kernel of each module from its PTX.
func TestDevicePTX(t *testing.T) {
	api := machine(t)
	var slowest time.Duration
	var mu sync.Mutex
	total := time.Now()
	var all sync.WaitGroup
	limit := make(chan struct{}, runtime.GOMAXPROCS(0))
	count := 0
	for module, names := range standardKernels(t) {
		text, err := kernels.Standard().PTX(module)
		if err != nil {
			t.Fatal(err)
		}
		p := ptx.Divide(text)
		for i := 0; i < len(names); i += 1 + len(names)/12 {
			name := names[i]
			all.Go(func() {
				limit <- struct{}{}
				defer func() { <-limit }()
				one, err := p.Trim(name)
				if err != nil {
					t.Error(err)
					return
				}
				start := time.Now()
				m, err := api.ModuleLoad(0, one)
				took := time.Since(start)
				if err == nil {
					_, err = api.ModuleFunction(0, m, name)
					err = errors.Join(err, api.ModuleUnload(0, m))
				}
				if err != nil {
					t.Errorf("%s of %s: %v", name, module, err)
				}
				mu.Lock()
				slowest = max(slowest, took)
				count++
				mu.Unlock()
			})
		}
	}
	all.Wait()
	t.Logf("%d kernels compiled by the driver in %v, the slowest in %v", count, time.Since(total), slowest)
}

// userSource is an operator's own kernel over the standard templates.
var userSource = &fstest.MapFS{"mine.cu": {Data: []byte(`#include "elementwise.cuh"

namespace sinter {

struct TwiceFn {
  SINTER_FN float32 operator()(long long index, float32 x) const { return 2.0f * x + 1.0f; }
};
SINTER_ELEMENTWISE(twice_float32, TwiceFn, float32, float32)

}  // namespace sinter
`)}}

// TestDeviceSource compiles an operator's own kernel, runs it, and finds it in the
// directory when it is asked for again without a compiler's work.
func TestDeviceSource(t *testing.T) {
	api := machine(t)
	dir := t.TempDir()
	for _, what := range []string{"compiled", "from the directory"} {
		l := New(api, nil)
		c, err := l.compiler()
		if err != nil {
			t.Skip(err)
		}
		counted := &counting{compiler: c}
		l.compiler = func() (compiler, error) { return counted, nil }
		l.cache = sync.OnceValue(func() *Cache { return testCache(dir) })
		start := time.Now()
		f, err := l.Function(0, userSource, "mine", "twice_float32")
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s by NVRTC %s: %v", what, c.Version(), time.Since(start))
		if want := map[string]int{"compiled": 1, "from the directory": 0}[what]; counted.n != want {
			t.Errorf("%s: %d compilations", what, counted.n)
		}
		runTwice(t, api, f)
	}
}

type counting struct {
	compiler
	n int
}

func (c *counting) Compile(p nvrtc.Program) ([]byte, error) {
	c.n++
	return c.compiler.Compile(p)
}

// runTwice runs the kernel over 1000 elements.
func runTwice(t *testing.T, api driver.API, f driver.Function) {
	t.Helper()
	const n = 1000
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i) - 500
	}
	in, err := api.MemAlloc(0, 4*n)
	must(err)
	defer func() { must(api.MemFree(0, in)) }()
	out, err := api.MemAlloc(0, 4*n)
	must(err)
	defer func() { must(api.MemFree(0, out)) }()
	must(api.MemcpyHtoDAsync(0, in, unsafe.Pointer(&x[0]), 4*n, 0))
	var params []byte
	for _, word := range []uint64{n, uint64(out), uint64(in)} {
		params = binary.LittleEndian.AppendUint64(params, word)
	}
	params = append(params, 0) // the functor, which is empty
	must(api.LaunchKernel(0, driver.Launch{Function: f, Grid: driver.Dim3{X: 1, Y: 1, Z: 1}, Block: driver.Dim3{X: 256, Y: 1, Z: 1}, Params: params}))
	y := make([]float32, n)
	must(api.MemcpyDtoHAsync(0, unsafe.Pointer(&y[0]), out, 4*n, 0))
	must(api.Synchronize(0))
	for i := range y {
		if want := 2*x[i] + 1; y[i] != want {
			t.Fatalf("element %d: %g, want %g", i, y[i], want)
		}
	}
}
