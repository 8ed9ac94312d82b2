package conformance_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"
)

var limit = flag.Duration("limit", 20*time.Second, "how long a test may take; six times as long under the race detector")

// allowed returns how long a test may take.
func allowed() time.Duration {
	if raced {
		return 6 * *limit
	}
	return *limit
}

// watched has the names of the tests that are watched.
var watched sync.Map

// watch makes a test that does not end in time fail, with the stacks of all
// goroutines. The streams that tests hold are let go then, for which most of those
// that hang wait; where that does not help, the process ends with the test. The
// functions that give a test its devices call it.
func watch(t testing.TB) {
	t.Helper()
	name := t.Name()
	if _, known := watched.LoadOrStore(name, nil); known {
		return
	}
	began, ended := time.Now(), make(chan struct{})
	timer := time.AfterFunc(allowed(), func() {
		stacks := make([]byte, 1<<20)
		fmt.Printf("%s has not ended after %v:\n%s\n", name, allowed(), stacks[:runtime.Stack(stacks, true)])
		t.Errorf("it takes longer than %v", allowed())
		letAllGo()
		select {
		case <-ended:
		case <-time.After(allowed() / 4):
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
