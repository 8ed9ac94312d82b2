package dist

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/runtime/collective"
	"github.com/sinter-go/sinter/tests/patience"
)

// An ended is the end of a group that notes why it is of no more use.
type ended struct{ why chan error }

func (e *ended) Fail(reason error) {
	select {
	case e.why <- reason:
	default: // the first reason counts
	}
}

// lines returns the lines of so many processes, which all joined group "g".
func lines(t testing.TB, size int, timeout time.Duration) (list []*sideline, ends []*ended) {
	t.Helper()
	at := free(t)
	list, ends = make([]*sideline, size), make([]*ended, size)
	var all sync.WaitGroup
	for rank := range size {
		all.Go(func() {
			m := &meeting{at: at, secret: []byte("one"), rank: rank, size: size}
			var contacts map[int]*contact
			var err error
			if rank == 0 {
				contacts, err = m.give(t.Context(), []byte("id"))
			} else {
				var c *contact
				c, err = m.take(t.Context(), make([]byte, 2))
				contacts = map[int]*contact{0: c}
			}
			if err != nil {
				t.Error(err)
				return
			}
			list[rank], ends[rank] = newSideline(rank, size, contacts, timeout), &ended{make(chan error, 1)}
			list[rank].joined("g", ends[rank])
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return list, ends
}

// elapse has the timeout of a call of group "g" be over once so many ranks have come to it.
func (c *clerk) elapse(t *testing.T, number uint64, come int) {
	t.Helper()
	patience.Until(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		w := c.groups["g"].rows[number]
		over := w != nil && len(w.come) == come
		if over {
			w.since = w.since.Add(-2 * c.timeout)
		}
		return over
	})
}

// TestSideline has processes do what the library does not notice: every other one is told.
func TestSideline(t *testing.T) {
	const size = 4
	sum := []string{"all-reduce(sum) of float32 [4]"}
	everyone := func(list []*sideline, first uint64) {
		for _, l := range list {
			l.Made("g", size, first, sum)
		}
	}
	for _, c := range []struct {
		name    string
		timeout time.Duration
		do      func(list []*sideline)
		is      error
		says    []string
		spared  int // a rank that is not told; -1: none
	}{
		{"another call", time.Hour, func(list []*sideline) {
			everyone(list, 1)
			for _, l := range list[:3] {
				l.Made("g", size, 2, sum)
			}
			list[3].Made("g", size, 2, []string{"all-reduce(sum) of float32 [5]"})
		}, collective.ErrMismatch, []string{"call 2 of the group", "rank 3", "of float32 [4]", "of float32 [5]"}, -1},
		{"a connection that ends", time.Hour, func(list []*sideline) {
			everyone(list, 1)
			list[2].wires[0].conn.Close()
		}, collective.ErrClosed, []string{"rank 2 is gone"}, 2},
		{"rank 0's connection ends", time.Hour, func(list []*sideline) {
			for _, w := range list[0].wires {
				w.conn.Close()
			}
		}, collective.ErrClosed, []string{"rank 0 is gone"}, 0},
		{"a rank that does not come", time.Hour, func(list []*sideline) {
			everyone(list, 1)
			for _, l := range list[1:] {
				l.Made("g", size, 2, sum)
			}
			list[0].clerk.elapse(t, 2, size-1)
		}, collective.ErrTimeout, []string{"call 2 of the group, " + sum[0], "rank 0 did not come"}, -1},
		{"a rank that gives up", time.Hour, func(list []*sideline) {
			everyone(list, 1)
			list[2].GaveUp("g", errors.New("rank 2 gave up: its disk is full"))
		}, collective.ErrClosed, []string{"rank 2 gave up: its disk is full: group closed"}, -1},
		{"a rank that waited too long", time.Hour, func(list []*sideline) {
			everyone(list, 1)
			list[0].GaveUp("g", fmt.Errorf("rank 0 waited 1s for the others: %w", collective.ErrTimeout))
		}, collective.ErrTimeout, []string{"rank 0 waited 1s for the others: timeout"}, -1},
		{"a rank that closed its end", time.Hour, func(list []*sideline) {
			everyone(list, 1)
			list[1].Left("g", size)
			list[3].Made("g", size, 2, sum)
		}, collective.ErrClosed, []string{sum[0] + " of rank 3", "rank 1 has closed its end"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, ends := lines(t, size, c.timeout)
			c.do(list)
			for rank, e := range ends {
				if rank == c.spared {
					continue
				}
				select {
				case err := <-e.why:
					for _, text := range c.says {
						if !strings.Contains(fmt.Sprint(err), text) {
							t.Errorf("rank %d: %v: does not say %q", rank, err, text)
						}
					}
					if !errors.Is(err, c.is) {
						t.Errorf("rank %d: %v is not %v", rank, err, c.is)
					}
				case <-time.After(patience.Left(t)):
					t.Errorf("rank %d is not told", rank)
				}
			}
			for _, l := range list {
				l.Left("g", size)
			}
		})
	}
}

// TestSidelineEnds makes calls, and closes groups in some order, without anybody being told of a
// fault.
func TestSidelineEnds(t *testing.T) {
	const size = 3
	list, ends := lines(t, size, time.Hour)
	for number := range uint64(100) {
		for _, l := range list {
			l.Made("g", size, number+1, []string{"barrier"})
		}
	}
	for _, l := range list { // a group without calls
		l.Left("unused", size)
	}
	groups := func() int {
		list[0].clerk.mu.Lock()
		defer list[0].clerk.mu.Unlock()
		return len(list[0].clerk.groups)
	}
	if !patience.Until(t, func() bool { return groups() == 1 }) {
		t.Errorf("%d groups are known, want one that is left", groups())
	}
	for _, rank := range []int{1, 0, 2} {
		list[rank].Left("g", size)
	}
	for rank, e := range ends {
		select {
		case err := <-e.why:
			t.Errorf("rank %d: %v", rank, err)
		default:
		}
	}
}

// TestClerk compares calls of a group of three: of several that are missed the first is named, and nothing is left
// of a group that all ranks left, whether they made calls or not.
func TestClerk(t *testing.T) {
	all := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for _, k := range []struct {
		name  string
		notes []note // of rank 0, 1, 2, 0 and so on
		late  bool
		want  string // the fault, none if empty
	}{
		{"no calls", []note{{Left: true}, {Left: true}, {Left: true}}, false, ""},
		{"all made", []note{{First: 1, Calls: all}, {First: 1, Calls: all}, {First: 1, Calls: all}, {Left: true}, {Left: true}, {Left: true}}, false, ""},
		{"one leaves", []note{{First: 1, Calls: all}, {First: 1, Calls: all[:2]}, {First: 1, Calls: all}, {}, {Left: true}}, false,
			"call 3 of the group, c of rank 0: rank 1 has closed its end"},
		{"one is late", []note{{First: 1, Calls: all}, {First: 1, Calls: all[:2]}, {First: 1, Calls: all}}, true,
			"call 3 of the group, c: rank 0 waited 1h0m0s for the others: rank 1 did not come"},
	} {
		t.Run(k.name, func(t *testing.T) {
			var faults []note
			c := newClerk(3, time.Hour, func(n note) { faults = append(faults, n) })
			defer c.close()
			for i, n := range k.notes {
				n.Group, n.Size = "g", 3
				c.hear(i%3, n)
			}
			if k.late {
				for _, w := range c.groups["g"].rows {
					w.since = w.since.Add(-2 * time.Hour)
				}
				faults = c.late()
			}
			switch {
			case k.want == "" && (len(faults) > 0 || len(c.groups) > 0):
				t.Errorf("faults %v, %d groups are left", faults, len(c.groups))
			case k.want != "" && (len(faults) != 1 || faults[0].Fault != k.want):
				t.Errorf("faults %v, want %q", faults, k.want)
			}
		})
	}
}

// TestSidelineAbsent: of a process that cannot join all others are told, also those that join
// later, and its connections end.
func TestSidelineAbsent(t *testing.T) {
	for absent := range 3 {
		list, ends := lines(t, 3, time.Hour)
		list[absent].absent(errors.New("no memory"))
		if list[absent].wires != nil {
			t.Errorf("rank %d keeps %d connections", absent, len(list[absent].wires))
		}
		for rank, l := range list {
			if rank == absent {
				continue
			}
			late := &ended{make(chan error, 1)}
			for what, e := range map[string]*ended{"joined": ends[rank], "joins later": late} {
				if e == late {
					l.joined("late", late)
				}
				select {
				case err := <-e.why:
					if want := fmt.Sprintf("rank %d did not join: no memory", absent); !strings.Contains(err.Error(), want) || !errors.Is(err, collective.ErrClosed) {
						t.Errorf("rank %d, %s: %v, want %q", rank, what, err, want)
					}
				case <-time.After(patience.Left(t)):
					t.Errorf("rank %d, %s, is not told", rank, what)
				}
			}
		}
		for rank, l := range list {
			if rank != absent {
				l.Left("late", 3)
				l.Left("g", 3)
			}
		}
	}
}

// TestSidelineForged: what is sent by somebody without the keys ends the connection.
func TestSidelineForged(t *testing.T) {
	list, ends := lines(t, 2, time.Hour)
	if _, err := list[1].wires[0].conn.Write(make([]byte, 4+proofBytes)); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ends[0].why:
		if !strings.Contains(fmt.Sprint(err), "a message that is not the group's") {
			t.Error(err)
		}
	case <-time.After(patience.Left(t)):
		t.Error("rank 0 is not told")
	}
	for _, l := range list {
		l.Left("g", 2)
	}
}

// A heldConn is a connection whose writes wait until they are let go.
type heldConn struct {
	net.Conn
	let chan struct{}
}

func (c *heldConn) Write(b []byte) (int, error) {
	<-c.let
	return c.Conn.Write(b)
}

// TestSidelineToldFirst: who is told that a group is of no more use may end at once, so that all others
// are told before.
func TestSidelineToldFirst(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	conn := &heldConn{near, make(chan struct{})}
	keys := [2][]byte{[]byte("a"), []byte("b")}
	l := newSideline(0, 2, map[int]*contact{1: {conn: conn, keys: keys}}, time.Hour)
	end := &ended{make(chan error, 1)}
	l.joined("g", end)
	heard := make(chan note, 1)
	other := newWire(far, [2][]byte{keys[1], keys[0]}, time.Hour, func(n note) {
		if n.Fault != "" {
			heard <- n
		}
	}, func(error) {})
	gaveUp := make(chan struct{})
	go func() { l.GaveUp("g", errors.New("a reason")); close(gaveUp) }()
	select {
	case <-gaveUp:
		t.Error("rank 0 goes on before the other one is told")
	case <-time.After(20 * time.Millisecond): // time to do so
	}
	if len(end.why) > 0 {
		t.Error("rank 0 is told first")
	}
	close(conn.let)
	if n := <-heard; n.Fault != "a reason" {
		t.Errorf("the other rank is told %q", n.Fault)
	}
	<-gaveUp
	if why := <-end.why; !strings.Contains(why.Error(), "a reason") {
		t.Errorf("rank 0 is told %q", why)
	}
	go other.close()
	l.end()
}

// TestWireGoodbye has notes be put behind a goodbye: the wire ends, whoever waits for them goes on, and the
// other side hears nothing behind it.
func TestWireGoodbye(t *testing.T) {
	near, far := net.Pipe()
	conn := &heldConn{near, make(chan struct{})}
	keys := [2][]byte{[]byte("a"), []byte("b")}
	w := newWire(conn, keys, time.Hour, func(note) {}, func(error) {})
	heard := make(chan note, 9)
	ended := make(chan error, 1)
	other := newWire(far, [2][]byte{keys[1], keys[0]}, time.Hour, func(n note) { heard <- n }, func(err error) { ended <- err })
	w.tell(note{Group: "g"})
	w.tell(note{Bye: true})
	w.tell(note{Left: true})
	urged := make(chan struct{})
	go func() { urge(map[int]*wire{1: w}, note{Fault: "too late"}); close(urged) }()
	close(conn.let)
	for what, is := range map[string]chan struct{}{"the wire": w.done, "who urges": urged} {
		select {
		case <-is:
		case <-time.After(patience.Left(t)):
			t.Fatalf("%s does not end", what)
		}
	}
	if n := <-heard; n.Group != "g" {
		t.Errorf("the first note is %+v", n)
	}
	if n := <-heard; !n.Bye {
		t.Errorf("the second note is %+v", n)
	}
	if len(w.out)+len(w.sent)+len(heard) > 0 {
		t.Errorf("%d notes are to be sent, %d were heard behind the goodbye", len(w.out), len(heard))
	}
	go func() { _, _ = io.Copy(io.Discard, near) }() // the goodbye of the other side
	other.close()
	near.Close()
	select {
	case err := <-ended:
		t.Errorf("the other side's connection is lost: %v", err)
	default:
	}
}

// BenchmarkReplayTold is what a replay of twenty calls costs two processes: what the one that replays waits
// for, and all that both have to do.
func BenchmarkReplayTold(b *testing.B) {
	list, _ := lines(b, 2, time.Hour)
	calls := make([]string, 20)
	for i := range calls {
		calls[i] = "all-reduce(average) of float32 [16777216]"
	}
	var waited time.Duration
	b.ReportAllocs()
	number := uint64(1)
	for range b.N {
		began := time.Now()
		list[1].Made("g", 2, number, calls)
		waited += time.Since(began)
		list[0].Made("g", 2, number, calls)
		number += uint64(len(calls))
	}
	patience.Until(b, func() bool { // rank 0 has compared all
		list[0].clerk.mu.Lock()
		defer list[0].clerk.mu.Unlock()
		return len(list[0].clerk.groups["g"].rows) == 0
	})
	b.ReportMetric(float64(waited.Nanoseconds())/float64(b.N), "waited-ns/op")
	for _, l := range list {
		l.Left("g", 2)
	}
}

// TestFrames cuts what is told into frames: calls have their numbers, and what follows them comes last.
func TestFrames(t *testing.T) {
	calls := func(n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprint("call ", i))
		}
		return list
	}
	list := []note{{Group: "g", First: 7, Calls: calls(100)}, {Group: "g", First: 107, Calls: calls(1)}, {Group: "h", First: 1, Calls: calls(3), Left: true}, {Bye: true}}
	for _, most := range []int{1, 100, 300, 1 << 20} {
		var got []note
		for _, body := range frames(list, most) {
			var some []note
			if err := json.Unmarshal(body, &some); err != nil {
				t.Fatal(err)
			}
			if len(body) > most && (len(some) > 1 || len(some[0].Calls) > 1) {
				t.Errorf("a frame of %d bytes, want %d", len(body), most)
			}
			for _, n := range some {
				if last := len(got) - 1; last >= 0 && len(n.Calls) > 0 && n.Group == got[last].Group && n.First == got[last].First+uint64(len(got[last].Calls)) && n.First != 107 {
					got[last].Calls, got[last].Left = append(got[last].Calls, n.Calls...), n.Left
				} else {
					got = append(got, n)
				}
			}
		}
		if diff := cmp.Diff(list, got); diff != "" {
			t.Errorf("frames of %d bytes (-want +got):\n%s", most, diff)
		}
	}
	if n := len(frames(nil, 100)); n != 1 {
		t.Errorf("%d frames of nothing, want 1", n)
	}
}

// TestManyNotes tells more at once than a frame has room for: all is heard.
func TestManyNotes(t *testing.T) {
	a, b := net.Pipe()
	keys := [2][]byte{[]byte("there"), []byte("back")}
	long := strings.Repeat("x", 1<<20)
	const many = maxFrame>>20 + 2
	heard := make(chan note, many+1)
	lost := func(err error) { t.Errorf("lost: %v", err) }
	from := &wire{conn: a, keys: keys, silent: patience.Left(t), wake: make(chan struct{}, 1), done: make(chan struct{})}
	for i := range many {
		from.tell(note{Group: "g", First: uint64(i), Calls: []string{long}})
	}
	to := newWire(b, [2][]byte{keys[1], keys[0]}, patience.Left(t), func(n note) { heard <- n }, lost)
	go from.write()
	for i := range many {
		if n := <-heard; n.First != uint64(i) {
			t.Errorf("note %d is of call %d", i, n.First)
		}
	}
	from.tell(note{Bye: true})
	<-from.done
	go func() { _, _ = io.Copy(io.Discard, a) }()
	to.close()
	_ = a.Close()
}
