/* One slot of the wait table (src/wait_table) for SPIN: waiters, notifiers, pickers, and those who withdraw, forever.
 * Run by ci/liveness.py. The lines tagged "@ name" are steps of the source: see steps.txt.
 *
 * A statement, or an atomic block, is one access to what is shared, under sequential consistency. Assumed:
 * - weak fairness: a thread that can go on does so some day;
 * - a loop that retries a compare-and-swap ends, so that it is one step here;
 * - a deadline may pass at any moment, and does some day;
 * - the backend keeps its contract: who sleeps on a word is woken by a wake of that word.
 *
 * Scenarios, by -D; all share the slot:
 *   FLAGS   two threads take turns, each waits for the other (wait_until, wake_all); a third waits on a key of its own until
 *           its deadline, or wakes one of that key, again and again
 *   TOKENS  two threads take tokens (wait_if), one of them with a deadline and a condition that may panic; a third puts tokens
 *           there (wake_one); all may stop
 */
#define me _pid
#define THREADS 3

#if defined(FLAGS)
#define KEY(i) i
#define SELECTABLE(i) false
#define WITH_DEADLINE 2
byte turn = 0;
#define CONDITION (turn == me)
#elif defined(TOKENS)
#define KEY(i) 0
#define SELECTABLE(i) true
#define WITH_DEADLINE 1
#define MOST 2
byte tokens = 0;
bool wants[2];
#define CONDITION (tokens != 0)
#endif

/* A chain is a number of octal digits, the youngest element the lowest: thread i has the element i + 1. */
#define TOP(x) ((x & 7) - 1)
#define REST(x) (x >> 3)
#define ON_TOP(i, x) ((x << 3) | (i + 1))

/* The slot's word; the fingerprint of keys 0 and 2 is the same. */
short chain = 0;
bool picked = false, flush = false;
byte print = 0;
#define MIXED 0
#define PRINT(i) (1 + KEY(i) % 2)
#define IS_OCCUPIED (chain != 0 || picked)

mtype = { WAITING, SLEEPING, NOTIFIED };
mtype gate[THREADS] = NOTIFIED;
bool asleep[THREADS]; /* in the kernel */

/* Who is inside a wait, and the deadline of the one thread that has one: it passes at any moment, and some day. */
bool inside[THREADS], has_passed;
#define IS_LATE (me == WITH_DEADLINE && has_passed)

/* ---- src/wait_table/pop_stack.rs */

inline push() {
    atomic {
        if
        :: !IS_OCCUPIED -> print = PRINT(me)
        :: IS_OCCUPIED && print != PRINT(me) -> print = MIXED /* @ mix */
        :: else
        fi;
        assert(chain < 64); /* three elements at most */
        gate[me] = WAITING; chain = ON_TOP(me, chain) /* @ push */
    }
}

inline detach_all() {
    atomic {
        hand = chain; chain = 0;
        if
        :: picked -> flush = true /* @ leave_flush */
        :: else -> print = 0 /* @ detach */
        fi
    }
}

/* Chain::notify_all, Element::notify */
inline notify_all(elements) {
    do
    :: elements != 0 ->
        atomic {
            e = TOP(elements); elements = REST(elements); before = gate[e];
            assert(before != NOTIFIED);
            gate[e] = NOTIFIED /* @ notify */
        }
        if
        :: before == SLEEPING -> asleep[e] = false /* @ wake */
        :: else
        fi;
        atomic { e = 0; before = 0 }
    :: else -> break
    od
}

/* Moves the elements that are `wanted` from `hand` to `chosen`; both keep their order. */
inline partition(wanted) {
    atomic {
        do
        :: hand != 0 -> rest = ON_TOP(TOP(hand), rest); hand = REST(hand)
        :: else -> break
        od;
        do
        :: rest != 0 ->
            e = TOP(rest); rest = REST(rest);
            if
            :: (wanted) -> chosen = ON_TOP(e, chosen)
            :: else -> hand = ON_TOP(e, hand)
            fi
        :: else -> break
        od;
        e = 0
    }
}

