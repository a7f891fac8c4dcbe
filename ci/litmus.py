#!/usr/bin/env python3
"""Litmus tests: each pair of the protocols reduced to its core, judged by the language's memory model (memory_model.py).

loom takes SeqCst accesses for acquire and release, and hardware is stronger than the language. Here nothing is: for each
test every execution that C++20 (and so Rust) allows is enumerated, and none has the forbidden outcome.

The orders are not written here. `o('name')` is the one that the mutant of that name weakens, be it of an access or of a
fence: its row in ci/mutants/*.txt has the source's own line, and fits it or the script ends. So a weaker order in the source
fails here. And each order is shown to be needed: with a weaker one in its place (the first that does is printed) the
forbidden outcome must be allowed, unless the test says that the order is `spare`, which must be true as well.

  ci/litmus.py                    all tests, and their twins
  ci/litmus.py TEST MUTANT        one test with that order relaxed: fails if it is caught
"""

import sys
import time

from memory_model import executions, fence, load, store, update
from mutants import Misfit, order_of

# From the strongest to none at all: a fence that is relaxed does nothing.
WEAKER = {
    'R': ['SeqCst', 'Acquire', 'Relaxed'],
    'W': ['SeqCst', 'Release', 'Relaxed'],
    'U': ['SeqCst', 'AcqRel', 'Acquire', 'Release', 'Relaxed'],
    'F': ['SeqCst', 'AcqRel', 'Relaxed'],
}


class Named(str):
    """An order that has a name in the tables of mutants."""


def o(name):
    try:
        order = Named(order_of(name))
    except Misfit as misfit:
        sys.exit(str(misfit))
    order.name = name
    return order


def add(n=1):
    return lambda value: value + n


def swap(expected, new):
    """A compare-and-swap that succeeds."""
    return lambda value: new if value == expected else None


# The two halves of the wait table: src/wait_table/mod.rs, "The protocol".
def publish():
    return [update('slot', add(), o('relaxed_push')), fence(o('no_publish_fence'))]


def look(order='relaxed_look'):
    return load('slot', o(order))


PUSH_IS_SPARE = {'relaxed_push'}


