package module

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"sync"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/nvrtc"
	"github.com/sinter-go/sinter/codegen/ptx"
	"github.com/sinter-go/sinter/kernels"
)

// A compiler is what is needed of nvrtc.Compiler.
type compiler interface {
	Version() string
	Architectures() []int
	Compile(p nvrtc.Program) ([]byte, error)
}

func openCompiler() (compiler, error) {
	c, err := nvrtc.Open()
	if err != nil {
		return nil, err
	}
	return c, nil
}

// fill finds device code for m, a module of src or where that is nil of the standard
// sources, and loads it. name is the kernel that asks: of PTX compiled ahead it shows
// whether the driver compiles that.
func (l *Loader) fill(m *loaded, key moduleKey, src fs.FS, name string) error {
	cc, err := l.capability(key.dev)
	if err != nil {
		return err
	}
	w := wanted{key, src, cc, name}
	var why []error
	for _, find := range []func(*loaded, wanted) error{l.fromCubin, l.fromPTX, l.fromSource, l.fromOwn} {
		err := find(m, w)
		if err == nil {
			m.ready = true
			return nil
		}
		var wrong *nvrtc.Error
		switch {
		case errors.As(err, &wrong):
			m.fatal = err
			return err
		case !passes(err):
			return err
		}
		why = append(why, err)
	}
	return fmt.Errorf("no code for cuda:%d, whose compute capability is %d.%d: %w", key.dev, cc/10, cc%10, errors.Join(why...))
}

