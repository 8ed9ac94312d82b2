package core_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/tests/patience"
)

// A slowHandler takes what is logged, and is not done before it is let go.
type slowHandler struct {
	mu    sync.Mutex
	text  []string
	until chan struct{}
}

func (h *slowHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h *slowHandler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h *slowHandler) WithGroup(string) slog.Handler            { return h }

func (h *slowHandler) Handle(_ context.Context, r slog.Record) error {
	h.mu.Lock()
	r.Attrs(func(a slog.Attr) bool { h.text = append(h.text, a.Value.String()); return true })
	h.mu.Unlock()
	<-h.until
	return nil
}

// said returns how many errors with a text were logged.
func (h *slowHandler) said(text string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, line := range h.text {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// TestUnseen: errors that nobody looked at are logged, those that somebody did are not, and no
// cleanup waits for the program's handler.
func TestUnseen(t *testing.T) {
	h := &slowHandler{until: make(chan struct{})}
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(h))
	defer close(h.until)
	const unseen = 100 // more than one block of cleanups, or one goroutine that runs them
	func() {
		for range unseen {
			core.Failed(errors.New("nobody asks"))
			if core.Failed(errors.New("somebody asks")).Err() == nil {
				t.Error("no error")
			}
		}
	}()
	if !patience.Until(t, func() bool { runtime.GC(); return h.said("nobody asks") == unseen }) {
		t.Errorf("%d errors were logged while the first ones are being written, want %d", h.said("nobody asks"), unseen)
	}
	if n := h.said("somebody asks"); n != 0 {
		t.Errorf("%d errors were logged that somebody looked at", n)
	}
}