def waits_and_wakes():
    """A condition is changed while a waiter is published: one of them sees the other."""
    x0 = dict(slot=0, x=0)
    # WaitTable::wait_until against wake_all, after a plain store; also WaitPoint::commit against notify, and Condvar.
    yield ('wait_against_wake', x0,
           [publish() + [load('x', 'Relaxed')], [store('x', 1, 'Relaxed'), fence(o('no_look_fence')), look()]],
           lambda r: r[0, 2] == 0 and r[1, 2] == 0, {'relaxed_push', 'relaxed_look'})
    # WaitPoint::prepare against WaitPoint::announce: the word is the point's own.
    yield ('prepare_against_announce', dict(point=0, x=0),
           [[update('point', add(), 'Relaxed'), fence(o('no_publish_fence')), load('x', 'Relaxed')],
            [store('x', 1, 'Relaxed'), fence(o('no_look_fence')), load('point', 'Relaxed')]],
           lambda r: r[0, 2] == 0 and r[1, 2] == 0, set())
    # The forms without fence B: WaitTable::wake_all_seqcst after a SeqCst change of the caller's.
    for name, change in [('store', store('x', 1, 'SeqCst')), ('update', update('x', add(), 'SeqCst'))]:
        yield (f'wake_after_a_seqcst_{name}', x0, [publish() + [load('x', 'Relaxed')], [change, look()]],
               lambda r: r[0, 2] == 0 and r[1, 1] == 0, PUSH_IS_SPARE)
    # A task, the first of its table: it announces tasks, adds a bank, and publishes in it (src/wait_table/task/banks.rs).
    k0 = dict(alerts=0, bank=0, slot=0, x=0)
    announce = [update('alerts', add(), 'Relaxed'), update('bank', add(), o('relaxed_bank'))]
    find = [load('alerts', o('relaxed_look_for_alerts'), lambda seen: seen),
            load('bank', o('relaxed_look_for_banks'), lambda seen: seen), look()]
    yield ('task_against_a_seqcst_update', k0,
           [announce + publish() + [load('x', 'Relaxed')], [update('x', add(), 'SeqCst')] + find],
           lambda r: r[0, 4] == 0 and r.get((1, 3), 0) == 0, PUSH_IS_SPARE | {'relaxed_bank'})
    # The same, in a bank that another task has added.
    yield ('task_in_anothers_bank_against_a_seqcst_update', k0,
           [announce, [load('alerts', 'Relaxed', lambda seen: seen),
                       load('bank', o('relaxed_look_for_banks'), lambda seen: seen)] + publish() + [load('x', 'Relaxed')],
            [update('x', add(), 'SeqCst')] + find],
           lambda r: r.get((1, 4)) == 0 and r.get((2, 3), 0) == 0, PUSH_IS_SPARE | {'relaxed_bank'})
    # A task that was called for nothing and waits on where it is, C2 of src/wait_table/task/element.rs: its gate is PARKED (1) again, and
    # it has not written to the slot, where the notifier finds it.
    yield ('called_against_a_seqcst_update', dict(gate=0, slot=1, x=0),
           [[update('gate', swap(0, 1), o('relaxed_wait_on')), fence(o('no_publish_fence')), load('x', 'Relaxed')],
            [update('x', add(), 'SeqCst'), look(), load('gate', o('relaxed_look_at_called'))]],
           lambda r: r[0, 2] == 0 and r[1, 2] == 0, {'relaxed_wait_on', 'relaxed_look'})
    # T2 of src/ticket_queue/mod.rs, EventCount::wait_at_least against advance and close, the listings' takes against posts.
    for name, change, check in [
        ('conservative_post', update('x', add(), o('relaxed_conservative_grant')), 'relaxed_is_granted'),
        ('hand_over', store('x', 1, o('relaxed_hand_over')), 'relaxed_is_granted'),
        ('pass_over', update('x', add(), o('relaxed_pass_over')), 'relaxed_is_granted'),
        ('post_of_many', update('x', add(), o('relaxed_grant_of_many')), 'relaxed_is_granted'),
        ('advance', update('x', add(), o('relaxed_add')), 'relaxed_count'),
        ('wide_advance', update('x', add(), o('relaxed_add_if')), 'relaxed_count'),
        ('close', update('x', add(8), o('relaxed_close')), 'relaxed_count'),
        ('close_of_a_graph', store('x', 1, o('relaxed_graph_close')), 'relaxed_is_graph_closed'),
        ('listing_4', update('x', add(), o('relaxed_listing_grant')), 'relaxed_surplus'),
    ]:
        yield (f'wait_against_{name}', x0, [publish() + [load('x', o(check))], [change, look()]],
               lambda r: r[0, 2] == 0 and r[1, 1] == 0, PUSH_IS_SPARE | {check})
    # The lanes of src/pipeline/ring/lane.rs, in the form with two fences.
    yield ('sleep_against_advance', dict(wanted=0, count=0),
           [[update('wanted', add(), 'Relaxed'), fence(o('no_heavy_fence')), load('count', 'Relaxed')],
            [store('count', 1, 'Relaxed'), fence(o('no_light_fence')), load('wanted', 'Relaxed')]],
           lambda r: r[0, 2] == 0 and r[1, 2] == 0, set())
    # RawMutex: may_sleep against release, which looks only if it finds WAITERS (2) beside LOCKED (1).
    yield ('may_sleep_against_release', dict(slot=0, state=1),
           [publish() + [update('state', lambda state: state | 2 if state & 1 else state, 'Relaxed')],
            [update('state', add(-1), o('relaxed_release'), lambda state: state != 1), fence(o('no_look_fence')), look()]],
           lambda r: r[0, 2] & 1 and r.get((1, 2), 0) == 0, {'relaxed_push', 'relaxed_release', 'relaxed_look'})
    # Relay::notify_all against Relay::pass_on: whoever stops running sees who was released because it ran.
    yield ('released_against_the_last_runner', dict(slot=0, runs=1),
           [[update('slot', add(), o('relaxed_put_back')), fence(o('no_look_fence')), update('runs', lambda _: 1, 'Relaxed')],
            [store('runs', 0, 'Relaxed'), fence(o('no_look_fence')), look()]],
           lambda r: r[0, 2] == 1 and r[1, 2] == 0, {'relaxed_put_back', 'relaxed_look'})


