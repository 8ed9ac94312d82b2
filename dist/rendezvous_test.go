package dist

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// free returns an address of this machine at which nobody listens.
func free(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestMeeting(t *testing.T) {
	const size = 5
	at, value := free(t), []byte("what all of them are to know")
	var all sync.WaitGroup
	for rank := range size {
		all.Go(func() {
			m := &meeting{at: at, secret: []byte("one"), rank: rank, size: size}
			if rank == 0 {
				if contacts, err := m.give(t.Context(), value); err != nil || len(contacts) != size-1 {
					t.Error(contacts, err)
				}
				return
			}
			got := make([]byte, len(value))
			if _, err := m.take(t.Context(), got); err != nil || string(got) != string(value) {
				t.Errorf("rank %d has %q: %v", rank, got, err)
			}
		})
	}
	all.Wait()
}

// TestMeetingRefuses has ranks come that do not belong, and others stay away.
func TestMeetingRefuses(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	at := free(t)
	stranger := &meeting{at: at, secret: []byte("another"), rank: 1, size: 3}
	tired := errors.New("tired of it")
	var all sync.WaitGroup
	all.Go(func() {
		defer cancel(tired)
		if _, err := stranger.take(ctx, make([]byte, 5)); !errors.Is(err, errSecret) {
			t.Errorf("the stranger: %v", err)
		}
	})
	m := &meeting{at: at, secret: []byte("one"), size: 3}
	_, err := m.give(ctx, []byte("value"))
	all.Wait()
	for _, text := range []string{at, "[1 2] did not come", "tired of it", "rank 1, has another SINTER_DIST_SECRET"} {
		if !strings.Contains(fmt.Sprint(err), text) {
			t.Errorf("%v: does not say %q", err, text)
		}
	}
	if !errors.Is(err, ErrRendezvous) || !errors.Is(err, tired) {
		t.Error(err)
	}
}

// TestMeetingAlone: a rank whose rank 0 is not there says so.
func TestMeetingAlone(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	m := &meeting{at: free(t), rank: 1, size: 2}
	if _, err := m.take(ctx, make([]byte, 5)); !errors.Is(err, ErrRendezvous) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), m.at) {
		t.Error(err)
	}
}

func TestWhereToMeet(t *testing.T) {
	for _, c := range []struct{ master, secret, agent, at, err string }{
		{"127.0.0.1:29500", "", "", "127.0.0.1:29500", ""},
		{"localhost:29500", "", "True", "localhost:29501", ""},
		{"10.0.0.1:29500", "s", "", "10.0.0.1:29500", ""},
		{"10.0.0.1:29500", "", "", "", "set SINTER_DIST_SECRET"},
		{"", "s", "", "", "MASTER_ADDR and MASTER_PORT"},
		{"localhost:http", "", "True", "", `MASTER_PORT is "http"`},
	} {
		t.Setenv("SINTER_DIST_SECRET", c.secret)
		t.Setenv("TORCHELASTIC_USE_AGENT_STORE", c.agent)
		m, err := (&Environment{Size: 2, Master: c.master}).meeting()
		if c.err != "" {
			if !errors.Is(err, ErrRendezvous) || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: %v, want %q", c.master, err, c.err)
			}
		} else if err != nil || m.at != c.at {
			t.Errorf("%q: %v, %v", c.master, m, err)
		}
	}
}

// A busy listener cannot accept at first, as where too many files are open.
type busy struct {
	net.Listener
	times int
}

func (b *busy) Accept() (net.Conn, error) {
	if b.times--; b.times >= 0 {
		return nil, errors.New("too many open files")
	}
	return b.Listener.Accept()
}

// TestMeetingWhereBusy: rank 0 goes on when it could not accept for a while.
func TestMeetingWhereBusy(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	first, second := &meeting{secret: []byte("one"), size: 2}, &meeting{at: l.Addr().String(), secret: []byte("one"), rank: 1, size: 2}
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := second.take(t.Context(), make([]byte, 5)); err != nil {
			t.Error(err)
		}
	})
	if contacts, err := first.admit(t.Context(), &busy{l, 3}, []byte("value")); err != nil || len(contacts) != 1 {
		t.Errorf("%d came: %v", len(contacts), err)
	}
	all.Wait()
}

