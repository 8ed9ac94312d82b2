package module

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/nvrtc"
	"github.com/sinter-go/sinter/kernels"
	"github.com/sinter-go/sinter/tests/allocations"
	"github.com/sinter-go/sinter/tests/brief"
	"github.com/sinter-go/sinter/tests/patience"
)

// fakeDriver has devices of one capability. A handle is an index into what was
// loaded; a function belongs to its image.
type fakeDriver struct {
	cc     int
	refuse func(image string) error // of ModuleLoad; nil for those it takes

	mu       sync.Mutex
	loaded   []string
	unloaded []driver.Module
}

func (d *fakeDriver) DeviceAttribute(_ int, a driver.Attribute) (int, error) {
	if a == driver.ComputeCapabilityMajor {
		return d.cc / 10, nil
	}
	return d.cc % 10, nil
}

func (d *fakeDriver) ModuleLoad(dev int, image []byte) (driver.Module, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refuse != nil {
		if err := d.refuse(string(image)); err != nil {
			return 0, &driver.Error{Call: "cuModuleLoadDataEx", Device: dev, Code: err.(driver.Code)}
		}
	}
	d.loaded = append(d.loaded, string(image))
	return driver.Module(len(d.loaded)), nil
}

func (d *fakeDriver) ModuleUnload(_ int, m driver.Module) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unloaded = append(d.unloaded, m)
	return nil
}

func (d *fakeDriver) ModuleFunction(dev int, m driver.Module, name string) (driver.Function, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := strings.Index(d.loaded[m-1], name)
	if at < 0 {
		return 0, &driver.Error{Call: "cuModuleGetFunction", Device: dev, Code: driver.NotFound}
	}
	return driver.Function(int(m)<<16 | at), nil
}

// fakeCompiler returns the target, the source and the headers as its code.
type fakeCompiler struct {
	archs    []int
	mu       sync.Mutex
	programs []nvrtc.Program
	err      error
}

func (c *fakeCompiler) Version() string      { return "12.6" }
func (c *fakeCompiler) Architectures() []int { return c.archs }

func (c *fakeCompiler) Compile(p nvrtc.Program) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.programs = append(c.programs, p)
	return fmt.Appendf(nil, "%s of %s", p.Target, p.Source), c.err
}

const (
	moduleText = "extern \"C\" __global__ void one() {}\n"
	modulePTX  = ".version 8.0\n.target sm_75\n.visible .entry one()\n{\n}\n.visible .entry other()\n{\n}\n"
)

// compiled returns a directory with the module "m" compiled for sm_80, sm_86,
// sm_90 and to PTX, as build.py writes it; with stale, of another source.
func compiled(t testing.TB, stale bool) fstest.MapFS {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash("../../../kernels/build.json"))
	var b struct {
		NVRTC, PTX string
		Options    []string
	}
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	for _, line := range append([]string{"nvrtc " + b.NVRTC, "ptx " + b.PTX}, b.Options...) {
		fmt.Fprintln(h, line)
	}
	fmt.Fprintf(h, "m.cu %d\n%s", len(moduleText), moduleText)
	if stale {
		fmt.Fprint(h, "other")
	}
	files := fstest.MapFS{"m.cu": {Data: []byte(moduleText)}}
	manifest := map[string]map[string]any{}
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for target, name := range map[string]string{"sm_80": "bin/sm_80/m.cubin.zst", "sm_86": "bin/sm_86/m.cubin.zst",
		"sm_90": "bin/sm_90/m.cubin.zst", "compute_75": "bin/ptx/m.ptx.zst"} {
		code := []byte("cubin " + target + " with one, other")
		if target == "compute_75" {
			code = []byte(modulePTX)
		}
		files[name] = &fstest.MapFile{Data: encoder.EncodeAll(code, nil)}
		manifest[target] = map[string]any{"m": map[string]any{"source": hex.EncodeToString(h.Sum(nil)), "bytes": len(code)}}
	}
	if text, err = json.Marshal(manifest); err != nil {
		t.Fatal(err)
	}
	files["bin/manifest.json"] = &fstest.MapFile{Data: text}
	return files
}

