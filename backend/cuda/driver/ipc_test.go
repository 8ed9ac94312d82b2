package driver

import (
	"strings"
	"testing"
)

// TestIPC makes handles of memory and of an event, which travel by value. The library that
// stands for the driver opens them in this process and refuses one that did not arrive whole;
// a GPU's driver opens them in others alone, and says so.
func TestIPC(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		p, err := api.MemAlloc(0, 4096)
		must(t, err)
		defer api.MemFree(0, p)
		e, err := api.EventCreate(0, EventDisableTiming|EventInterprocess)
		must(t, err)
		defer api.EventDestroy(0, e)
		memory, err := api.IPCMemHandle(0, p)
		must(t, err)
		event, err := api.IPCEventHandle(0, e)
		must(t, err)
		opened, memoryErr := api.IPCOpenMem(0, memory)
		same, eventErr := api.IPCOpenEvent(0, event)
		if !strings.Contains(t.Name(), "fake") {
			if memoryErr == nil {
				t.Error("memory was opened in the process that has it")
			}
			return
		}
		must(t, memoryErr)
		must(t, eventErr)
		if opened != p || same != e {
			t.Errorf("opened %#x and %#x, want %#x and %#x", opened, same, p, e)
		}
		must(t, api.IPCCloseMem(0, opened))
		memory[63] = 0
		if _, err := api.IPCOpenMem(0, memory); err == nil {
			t.Error("a handle without its end was opened")
		}
	})
}
