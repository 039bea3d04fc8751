import Foundation
import Peal
import PealModel

/// Looks at the hub: whether it is there and well, its certificate, its clock, its sockets.
struct HubDoctor: Sendable {
    let api: HubAPI
    let seconds: Int
    private var probe: HubProbe { HubProbe(hub: api.hub, authorityPath: api.authorityPath) }

    func look() async -> [Finding] {
        var found = Findings("hub")
        let url = api.hub.url.absoluteString
        let begin = ContinuousClock.now
        let configuration: HubAPI.Configuration
        do throws(PealError) {
            configuration = try await api.configuration()
        } catch {
            found.add(
                .failed, "reachable", error.message,
                error.code == .unreachable
                    ? "Is the hub running, and is --hub right? It is \(url) now."
                    : "Something that is no hub answers there: check --hub.")
            return found.all
        }
        found.add(.ok, "reachable", "\(url), version \(configuration.version), in \(Self.milliseconds(begin)) ms")
        if configuration.wire != Int(wireVersion) {
            found.add(
                .failed, "protocol", "the hub speaks version \(configuration.wire), this command \(wireVersion)",
                "Upgrade the older one of the two.")
        }
        do throws(PealError) {
            try await api.ready()
            found.add(.ok, "ready", "it takes publishes and acts")
        } catch {
            found.add(.failed, "ready", error.message, "Look at the hub's log, and at the disk of its file.")
        }
        await credentials(&found)
        await certificate(&found)
        await clock(&found)
        await socket(configuration.webSocketURL, &found)
        return found.all
    }

    private static func milliseconds(_ begin: ContinuousClock.Instant) -> Int {
        Int((begin.duration(to: .now) / .milliseconds(1)).rounded(.up))
    }

    private func credentials(_ found: inout Findings) async {
        let (state, text, advice): (Finding.State, String, String?)
        do throws(PealError) {
            _ = try await api.broadcasts(limit: 1)
            (state, text, advice) = (.ok, "key and secret are the project's", nil)
        } catch {
            switch error.code {
            case .invalid: (state, text, advice) = (.skipped, "needs --key and --secret", nil)
            case .refused:
                (state, text, advice) = (
                    .failed, error.message, "Check --key and --secret: `peal hub` printed them at its first start."
                )
            default: (state, text, advice) = (.failed, error.message, nil)
            }
        }
        found.add(state, "credentials", text, advice)
    }

    private func certificate(_ found: inout Findings) async {
        guard api.hub.url.scheme == "https" else {
            let host = api.hub.url.host ?? ""
            if host == "localhost" || host == "::1" || host.hasPrefix("127.") {
                found.add(.ok, "TLS", "none, on loopback")
            } else {
                found.add(
                    .warning, "TLS", "none: keys and secrets cross the network in clear",
                    "Start the hub with --tls-cert and --tls-key, and use https://.")
            }
            return
        }
        guard let answer = try? await probe.ask(seconds: seconds), let end = answer.certificateEnd else {
            found.add(.skipped, "TLS", "the certificate was not told")
            return
        }
        let days = Int((Double(end) - Date().timeIntervalSince1970) / 86_400)
        let text = "\(answer.certificateName ?? "no common name"), trusted, good for \(days) more days"
        if days < 14 {
            found.add(.warning, "TLS", text, "Renew the certificate, then send SIGHUP to the hub.")
        } else {
            found.add(.ok, "TLS", text)
        }
    }

    private func clock(_ found: inout Findings) async {
        var offset = ClockOffset()
        for turn in 0..<4 {
            // Each asks where the hub's second ends if the offset is in the middle of what is left, and so halves it.
            if turn > 0, let wait = offset.wait(Date().timeIntervalSince1970) {
                try? await Task.sleep(for: .milliseconds(Int(wait * 1_000)))
            }
            let begin = Date().timeIntervalSince1970
            guard let answer = try? await probe.ask(seconds: seconds), let date = answer.date else { break }
            offset.take(date, from: begin, to: Date().timeIntervalSince1970)
        }
        guard let value = offset.value else {
            found.add(.skipped, "clock", "the hub does not tell its time")
            return
        }
        func text(_ seconds: Double) -> String { String(format: "%.2f s", seconds) }
        let side = value.offset < 0 ? "behind" : "ahead of"
        let sentence =
            "the hub's is \(text(abs(value.offset))) \(side) this one, give or take \(text(value.uncertainty))"
        if abs(value.offset) - value.uncertainty > 60 {
            found.add(
                .warning, "clock", sentence,
                "Set the clocks, as by `timedatectl set-ntp true`: user tokens and times of delivery go by them.")
        } else {
            found.add(.ok, "clock", sentence)
        }
    }

    private func socket(_ url: String, _ found: inout Findings) async {
        let begin = ContinuousClock.now
        do throws(PealError) {
            try await probe.connect(url, seconds: seconds)
            found.add(.ok, "WebSocket", "\(url) opens in \(Self.milliseconds(begin)) ms")
        } catch {
            found.add(
                .failed, "WebSocket", error.message,
                "Devices connect there. Is it reachable from here? Behind a proxy the hub needs --websocket-url.")
        }
    }
}

/// How far another clock is from this one, of answers that tell it in whole seconds.
struct ClockOffset {
    private var low = -Double.infinity
    private var high = Double.infinity

    /// Takes an answer that came between two times of this clock.
    mutating func take(_ date: Int64, from begin: Double, to end: Double) {
        let (least, most) = (Double(date) - end, Double(date) + 1 - begin)
        // A clock that was set meanwhile begins anew.
        if least > high || most < low {
            (low, high) = (least, most)
        } else {
            (low, high) = (max(low, least), min(high, most))
        }
    }

    /// Seconds until an answer would halve what is not known; nil where nothing is known.
    func wait(_ now: Double) -> Double? {
        guard low.isFinite, high.isFinite else { return nil }
        let middle = now + (low + high) / 2
        return middle.rounded(.up) - middle
    }

    /// Seconds that the other clock is ahead, and how wrong that may be.
    var value: (offset: Double, uncertainty: Double)? {
        low.isFinite && high.isFinite ? ((low + high) / 2, (high - low) / 2) : nil
    }
}
