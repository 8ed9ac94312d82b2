// Package simd says which vector instructions the CPU backend uses. The choice is
// made once, when the program starts: the best that the processor and the system
// offer, or what SINTER_CPU asks for. The package knows nothing of kernels.
package simd

import (
	"fmt"
	"os"
	"strings"
)

// A Level is a set of vector instructions. Each has those of the levels below it.
type Level uint8

// The levels.
const (
	// Portable is plain Go, on every architecture.
	Portable Level = iota
	// AVX2 is x86-64-v3: AVX2 with FMA, F16C, BMI1 and BMI2; 256-bit vectors.
	AVX2
	// AVX512 is x86-64-v4: AVX-512 F, CD, BW, DQ and VL; 512-bit vectors and masks.
	AVX512
	// AVX512BF16 adds sums of products of bfloat16: AVX512-BF16.
	AVX512BF16
	// AMX adds tiles of bfloat16.
	AMX
)

var names = [...]string{"portable", "avx2", "avx512", "avx512bf16", "amx"}

// Levels returns every level, the lowest first. What goes through levels, or has a
// row for each, asks this list.
func Levels() []Level {
	all := make([]Level, len(names))
	for i := range all {
		all[i] = Level(i)
	}
	return all
}

// Usable returns the levels that the processor and the system offer, the lowest first.
func Usable() []Level { return Levels()[:available+1] }

// UsableVectors returns those of the usable levels whose functions differ, the lowest first.
// What tries the code of each level asks this list: a level above them is an illegal
// instruction away.
func UsableVectors() []Level { return Levels()[:available.Vectors()+1] }

// String returns the level's name, as SINTER_CPU has it.
func (l Level) String() string {
	if int(l) < len(names) {
		return names[l]
	}
	return fmt.Sprintf("Level(%d)", uint8(l))
}

// Vectors returns the level whose functions l runs but for products of bfloat16:
// what the highest levels add is for these.
func (l Level) Vectors() Level { return min(l, AVX512) }

// Variable is the environment variable that forces a level.
const Variable = "SINTER_CPU"

var (
	available      = detect()
	active, failed = choose(os.Getenv(Variable), available)
)

// Active returns the level that kernels use.
func Active() Level { return active }

// Available returns the best level that the processor and the system offer.
func Available() Level { return available }

// ahead is what ReadsAhead returns.
var ahead = readsAhead()

// ReadsAhead reports whether the processor fetches what is read in order best by
// itself, from one page to the next, too: AMD's do. Asking for memory ahead then only
// takes time, and vectors of 512 bits read no faster than two halves.
func ReadsAhead() bool { return ahead }

// bytes is what SumsBytes says of the processor.
var bytes = sumsBytes()

// SumsBytes reports whether level l adds up products of bytes by one instruction,
// AVX512-VNNI, which not all processors with AVX-512 have.
func (l Level) SumsBytes() bool { return l >= AVX512 && bytes }

// tiles is what TilesBytes says of the processor.
var tiles = tilesBytes()

// TilesBytes reports whether level l has tiles of bytes, AMX-INT8, beside AVX512-VNNI.
func (l Level) TilesBytes() bool { return l >= AMX && l.SumsBytes() && tiles }

// Err says why the level that the environment asks for cannot be used: it has no
// such name, or the processor lacks it. Kernels are not to be run then.
func Err() error { return failed }

// choose returns the level for a value of the variable.
func choose(value string, available Level) (Level, error) {
	if value == "" {
		return available, nil
	}
	for l, name := range names {
		if !strings.EqualFold(value, name) {
			continue
		}
		if Level(l) > available {
			return available, fmt.Errorf("%s=%s: this processor has %s at most", Variable, value, available)
		}
		return Level(l), nil
	}
	return available, fmt.Errorf("%s=%s is not one of %s", Variable, value, strings.Join(names[:], ", "))
}