def lines():
    """src/ticket_queue: tickets, grants and marks."""
    t0 = dict(ticket=0, grant=0)
    # T1: TicketQueue::draw, or draw_many, and the check that follows, against TicketQueue::post.
    for name, draw in [('take', 'relaxed_draw'), ('take_of_many', 'relaxed_draw_of_many')]:
        yield (f'{name}_against_post', t0,
               [[update('ticket', add(), o(draw)), load('grant', o('relaxed_is_granted'))],
                [update('grant', add(), o('relaxed_grant')), load('ticket', o('relaxed_is_drawn'))]],
               lambda r: r[0, 1] == 0 and r[1, 1] == 0, set())
    # The same, by Abandoned::wake_and_take_out after a post of many, and after tickets that are passed over.
    for name, grant in [('post_of_many', 'relaxed_grant_of_many'), ('pass_over', 'relaxed_pass_over')]:
        yield (f'take_against_{name}', t0,
               [[update('ticket', add(), o('relaxed_draw')), load('grant', o('relaxed_is_granted'))],
                [update('grant', add(), o(grant)), load('ticket', o('relaxed_look_at_the_line'))]],
               lambda r: r[0, 1] == 0 and r[1, 1] == 0, set())
    # The same in the listings: Tickets::draw, surplus, grant and is_drawn.
    yield ('listing_2_take_against_post', t0,
           [[update('ticket', add(), o('relaxed_listing_draw')), load('grant', o('relaxed_surplus'))],
            [update('grant', add(), o('relaxed_listing_grant')), load('ticket', o('relaxed_listing_is_drawn'))]],
           lambda r: r[0, 1] == 0 and r[1, 1] == 0, set())
    # M1: a mark against a grant. Abandoned::mark's S4 and S5, in a cell of its own, against a post and TicketQueue::after_grant.
    m0 = dict(grant=0, ticket=2, alerts=0, cell=0)
    seen = lambda value: value
    mark = [update('alerts', add(), o('relaxed_raise')), store('cell', 1, o('relaxed_fill'))]
    find = [load('alerts', o('relaxed_look_for_alerts'), seen), load('cell', o('relaxed_look_at_cell'))]
    grants = [('grant', 'relaxed_grant'), ('conservative_grant', 'relaxed_conservative_grant'),
              ('grant_of_many', 'relaxed_grant_of_many'), ('pass_over', 'relaxed_pass_over')]
    for name, grant in grants:
        yield (f'marker_against_{name}', m0,
               [mark + [load('grant', o('relaxed_is_granted'))], [update('grant', add(), o(grant))] + find],
               lambda r: r[0, 2] == 0 and r.get((1, 2), 0) == 0, set())
    yield ('marker_against_hand_over', m0,
           [mark + [load('grant', o('relaxed_is_granted'))], [store('grant', 1, o('relaxed_hand_over'))] + find],
           lambda r: r[0, 2] == 0 and r.get((1, 2), 0) == 0, set())
    # The same beside a mark of somebody else's (1), in its cell: Cell::try_change, which adds another (2).
    beside = update('cell', swap(1, 3), o('relaxed_change_of_markers'))
    for name, grant in grants:
        yield (f'marker_beside_others_against_{name}', dict(grant=0, cell=1),
               [[beside, load('grant', o('relaxed_is_granted'))],
                [update('grant', add(), o(grant)), load('cell', o('relaxed_look_at_cell'))]],
               lambda r: r[0, 1] == 0 and r[1, 1] & 2 == 0, set())
    # And under the alert that the other one has raised.
    yield ('marker_under_anothers_alert_against_grant', m0,
           [mark, [beside, load('grant', o('relaxed_is_granted'))], [update('grant', add(), o('relaxed_grant'))] + find],
           lambda r: r[1, 1] == 0 and r.get((2, 2), 0) & 2 == 0, set())
    # M2: a mark against the end of the line. S7 and S2.
    yield ('marker_against_give_back', m0,
           [mark + [load('ticket', o('relaxed_is_last'))], [update('ticket', swap(2, 1), o('relaxed_give_back'))] + find],
           lambda r: r[0, 2] == 2 and r.get((1, 2), 0) == 0, set())
    yield ('marker_beside_others_against_give_back', dict(ticket=2, cell=1),
           [[beside, load('ticket', o('relaxed_is_last'))],
            [update('ticket', swap(2, 1), o('relaxed_give_back')), load('cell', o('relaxed_look_at_cell'))]],
           lambda r: r[0, 1] == 2 and r[1, 1] & 2 == 0, set())
    # The first mark of a level: Markers::mark_in_a_new_cell against levels_above.
    yield ('level_against_grant', dict(grant=0, top=0, above=0, cell=0),
           [[update('top', add(), 'Relaxed'), update('above', add(), o('relaxed_above')),
             store('cell', 1, o('relaxed_fill')), load('grant', o('relaxed_is_granted'))],
            [update('grant', add(), o('relaxed_grant')), load('above', o('relaxed_look_above'), seen),
             load('top', 'Relaxed', seen), load('cell', o('relaxed_look_at_cell'))]],
           lambda r: r[0, 3] == 0 and r.get((1, 3), 0) == 0, set())
    # In another bank than the first: claim and Bank::note_publication against banks.
    yield ('larger_bank_against_grant', dict(grant=0, here=0, larger=0, cell=0),
           [[update('larger', add(), o('relaxed_larger')), update('here', add(), o('relaxed_here')),
             store('cell', 1, o('relaxed_fill')), load('grant', o('relaxed_is_granted'))],
            [update('grant', add(), o('relaxed_grant')), load('larger', o('relaxed_look_at_larger'), seen),
             load('here', o('relaxed_look_here'), seen), load('cell', o('relaxed_look_at_cell'))]],
           lambda r: r[0, 3] == 0 and r.get((1, 3), 0) == 0, set())
    yield ('first_bank_against_grant', dict(grant=0, here=0, cell=0),
           [[update('here', add(), o('relaxed_here')), store('cell', 1, o('relaxed_fill')),
             load('grant', o('relaxed_is_granted'))],
            [update('grant', add(), o('relaxed_grant')), load('here', o('relaxed_look_here'), seen),
             load('cell', o('relaxed_look_at_cell'))]],
           lambda r: r[0, 2] == 0 and r.get((1, 2), 0) == 0, set())
    # M3: what was granted (`cell`), and another one behind it (`other`): C2 finds that, or who marks it finds the granted one (S6).
    yield ('marker_against_walk', dict(grant=0, cell=0, other=0),
           [[store('cell', 1, o('relaxed_fill')), load('grant', o('relaxed_is_granted'))],
            [update('grant', add(), o('relaxed_conservative_grant')), load('other', o('relaxed_look_at_cell'))],
            [store('other', 1, o('relaxed_fill')), load('grant', o('relaxed_is_granted')),
             load('cell', o('relaxed_look_at_cell'))]],
           lambda r: r[0, 1] == 0 and r[1, 1] == 0 and not (r[2, 1] and r[2, 2]), set())
    # Whether to look at all: wake_behind_run against granted_may_be_left, of who marks (S6) and of who waits (W).
    yield ('marker_against_flag', dict(flag=0, cell=0),
           [[store('cell', 1, o('relaxed_fill')), load('flag', o('relaxed_look_at_granted_flag'))],
            [store('flag', 1, o('relaxed_granted_flag')), load('cell', o('relaxed_look_at_cell'))]],
           lambda r: r[0, 1] == 0 and r[1, 1] == 0, set())
    yield ('waiter_against_flag', dict(flag=0, slot=0),
           [publish() + [load('flag', o('relaxed_look_at_granted_flag'))], [store('flag', 1, o('relaxed_granted_flag')), look()]],
           lambda r: r[0, 2] == 0 and r[1, 1] == 0, PUSH_IS_SPARE | {'relaxed_look_at_granted_flag'})
    # C0: what the last post has granted without the one who gave up seeing it, the next one finds.
    yield ('marker_against_next_post', dict(grant=0, cell=0),
           [[store('cell', 1, o('relaxed_fill')), load('grant', o('relaxed_is_granted'))],
            [update('grant', add(), o('relaxed_conservative_grant'))],
            [load('grant', o('relaxed_is_granted'), seen), load('cell', o('relaxed_look_at_cell'))]],
           lambda r: r[0, 1] == 0 and r.get((2, 1)) == 0, {'relaxed_conservative_grant'})
    # W: who waits behind marks that a conservative post has found either is found too, or finds grant and marks.
    yield ('marker_against_who_waits_behind', dict(grant=0, cell=0, slot=0),
           [[store('cell', 1, o('relaxed_fill'))],
            [update('grant', add(), o('relaxed_conservative_grant')), load('cell', o('relaxed_look_at_cell'), seen), look()],
            publish() + [load('grant', o('relaxed_is_granted')), load('cell', o('relaxed_look_at_cell'))]],
           lambda r: r.get((1, 2)) == 0 and not (r[2, 2] and r[2, 3]),
           PUSH_IS_SPARE | {'relaxed_fill', 'relaxed_is_granted'})
    # A cell of marks: who finds some finds its fields, also after a change. Claim::fill against Cell::peek.
    yield ('cell_carries_its_fields', dict(cell=0, field=0),
           [[store('field', 1, o('relaxed_field')), store('cell', 1, o('relaxed_fill'))],
            [load('cell', o('relaxed_look_at_cell'), seen), load('field', o('relaxed_look_at_field'))]],
           lambda r: r.get((1, 1)) == 0, {'relaxed_field', 'relaxed_look_at_field'})
    yield ('changed_cell_carries_its_fields', dict(cell=0, field=0),
           [[store('field', 1, o('relaxed_field')), store('cell', 1, o('relaxed_fill'))],
            [update('cell', swap(1, 3), o('relaxed_change_of_markers'))],
            [load('cell', o('relaxed_look_at_cell'), lambda cell: cell == 3), load('field', o('relaxed_look_at_field'))]],
           lambda r: r.get((2, 1)) == 0, {'relaxed_field', 'relaxed_look_at_field', 'relaxed_change_of_markers'})
    # Who has changed a cell has read its fields, and not those that were written when the cell was claimed again (4).
    yield ('cell_is_used_again', dict(cell=1, field=1),
           [[load('field', o('relaxed_look_at_field')), update('cell', swap(1, 0), o('relaxed_change_of_markers'))],
            [update('cell', swap(0, 4), 'Relaxed'), store('field', 2, o('relaxed_field'))]],
           lambda r: r[0, 0] == 2, {'relaxed_change_of_markers'})
    # Who only looks, and finds the cell as it was after that, has read the fields of these marks: Cell::is_unchanged.
    for name, field in [('has_its_fields', 'relaxed_look_at_field'), ('is_its_queues', 'relaxed_look_at_queue')]:
        yield (f'unchanged_cell_{name}', dict(cell=1, field=1),
               [[load('cell', o('relaxed_look_at_cell')), load('field', o(field)), load('cell', 'Relaxed')],
                [update('cell', swap(1, 0), o('relaxed_change_of_markers')), update('cell', swap(0, 4), 'Relaxed'),
                 store('field', 2, o('relaxed_field'))]],
               lambda r: r[0, 0] == 1 and r[0, 1] == 2 and r[0, 2] == 1,
               {'relaxed_look_at_cell', 'relaxed_change_of_markers'})


