internal import CPealWebSocket

/// The version of libwebsockets.
package var webSocketLibraryVersion: String { String(cString: pws_library_version()) }
