// Package module finds the device code of a kernel and loads it: what was
// compiled ahead for the device's architecture, else PTX that the driver
// compiles, else the source, which NVRTC compiles and a directory remembers. It
// knows nothing of operators, arguments and launches.
package module

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/kernels"
)

// A Driver is what is needed of driver.API.
type Driver interface {
	DeviceAttribute(dev int, a driver.Attribute) (int, error)
	ModuleLoad(dev int, image []byte) (driver.Module, error)
	ModuleUnload(dev int, m driver.Module) error
	ModuleFunction(dev int, m driver.Module, name string) (driver.Function, error)
}

// A Loader finds the kernels of one process; for any goroutines.
type Loader struct {
	api      Driver
	standard func() *kernels.Binaries
	compiler func() (compiler, error)
	cache    func() *Cache

	functions atomic.Pointer[map[functionKey]driver.Function] // replaced, never changed
	compiling sync.Map                                        // by entry of the cache, a *sync.Mutex: one at a time, so that the second finds the first one's result

	mu      sync.Mutex // of what follows, and of replacing functions
	modules map[moduleKey]*loaded
	ahead   map[fs.FS]*kernels.Binaries // of operators' own sources
}

type moduleKey struct {
	dev    int
	src    fs.FS // nil for the standard sources
	module string
}

type functionKey struct {
	moduleKey
	name string
}

// loaded is a module on a device.
type loaded struct {
	mu      sync.Mutex
	ready   bool
	handle  driver.Module            // of all its kernels; 0 where ptx is set
	ptx     *program                 // of all its kernels, which are compiled one by one
	entries map[string]driver.Module // of those that were
	fatal   error                    // it can never be loaded
	told    bool                     // the log has that what was compiled ahead is stale
}

// New returns a loader over api, which driver.Open returns. It calls nothing.
func New(api Driver) *Loader {
	l := &Loader{
		api:      api,
		standard: kernels.Standard,
		compiler: openCompiler,
		cache:    sync.OnceValue(OpenCache),
		modules:  map[moduleKey]*loaded{},
		ahead:    map[fs.FS]*kernels.Binaries{},
	}
	l.functions.Store(&map[functionKey]driver.Function{})
	return l
}

// Function returns a kernel of <module>.cu, which is one of src, or of the
// standard sources where src is nil or has none of that name. The first call for
// a module loads it; later ones for a kernel look it up without a lock. A module
// may keep state in device variables only where it is loaded whole, which PTX is not.
// The type of src must be comparable, as that of embed.FS is.
func (l *Loader) Function(dev int, src fs.FS, module, name string) (driver.Function, error) {
	if src != nil && !distinct(src) {
		return 0, fmt.Errorf("module %s: sources of type %T cannot be told apart; hand over a pointer to them", module, src)
	}
	key := functionKey{moduleKey{dev, src, module}, name}
	if f, known := (*l.functions.Load())[key]; known {
		return f, nil
	}
	f, err := l.load(key)
	if err != nil {
		return 0, fmt.Errorf("kernel %s of module %s: %w", name, module, err)
	}
	return f, nil
}

func (l *Loader) load(key functionKey) (driver.Function, error) {
	own := key.moduleKey
	if own.src != nil {
		if _, err := fs.Stat(own.src, own.module+".cu"); errors.Is(err, fs.ErrNotExist) {
			own.src = nil
		}
	}
	m := l.module(own)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fatal != nil {
		return 0, m.fatal
	}
	if !m.ready {
		if err := l.fill(m, own, key.name); err != nil {
			return 0, err
		}
	}
	f, err := l.function(m, own.dev, key.name)
	if err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	functions := maps.Clone(*l.functions.Load())
	functions[key] = f
	l.functions.Store(&functions)
	return f, nil
}

func (l *Loader) module(key moduleKey) *loaded {
	l.mu.Lock()
	defer l.mu.Unlock()
	m, known := l.modules[key]
	if !known {
		m = new(loaded)
		l.modules[key] = m
	}
	return m
}

// function returns a kernel of a module that is ready.
func (l *Loader) function(m *loaded, dev int, name string) (driver.Function, error) {
	if m.ptx == nil {
		return l.api.ModuleFunction(dev, m.handle, name)
	}
	if m.entries[name] == 0 {
		if err := l.loadEntry(m, dev, name); err != nil {
			return 0, err
		}
	}
	return l.api.ModuleFunction(dev, m.entries[name], name)
}

// loadEntry has the driver compile one kernel of m's PTX.
func (l *Loader) loadEntry(m *loaded, dev int, name string) error {
	text, err := m.ptx.trim(name)
	if err != nil {
		return err
	}
	handle, err := l.api.ModuleLoad(dev, text)
	if err != nil {
		return err
	}
	m.entries[name] = handle
	return nil
}

// Unload unloads what was loaded for a device and forgets its kernels. No work
// that uses them may be under way.
func (l *Loader) Unload(dev int) error {
	var failed []error
	for _, m := range l.forget(dev) {
		m.mu.Lock()
		for _, handle := range append(slices.Collect(maps.Values(m.entries)), m.handle) {
			if handle != 0 {
				failed = append(failed, l.api.ModuleUnload(dev, handle))
			}
		}
		m.mu.Unlock()
	}
	return errors.Join(failed...)
}

// forget takes a device's modules and kernels out of the tables.
func (l *Loader) forget(dev int) []*loaded {
	l.mu.Lock()
	defer l.mu.Unlock()
	functions := maps.Clone(*l.functions.Load())
	maps.DeleteFunc(functions, func(key functionKey, _ driver.Function) bool { return key.dev == dev })
	l.functions.Store(&functions)
	var modules []*loaded
	for key, m := range l.modules {
		if key.dev == dev {
			modules = append(modules, m)
			delete(l.modules, key)
		}
	}
	return modules
}

// distinct reports whether src can be a key of a map.
func distinct(src fs.FS) bool {
	if _, usual := src.(embed.FS); usual {
		return true // without the allocations of the rest
	}
	t := reflect.TypeOf(src)
	return t.Kind() == reflect.Pointer || t.Comparable() && reflect.ValueOf(src).Comparable()
}
