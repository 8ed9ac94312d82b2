// Package precision holds the process's choices between speed and precision:
// whether float32 products may round their operands to TF32, and whether sums of
// 16-bit products may be rounded to 16 bits on the way. Each call carries what holds
// when it is made, so a change is for the calls after it. The package knows
// no backend and no operator.
//
//	if err := precision.Set(precision.All, precision.IEEE); err != nil { // float32 throughout
//		return err
//	}
//	if err := precision.Set(precision.Conv, precision.TF32); err != nil { // except in convolutions
//		return err
//	}
//	fmt.Println(precision.Get(precision.Matmul), precision.Get(precision.Conv))
//
// A mode is asked for three times: for everything, for a backend, for one of
// its operators. The most specific one that is not None counts. The
// boolean flags are another way to the same modes, not to be mixed with
// them: a flag cannot be read where the modes say more than it can.
//
// SINTER_TF32=0 in the environment starts the process with TF32 off.
package precision

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/ir"
)

// A Mode is how float32 products are computed.
type Mode uint8

// The modes.
const (
	None Mode = iota // as the level above says
	IEEE             // operands and sums in float32
	TF32             // operands rounded to 10 bits of fraction, sums in float32
)

var modeNames = [...]string{None: "none", IEEE: "ieee", TF32: "tf32"}

// String returns "none", "ieee" or "tf32".
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("mode %d", m)
}

// ParseMode returns the mode of that name.
func ParseMode(name string) (Mode, error) {
	for m, n := range modeNames {
		if n == name {
			return Mode(m), nil
		}
	}
	return None, fmt.Errorf("unknown float32 precision %q (want one of %s)", name, strings.Join(modeNames[:], ", "))
}

// A Level is where a mode is set.
type Level uint8

// The levels.
const (
	All         Level = iota // everything
	Matmul                   // matrix products
	Convolution              // convolutions and recurrent layers
	Conv                     // below Convolution: convolutions
	RNN                      // below Convolution: recurrent layers
	levels
)

var levelNames = [...]string{All: "all", Matmul: "matmul", Convolution: "convolution backend", Conv: "convolutions", RNN: "recurrent layers"}

// String names the level.
func (l Level) String() string {
	if l < levels {
		return levelNames[l]
	}
	return fmt.Sprintf("level %d", l)
}

// parent is the level that a None of each inherits from; All has none.
var parent = [levels]Level{Conv: Convolution, RNN: Convolution}

// ErrMixed is wrapped by the error of reading a boolean flag after modes were set
// that it cannot express.
const ErrMixed ir.Error = "mix of the legacy and new APIs to set the TF32 flags: read and set the modes, or the booleans, not both"

// state holds the modes as set, and what follows from them, which is replaced as a whole.
var state struct {
	mu    sync.Mutex
	mode  [levels]Mode
	broad string // what SetFloat32Matmul was given last
	now   atomic.Pointer[ir.Precision]
}

// Now returns what a call that is made now may round.
func Now() ir.Precision { return *state.now.Load() }

// change publishes what set makes of the present choices. state.mu is held.
func change(set func(p *ir.Precision)) {
	next := Now()
	set(&next)
	state.now.Store(&next)
}

func init() { reset(os.Getenv("SINTER_TF32") != "0") }

// reset sets what a process starts with.
func reset(tf32 bool) {
	m := IEEE
	if tf32 {
		m = TF32
	}
	state.mu.Lock()
	defer state.mu.Unlock()
	state.mode = [levels]Mode{Matmul: m, Conv: m, RNN: m}
	state.broad = broadOf(tf32)
	split := ir.Partial{Rounded: true, Split: true}
	state.now.Store(&ir.Precision{Sums: ir.Sums{FP16: split, BF16: split}})
	settle()
}

// settle publishes the modes that count. state.mu is held.
func settle() {
	change(func(p *ir.Precision) {
		p.MatmulTF32, p.ConvTF32, p.RNNTF32 = effective(Matmul) == TF32, effective(Conv) == TF32, effective(RNN) == TF32
	})
}

