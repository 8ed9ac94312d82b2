package driver

import (
	"errors"
	"strings"
	"testing"
)

func TestModule(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		k, s := load(t, api, 0), stream(t, api, 0)
		const n = 1000
		var x, y, z [n]float32
		for i := range n {
			x[i], y[i] = float32(i), float32(i)/2
		}
		a, size := bytesOf(x[:])
		b, _ := bytesOf(y[:])
		c, _ := bytesOf(z[:])
		da, db, dc := alloc(t, api, 0, size), alloc(t, api, 0, size), alloc(t, api, 0, size)
		must(t, api.MemcpyHtoDAsync(0, da, a, size, s))
		must(t, api.MemcpyHtoDAsync(0, db, b, size, s))
		var p Params
		p.Ptr(da)
		p.Ptr(db)
		p.Ptr(dc)
		p.Uint32(n)
		for _, early := range []bool{false, true} { // with nothing in front of it
			clear(z[:])
			must(t, api.MemcpyHtoDAsync(0, dc, c, size, s))
			must(t, api.StreamSynchronize(0, s))
			must(t, api.LaunchKernel(0, Launch{k.add, Dim3{4, 1, 1}, Dim3{256, 1, 1}, 0, s, early, p.Bytes(), nil}))
			must(t, api.MemcpyDtoHAsync(0, c, dc, size, s))
			must(t, api.StreamSynchronize(0, s))
			for i := range n {
				if want := x[i] + y[i]; z[i] != want {
					t.Fatalf("element %d: %g, want %g, launched early: %v", i, z[i], want, early)
				}
			}
		}

		at, bytes, err := api.ModuleGlobal(0, k.module, "answer")
		must(t, err)
		got := make([]uint32, 1)
		to, _ := bytesOf(got)
		must(t, api.MemcpyDtoHAsync(0, to, at, bytes, s))
		must(t, api.StreamSynchronize(0, s))
		if bytes != 4 || got[0] != 42 {
			t.Errorf("answer: %d bytes, %d", bytes, got[0])
		}
		checkFunction(t, api, k.add)
	})
}

func checkFunction(t *testing.T, api API, f Function) {
	t.Helper()
	threads, err := api.FunctionAttribute(0, f, FunctionMaxThreads)
	if err != nil || threads != 1024 {
		t.Errorf("threads a block: %d, %v", threads, err)
	}
	must(t, api.SetFunctionAttribute(0, f, FunctionMaxDynamicShared, 60_000))
	if err := api.SetFunctionAttribute(0, f, FunctionMaxDynamicShared, 1<<30); !errors.Is(err, InvalidValue) {
		t.Errorf("a gigabyte of shared memory: %v", err)
	}
	blocks, err := api.OccupancyBlocks(0, f, 256, 0)
	if err != nil || blocks < 4 {
		t.Errorf("OccupancyBlocks: %d, %v", blocks, err)
	}
	grid, threads, err := api.OccupancyBlockSize(0, f, 0, 512)
	if err != nil || grid < 1 || threads < 32 || threads > 512 {
		t.Errorf("OccupancyBlockSize: %d blocks of %d, %v", grid, threads, err)
	}
	err = api.LaunchKernel(0, Launch{f, Dim3{1, 1, 1}, Dim3{4096, 1, 1}, 0, 0, false, make([]byte, 28), nil})
	if !errors.Is(err, InvalidValue) || !strings.Contains(err.Error(), "block (4096, 1, 1)") {
		t.Errorf("a block of 4096 threads: %v", err)
	}
}

func TestModuleErrors(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		k := load(t, api, 0)
		if _, err := api.ModuleFunction(0, k.module, "none"); !errors.Is(err, NotFound) || !strings.Contains(err.Error(), `kernel "none"`) {
			t.Errorf("a kernel that is not there: %v", err)
		}
		if _, _, err := api.ModuleGlobal(0, k.module, "none"); !errors.Is(err, NotFound) {
			t.Errorf("a variable that is not there: %v", err)
		}
		elf := append([]byte("\x7fELF"), make([]byte, 96)...)
		elf[0x28], elf[0x3A], elf[0x3C] = 64, 64, 2
		for name, test := range map[string]struct {
			image []byte
			is    []Code
		}{
			"empty":      {nil, []Code{InvalidImage}},
			"cut header": {elf[:40], []Code{InvalidImage}},
			"cut tables": {elf, []Code{InvalidImage}},
			"text":       {[]byte("neither PTX nor a cubin"), []Code{InvalidImage, InvalidPTX}},
			"wrong PTX":  {[]byte(strings.Replace(string(ptx), "ld.param", "ld.nothing", 1)), []Code{InvalidPTX}},
		} {
			m, err := api.ModuleLoad(0, test.image)
			if err == nil && name == "wrong PTX" && api == fakeOnce.api { // the fake reads no PTX
				must(t, api.ModuleUnload(0, m))
				continue
			}
			if !isAny(err, test.is) {
				t.Errorf("%s: %v, want one of %v", name, err, test.is)
			}
			t.Logf("%s: %v", name, err)
		}
	})
}

func isAny(err error, codes []Code) bool {
	for _, c := range codes {
		if errors.Is(err, c) {
			return true
		}
	}
	return false
}