def carriers():
    """What was written before is seen by who is let go."""
    d0 = dict(x=0, data=0)
    for name, change, check in [
        ('post', update('x', add(), o('relaxed_grant')), o('relaxed_is_granted')),
        ('conservative_post', update('x', add(), o('relaxed_conservative_grant')), o('relaxed_is_granted')),
        ('post_of_many', update('x', add(), o('relaxed_grant_of_many')), o('relaxed_is_granted')),
        ('hand_over', store('x', 1, o('relaxed_hand_over')), o('relaxed_is_granted')),
        ('listing_1', update('x', add(), o('relaxed_listing_grant')), o('relaxed_surplus')),
        ('advance', update('x', add(), o('relaxed_add')), o('relaxed_count')),
        ('close', update('x', add(8), o('relaxed_close')), o('relaxed_count')),
        ('close_of_a_graph', store('x', 1, o('relaxed_graph_close')), o('relaxed_is_graph_closed')),
        ('lane', store('x', 1, o('relaxed_lane_advance')), o('relaxed_reached')),
        ('reset', update('x', add(), o('relaxed_reset_of_a_lane')), o('relaxed_look_at_resets')),
        ('mark', store('x', 1, o('relaxed_mark')), o('relaxed_look_at_mark')),
        ('raise', update('x', add(), o('relaxed_count_raise')), o('relaxed_reached')),
        ('draw', update('x', add(), o('relaxed_add_if')), o('relaxed_peek')),
        ('renewal', store('x', 1, o('relaxed_renewed')), o('relaxed_is_current')),
        ('gate', update('x', add(), o('relaxed_notify')), o('relaxed_is_notified')),
        ('task_gate', update('x', add(), o('relaxed_taken')), o('relaxed_task_is_notified')),
        ('task_wait', update('x', add(), o('relaxed_taken')), o('relaxed_release_seen')),
        ('call', store('x', 1, o('relaxed_store_over_updates')), o('relaxed_look_at_gate')),
        ('task_that_was_called', update('x', add(), o('relaxed_task_notify')), o('relaxed_wait_on')),
        ('task_that_waits_on', update('x', add(), o('unreleased_wait_on')), o('relaxed_taking')),
        ('sleep', update('x', add(), o('relaxed_sleep')), o('relaxed_is_asleep')),
    ]:
        yield (f'{name}_carries', d0,
               [[store('data', 1, 'Relaxed'), change], [load('x', check, lambda x: x), load('data', 'Relaxed')]],
               lambda r: r.get((1, 1)) == 0, set())
    for name in ['lock', 'barge', 'lock_at_deadline']:
        yield (f'release_and_{name}', dict(state=1, data=0),
               [[store('data', 1, 'Relaxed'), update('state', add(-1), o('relaxed_release'))],
                [update('state', swap(0, 1), o(f'relaxed_{name}')), load('data', 'Relaxed')]],
               lambda r: r[1, 1] == 0, set())