// TestMeetingTellsAll: of processes that cannot be a group every one is told why, whichever came first.
func TestMeetingTellsAll(t *testing.T) {
	type place struct{ rank, size int }
	for _, c := range []struct {
		name   string
		places []place // the first is rank 0 that is met; another rank 0 comes to an address that is taken
		texts  []string
	}{
		{"a rank twice", []place{{0, 4}, {1, 4}, {1, 4}, {3, 4}}, []string{"2 processes say to be rank 1: 127.0.0.1:"}},
		{"a rank three times", []place{{0, 4}, {2, 4}, {2, 4}, {2, 4}}, []string{"3 processes say to be rank 2: 127.0.0.1:"}},
		{"rank 0 twice", []place{{0, 3}, {0, 3}, {2, 3}}, []string{"2 processes say to be rank 0: ", "(this process), 127.0.0.1:"}},
		{"one larger size", []place{{0, 3}, {1, 4}, {2, 3}}, []string{"rank 0 is one of 3 ranks, rank 1, at 127.0.0.1:", "one of 4"}},
		{"one smaller size", []place{{0, 4}, {1, 4}, {2, 3}, {3, 4}}, []string{"rank 0 is one of 4 ranks, rank 2, at 127.0.0.1:", "one of 3"}},
		{"rank 0 has a smaller size", []place{{0, 2}, {1, 4}, {2, 4}, {3, 4}}, []string{"rank 0 is one of 2 ranks, rank 3, at 127.0.0.1:", "one of 4"}},
		{"rank 0 has a larger size", []place{{0, 4}, {1, 3}, {2, 3}}, []string{"rank 0 is one of 4 ranks, rank 1, at 127.0.0.1:", "one of 3"}},
		{"a rank twice and another size", []place{{0, 4}, {1, 4}, {1, 4}, {3, 5}}, []string{"2 processes say to be rank 1", "rank 3, at 127.0.0.1:"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			here := newAdmission(&meeting{at: l.Addr().String(), secret: []byte("one"), size: c.places[0].size})
			late := make(chan time.Time) // fires when all are there, should rank 0 wait for more
			here.late = func() <-chan time.Time { return late }
			var all sync.WaitGroup
			for i, p := range c.places {
				m := &meeting{at: l.Addr().String(), secret: []byte("one"), rank: p.rank, size: p.size}
				all.Go(func() {
					var err error
					switch {
					case i == 0:
						_, err = here.admit(t.Context(), l, []byte("value"))
					case p.rank == 0:
						_, err = m.give(t.Context(), []byte("other"))
					default:
						_, err = m.take(t.Context(), make([]byte, 5))
					}
					for _, text := range append(c.texts, m.at, fmt.Sprintf("(process %d)", os.Getpid())) {
						if !strings.Contains(fmt.Sprint(err), text) {
							t.Errorf("process %d, rank %d of %d: %v: does not say %q", i, p.rank, p.size, err, text)
						}
					}
					if !errors.Is(err, ErrRendezvous) {
						t.Error(err)
					}
				})
			}
			for n := 0; n < len(c.places)-1; {
				here.mu.Lock()
				n = len(here.there)
				here.mu.Unlock()
				time.Sleep(time.Millisecond)
			}
			close(late)
			all.Wait()
		})
	}
}

// TestMeetingTellsWhoIsMissing: when rank 0 gives up, those that came are told for whom they waited.
func TestMeetingTellsWhoIsMissing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	tired := errors.New("tired of it")
	at := l.Addr().String()
	ask := func(ctx context.Context, rank int) error {
		_, err := (&meeting{at: at, secret: []byte("one"), rank: rank, size: 4}).take(ctx, make([]byte, 5))
		return err
	}
	var all sync.WaitGroup
	all.Go(func() {
		if err := ask(t.Context(), 2); !errors.Is(err, ErrRendezvous) || !strings.Contains(err.Error(), "[1 3] did not come: tired of it") {
			t.Error(err)
		}
	})
	a := newAdmission(&meeting{at: at, secret: []byte("one"), size: 4})
	all.Go(func() { a.accept(ctx, l, &all) })
	count := func(want int) { // waits until so many are there
		for {
			<-a.news
			a.mu.Lock()
			n := len(a.there)
			a.mu.Unlock()
			if n == want {
				return
			}
		}
	}
	count(1)
	gone, leave := context.WithCancel(t.Context())
	all.Go(func() { // comes, and goes
		if err := ask(gone, 3); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	count(2)
	leave()
	count(1)
	cancel(tired)
	why := a.await(ctx)
	a.end(why)
	l.Close()
	if _, err := a.dismiss([]byte("value"), why); !errors.Is(err, tired) || !strings.Contains(err.Error(), "[1 3] did not come") {
		t.Error(err)
	}
	all.Wait()
}

// TestMeetingAgain: a process whose connection broke comes again, and one in the place of one that is gone is let in.
func TestMeetingAgain(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	m := &meeting{at: at, secret: []byte("one"), rank: 1, size: 3}
	gone, leave := context.WithCancel(t.Context())
	var all, first sync.WaitGroup
	self := [selfBytes]byte{1}
	first.Go(func() { // this connection stays open at first, and the same process has another
		if _, err := m.ask(t.Context(), self, make([]byte, 5)); err == nil || errors.As(err, new(verdict)) {
			t.Errorf("the first connection: %v", err)
		}
	})
	a := newAdmission(&meeting{at: at, secret: []byte("one"), size: 3})
	inside, end := context.WithCancel(t.Context())
	all.Go(func() { a.accept(inside, l, &all) })
	<-a.news
	all.Go(func() {
		if _, err := m.ask(gone, self, make([]byte, 5)); err == nil {
			t.Error("the second connection: no error")
		}
	})
	first.Wait()
	leave()
	for was := 1; was > 0; { // until the process is gone
		<-a.news
		a.mu.Lock()
		was = len(a.there)
		a.mu.Unlock()
	}
	for rank := 1; rank < 3; rank++ {
		all.Go(func() {
			got := make([]byte, 5)
			if _, err := (&meeting{at: at, secret: []byte("one"), rank: rank, size: 3}).take(t.Context(), got); err != nil || string(got) != "value" {
				t.Errorf("rank %d: %q, %v", rank, got, err)
			}
		})
	}
	if err := a.await(t.Context()); err != nil {
		t.Error(err)
	}
	contacts, err := a.dismiss([]byte("value"), nil)
	if err != nil || len(contacts) != 2 {
		t.Error(contacts, err)
	}
	for _, c := range contacts {
		defer c.conn.Close()
	}
	// One more is told that the group is there.
	late := (&meeting{at: at, secret: []byte("one"), rank: 1, size: 3})
	if _, err := late.take(t.Context(), make([]byte, 5)); !errors.As(err, new(verdict)) || !strings.Contains(err.Error(), "all 3 ranks of the group were there") {
		t.Error(err)
	}
	end()
	l.Close()
	all.Wait()
}
