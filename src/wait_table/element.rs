//! One waiting thread: its gate, its link in a chain, and what it waits for. Or one of several that a thread has
//! published at once: a member of a [group](super::group).
//!
//! # Never unique
//!
//! A published element is reached by others whatever its owner holds to it (invariant I2). A `&mut` says that nobody else
//! reaches a byte of what it points to, interior mutability or not, and the compiler is told so (`noalias`). An owner gets
//! one all the same: the destructor of a thread-local does, and so does the `poll` of a future. Wrong, then:
//!
//! ```text
//! owner                                        notifier
//! the thread ends: drop(&mut local)
//!   withdraw: on the chain? not any more       has the element in hand: swaps its gate
//!   waits for the gate                         which is an access to what `&mut local` claims: undefined behaviour
//! ```
//!
//! So an element is pinned, and by that every type that has one: a `&mut` to what is not [`Unpin`] claims nothing. That is
//! how rustc treats such types until there is a stable `UnsafePinned`, for the futures that borrow from themselves. The
//! alternative, a thread-local without a destructor and a second one whose destructor reaches the first by a shared
//! reference, would serve the thread's element only, and the next type that contains one would have to remember it.

#![allow(unsafe_code)]

#[cfg(feature = "mutex")]
use super::{Key, pop_stack::Picked};
use super::{
    crowd::Crowd,
    gate::Gate,
    group::GroupGate,
    linked::{Label, Linked, Sleepers},
    trace::{Stamp, Trace},
};
use crate::counters::{self, Event};
use crate::deadline::Deadline;
use crate::spin_policy::SpinFirst;
use crate::sync::{
    IN_A_MODEL,
    atomic::{AtomicPtr, Ordering},
    cell::UnsafeCell,
    const_outside_models,
};
use crate::sys::Backend;
use core::{marker::PhantomPinned, ptr};

/// One waiting thread. Aligned as in the paper: the spinning owner and its neighbours in memory do not disturb each
/// other, and two low bits of its address are free. In this order: a notifier needs the gate and the link, and finds
/// both on one cache line.
#[repr(C, align(128))]
pub(super) struct Element {
    gate: Gate,
    /// What its owner waits for, if it is a member of a group; or null. It is there for as long as the element is.
    group: *const GroupGate,
    succ: AtomicPtr<Element>,
    label: UnsafeCell<Option<Label>>,
    pub(super) trace: Trace,
    /// Others reach it while its owner has a `&mut` to it, or to what contains it: see "Never unique".
    not_unique: PhantomPinned,
}

/// Does not compile if an element is [`Unpin`]: `_` may then be either.
const _: () = {
    trait IsNotUnpin<Witness> {
        const PROVEN: () = ();
    }
    struct Unpinned;
    impl<T> IsNotUnpin<()> for T {}
    impl<T: Unpin> IsNotUnpin<Unpinned> for T {}
    <Element as IsNotUnpin<_>>::PROVEN
};

// SAFETY: `label` is written only by the owner while the element is on no chain, and read and renamed only by a thread that has
// the element in its hands. Pushing and putting back release the writes, and detaching acquires them; setting the gate, or putting
// back, releases the reads, and the owner acquires them before it reads or writes again. The rest is atomic.
unsafe impl Sync for Element {}

impl Element {
    const_outside_models! {
        /// An element that is on no chain.
        pub(super) fn new(label: Option<Label>) -> Self {
            Self {
                gate: Gate::new(),
                group: ptr::null(),
                succ: AtomicPtr::new(ptr::null_mut()),
                label: UnsafeCell::new(label),
                trace: Trace::unwritten(),
                not_unique: PhantomPinned,
            }
        }
    }

    /// An element that is on no chain, of an owner that waits for the gate of its group.
    ///
    /// # Safety
    /// `group` is there for as long as the element is.
    pub(super) unsafe fn member_of(group: &GroupGate, label: Label) -> Self {
        Self { group, ..Self::new(Some(label)) }
    }

    /// The same element, not yet published, with what it says about its owner.
    #[inline(always)]
    pub(super) fn traced(self, trace: Trace) -> Self {
        Self { trace, ..self }
    }

    /// Makes the element ready to be published again.
    ///
    /// # Safety
    /// The caller is the owner, and the element is on no chain and in nobody's hands.
    pub(super) unsafe fn rearm(&self, label: Label) {
        self.gate.close();
        // SAFETY: by the caller's promise nobody else can reach the element.
        self.label.with_mut(|slot| unsafe { *slot = Some(label) });
        self.trace.begin(Stamp::NONE, false);
    }

