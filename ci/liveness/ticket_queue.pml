/* The queue of tickets (src/ticket_queue) for SPIN: what ci/abandon_model.py explores, by threads that come again forever.
 * Run by ci/liveness.py. The lines tagged "@ name" are steps of the source: see steps.txt.
 *
 * A statement, or an atomic block, is one access to what is shared, under sequential consistency. Assumed:
 * - weak fairness: a thread that can go on does so some day;
 * - a loop that retries a compare-and-swap ends, so that it is one step here;
 * - a deadline may pass at any moment, and does some day;
 * - the wait table keeps its promise: a wake of a key notifies whoever is published under it. wait_table.pml looks inside.
 *
 * Scenarios, by -D:
 *   LOCK   two threads with deadlines and one without share a lock, forever
 *   FAR    two without deadlines take permits, far from their turn at first; a third posts while somebody is in line; forever
 *   POSTS  two with deadlines have drawn tickets, the first of them two; behind them somebody sleeps whose ticket is the last;
 *          a third posts a permit when there is none, until the sleeper is woken; once
 */
#define me _pid
#define CELLS 2
#define TICKETS 16
#define LIMIT 5 /* see ROOM */
#define NEAR 1 /* how many waiters are near */
#define NONE 255

#define THREADS 3
#if defined(LOCK)
#define PERMITS 1
#define HAS_DEADLINE (me < 2)
#define TAKES true
#define MAY_POST false
#elif defined(FAR)
#define PERMITS 0
#define HAS_DEADLINE false
#define TAKES (me < 2)
#define MAY_POST BEFORE(grant, ticket)
#elif defined(POSTS)
#define ONCE
#define PERMITS 0
#define HAS_DEADLINE true
#define TAKES (me < 2)
#define TAKES_FIRST 2
#define MAY_POST (unowned < (where[0] == WAITS -> TAKES_FIRST : 1))
byte unowned = 0; /* permits posted and not taken */
#endif
/* Who has a row in the table: the threads, and who only sleeps. */
#ifdef ONCE
#define ROWS 4
#define DRAWN (TAKES_FIRST + 2)
#else
#define ROWS 3
#define DRAWN 0
#endif

/* src/ticket_queue/word.rs. The counters wrap, as the real ones do, only sooner. */
#define DISTANCE(from, to) (((to) - (from)) & (TICKETS - 1))
#define PLUS(a, b) (((a) + (b)) & (TICKETS - 1))
#define BEFORE(a, b) (DISTANCE(a, b) != 0 && DISTANCE(a, b) < TICKETS / 2)
#define LENGTH(a, b) (DISTANCE(a, b) + 1)
/* One of the n tickets from a on, or the one before. */
#define STARTS_AMONG(t, a, n) (t != NONE && DISTANCE(PLUS(a, TICKETS - 1), t) <= (n))
#define IS_GRANTED(t) BEFORE(t, grant)
/* A post must look who holds what it has granted, or is right before. */
#define MUST_LOOK (BEFORE(from[me], ticket) || (from[me] == ticket && alerts != 0))
#define IS_NEAR(t) (IS_GRANTED(t) || DISTANCE(grant, t) < NEAR)

byte ticket = DRAWN, grant = PERMITS, alerts = 0;

/* Cells of markers. */
mtype = { FREE, CLAIMED, FULL };
mtype state[CELLS] = FREE;
byte mark_first[CELLS] = NONE, mark_last[CELLS] = NONE;

/* What a thread works with; NONE if it does not. */
byte first[ROWS] = NONE, last[ROWS] = NONE;             /* its tickets, or those that it has in hand */
byte taken_first[ROWS] = NONE, taken_last[ROWS] = NONE; /* a marker that it has found, or taken out */
byte from[ROWS] = NONE, n[ROWS] = 0;                    /* what it has granted */
byte passed[ROWS] = 0;                                  /* how many more it is to grant */
byte peeked[ROWS] = NONE; /* the cell that it will compare-and-swap; NONE when that has changed: the cell's version */

/* The wait table: who is published under its last ticket, and who was notified. */
bool published[ROWS], notified[ROWS];

/* For the properties. */
mtype = { AWAY, WAITS, HAS, LEAVES, GRANTS, GONE };
mtype where[ROWS] = AWAY;

/* Only distances matter. So in scenarios without an end all tickets are counted from `grant` again whenever it has moved,
 * which makes as many states fewer as there are tickets. */
