package dist

import (
	"context"
	"errors"
	"fmt"
	"net"
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
