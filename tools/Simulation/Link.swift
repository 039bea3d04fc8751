import PealModel

/// One TCP connection with the WebSocket on it: two ordered queues, and two ends that learn of its end at different times.
final class Link {
    let id: Int
    let device: Int
    /// Frames on their way to the hub; they may arrive long after the device gave the connection up (a zombie).
    var up: [UpFrame] = []
    /// Frames on their way to the device.
    var down: [DownFrame] = []
    /// Every frame that the device sent: a whole session can come twice.
    var sent: [UpFrame] = []
    var isDeviceOpen = true
    var isHubOpen = true
    /// Nothing more crosses it; neither end knows yet.
    var isCut = false
    /// The hub's close code, once it has closed and the device has not read it.
    var closing: (code: CloseCode, reason: String)?

    /// Frames of one direction are lost, and so are the socket layer's probes.
    var swallowsUp = false
    var swallowsDown = false
    /// Since when the socket layer's probes are not answered.
    var silent: Milliseconds?
    /// Each direction lets one frame through in a while.
    var isTrickling = false
    var nextUp: Milliseconds = 0
    var nextDown: Milliseconds = 0
    static let trickle: Milliseconds = 3_000
    /// When the device was last sent anything that it received, when it sent its last push, and when it asked for its last page.
    var heard: Milliseconds = 0
    var pushed: Milliseconds?
    var asked: Milliseconds?
    /// The head that the device has been told.
    var known: Position = 0

    // The hub's end.
    var hello: Hello?
    /// What the session was proved with last, and what is being checked.
    var tokens: [String] = []
    /// Through where entries were sent and acknowledged, and since when credit is out.
    var sentTo: Position = 0
    var gotTo: Position = 0
    var creditSince: Milliseconds = 0
    var session = HubSession()
    var inbox: Int64?
    var replica: Int64?
    var joined: UInt64?
    let opened: Milliseconds

    init(id: Int, device: Int, opened: Milliseconds) {
        self.id = id
        self.device = device
        self.opened = opened
    }

    /// A frame of the hub goes out.
    func send(_ frame: DownFrame) {
        if !isCut, !swallowsDown { down.append(frame) }
    }

    /// The device receives a frame.
    func heard(_ frame: DownFrame, at now: Milliseconds) {
        heard = now
        switch frame {
        case .welcome(let welcome): known = welcome.head
        case .batch(let batch): known = max(known, batch.to)
        default: break
        }
    }

    /// The device sent a frame.
    func note(_ frame: UpFrame, at now: Milliseconds) {
        switch frame {
        case .push, .suspect: pushed = now
        case .snapshot: asked = now
        default: break
        }
    }
}
