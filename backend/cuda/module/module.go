// Package module finds the device code of a kernel and loads it: what was
// compiled ahead for the device's architecture, else PTX that the driver
// compiles, else the source, which NVRTC compiles and a directory remembers, else PTX
// that the source has beside it. It knows nothing of operators, arguments and launches.
package module

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/codegen/ptx"
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

	retire func(dev int, modules []driver.Module)

	mu      sync.Mutex // of what follows, and of replacing functions
	modules map[moduleKey]*loaded
	ahead   map[any]*kernels.Binaries // of operators' own sources without a lease, by code.Identity
	leased  map[any]bool              // the sources with a lease of which there is anything
	dropped []any                     // those of them that nobody holds; what there is has still to go
}

type moduleKey struct {
	dev    int
	src    any // code.Identity; nil for the standard sources
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
	ptx     *ptx.Text                // of all its kernels, which are compiled one by one
	entries map[string]driver.Module // of those that were
	fatal   error                    // it can never be loaded
	told    bool                     // the log has that what was compiled ahead is stale
}

// New returns a loader over api, which driver.Open returns. It calls nothing. Modules of
// sources with a lease that nobody holds any more are handed to retire, which does not wait:
// no more work will use them, but some may be under way.
func New(api Driver, retire func(dev int, modules []driver.Module)) *Loader {
	l := &Loader{
		api:      api,
		standard: kernels.Standard,
		compiler: openCompiler,
		cache:    sync.OnceValue(OpenCache),
		retire:   retire,
		modules:  map[moduleKey]*loaded{},
		ahead:    map[any]*kernels.Binaries{},
		leased:   map[any]bool{},
	}
	l.functions.Store(&map[functionKey]driver.Function{})
	return l
}

// Function returns a kernel of <module>.cu, which is one of src, or of the
// standard sources where src is nil or has none of that name and no <module>.ptx. The first call for
// a module loads it; later ones for a kernel look it up without a lock. A module
// may keep state in device variables only where it is loaded whole, which PTX is not.
// The type of src must be comparable, as that of embed.FS is, or src has a lease.
func (l *Loader) Function(dev int, src fs.FS, module, name string) (driver.Function, error) {
	id, ok := code.Identity(src)
	if !ok {
		return 0, fmt.Errorf("module %s: sources of type %T cannot be told apart; hand over a pointer to them", module, src)
	}
	key := functionKey{moduleKey{dev, id, module}, name}
	if f, known := (*l.functions.Load())[key]; known {
		return f, nil
	}
	f, err := l.load(key, src)
	runtime.KeepAlive(src) // and with it the lease
	if err != nil {
		return 0, fmt.Errorf("kernel %s of module %s: %w", name, module, err)
	}
	return f, nil
}

func (l *Loader) load(key functionKey, src fs.FS) (driver.Function, error) {
	own, lease := key.moduleKey, code.LeaseOf(src)
	if src != nil {
		if lacks(src, own.module+".cu") && lacks(src, own.module+".ptx") {
			own.src, src = nil, nil
		}
	}
	m := l.module(own, lease)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fatal != nil {
		return 0, m.fatal
	}
	if !m.ready {
		if err := l.fill(m, own, src, key.name); err != nil {
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

// lacks reports whether a source has no such file.
func lacks(src fs.FS, file string) bool {
	_, err := fs.Stat(src, file)
	return errors.Is(err, fs.ErrNotExist)
}

// module returns a module that may have to be loaded yet. What there is of a source with a
// lease goes with the lease.
func (l *Loader) module(key moduleKey, lease *code.Lease) *loaded {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lease != nil && !l.leased[lease.ID()] {
		l.leased[lease.ID()] = true
		runtime.AddCleanup(lease, l.drop, lease.ID())
	}
	m, known := l.modules[key]
	if !known {
		m = new(loaded)
		l.modules[key] = m
	}
	return m
}

// drop lets go of what there is of a source that nobody holds. It does not wait.
func (l *Loader) drop(id any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropped = append(l.dropped, id)
	if len(l.dropped) == 1 {
		go l.sweep() // of all that are dropped until it begins: a pass over the tables takes its time
	}
}

// sweep takes what was dropped out of the tables and hands its modules over.
func (l *Loader) sweep() {
	l.mu.Lock()
	gone := make(map[any]bool, len(l.dropped))
	for _, id := range l.dropped {
		gone[id] = true
		delete(l.leased, id)
	}
	l.dropped = nil
	modules := l.forget(func(key moduleKey) bool { return gone[key.src] })
	l.mu.Unlock()
	for dev, list := range modules {
		l.retire(dev, handles(list))
	}
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
	text, err := m.ptx.Trim(name)
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
	l.mu.Lock()
	modules := l.forget(func(key moduleKey) bool { return key.dev == dev })
	l.mu.Unlock()
	var failed []error
	for _, handle := range handles(modules[dev]) {
		failed = append(failed, l.api.ModuleUnload(dev, handle))
	}
	return errors.Join(failed...)
}

// forget takes modules and their kernels out of the tables, and returns the modules by
// device. The caller holds l.mu.
func (l *Loader) forget(those func(moduleKey) bool) map[int][]*loaded {
	functions := maps.Clone(*l.functions.Load())
	maps.DeleteFunc(functions, func(key functionKey, _ driver.Function) bool { return those(key.moduleKey) })
	l.functions.Store(&functions)
	modules := map[int][]*loaded{}
	for key, m := range l.modules {
		if those(key) {
			modules[key.dev] = append(modules[key.dev], m)
			delete(l.modules, key)
		}
	}
	return modules
}

// handles are the driver's modules.
func handles(modules []*loaded) (list []driver.Module) {
	for _, m := range modules {
		m.mu.Lock()
		for _, handle := range append(slices.Collect(maps.Values(m.entries)), m.handle) {
			if handle != 0 {
				list = append(list, handle)
			}
		}
		m.mu.Unlock()
	}
	return list
}