def arrays():
    """src/paper/array.rs: buckets."""
    b0 = dict(sequence=0, sleepers=0, grant=0)
    # WaitBucket::wait_for_change against change.
    yield ('sleeper_against_change', b0,
           [[update('sleepers', add(), o('relaxed_sleepers')), load('sequence', o('relaxed_sequence'))],
            [update('sequence', add(), o('relaxed_change')), load('sleepers', o('relaxed_look_for_sleepers'))]],
           lambda r: r[0, 1] == 0 and r[1, 1] == 0, set())
    # Who has seen the change sees the grant: TwaArraySemaphore::take reads the sequence first.
    yield ('sequence_carries_the_grant', b0,
           [[update('grant', add(), o('relaxed_listing_grant')), update('sequence', add(), o('relaxed_change'))],
            [load('sequence', o('relaxed_sequence')), load('grant', o('relaxed_surplus'))]],
           lambda r: r[1, 0] == 1 and r[1, 1] == 0, {'relaxed_listing_grant', 'relaxed_surplus'})


def chains():
    """src/paper/address_wait.rs: a waiter's SWAP against a signal."""
    x0 = dict(chain=0, grant=0)
    wait = [update('chain', add(), o('relaxed_swap')), load('grant', o('relaxed_surplus'))]
    post = update('grant', add(), o('relaxed_listing_grant'))
    missed = lambda r: r[0, 1] == 0 and r[1, 1] == 0
    # Two updates of one word: what the second reads, the first has released.
    yield ('wait_against_signal', x0, [wait, [post, update('chain', lambda chain: 0, o('relaxed_signal'))]], missed,
           {'relaxed_listing_grant', 'relaxed_surplus'})
    for name, look in [('polite_signal', 'relaxed_polite_look'), ('signal_in_a_child', 'relaxed_look_for_the_parents')]:
        yield (f'wait_against_{name}', x0, [wait, [post, load('chain', o(look))]], missed, set())