#define REBASE(t) if :: t != NONE -> t = DISTANCE(grant, t) :: else fi
inline rebase() {
#ifndef ONCE
    for (i : 0 .. ROWS - 1) {
        REBASE(first[i]); REBASE(last[i]); REBASE(taken_first[i]); REBASE(taken_last[i]); REBASE(from[i])
    }
    for (i : 0 .. CELLS - 1) { REBASE(mark_first[i]); REBASE(mark_last[i]) }
    ticket = DISTANCE(grant, ticket);
    grant = 0; i = 0
#else
    skip
#endif
}

/* ---- src/ticket_queue/markers.rs */

/* The first marker that is wanted: `found`, in peeked, taken_first and taken_last. */
inline find(wanted) {
    if
    :: alerts == 0 /* @ no_alerts */
    :: else ->
        do
        :: atomic { state[c] == FULL && (wanted) -> /* @ peek */
                peeked[me] = c; taken_first[me] = mark_first[c]; taken_last[me] = mark_last[c]; found = true;
                c = 0; break }
        :: atomic { !(state[c] == FULL && (wanted)) && c < CELLS - 1 -> c++ }
        :: atomic { !(state[c] == FULL && (wanted)) && c == CELLS - 1 -> c = 0; break }
        od
    fi
}

/* Takes out what was found; not `found` any more if somebody else was faster. */
inline take_out() {
    if
    :: atomic { found && peeked[me] != NONE -> /* @ take_out */
            c = peeked[me]; state[c] = FREE; mark_first[c] = NONE; mark_last[c] = NONE;
            for (i : 0 .. ROWS - 1) { if :: peeked[i] == c -> peeked[i] = NONE :: else fi }
            c = 0; i = 0 }
        alerts-- /* @ lower_alert */
    :: atomic { found && peeked[me] == NONE -> forget_taken() }
    :: !found
    fi
}

/* Block::fill */
inline fill() {
    do
    :: atomic { state[c] == FREE -> state[c] = CLAIMED; break } /* @ claim */
    :: atomic { state[c] != FREE -> c++; assert(c < CELLS) }
    od;
    atomic { state[c] = FULL; mark_first[c] = first[me]; mark_last[c] = last[me]; c = 0 } /* @ fill */
}

/* ---- src/ticket_queue/abandoned.rs */

inline take_starting_with(a) { find(mark_first[c] == a); take_out() }
inline take_ending_with(b) { find(mark_last[c] == b); take_out() }

inline keep_taken() {
    atomic { first[me] = taken_first[me]; last[me] = taken_last[me]; forget_taken() }
}
inline join_before() {
    atomic {
        first[me] = taken_first[me];
        forget_taken()
    }
}
inline join_behind() { atomic { last[me] = taken_last[me]; forget_taken() } }
inline forget_taken() { taken_first[me] = NONE; taken_last[me] = NONE; peeked[me] = NONE; found = false }

inline publish_marker() {
    alerts++; /* @ raise_alert */
    fill()
}

inline wake_and_take_out() {
    wake_holders(); /* @ wake_holders */
    do
    :: find(STARTS_AMONG(mark_first[c], from[me], n[me])); /* @ look_for_markers */
        if
        :: found ->
            take_out();
            if
            :: atomic { found ->
                    passed[me] = passed[me] + LENGTH(taken_first[me], taken_last[me]); /* @ pass_over */
                    forget_taken() }
            :: !found
            fi
        :: atomic { !found -> from[me] = NONE; n[me] = 0; break }
        fi
    od
}

inline grant_more() {
    do
    :: atomic { passed[me] != 0 ->
            from[me] = grant; n[me] = passed[me]; passed[me] = 0;
            grant = PLUS(grant, n[me]); /* @ grant_more */
            rebase() }
        wake_and_take_out()
    :: passed[me] == 0 -> break
    od
}

inline take_back() {
    is_granted = IS_GRANTED(first[me]); /* @ S5_granted */
    if
    :: is_granted || ticket == PLUS(last[me], 1) -> /* @ S5_last */
        is_granted = false;
        take_starting_with(first[me]) /* @ S5_take */
    :: else ->
        take_starting_with(PLUS(last[me], 1)); /* @ S6 */
        if
        :: found
        :: else ->
            find(mark_last[c] == PLUS(first[me], TICKETS - 1)); /* @ S7 */
            if
            :: atomic { found -> forget_taken() }
                take_starting_with(first[me])
            :: else
            fi
        fi
    fi
}

/* For who waits with these tickets. `found` if there was a marker before them that was granted. */
inline pass_over_before() {
    find(mark_last[c] == PLUS(first[me], TICKETS - 1)); /* @ look_before */
    if
    :: atomic { found && !IS_GRANTED(taken_first[me]) -> forget_taken() } /* @ is_granted_before */
    :: atomic { found && IS_GRANTED(taken_first[me]) -> skip }
        take_out();
        if
        :: atomic { found -> passed[me] = LENGTH(taken_first[me], taken_last[me]); forget_taken() } /* @ settle_before */
            grant_more();
            found = true
        :: !found
        fi
    :: !found
    fi
}

