//go:build amd64 || arm64

package caller

// chain notes at pcs at most n return addresses of the calling goroutine's frames, the
// nearest first, and returns how many. It follows frame pointers, which Go code keeps, and
// takes some nanoseconds for all of them: it does not ask what is inlined where. Nothing
// moves the stack meanwhile, since a goroutine is not stopped in assembly.
//
//go:noescape
func chain(pcs *uintptr, n int) int