/* The newcomers go on top of what is in hand. */
inline join_newcomers() {
    do
    :: chain != 0 -> rest = ON_TOP(TOP(chain), rest); chain = REST(chain)
    :: else -> break
    od;
    do
    :: rest != 0 -> hand = ON_TOP(TOP(rest), hand); rest = REST(rest)
    :: else -> break
    od
}

inline put_back() {
    do
    :: atomic { flush -> /* @ is_flushed */
            join_newcomers(); picked = false; flush = false; print = 0 } /* @ flush */
        notify_all(hand); /* @ notify_flushed */
        break
    :: atomic { !flush && chain != 0 -> join_newcomers() } /* @ hold_newcomers */
    :: atomic {
            !flush && chain == 0 -> print_of_rest(); chain = hand; hand = 0; picked = false; /* @ put_back */
            break }
    od
}

/* Picked::fingerprint_of_rest */
inline print_of_rest() {
    if
    :: hand == 0 -> print = 0
    :: hand != 0 && print == MIXED -> /* @ unmix */
        print = PRINT(TOP(hand)); rest = REST(hand);
        do
        :: rest != 0 ->
            if
            :: print != PRINT(TOP(rest)) -> print = MIXED
            :: else
            fi;
            rest = REST(rest)
        :: else -> break
        od
    :: else
    fi
}

/* ---- src/wait_table/wake.rs */

inline wake_chain() {
    detach_all();
    notify_all(hand) /* @ wake_chain */
}

/* All of the key; or the oldest of it that can be chosen, which is the highest digit, and all that cannot be. */
inline choose(k, one) {
    atomic {
        rest = hand;
        do
        :: rest != 0 ->
            if
            :: KEY(TOP(rest)) == k && SELECTABLE(TOP(rest)) -> oldest = TOP(rest)
            :: else
            fi;
            rest = REST(rest)
        :: else -> break
        od;
        partition(KEY(e) == k && (!(one) || e == oldest || !SELECTABLE(e)));
        oldest = 255
    }
}

/* wake_those, or wake_one_of if `one`. */
inline wake_chosen(k, one) {
    if
    :: picked -> wake_chain() /* @ busy_wakes_all */
    :: atomic { !picked && chain != 0 -> hand = chain; chain = 0; picked = true } /* @ pick */
        choose(k, one); /* @ choose */
        put_back(); /* @ chooser_puts_back */
        notify_all(chosen) /* @ notify_chosen */
    :: !picked && chain == 0
    fi
}

/* ---- src/wait_table/element.rs */

/* `deadline`: whether it has passed. */
inline element_wait(deadline) {
    if
    :: gate[me] == NOTIFIED /* @ is_notified */
    :: atomic { gate[me] == WAITING -> gate[me] = SLEEPING } /* @ sleep */
        do
        :: atomic {
                if
                :: gate[me] == SLEEPING -> asleep[me] = true
                :: else
                fi
            }
            if
            :: !asleep[me] /* @ backend_wait */
            :: atomic { (deadline) -> asleep[me] = false }
            fi;
            if
            :: gate[me] == NOTIFIED -> break /* @ woken */
            :: gate[me] != NOTIFIED && !(deadline)
            :: gate[me] != NOTIFIED && (deadline) ->
                atomic {
                    if
                    :: gate[me] == SLEEPING -> gate[me] = WAITING /* @ late */
                    :: else
                    fi
                }
                break
            fi
        od
    fi
}

/* ---- src/wait_table/publication.rs */

inline withdraw() {
    if
    :: gate[me] == NOTIFIED /* @ withdrawn_already */
    :: else ->
        if
        :: picked -> /* @ is_busy */
            if
            :: gate[me] == NOTIFIED
            :: else -> wake_chain() /* @ ask_for_a_flush */
            fi;
            element_wait(false) /* @ wait_to_be_let_go */
        :: atomic { !picked && chain != 0 -> hand = chain; chain = 0; picked = true }
            partition(e == me); /* @ take_own */
            put_back(); /* @ withdraw_puts_back */
            if
            :: chosen == 0 -> element_wait(false)
            :: chosen != 0 -> chosen = 0
            fi
        :: !picked && chain == 0 -> element_wait(false)
        :: atomic { !picked && chain == ON_TOP(me, 0) -> chain = 0; print = 0 } /* @ take_alone */
        fi
    fi
}

