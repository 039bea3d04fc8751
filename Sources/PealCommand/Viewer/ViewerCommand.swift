import Peal
import PealModel
import PealReplica

/// What the viewer wants to have done.
enum ViewerCommand: Equatable, Sendable {
    /// Reads a window of a tab's list.
    case load(tab: Int, ViewerLoad)
    /// Carries an act out; it is told by its number.
    case act(tab: Int, number: Int, Operation, observed: ViewPosition?, hold: Milliseconds)
    /// Marks what a query lists read, up to what was shown.
    case markAll(tab: Int, number: Int, DeliveredQuery, observed: ViewPosition?)
    /// Takes an act back: while it is held by its number, else by another act, where there is one.
    case undo(tab: Int, number: Int, instead: Operation?)
    /// Reads the project's categories.
    case categories(tab: Int)
    /// Tries again to open what could not be opened.
    case reopen(tab: Int)
    /// The screen is drawn anew, all of it.
    case redraw
    /// Stops the process, as Ctrl-Z does.
    case suspend
    /// Ends the viewer.
    case quit
}

/// A window that is to be read.
struct ViewerLoad: Equatable, Sendable {
    var query: DeliveredQuery
    var place: InboxWindow.Place
    var reach: Int
    /// Counts how often the list became another one; what was read for the one before is dropped.
    var generation: Int
}

/// What came of it, and what happens by itself.
enum ViewerEvent: Sendable {
    case key(ViewerKey)
    /// Text that was put in with one key, as it came.
    case pasted(String)
    case resized(rows: Int, columns: Int)
    /// The window that was asked for last, of a tab.
    case loaded(tab: Int, generation: Int, Result<ViewerWindow, ViewerProblem>)
    /// An act, or what took it back, is durable; an `undo` with a false result came too late.
    case acted(tab: Int, number: Int, Result<Bool, ViewerProblem>)
    case categories(tab: Int, [String])
    case status(tab: Int, InboxStatus)
    case changed(tab: Int)
    /// The inbox could not be opened; it is tried again by itself after some seconds.
    case notOpened(tab: Int, ViewerProblem, seconds: Int)
    /// It could be, after that.
    case opened(tab: Int)
    case notice(tab: Int, String)
}

/// A window as it was read.
struct ViewerWindow: Sendable {
    var rows: [ViewerRow]
    var hasNewer = false
    var hasOlder = false
    var isPartial = false
    /// Not everything has been searched yet.
    var isSearching = false
    var counts = Counts()
    var view = ViewPosition(position: 0, time: 0)
    var waiting = 0
    var dead = 0
}

/// A sentence for a person.
struct ViewerProblem: Error, Equatable, Sendable {
    var message: String
}
