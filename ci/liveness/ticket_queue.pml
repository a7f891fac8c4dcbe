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
 *   NAMED  the same, but each takes one, who is behind them waits without a deadline, and posts are conservative: when no permit is
 *          there, or when one is
 */
#define me _pid
#define CELLS 3
#define TICKETS 16
#define LIMIT 5 /* see ROOM */
#define NEAR 1 /* how many waiters are near */
#define NONE 255

#if defined(NAMED)
#define THREADS 4
#else
#define THREADS 3
#endif
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
#elif defined(NAMED)
#define ONCE
#define PERMITS 0
#define HAS_DEADLINE (me < 2)
#define FLAT /* no level above: a block is full and stays so */
#define TAKES (me < 3)
#define TAKES_FIRST 1
#define MAY_POST (where[2] == WAITS && unowned < most)
byte unowned = 0, most = 1;
#endif
/* Who has a row in the table: the threads, and who only sleeps. */
#ifdef ONCE
#define ROWS 4
#define DRAWN (TAKES_FIRST + 2)
#else
#define ROWS 3
#define DRAWN 0
#endif
/* LOCK and NAMED look at all cells in one step, and walk in one; the others cell by cell. */
#if (defined(LOCK) || defined(NAMED)) && !defined(FINE)
#define SCAN atomic
#else
#define SCAN
#endif
/* After so many tickets places in blocks are the same again: a block of the level above has one bit, of a whole block. */
#define ALIGN 2

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

/* Cells of marks: the bits of one block, of one level. */
#define FREE(c) (bits[c] == 0 && !claimed[c])
#define WIDTH(c) (1 << level[c]) /* tickets of a bit */
#define INDEX(c, t) (DISTANCE(place[c], t) >> level[c])
#define HAS(c, t) (bits[c] != 0 && INDEX(c, t) < 2 && ((bits[c] >> INDEX(c, t)) & 1) == 1)
#define FIRST(c) PLUS(place[c], ((bits[c] & 1) == 1 -> 0 : WIDTH(c)))
#define RUN_FROM(c, t) (bits[c] & (3 << INDEX(c, t)))
#define RUN_TO(c, t) (bits[c] & ((2 << INDEX(c, t)) - 1))
#define SIZE(l) ((l) == 0 -> 2 : ALIGN)
#define BLOCK(l, t) ((t) & (TICKETS - SIZE(l)))
#define IS_OF(c, l, t) (bits[c] != 0 && level[c] == (l) && place[c] == BLOCK(l, t))
byte bits[CELLS] = 0, level[CELLS] = 0, place[CELLS] = NONE;
bool claimed[CELLS];

/* What a thread works with; NONE if it does not. */
byte first[ROWS] = NONE, last[ROWS] = NONE;           /* its tickets, or those that it has in hand */
#ifdef ONCE
byte rest_first[ROWS] = NONE, rest_last[ROWS] = NONE; /* those that are still to be marked: it marks them piece by piece */
#endif
byte from[ROWS] = NONE, n[ROWS] = 0;                  /* what it has granted */
byte passed[ROWS] = 0;                                /* how many more it is to grant */
byte seen[ROWS] = NONE;                               /* the `grant` that it has loaded */
byte at[ROWS] = NONE;                                 /* where its walk is */
#ifdef ONCE
bool looked[ROWS];                                    /* whether it has looked before itself since `grant` has changed */
#endif

/* The wait table: who is published under its last ticket, and who was notified. */
bool published[ROWS], notified[ROWS];

/* For the properties. */
mtype = { AWAY, WAITS, HOLDS, LEAVES, GRANTS, GONE };
mtype where[ROWS] = AWAY;

/* Only distances matter, and places in a block. So in scenarios without an end all tickets are counted from the block of `grant`
 * again whenever that has moved, which makes as many states fewer as there are blocks. */
#define REBASE(t) if :: t != NONE -> t = DISTANCE(k, t) :: else fi
inline grant_has_changed() {
#ifdef ONCE
    for (i : 0 .. ROWS - 1) { looked[i] = false };
#else
    k = grant & (TICKETS - ALIGN);
    for (i : 0 .. ROWS - 1) {
        REBASE(first[i]); REBASE(last[i]); REBASE(from[i]); REBASE(seen[i]); REBASE(at[i])
    }
    for (i : 0 .. CELLS - 1) { REBASE(place[i]) }
    ticket = DISTANCE(k, ticket);
    grant = DISTANCE(k, grant); k = 0;
#endif
    i = 0
}