inline give_back_or_mark() {
    do
    :: atomic { IS_GRANTED(first[me]) -> passed[me] = LENGTH(first[me], last[me]); break } /* @ S1 */
    :: else ->
        if
        :: atomic { ticket == PLUS(last[me], 1) -> ticket = first[me] } /* @ S2 */
            take_ending_with(PLUS(first[me], TICKETS - 1)); /* @ S2_look */
            if
            :: found -> keep_taken()
            :: else -> break
            fi
        :: else ->
            take_ending_with(PLUS(first[me], TICKETS - 1)); /* @ S3_before */
            if
            :: found -> join_before()
            :: else ->
                take_starting_with(PLUS(last[me], 1)); /* @ S3_behind */
                if
                :: found -> join_behind()
                :: else ->
                    publish_marker(); /* @ S4 */
                    take_back();
                    if
                    :: found -> keep_taken()
                    :: else -> break
                    fi
                fi
            fi
        fi
    od;
    atomic { first[me] = NONE; last[me] = NONE; is_granted = false }
}

/* ---- src/ticket_queue/wake.rs */

#define PUBLISHED(i, t) (published[i] && last[i] == t)
#if ROWS == 3
#define IS_OCCUPIED(t) (PUBLISHED(0, t) || PUBLISHED(1, t) || PUBLISHED(2, t))
#else
#define IS_OCCUPIED(t) (PUBLISHED(0, t) || PUBLISHED(1, t) || PUBLISHED(2, t) || PUBLISHED(3, t))
#endif

/* WaitTable::wake_all_seqcst */
inline wake(t) {
    for (i : 0 .. ROWS - 1) {
        if
        :: PUBLISHED(i, t) -> published[i] = false; notified[i] = true
        :: else
        fi
    }
    i = 0
}

inline wake_holders() {
#ifdef FAR
    if
    :: stages = IS_OCCUPIED(PLUS(from[me], n[me] - 1 + NEAR)) /* @ look_for_staged */
    :: stages = false /* on one CPU, on a busy machine, or in a slow queue */
    fi;
#endif
    do
    :: atomic { k < n[me] - 1 -> wake(PLUS(from[me], k)); k++ } /* @ wake_holder */
    :: atomic { k == n[me] - 1 -> wake(PLUS(from[me], k)); k = 0; break }
    od;
#ifdef FAR
    if
    :: atomic { stages -> stages = false; wake(PLUS(from[me], n[me] - 1 + NEAR)) } /* @ wake_staged */
    :: else
    fi
#endif
}

/* ---- src/ticket_queue/waiting.rs and WaitTable::wait_until_at */

inline sleep_until(condition) {
    do
    :: (condition) -> break
    :: else ->
        published[me] = true; /* @ publish */
        if
        :: atomic { (condition) -> published[me] = false; notified[me] = false; break } /* @ ratify */
        :: else ->
            pass_over_before();
            if
            :: atomic { found -> found = false; published[me] = false; notified[me] = false }
            :: atomic { !found && notified[me] -> notified[me] = false }
            :: atomic { !found && HAS_DEADLINE -> published[me] = false; notified[me] = false }
                if
                :: (condition) /* @ last_check */
                :: else -> late = true
                fi;
                break
            fi
        fi
    od
}

inline wait() {
#ifdef FAR
    sleep_until(IS_NEAR(last[me])); /* @ far */
#endif
    sleep_until(IS_GRANTED(last[me])) /* @ near */
}

/* ---- src/ticket_queue/mod.rs */

/* A bound on the schedules: nobody draws a ticket that is LIMIT or more behind one that somebody still works with. */
#define RECENT(t) (t == NONE || !BEFORE(t, ticket) || DISTANCE(t, ticket) + 1 < LIMIT)
#define ALL_RECENT(i) (RECENT(first[i]) && RECENT(from[i]) && RECENT(taken_first[i]))
#define ROOM (ALL_RECENT(0) && ALL_RECENT(1) && ALL_RECENT(2) && RECENT(mark_first[0]) && RECENT(mark_first[1]))

inline draw() {
    atomic {
        ROOM -> first[me] = ticket; last[me] = ticket; ticket = PLUS(ticket, 1); /* @ draw */
        where[me] = WAITS
    }
}

/* What was drawn before the beginning. */
inline have_drawn() {
    atomic {
        if
        :: me == 0 -> first[me] = 0; last[me] = TAKES_FIRST - 1
        :: else -> first[me] = TAKES_FIRST; last[me] = TAKES_FIRST
        fi;
        where[me] = WAITS
    }
}