// passes says that an error is of one kind of device code, so that the next kind
// is tried: it is not there, or this device or driver does not take it.
func passes(err error) bool {
	for _, target := range []error{kernels.ErrNone, kernels.ErrStale, errNoTarget, errNoCompiler,
		driver.InvalidImage, driver.NoBinaryForGPU, driver.InvalidPTX, driver.UnsupportedPTXVersion, driver.JITCompilerNotFound} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// capability returns the device's compute capability, as 90 for 9.0.
func (l *Loader) capability(dev int) (int, error) {
	major, err := l.api.DeviceAttribute(dev, driver.ComputeCapabilityMajor)
	if err != nil {
		return 0, err
	}
	minor, err := l.api.DeviceAttribute(dev, driver.ComputeCapabilityMinor)
	return 10*major + minor, err
}

// A wanted is a module that is to be loaded for a device, and the kernel that asks for it.
type wanted struct {
	moduleKey
	from       fs.FS // nil for the standard sources
	capability int
	kernel     string
}

// binaries returns what was compiled ahead of the sources of a module.
func (l *Loader) binaries(w wanted) *kernels.Binaries {
	if w.from == nil {
		return l.standard()
	}
	if code.LeaseOf(w.from) != nil {
		return kernels.Of(w.from, w.from) // which holds the source
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b, known := l.ahead[w.src]
	if !known {
		b = kernels.Of(w.from, w.from)
		l.ahead[w.src] = b
	}
	return b
}

// nearest returns the highest of the architectures that a device of capability cc
// runs cubins of: the same major version, not above. 0 if there is none.
func nearest(archs []int, cc int) int {
	best := 0
	for _, arch := range archs {
		if arch/10 == cc/10 && arch <= cc {
			best = max(best, arch)
		}
	}
	return best
}

func (l *Loader) fromCubin(m *loaded, w wanted) error {
	all := l.binaries(w)
	arch := nearest(all.Architectures(w.module), w.capability)
	if arch == 0 {
		return fmt.Errorf("cubin of module %s: %w", w.module, kernels.ErrNone)
	}
	code, err := all.Binary(arch, w.module)
	if err != nil {
		return err
	}
	m.handle, err = l.api.ModuleLoad(w.dev, code)
	return err
}

// fromPTX keeps the text: compiling a whole module takes the driver seconds, a
// kernel milliseconds. The kernel that is asked for shows whether the driver can.
func (l *Loader) fromPTX(m *loaded, w wanted) error {
	text, err := l.binaries(w).PTX(w.module)
	if errors.Is(err, kernels.ErrStale) && !m.told {
		m.told = true
		slog.Warn("CUDA kernels compiled ahead are of other sources than these; they are compiled anew at run time. python3 kernels/build.py compiles them ahead", "module", w.module)
	}
	if err != nil {
		return err
	}
	m.ptx, m.entries = ptx.Divide(text), map[string]driver.Module{}
	if err := l.loadEntry(m, w.dev, w.kernel); err != nil {
		m.ptx, m.entries = nil, nil
		return err
	}
	return nil
}

var (
	errNoCompiler = errors.New("it cannot be compiled at run time")
	errNoTarget   = errors.New("NVRTC is too old or too new for the device")
)

// Target returns what a compiler is to compile for: a cubin that a device of
// capability cc runs, or PTX below it.
func Target(archs []int, cc int) (string, error) {
	if arch := nearest(archs, cc); arch > 0 {
		return fmt.Sprintf("sm_%d", arch), nil
	}
	best := 0
	for _, arch := range archs {
		if arch <= cc {
			best = max(best, arch)
		}
	}
	if best == 0 {
		return "", fmt.Errorf("%w: it compiles for %v, the device is of %d", errNoTarget, archs, cc)
	}
	return fmt.Sprintf("compute_%d", best), nil
}

// fromSource compiles the module, or finds it in the cache.
func (l *Loader) fromSource(m *loaded, w wanted) error {
	source := w.from
	if source == nil {
		source = kernels.Source
	}
	files, err := kernels.Files(source, w.module)
	if errors.Is(err, fs.ErrNotExist) {
		if w.from != nil && !lacks(w.from, w.module+".ptx") {
			return fmt.Errorf("source of module %s, which has PTX alone: %w", w.module, kernels.ErrNone)
		}
		m.fatal = err
	}
	if err != nil {
		return err
	}
	c, err := l.compiler()
	if err != nil {
		return fmt.Errorf("%w: %w", errNoCompiler, err)
	}
	to, err := Target(c.Architectures(), w.capability)
	if err != nil {
		return err
	}
	p := nvrtc.Program{Name: w.module + ".cu", Headers: map[string]string{}, Target: to, Options: slices.Clone(kernels.Options())}
	for _, f := range files {
		if f.Name == p.Name {
			p.Source = string(f.Text)
		} else {
			p.Headers[f.Name] = string(f.Text)
		}
	}
	code, err := l.compile(c, w.module, p)
	if err != nil {
		return err
	}
	m.handle, err = l.api.ModuleLoad(w.dev, code)
	return err
}

// fromOwn has the driver compile PTX that the source has itself beside the C++, as regions
// of programs have: it is what there is without NVRTC.
func (l *Loader) fromOwn(m *loaded, w wanted) error {
	if w.from == nil {
		return fmt.Errorf("PTX beside the source of module %s: %w", w.module, kernels.ErrNone)
	}
	text, err := fs.ReadFile(w.from, w.module+".ptx")
	if err != nil {
		return fmt.Errorf("PTX beside the source: %w: %w", kernels.ErrNone, err)
	}
	m.handle, err = l.api.ModuleLoad(w.dev, text)
	return err
}

func (l *Loader) compile(c compiler, module string, p nvrtc.Program) ([]byte, error) {
	store := l.cache()
	name := EntryName(module, c.Version(), p)
	own, _ := l.compiling.LoadOrStore(name, new(sync.Mutex))
	mu := own.(*sync.Mutex)
	mu.Lock()
	defer mu.Unlock()
	defer l.compiling.Delete(name) // whoever comes now finds it in the cache
	if code := store.Get(name); code != nil {
		return code, nil
	}
	code, err := c.Compile(p)
	if err != nil {
		return nil, err
	}
	store.Put(name, code)
	return code, nil
}