/* When `with_published` returns, nobody reaches the element. */
inline dispose() {
    atomic { gate[me] = NOTIFIED; held = false }
}

/* ---- src/wait_table/table.rs */

inline wait_until() {
    inside[me] = true;
    do
    :: CONDITION -> break
    :: !CONDITION && IS_LATE -> break /* @ is_late */
    :: else ->
        push();
        if
        :: atomic { CONDITION -> held = true } /* @ ratify */
        :: else -> element_wait(IS_LATE) /* @ wait */
        fi;
        withdraw(); /* @ withdraw */
        if
        :: held -> dispose(); break
        :: else -> dispose()
        fi
    od;
    leave()
}

inline wait_if() {
    inside[me] = true;
    push();
    if
    :: !CONDITION -> element_wait(IS_LATE) /* @ still */
    :: CONDITION -> held = true
    :: me == WITH_DEADLINE -> atomic { held = true; gives_up = true } /* the condition panics */
    fi;
    withdraw();
    if
    :: held && gate[me] == NOTIFIED -> /* @ is_passed_on */
        wake_chosen(KEY(me), true) /* @ pass_on */
    :: else
    fi;
    gives_up = gives_up || (IS_LATE && !held && gate[me] != NOTIFIED); /* @ timed_out */
    dispose();
    leave()
}

inline leave() {
    atomic {
        inside[me] = false;
        if
        :: me == WITH_DEADLINE -> has_passed = false
        :: else
        fi
    }
}

#define MAY_HOLD(k) (IS_OCCUPIED && (print == MIXED || print == 1 + k % 2))

inline wake_all(k) {
    if
    :: IS_OCCUPIED -> /* @ wake_all */
        if
        :: MAY_HOLD(k) -> wake_chosen(k, false) /* @ may_hold */
        :: else
        fi
    :: else
    fi
}

inline wake_one(k) {
    if
    :: IS_OCCUPIED -> /* @ wake_one */
        if
        :: MAY_HOLD(k) -> wake_chosen(k, true)
        :: else
        fi
    :: else
    fi
}

/* ---- the threads */

active [THREADS] proctype thread() {
    short hand = 0, chosen = 0, rest = 0;
    byte e, oldest = 255;
    mtype before;
    bool held, gives_up;

#ifdef FLAGS
    do
    :: me < 2 -> wait_until(); turn = 1 - me; wake_all(1 - me)
    :: me == 2 -> wait_until()
    :: me == 2 -> wake_one(KEY(me))
    od
#else
    do
    :: me < 2 ->
        wants[me] = true;
        do
        :: atomic { tokens != 0 -> tokens--; break }
        :: else ->
            wait_if();
            if
            :: gives_up -> gives_up = false; break
            :: else
            fi
        od;
        wants[me] = false
    :: me == 2 -> atomic { tokens < MOST -> tokens++ } wake_one(0)
    :: break
    od
#endif
}

active proctype clock() {
    do
    :: atomic { inside[WITH_DEADLINE] && !has_passed -> has_passed = true }
    od
}

/* ---- properties */

#ifdef FLAGS
/* Both go on: whoever made the other's condition true and notified it is some day let go by it. */
ltl turns { ([] <> (turn == 0)) && ([] <> (turn == 1)) }
#else
/* Who wants a token does not sleep beside one. */
ltl served { [] ((tokens != 0 && wants[0]) -> <> (tokens == 0 || !wants[0])) }
#endif
/* Who has a deadline returns. */
ltl returns { [] (inside[WITH_DEADLINE] -> <> !inside[WITH_DEADLINE]) }
/* When nobody is inside a wait, no element is left in the slot. */
ltl nothing_left { [] ((!inside[0] && !inside[1] && !inside[2]) -> chain == 0) }
