package driver

import "strings"

// A symbol is a function of the driver's library.
type symbol int

const (
	cuInit symbol = iota
	cuDriverGetVersion
	cuGetErrorName
	cuGetErrorString
	cuDeviceGetCount
	cuDeviceGet
	cuDeviceGetName
	cuDeviceGetUuid
	cuDeviceTotalMem
	cuDeviceGetAttribute
	cuDeviceCanAccessPeer
	cuDevicePrimaryCtxRetain
	cuDevicePrimaryCtxRelease
	cuDevicePrimaryCtxGetState
	cuCtxSetCurrent
	cuCtxPushCurrent
	cuCtxPopCurrent
	cuCtxSynchronize
	cuCtxGetStreamPriorityRange
	cuCtxEnablePeerAccess
	cuCtxDisablePeerAccess
	cuMemGetInfo
	cuMemAlloc
	cuMemFree
	cuMemHostAlloc
	cuMemFreeHost
	cuMemHostRegister
	cuMemHostUnregister
	cuMemcpyHtoDAsync
	cuMemcpyDtoHAsync
	cuMemcpyDtoDAsync
	cuMemcpyPeerAsync
	cuMemsetD8Async
	cuMemsetD32Async
	cuStreamCreateWithPriority
	cuStreamDestroy
	cuStreamQuery
	cuStreamSynchronize
	cuStreamWaitEvent
	cuStreamWaitValue32
	cuStreamIsCapturing
	cuEventCreate
	cuEventDestroy
	cuEventRecord
	cuEventQuery
	cuEventSynchronize
	cuEventElapsedTime
	cuModuleLoadDataEx
	cuModuleUnload
	cuModuleGetFunction
	cuModuleGetGlobal
	cuFuncGetAttribute
	cuFuncSetAttribute
	cuOccupancyMaxActiveBlocksPerMultiprocessor
	cuOccupancyMaxPotentialBlockSize
	cuLaunchKernel
	cuLaunchKernelEx
	cuStreamBeginCapture
	cuStreamEndCapture
	cuStreamGetCaptureInfo
	cuGraphGetNodes
	cuGraphDestroy
	cuGraphInstantiateWithFlags
	cuGraphLaunch
	cuGraphExecDestroy
	cuGraphExecKernelNodeSetParams
	cuMemAddressReserve
	cuMemAddressFree
	cuMemCreate
	cuMemRelease
	cuMemMap
	cuMemUnmap
	cuMemSetAccess
	cuIpcGetMemHandle
	cuIpcOpenMemHandle
	cuIpcCloseMemHandle
	cuIpcGetEventHandle
	cuIpcOpenEventHandle
	symbols
)

