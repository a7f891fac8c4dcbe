# What the scripts have in common that run something under Wine. Sourced, after lib.sh: switches to Debian's rustc, and gives
#   start_wine                    makes a prefix, and has cargo link with MinGW and run under Wine
#   on_windows COMMAND ARGS...    cargo for x86_64-pc-windows-gnu
#   $wine                         the program
debian_rust rust-web-clippy gcc-mingw-w64-x86-64-win32 wine64

wine=/usr/lib/wine/wine64
export WINEPREFIX=$BUILD/wine WINEDEBUG=${WINEDEBUG:--all} WINEDLLOVERRIDES='mscoree,mshtml,winemenubuilder.exe='
unset DISPLAY WAYLAND_DISPLAY
# Rust's std takes random numbers from bcryptprimitives.dll, which Wine 8 lacks: without it a program ends in silence
# with status 53.
add_missing_dll() {
    local dll=$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll
    [ ! -e "$dll" ] || return 0
    x86_64-w64-mingw32-gcc -O2 -shared -o "$dll" -x c - -ladvapi32 <<'C'
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG); /* RtlGenRandom */
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T count)
{
    while (count) {
        ULONG part = count > 0x10000000 ? 0x10000000 : (ULONG)count;
        if (!SystemFunction036(bytes, part)) return FALSE;
        bytes += part;
        count -= part;
    }
    return TRUE;
}
C
}

start_wine() {
    [ -d "$WINEPREFIX" ] || "$wine" wineboot -i >/dev/null 2>&1
    add_missing_dll
    # Programs of a run that failed must not outlive it; this is the server of our prefix alone.
    trap '/usr/lib/wine/wineserver64 -k 2>/dev/null || true' EXIT
    export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=x86_64-w64-mingw32-gcc
    export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=$wine
}

on_windows() { limited cargo "$1" -Zbuild-std --target x86_64-pc-windows-gnu --target-dir "$BUILD/windows" "${@:2}"; }