/* ---- src/ticket_queue/markers.rs */

mtype = { HAND, PASS };
#ifdef FLAT
#define ABOVE 0
#else
#define ABOVE 1
#endif
/* Whether more is granted than the first of the run in cell c that ends with t. */
#define MORE_IS_GRANTED(c, t) IS_GRANTED(PLUS(place[c], 1 + WIDTH(c) * (1 - (RUN_TO(c, t) & 1))))

/* Takes these bits of cell c out. Part of a step. */
inline take_bits(mask, whereto) {
    x = mask; bits[c] = bits[c] - x;
    lo = PLUS(place[c], ((x & 1) == 1 -> 0 : WIDTH(c)));
    hi = PLUS(place[c], ((x & 2) == 2 -> 2 * WIDTH(c) : WIDTH(c)) - 1);
    if
    :: whereto == HAND -> first[me] = lo; last[me] = hi
    :: whereto == PASS -> passed[me] = passed[me] + LENGTH(lo, hi) /* @ pass_over */
    fi;
    if :: bits[c] == 0 -> level[c] = 0; place[c] = NONE; emptied = true :: else fi;
    x = 0; lo = 0; hi = 0
}
inline after_take() {
    if
    :: emptied -> alerts--; emptied = false /* @ lower_alert */
    :: else
    fi
}

/* Takes the first cell's bits that has the ticket; `found` if there was one. */
inline take_run(wanted, those, into, may_leave) {
    SCAN { if
    :: alerts == 0 /* @ no_alerts */
    :: else ->
        do
        :: atomic { HAS(c, wanted) -> take_bits(those, into); found = true; c = 0; break } /* @ take_run */
        :: atomic { HAS(c, wanted) && (may_leave) -> c = 0; break }
        :: atomic { !HAS(c, wanted) && c < CELLS - 1 -> c++ }
        :: atomic { !HAS(c, wanted) && c == CELLS - 1 -> c = 0; break }
        od
    fi };
    after_take()
}
inline take_run_from(a, place_of_it) { take_run(a, RUN_FROM(c, a), place_of_it, false) }

#define MASK(c) (level[c] == 0 && first[me] != last[me] -> 3 : 1 << INDEX(c, first[me]))
/* Marks the tickets in hand, which are all of a bit of this level: in a cell of their block, or in one of their own. */
inline mark(l) {
    do
    :: atomic { IS_OF(c, l, first[me]) -> /* @ set */
            bits[c] = bits[c] | MASK(c); c = 0; break }
    :: atomic { !IS_OF(c, l, first[me]) && c < CELLS - 1 -> c++ }
    :: atomic { !IS_OF(c, l, first[me]) && c == CELLS - 1 -> c = 0 }
        alerts++; /* @ raise_alert */
        do
        :: atomic { FREE(c) -> claimed[c] = true; break } /* @ claim */
        :: atomic { !FREE(c) -> c++; assert(c < CELLS) }
        od;
        atomic { claimed[c] = false; level[c] = l; place[c] = BLOCK(l, first[me]); /* @ fill */
            bits[c] = MASK(c); c = 0 }
        break
    od
}

/* Marks one ticket; or, if that would fill its block, takes the others there in hand and marks all of them on the level above. */
inline mark_ticket() {
#ifdef FLAT
    mark(0)
#else
    SCAN { do
    :: atomic { IS_OF(c, 0, first[me]) -> /* @ promote */
            bits[c] = 0; level[c] = 0; place[c] = NONE; c = 0; emptied = true;
            first[me] = BLOCK(0, first[me]); last[me] = PLUS(first[me], 1); break }
    :: atomic { !IS_OF(c, 0, first[me]) && c < CELLS - 1 -> c++ }
    :: atomic { !IS_OF(c, 0, first[me]) && c == CELLS - 1 -> c = 0; break }
    od };
    if
    :: emptied ->
        after_take();
        mark(1) /* @ mark_above */
    :: else -> mark(0)
    fi
#endif
}

/* ---- src/ticket_queue/abandoned.rs */