// effective returns the mode that counts at l; IEEE where none was set.
func effective(l Level) Mode {
	for {
		if m := state.mode[l]; m != None {
			return m
		}
		if l == All {
			return IEEE
		}
		l = parent[l]
	}
}

// Set asks for a mode at a level, for the launches after it. A level or a
// mode that does not exist is an error.
func Set(l Level, m Mode) error {
	if l >= levels || int(m) >= len(modeNames) {
		return fmt.Errorf("no float32 precision %v at %v (want %s)", m, l, strings.Join(modeNames[:], ", "))
	}
	state.mu.Lock()
	defer state.mu.Unlock()
	state.mode[l] = m
	settle()
	return nil
}

// Get returns the mode that counts at a level; None where there is no such level.
func Get(l Level) Mode {
	if l >= levels {
		return None
	}
	state.mu.Lock()
	defer state.mu.Unlock()
	return effective(l)
}

// MatmulTF32 reports whether matrix products of float32 may use TF32.
func MatmulTF32() bool { return Now().MatmulTF32 }

// ConvTF32 reports whether convolutions of float32 may use TF32.
func ConvTF32() bool { return Now().ConvTF32 }

// RNNTF32 reports whether recurrent layers of float32 may use TF32.
func RNNTF32() bool { return Now().RNNTF32 }

func mode(tf32 bool) Mode {
	if tf32 {
		return TF32
	}
	return IEEE
}

// SetMatmulTF32 is the boolean flag of matrix products.
func SetMatmulTF32(on bool) {
	state.mu.Lock()
	defer state.mu.Unlock()
	state.mode[Matmul] = mode(on)
	state.broad = broadOf(on)
	settle()
}

// SetConvTF32 is the boolean flag of convolutions and recurrent layers.
func SetConvTF32(on bool) {
	state.mu.Lock()
	defer state.mu.Unlock()
	state.mode[Convolution], state.mode[Conv], state.mode[RNN] = mode(on), mode(on), mode(on)
	settle()
}

// MatmulFlag reads the boolean flag of matrix products. The error wraps ErrMixed
// where a mode was set that the last boolean or SetFloat32Matmul contradicts.
func MatmulFlag() (bool, error) {
	state.mu.Lock()
	defer state.mu.Unlock()
	on := effective(Matmul) == TF32
	if on != (state.broad != Highest) {
		return on, fmt.Errorf("%w: matmul is %v, the flag was left at %q", ErrMixed, effective(Matmul), state.broad)
	}
	return on, nil
}

// ConvFlag reads the boolean flag of convolutions and recurrent layers. The error
// wraps ErrMixed where the two differ.
func ConvFlag() (bool, error) {
	state.mu.Lock()
	defer state.mu.Unlock()
	conv, rnn := effective(Conv), effective(RNN)
	if conv != rnn {
		return conv == TF32, fmt.Errorf("%w: %v are %v, %v are %v", ErrMixed, Conv, conv, RNN, rnn)
	}
	return conv == TF32, nil
}

// The settings of SetFloat32Matmul.
const (
	Highest = "highest" // IEEE
	High    = "high"    // TF32
	Medium  = "medium"  // TF32
)

func broadOf(tf32 bool) string {
	if tf32 {
		return High
	}
	return Highest
}

// SetFloat32Matmul is the broad switch of matrix products: Highest, High or
// Medium.
func SetFloat32Matmul(setting string) error {
	if setting != Highest && setting != High && setting != Medium {
		return fmt.Errorf("unknown float32 matmul precision %q (want one of %s, %s, %s)", setting, Highest, High, Medium)
	}
	state.mu.Lock()
	defer state.mu.Unlock()
	state.mode[Matmul] = mode(setting != Highest)
	state.broad = setting
	settle()
	return nil
}

// Float32Matmul returns what SetFloat32Matmul was given last, or what the boolean
// flag stands for.
func Float32Matmul() string {
	state.mu.Lock()
	defer state.mu.Unlock()
	return state.broad
}
