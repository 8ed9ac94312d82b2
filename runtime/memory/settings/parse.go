package settings

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// An option is one key of the settings.
type option struct {
	key string
	set func(s *Settings, value string) error
}

// options are the keys there are, in the order that errors list them in.
var options = []option{
	{"backend", setBackend},
	{"max_split_size_mb", size(func(s *Settings, n int64) { s.MaxSplit = n }, 1)},
	{"max_non_split_rounding_mb", size(func(s *Settings, n int64) { s.MaxRounding = n }, 1)},
	{"roundup_power2_divisions", setDivisions},
	{"garbage_collection_threshold", setThreshold},
	{"expandable_segments", flag(func(s *Settings, on bool) { s.Expandable = on })},
	{"per_process_memory_fraction", setFraction},
	{"large_segment_size_mb", setLargeSegment},
	{"throw_on_cudamalloc_oom", flag(func(s *Settings, on bool) { s.Rejects = on })},
	{"release_lock_on_cudamalloc", flag(func(*Settings, bool) {})},
	{"pinned_use_cuda_host_register", flag(func(s *Settings, on bool) { s.Pinned.Register = on })},
	{"pinned_num_register_threads", setThreads},
	{"pinned_use_background_threads", flag(func(s *Settings, on bool) { s.Pinned.Background = on })},
	{"pinned_reserve_segment_size_mb", size(func(s *Settings, n int64) { s.Pinned.Reserve = n }, 0)},
	{"pinned_max_round_threshold_mb", size(func(s *Settings, n int64) { s.Pinned.MaxRound = n }, 0)},
	{"pinned_max_cached_size_mb", size(func(s *Settings, n int64) { s.Pinned.MaxCached = n }, 0)},
}

// unrecognized is how PyTorch begins what it says of an unknown key.
const unrecognized = "Unrecognized key"

// Parse reads a text of settings, in the form that memory.Configure documents.
func Parse(text string) (*Settings, error) {
	s := Default()
	s.Text = text
	compact := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
	if compact == "" {
		return s, nil
	}
	for _, entry := range splitList(compact) {
		key, value, ok := strings.Cut(entry, ":")
		i := slices.IndexFunc(options, func(o option) bool { return o.key == key })
		switch {
		case !ok:
			return nil, fmt.Errorf("%q: want key:value", entry)
		case i < 0:
			return nil, fmt.Errorf("%s '%s', want one of %s", unrecognized, key, optionKeys())
		}
		if err := options[i].set(s, value); err != nil {
			return nil, fmt.Errorf("%s:%s: %w", key, value, err)
		}
	}
	if s.MaxSplit < s.LargeSegment {
		return nil, fmt.Errorf("max_split_size_mb:%d: too small, want at least the large segments' %d", s.MaxSplit>>20, s.LargeSegment>>20)
	}
	return s, nil
}

func optionKeys() string {
	var keys []string
	for _, o := range options {
		keys = append(keys, o.key)
	}
	return strings.Join(keys, ", ")
}

// splitList divides text at the commas that are in no brackets.
func splitList(text string) []string {
	var parts []string
	depth, from := 0, 0
	for i, r := range text {
		switch r {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, text[from:i])
				from = i + 1
			}
		}
	}
	return append(parts, text[from:])
}

func setBackend(_ *Settings, value string) error {
	switch value {
	case "native":
		return nil
	case "cudaMallocAsync":
		return fmt.Errorf("the driver's stream-ordered allocator is not provided, want native")
	}
	return fmt.Errorf("want native")
}

// flag is an option that is True or False.
func flag(set func(*Settings, bool)) func(*Settings, string) error {
	return func(s *Settings, value string) error {
		if value != "True" && value != "False" {
			return fmt.Errorf("want True or False")
		}
		set(s, value == "True")
		return nil
	}
}

// size is an option in MiB.
func size(set func(*Settings, int64), least int64) func(*Settings, string) error {
	return func(s *Settings, value string) error {
		n, err := mebibytes(value, least)
		if err != nil {
			return err
		}
		set(s, n)
		return nil
	}
}