/* How far tickets from `at` on are marked. NONE if the first of them is not. */
inline walk_from() {
    SCAN { if
    :: alerts == 0
    :: else ->
        atomic { at[me] = from[me] };
        do
        :: atomic { HAS(c, at[me]) -> /* @ walk_on */
                at[me] = PLUS(place[c], (RUN_FROM(c, at[me]) >= 2 -> 2 * WIDTH(c) : WIDTH(c))); c = 0 }
        :: atomic { !HAS(c, at[me]) && c < CELLS - 1 -> c++ }
        :: atomic { !HAS(c, at[me]) && c == CELLS - 1 -> c = 0; break }
        od;
        if :: atomic { at[me] == from[me] -> at[me] = NONE } :: else fi
    fi }
}

/* S6 and W: if all tickets between what is granted and ours are marked, and just the first of them is granted, passes its permit on.
 * `found` if so. */
inline pass_over_before() {
    SCAN { if
    :: alerts == 0
    :: else ->
        atomic { seen[me] = grant; at[me] = PLUS(first[me], TICKETS - 1) }; /* @ load_grant_before */
        do /* `at` is the ticket that must be marked, seen - 1 the last of them */
        :: atomic { BEFORE(first[me], seen[me]) -> break }
        :: atomic { !BEFORE(first[me], seen[me]) && HAS(c, at[me]) -> /* @ walk_back */
                at[me] = PLUS((RUN_TO(c, at[me]) == 2 -> PLUS(place[c], WIDTH(c)) : place[c]), TICKETS - 1); c = 0;
                if
                :: PLUS(at[me], 2) == seen[me] -> found = true; break
                :: BEFORE(PLUS(at[me], 2), seen[me]) -> break /* more than one is granted */
                :: else
                fi }
        :: atomic { !BEFORE(first[me], seen[me]) && !HAS(c, at[me]) && c < CELLS - 1 -> c++ }
        :: atomic { !BEFORE(first[me], seen[me]) && !HAS(c, at[me]) && c == CELLS - 1 -> c = 0; break }
        od;
        if
        :: found ->
            /* at is seen - 2 */
            do
            :: atomic { HAS(c, at[me]) -> c = 0; found = false; break } /* @ is_granted_before */
            :: atomic { !HAS(c, at[me]) && c < CELLS - 1 -> c++ }
            :: atomic { !HAS(c, at[me]) && c == CELLS - 1 -> c = 0; break }
            od
        :: else
        fi;
        at[me] = NONE;
        if
        :: found
        :: else -> seen[me] = NONE
        fi
    fi };
    if
    :: atomic { found -> found = false }
        take_run_from(PLUS(seen[me], TICKETS - 1), PASS); /* @ take_before */
        seen[me] = NONE;
        if
        :: found -> grant_more() /* @ settle_before */
        :: else
        fi
    :: !found
    fi
}

/* The bits of one of the n tickets from a on, or of the one before; and what follows in that cell. */
#define AMONG(t) (DISTANCE(PLUS(from[me], TICKETS - 1), t) <= n[me])
#define BIT_AMONG(c, b) ((bits[c] & (1 << b)) != 0 && \
    (AMONG(PLUS(place[c], b * WIDTH(c))) || AMONG(PLUS(place[c], (b + 1) * WIDTH(c) - 1))))
#define OVERLAPS(c) (BIT_AMONG(c, 0) || BIT_AMONG(c, 1))
#define OVERLAP(c) (bits[c] & (3 << !BIT_AMONG(c, 0)))
inline wake_and_take_out() {
    wake_holders(); /* @ wake_holders */ /* @ wake_holder_of_one */
    if
    :: atomic { alerts == 0 -> from[me] = NONE; n[me] = 0 }
    :: else ->
        do /* @ look_for_marks */
        :: atomic { OVERLAPS(c) -> take_bits(OVERLAP(c), PASS) }
            after_take()
        :: atomic { !OVERLAPS(c) && c < CELLS - 1 -> c++ }
        :: atomic { !OVERLAPS(c) && c == CELLS - 1 -> c = 0; from[me] = NONE; n[me] = 0; break }
        od
    fi
}
/* The source does not look for those that were in hand. Here they are looked for, too: they have no holder and no mark. */
inline grant_more() {
    do
    :: atomic { passed[me] != 0 ->
            from[me] = grant; n[me] = passed[me]; passed[me] = 0;
            grant = PLUS(grant, n[me]); /* @ grant_more */
            grant_has_changed() }
        wake_and_take_out()
    :: passed[me] == 0 -> break
    od
}

