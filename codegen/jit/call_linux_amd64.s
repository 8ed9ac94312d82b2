#include "textflag.h"
#include "funcdata.h"

// The parameters begin at 0(SP), the code's own frame at 64(SP). They are copied by words, as
// they were written: a wider load would wait until all writes had left for the cache.

TEXT ·callSmall(SB), 0, $320-16
	NO_LOCAL_POINTERS
	MOVQ    code+0(FP), AX
	MOVQ    args+8(FP), BX
	MOVQ    0(BX), CX
	MOVQ    8(BX), DX
	MOVQ    16(BX), SI
	MOVQ    24(BX), DI
	MOVQ    32(BX), R8
	MOVQ    40(BX), R9
	MOVQ    48(BX), R10
	MOVQ    56(BX), R11
	MOVQ    CX, 0(SP)
	MOVQ    DX, 8(SP)
	MOVQ    SI, 16(SP)
	MOVQ    DI, 24(SP)
	MOVQ    R8, 32(SP)
	MOVQ    R9, 40(SP)
	MOVQ    R10, 48(SP)
	MOVQ    R11, 56(SP)
	CALL    AX
	RET

TEXT ·callLarge(SB), 0, $4160-16
	NO_LOCAL_POINTERS
	MOVQ    code+0(FP), AX
	MOVQ    args+8(FP), BX
	MOVQ    0(BX), CX
	MOVQ    8(BX), DX
	MOVQ    16(BX), SI
	MOVQ    24(BX), DI
	MOVQ    32(BX), R8
	MOVQ    40(BX), R9
	MOVQ    48(BX), R10
	MOVQ    56(BX), R11
	MOVQ    CX, 0(SP)
	MOVQ    DX, 8(SP)
	MOVQ    SI, 16(SP)
	MOVQ    DI, 24(SP)
	MOVQ    R8, 32(SP)
	MOVQ    R9, 40(SP)
	MOVQ    R10, 48(SP)
	MOVQ    R11, 56(SP)
	CALL    AX
	RET