// exported are the names in the library. A suffix is the version of the
// function's signature.
var exported = [symbols]string{
	cuInit:                      "cuInit",
	cuDriverGetVersion:          "cuDriverGetVersion",
	cuGetErrorName:              "cuGetErrorName",
	cuGetErrorString:            "cuGetErrorString",
	cuDeviceGetCount:            "cuDeviceGetCount",
	cuDeviceGet:                 "cuDeviceGet",
	cuDeviceGetName:             "cuDeviceGetName",
	cuDeviceGetUuid:             "cuDeviceGetUuid_v2",
	cuDeviceTotalMem:            "cuDeviceTotalMem_v2",
	cuDeviceGetAttribute:        "cuDeviceGetAttribute",
	cuDeviceCanAccessPeer:       "cuDeviceCanAccessPeer",
	cuDevicePrimaryCtxRetain:    "cuDevicePrimaryCtxRetain",
	cuDevicePrimaryCtxRelease:   "cuDevicePrimaryCtxRelease_v2",
	cuDevicePrimaryCtxGetState:  "cuDevicePrimaryCtxGetState",
	cuCtxSetCurrent:             "cuCtxSetCurrent",
	cuCtxPushCurrent:            "cuCtxPushCurrent_v2",
	cuCtxPopCurrent:             "cuCtxPopCurrent_v2",
	cuCtxSynchronize:            "cuCtxSynchronize",
	cuCtxGetStreamPriorityRange: "cuCtxGetStreamPriorityRange",
	cuCtxEnablePeerAccess:       "cuCtxEnablePeerAccess",
	cuCtxDisablePeerAccess:      "cuCtxDisablePeerAccess",
	cuMemGetInfo:                "cuMemGetInfo_v2",
	cuMemAlloc:                  "cuMemAlloc_v2",
	cuMemFree:                   "cuMemFree_v2",
	cuMemHostAlloc:              "cuMemHostAlloc",
	cuMemFreeHost:               "cuMemFreeHost",
	cuMemHostRegister:           "cuMemHostRegister_v2",
	cuMemHostUnregister:         "cuMemHostUnregister",
	cuMemcpyHtoDAsync:           "cuMemcpyHtoDAsync_v2",
	cuMemcpyDtoHAsync:           "cuMemcpyDtoHAsync_v2",
	cuMemcpyDtoDAsync:           "cuMemcpyDtoDAsync_v2",
	cuMemcpyPeerAsync:           "cuMemcpyPeerAsync",
	cuMemsetD8Async:             "cuMemsetD8Async",
	cuMemsetD32Async:            "cuMemsetD32Async",
	cuStreamCreateWithPriority:  "cuStreamCreateWithPriority",
	cuStreamDestroy:             "cuStreamDestroy_v2",
	cuStreamQuery:               "cuStreamQuery",
	cuStreamSynchronize:         "cuStreamSynchronize",
	cuStreamWaitEvent:           "cuStreamWaitEvent",
	cuStreamWaitValue32:         "cuStreamWaitValue32_v2",
	cuStreamIsCapturing:         "cuStreamIsCapturing",
	cuEventCreate:               "cuEventCreate",
	cuEventDestroy:              "cuEventDestroy_v2",
	cuEventRecord:               "cuEventRecord",
	cuEventQuery:                "cuEventQuery",
	cuEventSynchronize:          "cuEventSynchronize",
	cuEventElapsedTime:          "cuEventElapsedTime",
	cuModuleLoadDataEx:          "cuModuleLoadDataEx",
	cuModuleUnload:              "cuModuleUnload",
	cuModuleGetFunction:         "cuModuleGetFunction",
	cuModuleGetGlobal:           "cuModuleGetGlobal_v2",
	cuFuncGetAttribute:          "cuFuncGetAttribute",
	cuFuncSetAttribute:          "cuFuncSetAttribute",
	cuOccupancyMaxActiveBlocksPerMultiprocessor: "cuOccupancyMaxActiveBlocksPerMultiprocessor",
	cuOccupancyMaxPotentialBlockSize:            "cuOccupancyMaxPotentialBlockSize",
	cuLaunchKernel:                              "cuLaunchKernel",
	cuLaunchKernelEx:                            "cuLaunchKernelEx",
	cuStreamBeginCapture:                        "cuStreamBeginCapture_v2",
	cuStreamEndCapture:                          "cuStreamEndCapture",
	cuStreamGetCaptureInfo:                      "cuStreamGetCaptureInfo_v2",
	cuGraphGetNodes:                             "cuGraphGetNodes",
	cuGraphDestroy:                              "cuGraphDestroy",
	cuGraphInstantiateWithFlags:                 "cuGraphInstantiateWithFlags",
	cuGraphLaunch:                               "cuGraphLaunch",
	cuGraphExecDestroy:                          "cuGraphExecDestroy",
	cuGraphExecKernelNodeSetParams:              "cuGraphExecKernelNodeSetParams_v2",
	cuMemAddressReserve:                         "cuMemAddressReserve",
	cuMemAddressFree:                            "cuMemAddressFree",
	cuMemCreate:                                 "cuMemCreate",
	cuMemRelease:                                "cuMemRelease",
	cuMemMap:                                    "cuMemMap",
	cuMemUnmap:                                  "cuMemUnmap",
	cuMemSetAccess:                              "cuMemSetAccess",
	cuIpcGetMemHandle:                           "cuIpcGetMemHandle",
	cuIpcOpenMemHandle:                          "cuIpcOpenMemHandle_v2",
	cuIpcCloseMemHandle:                         "cuIpcCloseMemHandle",
	cuIpcGetEventHandle:                         "cuIpcGetEventHandle",
	cuIpcOpenEventHandle:                        "cuIpcOpenEventHandle",
}

// name returns the function's name in NVIDIA's documentation.
func (s symbol) name() string { return strings.TrimSuffix(exported[s], "_v2") }
