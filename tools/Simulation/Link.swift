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

    // The hub's end.
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
}
