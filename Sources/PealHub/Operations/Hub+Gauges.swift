import PealModel

extension Hub {
    /// What the live side adds to the gauges.
    func gauges() -> Gauges {
        var gauges = Gauges(sockets: connections.count, sessions: sessionCount)
        for connection in connections.values {
            let lag = connection.session.lag
            gauges.lag += lag
            gauges.greatestLag = max(gauges.greatestLag, lag)
        }
        return gauges
    }
}
