package dist

import (
	"sync"
	"time"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/shm"
)

// A limbo is memory that this process shared and has no use for any more. It is given back
// when no other process has it open: the lock of users says whether one has, also where it
// was killed.
type limbo struct {
	driver device.Sharer
	index  int
	memory device.Memory
	users  *shm.File
}

// limbos are those that others have open. A goroutine looks after them while there are any.
var limbos struct {
	sync.Mutex
	list []*limbo
	busy bool
}

// leave gives memory back, at once or when the last opener is gone.
func leave(l *limbo) {
	if l.give() {
		return
	}
	limbos.Lock()
	defer limbos.Unlock()
	limbos.list = append(limbos.list, l)
	if !limbos.busy {
		limbos.busy = true
		go wait()
	}
}

// give gives the memory back, and reports whether it could.
func (l *limbo) give() bool {
	if free, err := l.users.Lock(true); err == nil && !free {
		return false
	}
	_ = l.driver.FreeShared(l.index, l.memory) // nobody is left to tell
	_ = l.users.Close()
	return true
}

// wait gives back what is in limbo as it becomes free.
func wait() {
	for {
		time.Sleep(20 * time.Millisecond)
		limbos.Lock()
		list := limbos.list
		limbos.list = nil
		limbos.Unlock()
		var left []*limbo
		for _, l := range list {
			if !l.give() {
				left = append(left, l)
			}
		}
		limbos.Lock()
		limbos.list = append(left, limbos.list...)
		limbos.busy = len(limbos.list) > 0
		busy := limbos.busy
		limbos.Unlock()
		if !busy {
			return
		}
	}
}
