package mpi

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// TestABI compares the values of the standard with the header of the MPI whose mpiexec is
// in the path.
func TestABI(t *testing.T) {
	launcher, err := exec.LookPath("mpiexec")
	if err != nil {
		t.Skip("needs mpiexec (pip install mpich)")
	}
	header, err := os.ReadFile(filepath.Join(filepath.Dir(launcher), "..", "include", "mpi_abi.h"))
	if err != nil {
		t.Skip(err)
	}
	for name, want := range map[string]int64{
		"MPI_UNDEFINED": undefined,
		"MPI_SUCCESS":   success, "MPI_THREAD_SERIALIZED": threadSerialized, "MPI_MAX_ERROR_STRING": maxErrorString,
		"MPI_COMM_WORLD": commWorld, "MPI_COMM_SELF": commSelf, "MPI_ERRORS_RETURN": errorsReturn, "MPI_IN_PLACE": inPlace,
		"MPI_SUM": opSum, "MPI_MIN": opMin, "MPI_MAX": opMax, "MPI_PROD": opProduct,
		"MPI_BYTE": typeByte, "MPI_INT8_T": typeInt8, "MPI_UINT8_T": typeUint8, "MPI_INT16_T": typeInt16, "MPI_UINT16_T": typeUint16, "MPI_UINT32_T": typeUint32,
		"MPI_INT32_T": typeInt32, "MPI_INT64_T": typeInt64, "MPI_UINT64_T": typeUint64, "MPI_FLOAT": typeFloat,
		"MPI_DOUBLE": typeDouble, "MPI_C_FLOAT_COMPLEX": typeComplex, "MPI_C_DOUBLE_COMPLEX": typeComplex128,
	} {
		found := regexp.MustCompile(`(?m)\b` + name + `\s+(?:=\s*|\(\(\w+\*?\)|\()?(-?\w+)`).FindSubmatch(header)
		if found == nil {
			t.Errorf("the header has no %s", name)
			continue
		}
		if have, err := strconv.ParseInt(string(found[1]), 0, 64); err != nil || have != want {
			t.Errorf("%s is %s, want %#x", name, found[1], want)
		}
	}
	for _, name := range names {
		if !regexp.MustCompile(`\b` + name + `\(`).Match(header) {
			t.Errorf("the header has no function %s", name)
		}
	}
}
