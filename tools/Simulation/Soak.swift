import Foundation
import PealHub
import PealModel
import PealReplica

/// Days of ordinary traffic in virtual time on the real stores: publishes, acts, devices that come and go, old items deleted, upkeep after
/// each round. Files must be as large in the last quarter as in the one before, once the limits of age (90 days) are reached.
struct Soak {
    /// Rounds of traffic; a round is a virtual hour, or more.
    var rounds: Int
    /// Virtual hours of a round.
    var pace: Int
    var seed: UInt64
    var json: Bool
    /// Items that a person leaves in an inbox.
    static let kept = 100
    /// Events of a round, as far apart.
    static let events = 100

    struct Sample {
        var hour: Int
        var hub = 0
        var devices = 0
        var log = 0
        var resident = 0
    }

    /// Runs it; 0 where everything is flat and every device agrees at the end.
    func run() -> Int32 {
        var schedule = Schedule(seed: seed, steps: 0)
        schedule.shape = Schedule.Shape(
            users: 2, devicesPerUser: 2, interestDevices: 1, windowEntries: 64, pageRows: 100, keepEntries: 200,
            hold: 3_600_000, wideFrom: 1_000, isSQLite: true)
        let world = World(schedule)
        defer { world.factory.close(world.hub) }
        for device in world.devices { device.goOnline() }
        var samples: [Sample] = []
        let start = ContinuousClock.now
        for round in 1...rounds where world.violation == nil {
            play(world)
            let sample = measure(world, round * pace)
            samples.append(sample)
            if json || round % 6 == 0 { tell(sample) }
        }
        let traffic = "\(rounds * pace) virtual hours, \(world.publishCount) publishes"
        if world.violation == nil { world.heal() }
        if let violation = world.violation {
            print("\(traffic): \(violation)")
            return 1
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        print(String(format: "%@: every device agrees; %.0f s", traffic, seconds))
        return verdict(samples)
    }

    private func play(_ world: World) {
        for event in 0..<Self.events {
            let bits = world.random.next()
            let (a, b) = (UInt32(truncatingIfNeeded: bits), UInt32(truncatingIfNeeded: bits >> 32))
            let kind: Step.Kind =
                switch event % 10 {
                case 0, 1, 2, 3: .publish
                case 4, 5, 6: .act
                case 7: .apiAct
                case 8: a & 1 == 0 ? .offline : .online
                default: .online
                }
            if kind == .act { world.perform(Step(kind: .look, a: a, b: b)) }
            world.perform(Step(kind: kind, a: a, b: b))
            world.calm()
            world.advance(Milliseconds(pace) * 3_600_000 / Milliseconds(Self.events))
        }
        for device in world.devices {
            device.goOnline()
            world.calm()
        }
        for device in world.devices { world.deleteOld(device, kept: Self.kept) }
        world.calm()
        world.hub.keepUp()
        world.calm()
        world.upkeep()
    }

    private func measure(_ world: World, _ hour: Int) -> Sample {
        var sample = Sample(hour: hour)
        for (name, size) in world.factory.sizes() {
            if name.hasSuffix("-wal") {
                sample.log += size
            } else if name == "1.sqlite" {
                sample.hub += size
            } else {
                sample.devices += size
            }
        }
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        sample.resident = (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4_096
        return sample
    }

    private func tell(_ sample: Sample) {
        if json {
            print(
                #"{"hour":\#(sample.hour),"hub_bytes":\#(sample.hub),"device_bytes":\#(sample.devices),"log_bytes":\#(sample.log),"resident":\#(sample.resident)}"#
            )
        } else {
            print(
                "hour \(sample.hour): hub \(sample.hub / 1024) KiB, devices \(sample.devices / 1024) KiB, logs \(sample.log / 1024) KiB, memory \(sample.resident / 1024) KiB"
            )
        }
    }

    /// Flat: the last quarter's mean is at most a tenth above that of the quarter before.
    private func verdict(_ samples: [Sample]) -> Int32 {
        guard samples.count >= 8 else { return 0 }
        var grown = 0
        // Memory holds what the checker remembers of every entry, so it is told and not judged.
        for (name, value) in [("hub", \Sample.hub), ("devices", \Sample.devices), ("logs", \Sample.log)] {
            func mean(_ part: ArraySlice<Sample>) -> Double {
                part.reduce(0) { $0 + Double($1[keyPath: value]) } / Double(part.count)
            }
            let (half, last) = (samples.count / 2, samples.count * 3 / 4)
            let (before, after) = (mean(samples[half..<last]), mean(samples[last...]))
            let isFlat = after <= before * 1.1 + 65_536
            if !isFlat { grown += 1 }
            print(
                String(
                    format: "%@: %.0f KiB in the third quarter, %.0f KiB in the last: %@", name, before / 1024,
                    after / 1024, isFlat ? "flat" : "GROWS"))
        }
        return grown == 0 ? 0 : 1
    }
}

extension World {
    /// What a person does with what is old.
    func deleteOld(_ device: SimDevice, kept: Int) {
        look(device)
        guard let sight = device.sight, sight.items.count > kept else { return }
        let operation = Operation.delete(items: Array(sight.items.dropLast(kept).prefix(500)))
        do throws(ReplicaError) {
            let uid = try device.store.enqueue(operation, observed: sight.view, hold: 0)
            ghost.acted(uid, operation, sight.view, device)
            device.drive { $0.outboxChanged() }
        } catch {
            fail("device \(device.id): an act was refused: \(error)")
        }
        calm()
    }

    /// The hub's upkeep until nothing is left to do.
    func upkeep() {
        do throws(HubStoreError) {
            var more = true
            while more {
                try hub.store.begin()
                more = try hub.store.upkeep(limit: 500, now: hubNow)
                try hub.store.commit()
            }
        } catch {
            hub.store.rollback()
            fail("upkeep failed: \(error)")
        }
    }
}

extension StoreFactory {
    /// Bytes of each file that was made.
    func sizes() -> [String: Int] {
        guard let directory else { return [:] }
        var sizes: [String: Int] = [:]
        for name in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] {
            let found = try? FileManager.default.attributesOfItem(atPath: "\(directory)/\(name)")
            sizes[name] = found?[.size] as? Int ?? 0
        }
        return sizes
    }
}
