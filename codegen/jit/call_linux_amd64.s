#include "textflag.h"
#include "funcdata.h"

// The parameters begin at 0(SP), the code's own frame at 64(SP).

TEXT ·callSmall(SB), 0, $320-16
	NO_LOCAL_POINTERS
	MOVQ    code+0(FP), AX
	MOVQ    args+8(FP), BX
	VMOVDQU 0(BX), Y0
	VMOVDQU 32(BX), Y1
	VMOVDQU Y0, 0(SP)
	VMOVDQU Y1, 32(SP)
	CALL    AX
	RET

TEXT ·callLarge(SB), 0, $4160-16
	NO_LOCAL_POINTERS
	MOVQ    code+0(FP), AX
	MOVQ    args+8(FP), BX
	VMOVDQU 0(BX), Y0
	VMOVDQU 32(BX), Y1
	VMOVDQU Y0, 0(SP)
	VMOVDQU Y1, 32(SP)
	CALL    AX
	RET