// mebibytes reads a number of MiB and returns bytes.
func mebibytes(value string, least int64) (int64, error) {
	n, err := strconv.ParseUint(value, 10, 39)
	if err != nil || int64(n) < least {
		return 0, fmt.Errorf("want a whole number of MiB, at least %d", least)
	}
	return int64(n) << 20, nil
}

func setLargeSegment(s *Settings, value string) error {
	n, err := mebibytes(value, minLargeMiB)
	if err != nil || n%directRounding != 0 {
		return fmt.Errorf("want an even number of MiB, at least %d", minLargeMiB)
	}
	s.LargeSegment = n
	return nil
}

func setThreshold(s *Settings, value string) error {
	f, err := strconv.ParseFloat(value, 64)
	if err != nil || !(f > 0 && f < 1) {
		return fmt.Errorf("garbage_collection_threshold is invalid, want a number between 0 and 1, and neither")
	}
	s.CollectFrom = f
	return nil
}

func setFraction(s *Settings, value string) error {
	f, err := strconv.ParseFloat(value, 64)
	if err != nil || !(f >= 0 && f <= 1) {
		return fmt.Errorf("per_process_memory_fraction is invalid, want a number from 0 to 1")
	}
	s.Fraction = f
	return nil
}

func setThreads(s *Settings, value string) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n&(n-1) != 0 || n > maxThreads {
		return fmt.Errorf("want a power of two, at most %d", maxThreads)
	}
	s.Pinned.Threads = n
	return nil
}

// setDivisions reads one number for all sizes, or a list by size. An entry is for
// sizes from its own on up to twice that, the first one for smaller sizes too, ">"
// for larger ones than the entry before it.
func setDivisions(s *Settings, value string) error {
	list, bracketed := strings.CutPrefix(value, "[")
	if !bracketed {
		n, err := divisions(value)
		if err != nil {
			return err
		}
		s.fillDivisions(0, n)
		return nil
	}
	list, closed := strings.CutSuffix(list, "]")
	if !closed || list == "" || strings.ContainsAny(list, "[]") {
		return fmt.Errorf("want a number, or a list as in [256:1,512:2,>:4]")
	}
	last := -1
	for _, entry := range strings.Split(list, ",") {
		from, number, _ := strings.Cut(entry, ":")
		n, err := divisions(number)
		if err != nil {
			return fmt.Errorf("entry %s: %w", entry, err)
		}
		if from == ">" {
			s.fillDivisions(last+1, n)
			continue
		}
		mb, err := strconv.ParseUint(from, 10, 40)
		if err != nil || mb == 0 || mb&(mb-1) != 0 {
			return fmt.Errorf("entry %s: want a power of two of MiB, or >, before the colon", entry)
		}
		first := last < 0
		last = min(bits.Len64(mb)-1, numDivisions-1)
		for i := range last {
			if first {
				s.divisions[i] = n
			}
		}
		s.divisions[last] = n
		s.rounds = s.rounds || n > 1
	}
	return nil
}

// divisions reads how many parts there are between powers of two.
func divisions(value string) (uint64, error) {
	n, err := strconv.ParseUint(value, 10, 20)
	if err != nil || n&(n-1) != 0 {
		return 0, fmt.Errorf("the divisions are %q, want a power of two, or 0 for none", value)
	}
	return n, nil
}

func (s *Settings) fillDivisions(from int, n uint64) {
	for i := from; i < numDivisions; i++ {
		s.divisions[i] = n
	}
	s.rounds = s.rounds || n > 1
}

// division returns the divisions for a size.
func (s *Settings) division(n int64) uint64 {
	return s.divisions[min(max(bits.Len64(uint64(n))-1-firstDivided, 0), numDivisions-1)]
}

// roundPart rounds n up to the next of d parts between the powers of two around it.
// d is a power of two.
func roundPart(n int64, d uint64) int64 {
	if n&(n-1) == 0 {
		return n
	}
	floor := int64(1) << (bits.Len64(uint64(n)) - 1)
	step := floor >> (bits.Len64(d) - 1)
	if step == 0 {
		return floor << 1
	}
	return (n + step - 1) &^ (step - 1)
}
