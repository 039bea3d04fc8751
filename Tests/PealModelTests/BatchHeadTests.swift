import PealModel
import Testing

@Suite struct BatchHeadTests {
    @Test(arguments: [0, 1, 9, 10, 99, 1_000_000_007, Int64.max - 3], [nil, 0x0123_4567_89AB_CDEF])
    func `a frame put together in place is the encoder's, byte for byte`(from: Int64, sum: UInt64?) {
        let entries = ["{}", #"{"kind":"item"}"#, "{\"a\":[1,2]}"].map { Array($0.utf8)[...] }
        var bytes: [UInt8] = []
        Batch.appendHead(session: 0xFEDC_BA98_7654_3210, from: from, to: from + 3, chain: 7, sum: sum, into: &bytes)
        bytes += entries.joined(separator: Array(",".utf8))
        bytes += Batch.tail
        let batch = Batch(
            session: 0xFEDC_BA98_7654_3210, from: from, to: from + 3, chain: 7, entries: entries, sum: sum)
        #expect(bytes == DownFrame.batch(batch).bytes)
    }
}