// newLoader returns a loader whose sources are src, standing for an operator's
// own; nil c is a machine without NVRTC.
func newLoader(d *fakeDriver, c *fakeCompiler, dir string) *Loader {
	l := New(d, func(dev int, list []driver.Module) {
		for _, m := range list {
			if err := d.ModuleUnload(dev, m); err != nil {
				panic(err)
			}
		}
	})
	l.compiler = func() (compiler, error) {
		if c == nil {
			return nil, errors.New("NVRTC is missing")
		}
		return c, nil
	}
	l.cache = sync.OnceValue(func() *Cache { return testCache(dir) })
	return l
}

func TestFunctionFinds(t *testing.T) {
	ptx := func(entry string) string {
		return ".version 8.0\n.target sm_75\n.visible .entry " + entry + "()\n{\n}\n"
	}
	ok := compiled(t, false)
	refuse := func(part string, code driver.Code) func(string) error {
		return func(image string) error {
			if strings.Contains(image, part) {
				return code
			}
			return nil
		}
	}
	noPTX := func(image string) error {
		if strings.HasPrefix(image, "sm_90 of") {
			return nil
		}
		return driver.UnsupportedPTXVersion
	}
	all := []int{75, 80, 86, 90}
	beside := fstest.MapFS{"m.cu": ok["m.cu"], "m.ptx": {Data: []byte(modulePTX)}}
	for _, test := range []struct {
		name   string
		cc     int
		files  fstest.MapFS
		archs  []int // of the compiler; nil: there is none
		refuse func(string) error
		want   []string // images loaded
		says   []string // of the error, where nothing is
		logs   bool
	}{
		{"8.0", 80, ok, nil, nil, []string{"cubin sm_80 with one, other"}, nil, false},
		{"8.9 takes 8.6", 89, ok, nil, nil, []string{"cubin sm_86 with one, other"}, nil, false},
		{"9.0", 90, ok, nil, nil, []string{"cubin sm_90 with one, other"}, nil, false},
		{"7.5 compiles PTX", 75, ok, nil, nil, []string{ptx("one")}, nil, false},
		{"10.0 compiles PTX", 100, ok, nil, nil, []string{ptx("one")}, nil, false},
		{"a cubin the driver refuses", 90, ok, nil, refuse("cubin", driver.NoBinaryForGPU), []string{ptx("one")}, nil, false},
		{"no code the driver takes", 90, ok, all, noPTX, []string{"sm_90 of " + moduleText}, nil, false},
		{"stale", 90, compiled(t, true), all, nil, []string{"sm_90 of " + moduleText}, nil, true},
		{"only the source", 86, fstest.MapFS{"m.cu": ok["m.cu"]}, all, nil, []string{"sm_86 of " + moduleText}, nil, false},
		{"a newer device than the compiler", 120, fstest.MapFS{"m.cu": ok["m.cu"]}, all, nil, []string{"compute_90 of " + moduleText}, nil, false},
		{"a device between", 89, fstest.MapFS{"m.cu": ok["m.cu"]}, []int{75, 80, 90}, nil, []string{"sm_80 of " + moduleText}, nil, false},
		{"an older device than the compiler", 70, fstest.MapFS{"m.cu": ok["m.cu"]}, all, nil, nil,
			[]string{"kernel one of module m", "compute capability is 7.0", "[75 80 86 90]"}, false},
		{"no compiler", 90, fstest.MapFS{"m.cu": ok["m.cu"]}, nil, nil, nil,
			[]string{"not compiled ahead", "NVRTC is missing"}, false},
		{"no compiler, and PTX beside the source", 90, beside, nil, nil, []string{modulePTX}, nil, false},
		{"a compiler, and PTX beside the source", 90, beside, all, nil, []string{"sm_90 of " + moduleText}, nil, false},
		{"PTX beside the source that the driver refuses", 90, beside, nil, refuse(".version", driver.InvalidPTX), nil,
			[]string{"NVRTC is missing", "(218)"}, false},
		{"no memory", 90, ok, all, refuse("cubin", driver.OutOfMemory), nil, []string{"CUDA driver error 2"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := &fakeDriver{cc: test.cc, refuse: test.refuse}
			var c *fakeCompiler
			if test.archs != nil {
				c = &fakeCompiler{archs: test.archs}
			}
			l := newLoader(d, c, t.TempDir())
			var err error
			said := logged(t, func() { _, err = l.Function(0, &test.files, "m", "one") })
			if (err == nil) != (test.says == nil) {
				t.Fatal(err)
			}
			for _, want := range test.says {
				if text := err.Error(); !strings.Contains(text, want) && !strings.Contains(text, "(2)") {
					t.Errorf("%q does not say %q", text, want)
				}
			}
			if diff := cmp.Diff(test.want, d.loaded); diff != "" {
				t.Error(diff)
			}
			if strings.Contains(said, "build.py") != test.logs {
				t.Errorf("logged %q", said)
			}
		})
	}
}

