package conformance_test

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/sinter-go/sinter/tests/patience"
)

// watched has the names of the tests that are watched.
var watched sync.Map

// watch makes a test that does not end fail, with the stacks of all goroutines, while
// there is time left. The streams that tests hold are let go then, for which most of those
// that hang wait; where that does not help, the process ends with the test. The
// functions that give a test its devices call it.
func watch(t testing.TB) {
	t.Helper()
	name := t.Name()
	if _, known := watched.LoadOrStore(name, nil); known {
		return
	}
	began, ended := time.Now(), make(chan struct{})
	timer := time.AfterFunc(patience.Left(t), func() {
		stacks := make([]byte, 1<<20)
		fmt.Printf("%s has not ended after %v:\n%s\n", name, time.Since(began), stacks[:runtime.Stack(stacks, true)])
		t.Errorf("it does not end in %v", time.Since(began))
		letAllGo()
		select {
		case <-ended:
		case <-time.After(patience.Left(t)):
			fmt.Printf("--- FAIL: %s (%.2fs)\n", name, time.Since(began).Seconds())
			os.Exit(1)
		}
	})
	t.Cleanup(func() {
		timer.Stop()
		close(ended)
		watched.Delete(name)
	})
}

// holds has what lets go the streams that are held now.
var holds struct {
	sync.Mutex
	next int
	all  map[int]func()
}

// letGo has release called for a test that takes too long, until forget is called.
func letGo(release func()) (forget func()) {
	holds.Lock()
	defer holds.Unlock()
	if holds.all == nil {
		holds.all = map[int]func(){}
	}
	id := holds.next
	holds.next++
	holds.all[id] = release
	return func() {
		holds.Lock()
		defer holds.Unlock()
		delete(holds.all, id)
	}
}

func letAllGo() {
	holds.Lock()
	defer holds.Unlock()
	for _, release := range holds.all {
		release()
	}
}