def classics():
    """Programs from the literature, with the verdict that is known: the checker itself can be wrong."""
    def buffering(first, second, between=()):
        return [[store('x', 1, first), *between, load('y', second)], [store('y', 1, first), *between, load('x', second)]]

    def passing(release, acquire):
        return [[store('x', 1, 'Relaxed'), store('y', 1, release)], [load('y', acquire), load('x', 'Relaxed')]]

    def loads(order):
        return [[load('x', order), store('y', 1, 'Relaxed')], [load('y', order), store('x', 1, 'Relaxed')]]

    def readers(order):
        return [[store('x', 1, 'SeqCst')], [store('y', 1, 'SeqCst')],
                [load('x', order), load('y', order)], [load('y', order), load('x', order)]]

    both_old = (lambda r: r[0, 1] == r[1, 1] == 0, lambda r: r[0, 2] == r[1, 2] == 0)
    stale = lambda r: r[1, 0] == 1 and r[1, 1] == 0
    disagree = lambda r: (r[2, 0], r[2, 1], r[3, 0], r[3, 1]) == (1, 0, 1, 0)
    yield 'store buffering, SeqCst', buffering('SeqCst', 'SeqCst'), both_old[0], False
    yield 'store buffering, release and acquire', buffering('Release', 'Acquire'), both_old[0], True
    yield 'store buffering, fences', buffering('Relaxed', 'Relaxed', [fence('SeqCst')]), both_old[1], False
    yield 'store buffering, weak fences', buffering('Relaxed', 'Relaxed', [fence('AcqRel')]), both_old[1], True
    yield 'message passing', passing('Release', 'Acquire'), stale, False
    yield 'message passing, relaxed', passing('Relaxed', 'Acquire'), stale, True
    yield 'load buffering, relaxed', loads('Relaxed'), lambda r: r[0, 0] == r[1, 0] == 1, True
    yield 'independent reads, SeqCst', readers('SeqCst'), disagree, False
    yield 'independent reads, acquire', readers('Acquire'), disagree, True
    yield ('reads of one location', [[store('x', 1, 'Relaxed')], [load('x', 'Relaxed'), load('x', 'Relaxed')]],
           stale, False)
    yield ('release sequence through an update', [[store('x', 1, 'Relaxed'), store('y', 1, 'Release')],
           [update('y', swap(1, 2), 'Relaxed')], [load('y', 'Acquire'), load('x', 'Relaxed')]],
           lambda r: r[2, 0] == 2 and r[2, 1] == 0, False)
    # Lahav et al., "Repairing sequential consistency in C/C++11": allowed since C++20.
    yield ('Z6.U', [[store('x', 1, 'SeqCst'), store('y', 1, 'Release')], [update('y', add(), 'SeqCst'), load('y', 'Relaxed')],
                    [store('y', 3, 'SeqCst'), load('x', 'SeqCst')]],
           lambda r: (r[1, 0], r[1, 1], r[2, 1]) == (1, 3, 0), True)


