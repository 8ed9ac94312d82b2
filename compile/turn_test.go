package compile

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// said are lines that were logged, for several goroutines.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
	one  chan struct{} // closed at the first
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.text.Len() == 0 {
		close(s.one)
	}
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// TestTurn: a goroutine that has a turn does not wait for it, whatever it took meanwhile, one
// that has none waits and says so, and a turn ends with its function, however that ends.
func TestTurn(t *testing.T) {
	was := slog.Default()
	defer slog.SetDefault(was)
	log := &said{one: make(chan struct{})}
	slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)))
	a, b := turn{name: "compiled a"}, turn{name: "compiled b"}
	none := func() error { return nil }
	ended := make(chan error, 1)
	err := a.take(func() error {
		return b.take(func() error {
			go func() { ended <- a.takeWithin(time.Millisecond, none) }()
			<-log.one
			return a.take(none)
		})
	})
	if !errors.Is(err, ErrUnrecordable) || !strings.Contains(err.Error(), "is being recorded") {
		t.Error(err)
	}
	if err := <-ended; err != nil || !strings.Contains(log.String(), "compiled a") {
		t.Errorf("%v, said %s", err, log)
	}
	func() {
		defer func() { _ = recover() }()
		_ = a.take(func() error { panic("in the function") })
	}()
	if err := a.take(none); err != nil {
		t.Error(err)
	}
}