    /// Whether the owner sleeps, or is on its way to or from sleep; for reports.
    pub(super) fn is_asleep(&self) -> bool {
        // SAFETY: the element is there, and its group's gate with it.
        unsafe { self.group.as_ref() }.map_or_else(|| self.gate.is_asleep(), GroupGate::is_asleep)
    }

    /// Waits until notified (`true`) or until the deadline has passed (`false`); before it sleeps
    /// it spins as `spin` says, or less in a crowd.
    ///
    /// Only the owner calls it, and only once the element is published, with this label. (It must not look: whoever has the
    /// element in hand may be renaming it.)
    #[inline(always)]
    pub(super) fn wait<B: Backend>(&self, label: Option<Label>, deadline: Deadline, spin: SpinFirst) -> bool {
        let crowd = label.and_then(Crowd::for_waiter::<B>);
        let spin = crowd.map_or(spin, |crowd| crowd.spin_first(spin));
        self.gate.wait::<B>(deadline, spin, || {
            self.trace.stamp();
            crowd.inspect(|crowd| crowd.take_seat(self.trace.thread(), ptr::from_ref(self).addr()))
        })
    }
}

#[cfg(feature = "mutex")]
impl Picked<'_, Element> {
    /// If some of the elements in hand that wait for `key`, and can be woken one by one, have owners that are awake, has those whose
    /// owners sleep wait for `name`; returns how many.
    pub(super) fn rename_sleepers(&self, key: Key, name: Key) -> usize {
        // In a model they are renamed in any case: there are few, and all asleep as a rule.
        let (mut is_one_awake, mut renamed) = (IN_A_MODEL, 0);
        self.for_each(|element, label| is_one_awake |= label.key == key && !element.is_asleep());
        self.for_each(|element, label| {
            if is_one_awake && label.key == key && label.selectable && element.is_asleep() {
                // SAFETY: the element is in our hands, so nobody else reads or writes its label now.
                element.label.with_mut(|label| unsafe { (*label).iter_mut().for_each(|label| label.key = name) });
                renamed += 1;
            }
        });
        renamed
    }
}

// SAFETY:
// - The type is aligned so.
// - The link is a field of its own.
// - The swap is `notify`'s last access.
// - Only a notifier that has the element in hand sets `NOTIFIED`, and a release and an acquire go with it.
unsafe impl Linked for Element {
    const ALIGNMENT: usize = align_of::<Self>();

    type Due<B: Backend> = Sleepers<B>;

    #[inline]
    fn succ(&self) -> &AtomicPtr<Self> {
        &self.succ
    }

    #[inline]
    unsafe fn label(&self) -> Option<Label> {
        // SAFETY: by the caller's promise the owner does not write it now.
        self.label.with(|label| unsafe { *label })
    }

    fn fetch_many(label: Label) {
        Crowd::fetch_members_of(label);
    }

    /// Opening the gate is the last access: the owner may return, and the memory of the element and of its group may be
    /// another's, before the next line.
    #[inline(always)]
    unsafe fn notify<B: Backend>(element: *const Self, due: &mut Sleepers<B>) {
        // SAFETY: an element in somebody's hands is alive (by invariant I2), and its group's gate with it, until its own gate
        // is open.
        let (gate, group, label) =
            unsafe { (&raw const (*element).gate, (*element).group.as_ref(), (*element).label()) };
        let asleep_on_group = group.and_then(GroupGate::open);
        // Ordering: release; matches the acquire of the owner. Whatever we read of the element we have read, and its group
        // we have left (G1).
        // SAFETY: as above.
        let opened = unsafe { Gate::open(gate, Ordering::Release) };
        counters::count(Event::Wake);
        if cfg!(debug_assertions) || IN_A_MODEL {
            assert!(!opened.was_open(), "an element was notified twice");
        }
        // An owner that sleeps on this very gate does not sleep on its group's any more.
        if let Some(sleeper) = opened.sleeper(B::wake).or(asleep_on_group) {
            due.add(sleeper);
            label.into_iter().for_each(|label| due.note_alike(label));
        }
        if opened.was_in_crowd() {
            label.into_iter().for_each(|label| due.add_one_in(Crowd::of(label)));
        }
    }

    #[inline]
    fn is_notified(&self) -> bool {
        self.gate.is_notified()
    }

    /// Not in a crowd: it is released alone.
    fn wait_to_be_released<B: Backend>(&self) {
        self.gate.wait::<B>(Deadline::NEVER, SpinFirst::Briefly, || {
            self.trace.stamp();
            None
        });
    }
}