// TestStaleTold: where what was compiled ahead is stale and nothing else serves,
// every call fails and the log says why once.
func TestStaleTold(t *testing.T) {
	files := compiled(t, true)
	l := newLoader(&fakeDriver{cc: 90}, nil, t.TempDir())
	said := logged(t, func() {
		for range 3 {
			if _, err := l.Function(0, &files, "m", "one"); !errors.Is(err, kernels.ErrStale) {
				t.Errorf("%v", err)
			}
		}
	})
	if n := strings.Count(said, "build.py"); n != 1 {
		t.Errorf("told %d times: %s", n, said)
	}
}

// TestFunctionOnce: a module is loaded once a device, and a kernel that is known
// costs no allocation.
func TestFunctionOnce(t *testing.T) {
	files, d := compiled(t, false), &fakeDriver{cc: 90}
	l := newLoader(d, nil, t.TempDir())
	var all sync.WaitGroup
	functions := make([]driver.Function, 64)
	for i := range functions {
		all.Go(func() {
			var err error
			if functions[i], err = l.Function(i%2, &files, "m", []string{"one", "other"}[i/2%2]); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(d.loaded) != 2 {
		t.Errorf("%d loads for two devices", len(d.loaded))
	}
	seen := map[driver.Function]bool{}
	for i, f := range functions {
		if f != functions[i%4] {
			t.Errorf("call %d: %x, call %d: %x", i, f, i%4, functions[i%4])
		}
		seen[f] = true
	}
	if len(seen) != 4 {
		t.Errorf("%d functions of two kernels on two devices", len(seen))
	}
	var src fs.FS = &files
	allocations.AtMost(t, 0, func() { _, _ = l.Function(0, src, "m", "one") })
}

// TestFunctionPTX: each kernel is compiled by itself, once.
func TestFunctionPTX(t *testing.T) {
	files, d := compiled(t, false), &fakeDriver{cc: 75}
	l := newLoader(d, nil, t.TempDir())
	for range 2 {
		for _, name := range []string{"one", "other"} {
			if _, err := l.Function(0, &files, "m", name); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(d.loaded) != 2 || strings.Contains(d.loaded[0], "other") || strings.Contains(d.loaded[1], "one") {
		t.Errorf("loaded %q", d.loaded)
	}
	if _, err := l.Function(0, &files, "m", "third"); err == nil || !strings.Contains(err.Error(), "no kernel third") {
		t.Errorf("third: %v", err)
	}
	if err := l.Unload(0); err != nil {
		t.Fatal(err)
	}
	slices.Sort(d.unloaded)
	if diff := cmp.Diff([]driver.Module{1, 2}, d.unloaded); diff != "" {
		t.Error(diff)
	}
	if _, err := l.Function(0, &files, "m", "one"); err != nil || len(d.loaded) != 3 {
		t.Errorf("after Unload: %v, %d loads", err, len(d.loaded))
	}
}

// TestFunctionRetries: a failure that may pass is not remembered.
func TestFunctionRetries(t *testing.T) {
	files, full := compiled(t, false), true
	d := &fakeDriver{cc: 90, refuse: func(string) error {
		if full {
			return driver.OutOfMemory
		}
		return nil
	}}
	l := newLoader(d, nil, t.TempDir())
	if _, err := l.Function(0, &files, "m", "one"); !errors.Is(err, driver.OutOfMemory) {
		t.Errorf("while memory is full: %v", err)
	}
	full = false
	if _, err := l.Function(0, &files, "m", "one"); err != nil {
		t.Error(err)
	}
	if _, err := l.Function(0, &files, "m", "none"); !errors.Is(err, driver.NotFound) || !strings.Contains(err.Error(), "kernel none of module m") {
		t.Errorf("none: %v", err)
	}
}

// TestFunctionSource: an operator's own source sees its headers and the standard
// ones; the directory remembers the code for the next process.
func TestFunctionSource(t *testing.T) {
	src := &fstest.MapFS{
		"mine.cu":  {Data: []byte("#include \"mine.cuh\"\n#include \"types.cuh\"\nthe kernel k\n")},
		"mine.cuh": {Data: []byte("mine\n")},
	}
	dir := t.TempDir()
	c := &fakeCompiler{archs: []int{90}}
	for range 2 { // two processes
		d := &fakeDriver{cc: 90}
		l := newLoader(d, c, dir)
		for _, dev := range []int{0, 1} {
			if _, err := l.Function(dev, src, "mine", "k"); err != nil {
				t.Fatal(err)
			}
		}
		if len(d.loaded) != 2 || d.loaded[0] != d.loaded[1] {
			t.Errorf("loaded %q", d.loaded)
		}
	}
	if len(c.programs) != 1 {
		t.Fatalf("compiled %d times", len(c.programs))
	}
	types, err := kernels.Source.ReadFile("types.cuh")
	if err != nil {
		t.Fatal(err)
	}
	want := nvrtc.Program{Name: "mine.cu", Source: string((*src)["mine.cu"].Data), Target: "sm_90", Options: kernels.Options(),
		Headers: map[string]string{"mine.cuh": "mine\n", "types.cuh": string(types)}}
	if diff := cmp.Diff(want, c.programs[0]); diff != "" {
		t.Error(diff)
	}
	(*src)["mine.cuh"] = &fstest.MapFile{Data: []byte("changed\n")}
	if _, err := newLoader(&fakeDriver{cc: 90}, c, dir).Function(0, src, "mine", "k"); err != nil || len(c.programs) != 2 {
		t.Errorf("after a change of a header: %v, compiled %d times", err, len(c.programs))
	}
}

// TestFunctionStandard: a module that an operator's sources lack is the standard
// one, and is loaded once for both.
func TestFunctionStandard(t *testing.T) {
	files := compiled(t, false)
	d := &fakeDriver{cc: 90}
	l := newLoader(d, nil, t.TempDir())
	l.standard = func() *kernels.Binaries { return kernels.Of(files, files) }
	for _, src := range []fs.FS{nil, &fstest.MapFS{"mine.cu": {}}} {
		if _, err := l.Function(0, src, "m", "one"); err != nil {
			t.Fatal(err)
		}
	}
	if len(d.loaded) != 1 {
		t.Errorf("%d loads", len(d.loaded))
	}
}

func TestFunctionErrors(t *testing.T) {
	c := &fakeCompiler{archs: []int{90}, err: &nvrtc.Error{Name: "mine.cu", Target: "sm_90", Reason: "NVRTC_ERROR_COMPILATION", Log: "mine.cu(3): error: odd"}}
	l := newLoader(&fakeDriver{cc: 90}, c, t.TempDir())
	src := &fstest.MapFS{"mine.cu": {Data: []byte("odd")}}
	for range 3 {
		_, err := l.Function(0, src, "mine", "k")
		if err == nil || !strings.Contains(err.Error(), "module mine") || !strings.Contains(err.Error(), "mine.cu(3): error: odd") {
			t.Errorf("a source that is wrong: %v", err)
		}
	}
	if len(c.programs) != 1 {
		t.Errorf("compiled %d times", len(c.programs))
	}
	if _, err := l.Function(0, *src, "mine", "k"); err == nil || !strings.Contains(err.Error(), "fstest.MapFS") {
		t.Errorf("sources that cannot be compared: %v", err)
	}
	if _, err := l.Function(0, nil, "no_such_module", "k"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "no_such_module.cu") {
		t.Errorf("no module: %v", err)
	}
}

func BenchmarkFunction(b *testing.B) {
	files, d := compiled(b, false), &fakeDriver{cc: 90}
	l := newLoader(d, nil, b.TempDir())
	var src fs.FS = &files
	for _, test := range []struct {
		name string
		src  fs.FS
	}{{"own", src}, {"standard", nil}} {
		l.standard = func() *kernels.Binaries { return kernels.Of(files, files) }
		b.Run(test.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := l.Function(0, test.src, "m", "one"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestFunctionCompiler: NVRTC takes what the loader hands it, the standard
// headers included, and the driver gets an image of the device's architecture.
func TestFunctionCompiler(t *testing.T) {
	if _, err := openCompiler(); err != nil {
		t.Skip(err)
	}
	d := &fakeDriver{cc: 90}
	l := New(d, func(dev int, list []driver.Module) {
		for _, m := range list {
			if err := d.ModuleUnload(dev, m); err != nil {
				panic(err)
			}
		}
	})
	l.cache = sync.OnceValue(func() *Cache { return testCache(t.TempDir()) })
	if _, err := l.Function(0, userSource, "mine", "twice_float32"); err != nil {
		t.Fatal(err)
	}
	if len(d.loaded) != 1 || !strings.HasPrefix(d.loaded[0], "\x7fELF") || !strings.Contains(d.loaded[0], ".text.twice_float32_rows") {
		t.Errorf("%d images", len(d.loaded))
	}
}

// leased is sources that are dropped one day.
type leased struct {
	fstest.MapFS
	lease *code.Lease
}

func (s *leased) Lease() *code.Lease { return s.lease }

// TestDropped: of thousands of sources that are dropped nothing stays, on the device or in
// tables; of one that somebody holds, all does, and a standard module stays.
func TestDropped(t *testing.T) {
	d := &fakeDriver{cc: 90}
	l := newLoader(d, &fakeCompiler{archs: []int{90}}, t.TempDir())
	l.standard = func() *kernels.Binaries { s := compiled(t, false); return kernels.Of(s, s) }
	text := func(i int) *leased {
		return &leased{fstest.MapFS{"region.cu": {Data: fmt.Appendf(nil, "void one%d", i%100)}}, code.NewLease()}
	}
	held := text(0)
	first, err := l.Function(0, held, "region", "one0")
	if err != nil {
		t.Fatal(err)
	}
	each := brief.Times(2000)
	for i := range each {
		src := text(i)
		for dev := range 2 {
			name := fmt.Sprintf("one%d", i%100)
			for range 2 {
				if _, err := l.Function(dev, src, "region", name); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := l.Function(0, src, "m", "one"); err != nil { // which it does not have
			t.Fatal(err)
		}
	}
	loaded := func() int {
		d.mu.Lock()
		defer d.mu.Unlock()
		return len(d.loaded) - len(d.unloaded)
	}
	patience.Until(t, func() bool { runtime.GC(); return loaded() == 2 })
	l.mu.Lock()
	functions := *l.functions.Load()
	got := []int{len(d.loaded), loaded(), len(l.modules), len(l.ahead), len(l.leased), len(functions)}
	l.mu.Unlock()
	if diff := cmp.Diff([]int{2*each + 2, 2, 2, 0, 1, 1}, got); diff != "" {
		t.Errorf("loads, modules, and entries of tables (-want +got):\n%s", diff)
	}
	n := 0
	l.compiling.Range(func(any, any) bool { n++; return true })
	again, err := l.Function(0, held, "region", "one0")
	if err != nil || again != first || n != 0 {
		t.Errorf("the source that is held: %v, %v before, %v; %d names being compiled", again, first, err, n)
	}
}