inline add_grant() {
    atomic {
        MAY_POST -> from[me] = grant; n[me] = 1; grant = PLUS(grant, 1); /* @ post */
#ifdef ONCE
        unowned++;
#endif
        where[me] = GRANTS; rebase()
    }
}

inline hand_over() {
    atomic {
        from[me] = PLUS(last[me], 1); n[me] = 1; first[me] = NONE; last[me] = NONE;
        grant = PLUS(from[me], 1); /* @ hand_over */
        where[me] = GRANTS; rebase()
    }
}

inline after_grant() {
    wake_and_take_out(); /* @ after_grant */
    grant_more()
}

/* By name: neither ticket nor grant is touched. */
inline after_conservative_grant() {
    wake_holders(); /* @ wake_by_name */
    find(mark_first[c] == from[me]); /* @ look_for_marker */
    if
    :: atomic { found -> wake(PLUS(taken_last[me], 1)); forget_taken() } /* @ wake_behind */
    :: !found
    fi;
    atomic { from[me] = NONE; n[me] = 0 }
}

inline wake_if_anyone_waits() {
    if
    :: IS_OCCUPIED(from[me]) -> after_conservative_grant() /* @ look_for_holder */
    :: else ->
        if
        :: alerts != 0 -> after_conservative_grant() /* @ look_for_alerts */
        :: atomic { alerts == 0 -> from[me] = NONE; n[me] = 0 }
        fi
    fi
}

active [THREADS] proctype thread() {
    byte c, i, k;
    bool found, stages, is_granted, late;

#ifdef ONCE
    if
    :: me == 2 -> atomic { last[3] = TAKES_FIRST + 1; published[3] = true }
    :: else
    fi;
#endif
    do
    :: TAKES ->
#ifdef ONCE
        have_drawn();
#else
        draw();
#endif
        wait();
        if
        :: atomic { late -> late = false; where[me] = LEAVES } /* @ give_up */
            give_back_or_mark(); /* @ settle */
            grant_more()
        :: else ->
            where[me] = HAS;
#ifdef LOCK
            hand_over();
            wake_if_anyone_waits()
#elif defined(ONCE)
            atomic { unowned = unowned - LENGTH(first[me], last[me]); first[me] = NONE; last[me] = NONE }
#else
            atomic { first[me] = NONE; last[me] = NONE }
#endif
        fi;
        where[me] = AWAY
#ifdef ONCE
        ; break
#endif
    :: !TAKES ->
        add_grant();
        if
#ifndef ONCE
        :: wake_if_anyone_waits() /* @ post_conservatively */
#endif
        :: if
            :: MUST_LOOK -> after_grant() /* @ is_drawn */
            :: atomic { !MUST_LOOK -> from[me] = NONE; n[me] = 0 }
            fi
        fi;
        where[me] = AWAY
#ifndef ONCE
    :: TAKES -> break
#endif
    od;
    where[me] = GONE
}

/* ---- properties */

#define OUTSIDE(i) (where[i] == AWAY || where[i] == HAS || where[i] == GONE)
#define ALL_OUTSIDE (OUTSIDE(0) && OUTSIDE(1) && OUTSIDE(2))
#define MARKED (state[0] != FREE || state[1] != FREE || alerts != 0)
#define NO_TRACE (!MARKED && !BEFORE(grant, ticket))

#if defined(LOCK)
/* Who waits without a deadline goes on, for whoever has the lock gives it back. */
ltl patient { [] (where[2] == WAITS -> <> (where[2] != WAITS)) }
/* Who gives up has left some day. */
ltl leaves { [] (where[0] == LEAVES -> <> (where[0] != LEAVES)) }
/* A marker is taken out some day. */
ltl unmarked { [] (state[0] == FULL -> <> (state[0] != FULL)) }
/* L4: when no thread is inside any call, nothing is left, and if nobody has the lock, it is free. */
ltl no_trace { [] (ALL_OUTSIDE -> NO_TRACE) }
ltl conserved { [] ((where[0] == GONE && where[1] == GONE && where[2] == GONE) -> grant == PLUS(ticket, 1)) }
#elif defined(FAR)
/* Who waits, at first far from its turn, goes on. */
ltl patient { [] (where[0] == WAITS -> <> (where[0] != WAITS)) }
#elif defined(POSTS)
/* As many permits are posted as are taken, and one: the sleeper is woken. */
ltl patient { <> notified[3] }
ltl leaves { [] (where[0] == LEAVES -> <> (where[0] != LEAVES)) }
/* No trace is left of those who gave up. */
ltl no_trace { [] (MARKED -> <> !MARKED) }
#endif
