#!/bin/sh
# Models: every loom model, shuttle's deep schedules, programs made of bytes, and every mutant, which must be caught.
#
#   ci/model.sh                 all of it
#   ci/model.sh models          the loom models only
#   ci/model.sh explorer        the independent explorer of the line's protocol only
#   ci/model.sh shuttle         shuttle only
#   ci/model.sh mutants [NAME…] all mutants, or those named
#
# By hand: RUSTFLAGS='--cfg layby_loom' cargo test --release --test 'loom_*' -- --nocapture
# A mutant: RUSTFLAGS='--cfg layby_loom --cfg layby_mutant="no_flush"' cargo test --release --test loom_pick
set -eu
cd "$(dirname "$0")/.."
build=${CARGO_TARGET_DIR:-$PWD/target}/model
unset CARGO_TARGET_DIR RUSTC_WORKSPACE_WRAPPER
export CARGO_PROFILE_RELEASE_DEBUG=0

# What a mutant may take until it is caught. One that hangs is not counted as caught: loom reports its deadlocks.
mutant_seconds=120

# mutant | test file | model that catches it
mutants='
no_publish_fence        | loom_wait_wake | a_plain_store_and_wake_all
no_look_fence           | loom_wait_wake | a_plain_store_and_wake_all
no_ratify               | loom_wait_wake | a_plain_store_and_wake_all
no_ratify_if            | loom_wait_wake | wait_if_and_wake_one
no_wake                 | loom_wait_wake | a_plain_store_and_wake_all
blind_sleep             | loom_wait_wake | a_plain_store_and_wake_all
split_notify            | loom_wait_wake | a_plain_store_and_wake_all
relaxed_detach          | loom_wait_wake | two_keys_in_one_slot
relaxed_push            | loom_lazy      | lingering_against_a_picker
relaxed_notify          | loom_lazy      | lingering_against_a_picker
relaxed_is_notified     | loom_lazy      | lingering_against_a_picker
relaxed_sleep_refused   | loom_lazy      | lingering_against_a_picker
relaxed_pick            | loom_pick      | newcomers_while_a_picker_is_at_work
no_settle               | loom_lazy      | lingering_against_a_picker
leaves_notifiers_hands  | loom_lazy      | lingering_beside_another
leaves_empty_slot       | loom_lazy      | lingering_against_a_picker
leaves_pickers_hands    | loom_lazy      | lingering_against_a_picker
armed_is_moved          | loom_lazy      | armed_twice
relaxed_put_back        | loom_pick      | newcomers_while_a_picker_is_at_work
relaxed_newcomers       | loom_pick      | newcomers_while_a_picker_is_at_work
relaxed_flush           | loom_pick      | newcomers_while_a_picker_is_at_work
no_flush                | loom_pick      | a_picker_of_x_against_a_notifier_of_y
flush_ignored           | loom_pick      | a_picker_of_x_against_a_notifier_of_y
no_flush                | loom_waiters   | a_report_against_a_notifier
flush_ignored           | loom_waiters   | a_report_against_a_notifier
no_flush                | loom_waiters   | two_reports_against_a_notifier
no_flush_asked          | loom_waiters   | a_report_against_a_withdrawal
no_settle               | loom_waiters   | a_report_against_a_lingering_element
visits_in_hand          | loom_waiters   | a_visitor_that_waits
gives_up_when_busy      | loom_pick      | a_picker_of_x_against_a_picker_of_y
gives_up_when_busy      | loom_waiters   | a_report_against_a_wake_of_one
no_flush_asked          | loom_pick      | two_withdrawals
keeps_wake              | loom_pick      | a_wake_of_one_against_a_thread_that_does_not_wait
blind_timeout           | loom_timeout   | wait_until_deadline_against_notify
timeout_hides_wake      | loom_timeout   | wait_if_deadline_against_wake_one
relaxed_timeout_refused | loom_timeout   | location_wait_deadline_against_wake_one
no_marker_look          | loom_line      | giving_up_before_a_taker
no_granted_recheck      | loom_line      | giving_up_before_a_taker
no_give_back_look       | loom_line      | giving_up_against_giving_up
no_last_recheck         | loom_line      | giving_up_against_giving_up
no_give_back_fence      | loom_line      | giving_up_against_giving_up
no_marker_fence         | loom_line      | giving_up_against_giving_up
no_ticket_fence         | loom_line      | take_against_post
relaxed_grant           | loom_line      | a_permit_carries_what_was_written_before_it
relaxed_is_granted      | loom_line      | a_permit_carries_what_was_written_before_it
wakes_the_first_only    | loom_line      | two_takes_against_a_post_of_two
post_passes_one         | loom_line      | giving_up_partly_granted_against_post
settle_passes_one       | loom_line      | giving_up_partly_granted
relaxed_fill            | loom_line      | giving_up_twice
relaxed_look_at_cell    | loom_line      | three_give_up
forgets_the_joined      | loom_line      | two_leave_together_before_a_taker
no_look_at_more         | loom_line      | two_leave_together_before_a_taker
waiter_forgets_waiters  | loom_mutex     | unlock_against_two_locks
no_ratify               | shuttle_fuzz   | random_programs
no_wake                 | shuttle_fuzz   | random_programs
no_marker_look          | shuttle_fuzz   | random_programs
no_granted_recheck      | shuttle_fuzz   | random_programs
post_passes_one         | shuttle_fuzz   | random_programs
settle_passes_one       | shuttle_fuzz   | random_programs
wakes_the_first_only    | shuttle_fuzz   | random_programs
forgets_the_joined      | shuttle_fuzz   | random_programs
'