TESTS = [*waits_and_wakes(), *lines(), *carriers(), *arrays(), *chains()]


def is_possible(test, replaced=None, by=None):
    _, initial, threads, forbidden, _ = test
    threads = [[step | dict(order=by) if getattr(step['order'], 'name', None) == replaced and replaced else step
                for step in thread] for thread in threads]
    return any(forbidden(reads) for reads in executions(initial, threads))


def judge(test):
    """Complaints about a test, and of its orders those that allow the outcome when they are weaker."""
    name, spare = test[0], test[4]
    if is_possible(test):
        return [f'{name}: THE FORBIDDEN OUTCOME IS ALLOWED'], []
    complaints, needed = [], []
    steps = {step['order'].name: step for thread in test[2] for step in thread if isinstance(step['order'], Named)}
    for order, step in steps.items():
        ladder = WEAKER[step['kind']]
        weaker = ladder[ladder.index(step['order']) + 1:]
        enough_to_fail = next((weaker for weaker in weaker if is_possible(test, order, weaker)), None)
        if enough_to_fail:
            needed.append(f'{order} ({enough_to_fail})')
        if bool(enough_to_fail) == (order in spare):
            complaints.append(f'{name}: {order} ' + ('IS NOT SPARE' if enough_to_fail else 'IS NOT NEEDED'))
    if not needed:
        complaints.append(f'{name}: NO TWIN FAILS')
    return complaints, needed


def main():
    if len(sys.argv) == 3:
        test = next(test for test in TESTS if test[0] == sys.argv[1])
        return 101 if is_possible(test, sys.argv[2], 'Relaxed') else 0
    start, bad = time.monotonic(), 0
    for name, threads, outcome, verdict in classics():
        right = any(outcome(reads) for reads in executions(dict(x=0, y=0), threads)) == verdict
        bad += not right
        print(f'{name}: ' + ('allowed' if verdict else 'forbidden') + (', as is known' if right else ': THE CHECKER IS WRONG'))
    for test in TESTS:
        complaints, needed = judge(test)
        bad += len(complaints)
        print(f'{test[0]}: forbidden; allowed with a weaker ' + ', '.join(needed) if not complaints else
              '\n'.join(complaints), flush=True)
    print(f'{len(TESTS)} tests, {time.monotonic() - start:.1f} s')
    return bool(bad)


if __name__ == '__main__':
    sys.exit(main())
