package driver

import (
	"errors"
	"fmt"
	"strings"
)

// What Open's errors wrap.
var (
	ErrNoLibrary = errors.New("no CUDA driver")
	ErrNoDevice  = errors.New("no CUDA device")
	ErrOldDriver = errors.New("the CUDA driver is too old")
)

// A Code is the driver's CUresult. As an error it is what an *Error wraps, so
// that errors.Is(err, OutOfMemory) works.
type Code int32

const (
	Success                  Code = 0
	InvalidValue             Code = 1
	OutOfMemory              Code = 2
	NotInitialized           Code = 3
	Deinitialized            Code = 4
	StubLibrary              Code = 34
	NoDevice                 Code = 100
	InvalidDevice            Code = 101
	InvalidImage             Code = 200
	InvalidContext           Code = 201
	NoBinaryForGPU           Code = 209
	ECCUncorrectable         Code = 214
	PeerAccessUnsupported    Code = 217
	InvalidPTX               Code = 218
	NVLinkUncorrectable      Code = 220
	JITCompilerNotFound      Code = 221
	UnsupportedPTXVersion    Code = 222
	InvalidHandle            Code = 400
	NotFound                 Code = 500
	NotReady                 Code = 600
	IllegalAddress           Code = 700
	LaunchOutOfResources     Code = 701
	LaunchTimeout            Code = 702
	PeerAccessAlreadyEnabled Code = 704
	PeerAccessNotEnabled     Code = 705
	ContextIsDestroyed       Code = 709
	Assert                   Code = 710
	HostAlreadyRegistered    Code = 712
	HostNotRegistered        Code = 713
	HardwareStackError       Code = 714
	IllegalInstruction       Code = 715
	MisalignedAddress        Code = 716
	InvalidAddressSpace      Code = 717
	InvalidPC                Code = 718
	LaunchFailed             Code = 719
	Contained                Code = 721
	NotPermitted             Code = 800
	NotSupported             Code = 801
	SystemDriverMismatch     Code = 803
	CaptureUnsupported       Code = 900
	CaptureInvalid           Code = 901
	CaptureMerge             Code = 902
	CaptureUnmatched         Code = 903
	CaptureUnjoined          Code = 904
	CaptureIsolation         Code = 905
	CaptureImplicit          Code = 906
	CapturedEvent            Code = 907
	Unknown                  Code = 999
)

func (c Code) Error() string { return fmt.Sprintf("CUDA driver error %d", int32(c)) }

// Sticky reports whether the code comes from work that corrupted the device's
// context, or from the device's own failure: all later calls of the process on the
// device fail with it.
func (c Code) Sticky() bool {
	switch c {
	case ECCUncorrectable, NVLinkUncorrectable, IllegalAddress, LaunchTimeout, Assert, HardwareStackError, IllegalInstruction,
		MisalignedAddress, InvalidAddressSpace, InvalidPC, LaunchFailed, Contained:
		return true
	}
	return false
}

// An Error is a call of the driver that failed.
type Error struct {
	Call   string // the driver's function, such as "cuMemAlloc"
	Device int    // ordinal; -1 where the call concerns none
	Code   Code
	Name   string // the driver's name for the code, such as "CUDA_ERROR_OUT_OF_MEMORY"
	Text   string // the driver's description of it
	Detail string // what it was asked for, or the compiler's log; may be ""
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Call)
	if e.Device >= 0 {
		fmt.Fprintf(&b, " on cuda:%d", e.Device)
	}
	fmt.Fprintf(&b, ": %s (%d)", e.Name, int32(e.Code))
	if e.Text != "" {
		fmt.Fprintf(&b, ": %s", e.Text)
	}
	if e.Detail != "" {
		fmt.Fprintf(&b, ": %s", e.Detail)
	}
	if e.Code.Sticky() {
		b.WriteString("; it may come from earlier asynchronous work of the device (SINTER_LAUNCH_BLOCKING=1 shows which operator), " +
			"and this process cannot use the device any more")
	}
	return b.String()
}

// Unwrap returns the code.
func (e *Error) Unwrap() error { return e.Code }

// detailed adds to a failed call's error what it was asked for.
func detailed(err error, format string, args ...any) error {
	var e *Error
	if errors.As(err, &e) && e.Detail == "" {
		e.Detail = fmt.Sprintf(format, args...)
	}
	return err
}
