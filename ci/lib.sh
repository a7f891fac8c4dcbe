# What the scripts of ci/ have in common. Sourced, not run: goes to the root of the repository, and gives
#   $BUILD                   where the scripts build, apart from plain `cargo build`
#   skip REASON              ends the script with status 77: what it needs is not installed
#   need PACKAGE...          installs the Debian packages that are missing, or skips
#   install PACKAGE...       installs them, or newer ones, or skips
#   debian_rust [PACKAGE...] switches to Debian's rustc, which comes with the sources of std, so that std can be built for
#                            any target and with any flag; leaves the machine's own toolchain alone
#   copy_package DIR         copies the package and its simulator to DIR, a workspace of their own, to be changed there
#   limited COMMAND...       runs a command that must not hang: it fails after LAYBY_CI_LIMIT seconds (default 900)
#   say TEXT                 a headline
# The distribution is Debian 12, the user root; on anything else `need` skips if a package is missing.
cd "$(dirname "${BASH_SOURCE[0]}")/.."

SKIPPED=77
BUILD=$(realpath -m "${CARGO_TARGET_DIR:-target}")/ci
mkdir -p "$BUILD"
export CARGO_BUILD_JOBS=${CARGO_BUILD_JOBS:-2}

say() { printf '== %s\n' "$*"; }

skip() {
    echo "SKIPPED: $*"
    exit $SKIPPED
}

limited() { timeout --kill-after=10 "${LAYBY_CI_LIMIT:-900}" "$@"; }

# What Cargo.toml, the sources and the tests name; without the packages that are beside it. `[workspace]` stays, so that cargo
# does not look for a workspace above DIR.
copy_package() {
    local part
    mkdir -p "$1"
    for part in Cargo.toml Cargo.lock build.rs README.md src tests examples sim; do
        [ ! -e "$part" ] || cp -r "$part" "$1"
    done
    sed -i 's~^members = .*~members = ["sim/driver"]~; /^default-members = /d' "$1/Cargo.toml"
}

need() {
    local package missing=()
    for package; do
        dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
    done
    [ ${#missing[@]} = 0 ] || install "${missing[@]}"
}

install() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || skip "needs the Debian packages $*, and root to install them"
    echo "installing $*"
    export DEBIAN_FRONTEND=noninteractive
    # A new machine has no package lists, or those of its image, in which the packages are older. Without a network the lists
    # may still do. One script at a time: while one writes the lists, another finds nothing in them.
    { flock 9
      apt-get update -q || true
      apt-get install -y -q --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"; } 9>"$BUILD/apt.lock" >"$BUILD/apt.$$.log" 2>&1 ||
        { tail -n 5 "$BUILD/apt.$$.log"; skip "cannot be installed: $*"; }
}

# Whether Debian's rustc is as new as the crate asks for with its default features.
debian_rust_is_new() {
    local wanted=1.95 have
    have=$(/usr/bin/rustc --version | cut -d' ' -f2)
    printf '%s\n%s\n' "$wanted" "$have" | sort -VC
}

debian_rust() {
    local packages=(rustc-web cargo-web rust-web-src "$@")
    need "${packages[@]}"
    # Installed once, from old lists.
    debian_rust_is_new || install "${packages[@]}"
    debian_rust_is_new || skip "Debian's $(/usr/bin/rustc --version) is older than the crate asks for"
    unset RUSTUP_TOOLCHAIN CARGO_TARGET_DIR CARGO_BUILD_TARGET CARGO_ENCODED_RUSTFLAGS
    export PATH=/usr/bin:$PATH RUSTC=/usr/bin/rustc RUSTDOC=/usr/bin/rustdoc
    export RUSTC_BOOTSTRAP=1 # -Zbuild-std
    export CARGO_PROFILE_DEV_DEBUG=line-tables-only CARGO_PROFILE_TEST_DEBUG=line-tables-only # half of the time to build
}
