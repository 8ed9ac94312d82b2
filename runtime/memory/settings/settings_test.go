package settings

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const mib = 1 << 20

func TestParse(t *testing.T) {
	type change func(*Settings)
	for _, c := range []struct {
		text string
		want change
	}{
		{"", func(*Settings) {}},
		{" backend : native ", func(*Settings) {}},
		{"max_split_size_mb:100, max_non_split_rounding_mb:40", func(s *Settings) { s.MaxSplit, s.MaxRounding = 100*mib, 40*mib }},
		{"roundup_power2_divisions:4", func(s *Settings) { s.fillDivisions(0, 4) }},
		{"roundup_power2_divisions:[64:8,256:4,>:1]", func(s *Settings) {
			s.divisions = [numDivisions]uint64{8, 8, 8, 8, 8, 8, 8, 0, 4, 1, 1, 1, 1, 1, 1, 1}
			s.rounds = true
		}},
		{"roundup_power2_divisions:[1048576:2]", func(s *Settings) { s.fillDivisions(0, 2) }},
		{"garbage_collection_threshold:0.6,expandable_segments:True", func(s *Settings) { s.CollectFrom, s.Expandable = 0.6, true }},
		{"per_process_memory_fraction:0,large_segment_size_mb:32,throw_on_cudamalloc_oom:True", func(s *Settings) {
			s.Fraction, s.LargeSegment, s.Rejects = 0, 32*mib, true
		}},
		{"release_lock_on_cudamalloc:True\n,\texpandable_segments:False", func(*Settings) {}},
		{"pinned_use_cuda_host_register:True,pinned_num_register_threads:8,pinned_use_background_threads:True", func(s *Settings) {
			s.Pinned.Register, s.Pinned.Threads, s.Pinned.Background = true, 8, true
		}},
		{"pinned_reserve_segment_size_mb:64,pinned_max_round_threshold_mb:1,pinned_max_cached_size_mb:2", func(s *Settings) {
			s.Pinned.Reserve, s.Pinned.MaxRound, s.Pinned.MaxCached = 64*mib, mib, 2*mib
		}},
		{"max_split_size_mb:30,max_split_size_mb:25", func(s *Settings) { s.MaxSplit = 25 * mib }},
	} {
		want := Default()
		want.Text = c.text
		c.want(want)
		got, err := Parse(c.text)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Settings{}), cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%q: %v %s", c.text, err, diff)
		}
	}
}

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"foo:1":                     "Unrecognized key 'foo', want one of backend, max_split_size_mb,",
		"max_split_size_mb":         `"max_split_size_mb": want key:value`,
		"expandable_segments:true":  "want True or False",
		"expandable_segments:True,": `"": want key:value`,
		"backend:cudaMallocAsync":   "not provided, want native",
		"backend:mine":              "want native",
		"max_split_size_mb:2":       "too small, want at least the large segments' 20",
		"max_split_size_mb:30,large_segment_size_mb:32": "too small, want at least the large segments' 32",
		"max_split_size_mb:-1":                          "want a whole number of MiB, at least 1",
		"max_split_size_mb:1.5":                         "want a whole number of MiB, at least 1",
		"large_segment_size_mb:8":                       "want an even number of MiB, at least 10",
		"large_segment_size_mb:21":                      "want an even number of MiB, at least 10",
		"garbage_collection_threshold:0":                "garbage_collection_threshold is invalid",
		"garbage_collection_threshold:1":                "garbage_collection_threshold is invalid",
		"garbage_collection_threshold:NaN":              "garbage_collection_threshold is invalid",
		"per_process_memory_fraction:1.1":               "per_process_memory_fraction is invalid",
		"per_process_memory_fraction:-0.5":              "per_process_memory_fraction is invalid",
		"roundup_power2_divisions:3":                    "want a power of two",
		"roundup_power2_divisions:[3:2]":                "entry 3:2: want a power of two of MiB",
		"roundup_power2_divisions:[4:3]":                `entry 4:3: the divisions are "3"`,
		"roundup_power2_divisions:[4]":                  `entry 4: the divisions are ""`,
		"roundup_power2_divisions:[]":                   "want a number, or a list",
		"roundup_power2_divisions:[4:2":                 "want a number, or a list",
		"pinned_num_register_threads:3":                 "want a power of two, at most 128",
		"pinned_num_register_threads:256":               "want a power of two, at most 128",
		"pinned_use_cuda_host_register:1":               "want True or False",
		"graph_capture_record_stream_reuse:False":       "Unrecognized key",
	} {
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestRound(t *testing.T) {
	for _, c := range []struct {
		divisions   string
		bytes, want int64
	}{
		{"0", 1, 512},
		{"1", 84*mib - 1, 84 * mib},
		{"4", 84 * mib, 96 * mib},
		{"8", 84 * mib, 88 * mib},
		{"2", 400 * mib, 512 * mib},
		{"4", 1200, 1536},
		{"4", 2048, 2048},
		{"4", 2049, 2560},
		{"4", 64 * mib, 64 * mib},
		{"16", 1<<59 + 1, 1<<59 + 1<<55},
		{"[64:8,128:2,256:2,512:2,1024:1,>:1]", 84 * mib, 88 * mib},
		{"[64:8,128:2,256:2,512:2,1024:1,>:1]", 400 * mib, 512 * mib},
		{"[64:8,128:2,256:2,512:2,1024:1,>:1]", 3000*mib + 1, 3000*mib + 512},
		{"[64:8,>:4]", 10000, 10240},
		{"[64:8,>:4]", 130 * mib, 160 * mib},
	} {
		s, err := Parse("roundup_power2_divisions:" + c.divisions)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Round(c.bytes); got != c.want {
			t.Errorf("divisions %s: %d bytes round to %d, want %d", c.divisions, c.bytes, got, c.want)
		}
	}
}

func TestFits(t *testing.T) {
	s, err := Parse("max_split_size_mb:40,max_non_split_rounding_mb:10")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		size, have int64
		want       bool
	}{
		{39 * mib, 39 * mib, true},
		{39 * mib, 40 * mib, false},
		{40 * mib, 40 * mib, true},
		{40 * mib, 50*mib - 512, true},
		{40 * mib, 50 * mib, false},
	} {
		if got := s.Fits(c.size, c.have); got != c.want {
			t.Errorf("a block of %d for %d bytes: %t", c.have, c.size, got)
		}
	}
	if s := Default(); !s.Fits(1, math.MaxInt64-1) {
		t.Error("without limits a block is too large")
	}
}
