/// Which part of the screen is for what.
struct ViewerLayout: Equatable, Sendable {
    let rows: Int
    let columns: Int
    /// Rows of the list.
    let listRows: Int
    let listColumns: Int
    /// Rows of the preview; 0 where there is no room for one.
    let previewRows: Int
    let previewColumns: Int
    /// The preview is beside the list, not below it.
    let isBeside: Bool

    init(rows: Int, columns: Int) {
        self.rows = rows
        self.columns = columns
        // Heading, status and keys.
        let room = max(1, rows - 3)
        isBeside = columns >= 120
        if isBeside {
            listRows = room
            listColumns = columns * 11 / 20
            previewRows = room
            previewColumns = columns - listColumns - 2
        } else {
            previewRows = rows >= 18 ? max(5, room * 2 / 5) : 0
            listRows = previewRows > 0 ? room - previewRows - 1 : room
            listColumns = columns
            previewColumns = columns
        }
    }
}