/* W, once for each value of `grant`. */
inline look_before() {
#ifdef ONCE
    if
    :: atomic { !looked[me] -> looked[me] = true } /* @ has_looked */
        pass_over_before() /* @ look_before */
    :: looked[me]
    fi
#else
    pass_over_before()
#endif
}

/* S4, of the first piece of what is in hand. */
inline mark_piece() {
#ifdef ONCE
    if
    :: atomic { first[me] != last[me] && last[me] != (first[me] | 1) -> /* @ piece */
            rest_first[me] = PLUS(first[me] | 1, 1); rest_last[me] = last[me]; last[me] = first[me] | 1 }
    :: else
    fi;
#endif
    if
    :: first[me] != last[me] -> mark(ABOVE)
    :: else -> mark_ticket()
    fi
}

/* S5 to S7. `found` if there is something in hand. Who asks first whether it is the last, and not who stands before it, may mark and
 * take back its tickets forever while others draw the next and give it back, and a permit stays where it is. */
inline take_back() {
    is_granted = IS_GRANTED(first[me]); /* @ S5_granted */
    if
    :: is_granted
    :: else ->
        pass_over_before(); /* @ S6 */
        found = false
    fi;
    if
    :: is_granted || ticket == PLUS(last[me], 1) -> /* @ S7 */
        is_granted = false;
        take_run_from(first[me], HAND) /* @ S7_take */
    :: else
    fi
}

/* To the next piece, if there is one. */
inline go_on() {
#ifdef ONCE
    if
    :: rest_last[me] != NONE ->
        grant_more();
        atomic { first[me] = rest_first[me]; last[me] = rest_last[me];
            rest_first[me] = NONE; rest_last[me] = NONE; direct = true }
    :: else -> break
    fi
#else
    break
#endif
}

inline give_back_or_mark() {
    do
    :: atomic { !direct && IS_GRANTED(first[me]) -> passed[me] = passed[me] + LENGTH(first[me], last[me]) } /* @ S1 */
        go_on()
    :: else ->
        if
        :: atomic { !direct && ticket == PLUS(last[me], 1) -> ticket = first[me] } /* @ S2 */
            take_run(PLUS(first[me], TICKETS - 1), RUN_TO(c, PLUS(first[me], TICKETS - 1)), HAND,
                MORE_IS_GRANTED(c, PLUS(first[me], TICKETS - 1))); /* @ S2_look */
            if
            :: found -> found = false
            :: else -> go_on()
            fi
        :: else ->
            direct = false;
            mark_piece(); /* @ S4 */
            take_back();
            if
            :: found -> found = false
            :: else -> go_on()
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
            look_before();
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
#define ALL_RECENT(i) (RECENT(first[i]) && RECENT(from[i]) && RECENT(at[i]) && RECENT(seen[i]))
#define CELL_RECENT(c) (bits[c] == 0 || RECENT(FIRST(c)))
#define ROOM (ALL_RECENT(0) && ALL_RECENT(1) && ALL_RECENT(2) && \
    CELL_RECENT(0) && CELL_RECENT(1) && CELL_RECENT(2))

inline draw() {
    atomic {
        ROOM -> first[me] = ticket; last[me] = ticket; ticket = PLUS(ticket, 1); /* @ draw */
        where[me] = WAITS
    }
}

/* Where in their blocks the tickets begin. */
#ifdef ONCE
byte begin = NONE;
inline select_begin() {
#ifdef NAMED
    if :: most = 1 :: most = 2 fi;
    begin = 1; /* the second and the third are of a block */
#else
    if :: begin = 0 :: begin = 1 fi;
#endif
    grant = begin; ticket = begin + DRAWN
}
#endif

/* What was drawn before the beginning. */
inline have_drawn() {
    atomic {
        if
        :: me == 0 -> first[me] = begin; last[me] = begin + TAKES_FIRST - 1
        :: else -> first[me] = begin + TAKES_FIRST + me - 1; last[me] = first[me]
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
        where[me] = GRANTS; grant_has_changed()
    }
}

