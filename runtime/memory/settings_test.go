package memory

import (
	"errors"
	"strings"
	"testing"
)

// configure sets the settings for a test.
func configure(t testing.TB, text string) {
	t.Helper()
	if err := Configure(text); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := Configure(""); err != nil {
			t.Error(err)
		}
	})
}

// TestSettingsFromEnvironment has the names in the order in which they count.
func TestSettingsFromEnvironment(t *testing.T) {
	defer inForce.Store(inForce.Load())
	drv := newFake(1 << 30)
	start(t, drv)
	t.Setenv("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:50")
	for _, c := range []struct{ name, value, want string }{
		{"PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:50", "max_split_size_mb:50"},
		{"PYTORCH_ALLOC_CONF", "max_split_size_mb:60", "max_split_size_mb:60"},
		{"SINTER_ALLOC_CONF", "", ""},
	} {
		t.Setenv(c.name, c.value)
		inForce.Store(nil)
		if got := Settings(); got != c.want {
			t.Errorf("with %s=%s the settings are %q", c.name, c.value, got)
		}
	}
	t.Setenv("SINTER_ALLOC_CONF", "nonsense")
	inForce.Store(nil)
	for range 2 {
		if _, err := Alloc(cuda0, drv, 0, 1); !errors.Is(err, ErrSettings) || !strings.Contains(err.Error(), "environment variable SINTER_ALLOC_CONF: ") {
			t.Errorf("an allocation with bad settings: %v", err)
		}
	}
	if err := Configure("per_process_memory_fraction:0.25"); err != nil {
		t.Fatal(err)
	}
	free(t, take(t, drv, 0, 1))
	if got := MemoryFraction(cuda0); got != 0.25 {
		t.Errorf("the memory fraction is %v", got)
	}
	if err := Configure("max_split_size_mb:1"); err == nil || Settings() != "per_process_memory_fraction:0.25" {
		t.Errorf("after bad settings: %v, %q", err, Settings())
	}
}
