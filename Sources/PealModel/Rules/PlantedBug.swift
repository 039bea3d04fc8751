/// Faults that the simulator must find, or it is too weak (docs/sync.md section 10). They exist only in builds with the package trait
/// `PlantedBugs`; everywhere else ``planted(_:)`` is a constant false that costs nothing.
@usableFromInline
package enum PlantedBug: String, CaseIterable, Sendable {
    // The rules.
    case noExcept, markToHead, sinceForgedByMark, sameValueIgnored, deletedRevived, exceptIgnoresStanding,
        interestsMerged
    case laterAlwaysWins, optOutByTime
    // Admission.
    case noChain, nonceBeforeChain, noAttemptCheck, noNonceCheck
    // The hub's session and store.
    case noDedupe, noUIDDedupe, trimmingOvertakes, poisonBlocks, noFencing, tailFromLastPage, fanOutTwice, fanOutForgets
    case unboundedCredit, answersBeforeCommit, renewalIgnored, expiredPushTaken, tokenOfAnother, creditForEver
    // The replica's session.
    case noSessionCheck, gapAccepted, pushWhileLoading, journalWaitsAfterSwap, stallIgnored
    // The replica's store.
    case nonceNotDurable, attemptNotDurable, noForkCheck, removedAtSend, snapshotAcknowledgesByNumber, swapTooEarly
    case lostTimelineKept, heldActOvertaken, settledAtOnce, partialShownAsWhole, journalPruned, forkKeepsNumbers
    case cursorBeforeData, secondProcessSends, tokenEndForgetsOutbox, sumNotFolded, repairForgotten, repairForEver
}

#if PlantedBugs
    /// The planted fault of this process; set before anything runs.
    package enum Planted {
        // Written once, by the simulator's main, before any other thread is made.
        nonisolated(unsafe) package static var bug: PlantedBug?
    }

    /// Whether a fault is planted.
    package func planted(_ bug: PlantedBug) -> Bool { Planted.bug == bug }
#else
    /// Whether a fault is planted: never, in this build.
    @inlinable @inline(__always)
    package func planted(_ bug: PlantedBug) -> Bool { false }
#endif