/* A conservative post. */
inline add_grant_conservatively() {
    do
    :: atomic { seen[me] = grant } /* @ load_grant */
        take_run(PLUS(seen[me], TICKETS - 1), RUN_FROM(c, PLUS(seen[me], TICKETS - 1)), PASS, false); /* @ C0 */
        if
        :: atomic { found -> found = false; seen[me] = NONE }
            grant_more() /* @ settle_C0 */
        :: else ->
            if
            :: atomic { grant == seen[me] -> /* @ C1 */
                    from[me] = grant; n[me] = 1; grant = PLUS(grant, 1);
                    seen[me] = NONE; grant_has_changed(); break }
            :: atomic { grant != seen[me] -> seen[me] = NONE }
            fi
        fi
    od
}

inline hand_over() {
    atomic {
        from[me] = PLUS(last[me], 1); n[me] = 1; first[me] = NONE; last[me] = NONE;
        grant = PLUS(from[me], 1); /* @ hand_over */
        where[me] = GRANTS; grant_has_changed()
    }
}

inline after_grant() {
    wake_and_take_out(); /* @ after_grant */
    grant_more()
}

/* By name: neither ticket nor grant is touched. */
inline after_conservative_grant() {
    wake_holders(); /* @ wake_by_name */
    walk_from(); /* @ walk_from */
    if
    :: atomic { at[me] != NONE -> wake(at[me]); at[me] = NONE } /* @ wake_behind */
    :: else
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
    byte c, i, k, x, lo, hi;
    bool found, emptied, is_granted, late, direct;
#ifdef FAR
    bool stages;
#endif

#ifdef ONCE
    if
    :: atomic { me == 0 -> select_begin() }
    :: else
    fi;
    begin != NONE;
#ifdef POSTS
    if
    :: me == 2 -> atomic { last[3] = begin + TAKES_FIRST + 1; published[3] = true }
    :: else
    fi;
#endif
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
        :: atomic { !late ->
#ifdef LOCK
                assert(where[0] != HOLDS && where[1] != HOLDS && where[2] != HOLDS);
#endif
                where[me] = HOLDS }
#ifdef LOCK
            hand_over();
            wake_if_anyone_waits()
#elif defined(ONCE)
            atomic { assert(unowned >= LENGTH(first[me], last[me]));
                unowned = unowned - LENGTH(first[me], last[me]); first[me] = NONE; last[me] = NONE }
#else
            atomic { first[me] = NONE; last[me] = NONE }
#endif
        fi;
        where[me] = AWAY
#ifdef ONCE
        ; break
#endif
#ifdef NAMED
    :: !TAKES && where[2] == GONE -> break
    :: atomic { !TAKES && MAY_POST -> unowned++; where[me] = GRANTS }
        add_grant_conservatively();
        wake_if_anyone_waits();
        where[me] = AWAY
#else
    :: !TAKES ->
        add_grant();
        if
#ifdef FAR
        :: wake_if_anyone_waits() /* @ post_conservatively */
#endif
        :: if
            :: MUST_LOOK -> after_grant() /* @ is_drawn */
            :: atomic { !MUST_LOOK -> from[me] = NONE; n[me] = 0 }
            fi
        fi;
        where[me] = AWAY
#endif
#ifndef ONCE
    :: TAKES -> break
#endif
    od;
    where[me] = GONE
}

/* ---- properties */

#define OUTSIDE(i) (where[i] == AWAY || where[i] == HOLDS || where[i] == GONE)
#define ALL_OUTSIDE (OUTSIDE(0) && OUTSIDE(1) && OUTSIDE(2))
#define MARKED (!FREE(0) || !FREE(1) || !FREE(2) || alerts != 0)
#define NO_TRACE (!MARKED && !BEFORE(grant, ticket))

#if defined(LOCK)
/* Who waits without a deadline goes on, for whoever has the lock gives it back. */
ltl patient { [] (where[2] == WAITS -> <> (where[2] != WAITS)) }
/* Who gives up has left some day. */
ltl leaves { [] (where[0] == LEAVES -> <> (where[0] != LEAVES)) }
/* A cell is empty again some day. */
ltl unmarked { [] (bits[0] != 0 -> <> (bits[0] == 0)) }
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
#elif defined(NAMED)
/* As many permits are posted as are taken, and one: who is behind those who give up goes on. */
ltl patient { [] (where[2] == WAITS -> <> (where[2] != WAITS)) }
ltl leaves { [] (where[0] == LEAVES -> <> (where[0] != LEAVES)) }
/* When no thread is inside any call, nothing is left. */
ltl no_trace { [] (ALL_OUTSIDE && OUTSIDE(3) && where[2] == GONE -> NO_TRACE) }
#endif