in_world() { # loom or shuttle, cargo arguments…
    world=$1
    shift
    RUSTFLAGS="--cfg layby_$world" CARGO_TARGET_DIR="$build/$world" cargo "$@"
}

run_models() {
    echo "== loom models"
    in_world loom test --release --test 'loom_*' -- --nocapture
}

run_explorer() {
    echo "== explorer of the line's protocol"
    if command -v python3 >/dev/null; then
        python3 ci/abandon_model.py
    else
        echo "SKIPPED: explorer: python3 is not to be had here"
    fi
}

run_shuttle() {
    echo "== shuttle"
    in_world shuttle test --release --test 'shuttle_*' -- --nocapture
}

# Prints the mutants that the source has.
mutants_in_source() {
    grep -rhoE 'mutant!\("[a-z_]+"' src | sed 's/.*"\(.*\)"/\1/' | sort -u
}

# Only the workspace's own crate is built anew for each mutant: its flag comes by a wrapper of rustc, and cargo tells
# the artifacts of different wrappers apart.
run_mutant() { # name, test file, model: succeeds if the model fails
    mkdir -p "$build/mutants"
    wrapper=$build/mutants/$1
    log=$build/mutants/$1.log
    printf '#!/bin/sh\nexec "$@" --cfg %s\n' "'layby_mutant=\"$1\"'" >"$wrapper"
    chmod +x "$wrapper"
    binary=$(RUSTC_WORKSPACE_WRAPPER=$wrapper in_world "${2%%_*}" test --release --no-run --test "$2" 2>&1 |
        sed -n 's/.*(\(.*\))$/\1/p' | tail -1)
    test -x "$binary" || { echo "the mutant $1 does not build" >&2; exit 2; }
    status=0
    timeout "$mutant_seconds" "$binary" --exact "$3" >"$log" 2>&1 || status=$?
    grep -q '^running 1 test' "$log" || { echo "$2 has no model $3" >&2; exit 2; }
    # 101: a test failed. 134: loom's deadlock, found while destructors ran. 124: it hung.
    test "$status" = 101 || test "$status" = 134
}

run_mutants() { # names, or none for all
    echo "== mutants"
    table=$(mktemp)
    for name in ${*:-$(mutants_in_source)}; do
        rows=$(echo "$mutants" | sed -n "s/^$name  *| *\([a-z_]*\) *| *\([a-z_]*\)$/\1:\2/p")
        for row in ${rows:-none:none}; do
            file=${row%:*}
            model=${row#*:}
            if test "$file" = none; then
                caught='NO MODEL IS NAMED FOR IT'
            elif run_mutant "$name" "$file" "$model"; then
                caught="$file::$model"
            else
                caught="NOT CAUGHT by $file::$model"
            fi
            printf '%-24s| %s\n' "$name" "$caught" | tee -a "$table"
        done
    done
    printf '\n%-24s| %s\n' mutant 'caught by'
    cat "$table"
    survivors=$(grep -c '| NO' "$table" || true)
    rm "$table"
    test "$survivors" = 0 || { echo "$survivors not caught" >&2; exit 1; }
}

what=${1:-all}
test $# = 0 || shift
case $what in
all) run_explorer && run_models && run_shuttle && run_mutants ;;
explorer) run_explorer ;;
models) run_models ;;
shuttle) run_shuttle ;;
mutants) run_mutants "$@" ;;
*) echo "what is $what?" >&2; exit 2 ;;
esac
