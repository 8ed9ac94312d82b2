package cuda

import "github.com/sinter-go/sinter/backend/cuda/cublaslt"

// ClearWorkspaces gives the memory that matrix products work in back to the
// caching allocators of the devices. There is one such workspace for each
// stream that ran a product, as large as CUBLAS_WORKSPACE_CONFIG says; it counts as
// allocated memory, and the next product on the stream allocates it again.
func ClearWorkspaces() error { return cublaslt.ClearWorkspaces() }

// WorkspaceBytes returns how large a workspace a configuration as that of
// CUBLAS_WORKSPACE_CONFIG makes, on a device of a compute capability, as 90 for 9.0.
func WorkspaceBytes(config string, capability int) int64 {
	return cublaslt.WorkspaceBytes(config, capability)
}
